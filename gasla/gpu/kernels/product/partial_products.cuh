// Product of sparse matrices A and B by Gustavson's algorithm: for each row of A, an entry in column k is multiplied
// with every entry of row k of B.
//
// `lanes` threads (4 or 32) process a row of A. They enumerate the pairs of entries side by side, in the order of A's
// entries and then of B's entries, so that short rows of B keep all lanes busy. No other thread works on that row.
// Lanes of a warp that have values for the same column combine them one after another. Therefore monoids of any type
// work, values are combined in order, and results are bit-identical in every run.
//
// All threads of a warp call these functions together.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 NONE = 0xffffffffu;  // no column, or no slot
constexpr u32 NAME = 0x7fffffffu;  // mask of the column number in a table's key; the highest bit is a flag

// A matrix in compressed sparse row format, without values.
struct CSR {
    const long long* offsets;
    const int* indices;
};

// An entry of A and an entry of B that are multiplied with each other. Each is given by its position.
struct Pair {
    bool valid, mixed;  // mixed: the row of B differs from that of the first lane's pair
    u64 left, right;
};

template <u32 lanes> __device__ __forceinline__ u32 lane_of() { return threadIdx.x & (lanes - 1); }

template <u32 lanes> __device__ __forceinline__ u32 scan_lanes(u32 x) {
#pragma unroll
    for (u32 step = 1; step < lanes; step <<= 1) {
        const u32 below = shuffle(x, lane_of<lanes>() - step, lanes);
        if (lane_of<lanes>() >= step) x += below;
    }
    return x;
}

template <u32 lanes, class T> __device__ __forceinline__ T sum_lanes(T x) {
#pragma unroll
    for (u32 step = lanes / 2; step; step >>= 1) x += shuffle_xor(x, step);
    return x;
}

// Return the maximum of x over the rows that a warp processes at the same time. All lanes of a row have the same x.
template <u32 lanes> __device__ __forceinline__ u32 most_of_rows(u32 x) {
#pragma unroll
    for (u32 step = lanes; step < WARP; step <<= 1) x = most(x, shuffle_xor(x, step));
    return x;
}

// Return the row at position `item` in a list of rows, or `item` itself if there is no list.
__device__ __forceinline__ long long row_at(const long long* rows, u64 item) { return rows ? rows[item] : (long long)item; }

// Call `take(pairs)` for all pairs of an entry of A at position `first` up to `last` and an entry of B. Each lane gets
// `at_once` pairs at a time. `part(left, begin, length)` sets the range of a row of B with which A's entry `left` is
// multiplied. The ranges for `lanes` entries together must have fewer than 2^31 entries. Threads that have no row pass
// an empty range, but must call this, too.
template <u32 lanes, u32 at_once, class Part, class Take>
__device__ __forceinline__ void for_each_pair(u64 first, u64 last, Part part, Take take) {
    const u32 me = lane_of<lanes>();
    for (u64 from = first; __any_sync(ALL, from < last); from += lanes) {
        u64 begin = 0;
        u32 length = 0;
        if (from + me < last) part(from + me, begin, length);
        const u32 upto = scan_lanes<lanes>(length), all = shuffle(upto, lanes - 1, lanes);
        const u64 shift = begin - (upto - length);
        for (u32 base = 0; __any_sync(ALL, base < all); base += lanes * at_once) {
            Pair pairs[at_once];
#pragma unroll
            for (u32 k = 0; k < at_once; ++k) {
                const u32 nth = base + k * lanes + me;
                u32 owner = 0;  // number of ranges of B that end before this pair; the next range has the pair
#pragma unroll
                for (u32 step = lanes / 2; step; step >>= 1)
                    if (shuffle(upto, owner + step - 1, lanes) <= nth) owner += step;
                const bool valid = nth < all, mixed = owner != shuffle(owner, 0, lanes);
                pairs[k] = {valid, valid && mixed, from + owner, shuffle(shift, owner, lanes) + nth};
            }
            take(pairs);
        }
    }
}

// The following structs give the range of a row of B with which an entry of A is multiplied.

__device__ __forceinline__ long long first_not_less(const int* list, long long low, long long high, long long column) {
    while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (list[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Multiply each entry of A with the whole row of B.
struct WholeRow {
    CSR a, b;
    __device__ __forceinline__ void operator()(u64 left, u64& begin, u32& length) const {
        const int k = a.indices[left];
        begin = b.offsets[k];
        length = (u32)(b.offsets[k + 1] - begin);
    }
};

// Multiply each entry of A with some entries of the row of B: those in the columns from `low` up to `high`. The columns
// of each row of B must be sorted.
struct ColumnWindow {
    CSR a, b;
    long long low, high;
    __device__ __forceinline__ void operator()(u64 left, u64& begin, u32& length) const {
        const int k = a.indices[left];
        const long long last = b.offsets[k + 1], start = first_not_less(b.indices, b.offsets[k], last, low);
        begin = start;
        length = (u32)(first_not_less(b.indices, start, last, high) - start);
    }
};

// The following code is a hash table of columns.

// A set of columns: a hash table of 2^bits slots that begins at slot `start` of `keys`, with open addressing and linear
// probing. It is never full, so probing always ends.
struct Table {
    u32* keys;
    u32 start, bits;

    __device__ __forceinline__ u32 size() const { return 1u << bits; }
    __device__ __forceinline__ u32 home(u32 column) const { return (column * 2654435769u) >> (32 - bits); }
    __device__ __forceinline__ u32 after(u32 slot) const { return (slot + 1) & (size() - 1); }

    template <u32 lanes> __device__ __forceinline__ void clear() const {
        for (u32 i = lane_of<lanes>(); i < size(); i += lanes) keys[start + i] = NONE;
    }
    // Insert a column into the table, with an optional flag bit. Returns true only to the lane that has inserted the
    // column. A taken slot never becomes free, so only a slot that is read as free needs an atomic.
    __device__ __forceinline__ bool insert(u32 column, u32 bit = 0) const {
        for (u32 slot = home(column);; slot = after(slot)) {
            u32 held = *const_cast<volatile u32*>(keys + start + slot);
            if (held == NONE) {
                held = atomicCAS(keys + start + slot, NONE, column | bit);
                if (held == NONE) return true;
            }
            if ((held & NAME) == column) return false;
        }
    }
    __device__ __forceinline__ u32 find(u32 column) const {
        for (u32 slot = home(column);; slot = after(slot)) {
            const u32 held = keys[start + slot];
            if (held == column) return start + slot;
            if (held == NONE) return NONE;
        }
    }
};

// Return log2 of the number of slots of the smallest hash table that is at most half full with `columns` columns.
__device__ __forceinline__ u32 bits_for(u64 columns) {
    u32 bits = 5;
    while ((1ull << bits) < 2 * columns) ++bits;
    return bits;
}

}  // namespace gasla
