// The products of sparse matrices A and B, row by row of A: an entry of A in column k meets every entry of row k of B.
//
// `lanes` threads (4 or 32) take a row of A. They put the pairs that meet side by side, in the order of A's entries and
// then of B's, so that short rows of B keep all lanes busy. No other thread works at the same columns of that row: what
// lanes of one warp have for the same column they combine by turns. So any monoid can be had, of any type, in order, and
// the bits are the same every time.
//
// All threads of a warp come to the functions here together.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 NONE = 0xffffffffu;  // no column, no slot
constexpr u32 NAME = 0x7fffffffu;  // the bits of a column's number

// Compressed rows.
struct CSR {
    const long long* offsets;
    const int* indices;
};

// An entry of A that meets one of B, by their positions.
struct Pair {
    bool valid, mixed;  // `mixed` if its row of B is another than that of the first lane's pair
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

// The most that any row of the warp has of what all lanes of a row know.
template <u32 lanes> __device__ __forceinline__ u32 most_of_rows(u32 x) {
#pragma unroll
    for (u32 step = lanes; step < WARP; step <<= 1) x = most(x, shuffle_xor(x, step));
    return x;
}

// Of a list of rows; without one, of all of them.
__device__ __forceinline__ long long row_at(const long long* rows, u64 item) { return rows ? rows[item] : (long long)item; }

// `take(pairs)` for all pairs of A's entries from `first` up to `last`, `at_once` of them a lane. Which part of a row of B
// an entry of A meets `part(left, begin, length)` says; all parts of so many entries as there are lanes are at most 2^31
// long. Threads that have no row give an empty range, but come along.
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
                u32 owner = 0;  // how many parts end before it
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

// --- which part of a row of B ----------------------------------------------------------------------------------------

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

// All of it.
struct WholeRow {
    CSR a, b;
    __device__ __forceinline__ void operator()(u64 left, u64& begin, u32& length) const {
        const int k = a.indices[left];
        begin = b.offsets[k];
        length = (u32)(b.offsets[k + 1] - begin);
    }
};

// Its columns from `low` up to `high`; B's rows ascend.
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

// --- where the columns of a row are told apart -----------------------------------------------------------------------

// A set of columns, of 2^bits slots from `start` on: open addressing, the next slot is tried where one is taken. There
// are always free ones.
struct Table {
    u32* keys;
    u32 start, bits;

    __device__ __forceinline__ u32 size() const { return 1u << bits; }
    __device__ __forceinline__ u32 home(u32 column) const { return (column * 2654435769u) >> (32 - bits); }
    __device__ __forceinline__ u32 after(u32 slot) const { return (slot + 1) & (size() - 1); }

    template <u32 lanes> __device__ __forceinline__ void clear() const {
        for (u32 i = lane_of<lanes>(); i < size(); i += lanes) keys[start + i] = NONE;
    }
    // True for the one that brought it, with a bit beside its name. A slot once taken stays so: who reads that it is free
    // asks again, by an atomic.
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

// The bits of the smallest table with room for so many columns: at most half of it is taken.
__device__ __forceinline__ u32 bits_for(u64 columns) {
    u32 bits = 5;
    while ((1ull << bits) < 2 * columns) ++bits;
    return bits;
}

}  // namespace gasla
