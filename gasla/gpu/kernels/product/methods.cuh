// Preparation of products of sparse matrices: the number of partial products of each row, the choice of a method for
// each row (see symbolic.py), and a test whether the columns of a matrix are sorted.
#pragma once

#include "partial_products.cuh"

namespace gasla {

constexpr u64 LONG = 32;  // a row with more entries is counted by a whole warp
constexpr u64 WIDEST = 1u << 30;

// Gives an upper bound of the number of columns in a row of the product, including columns that a mask leaves out.
struct MaxColumns {
    const long long* pairs;  // number of partial products of each row
    const long long* offsets;  // row offsets of the product, or null if they are unknown
    const long long* left_out;  // row offsets of the mask whose entries are left out, or null
    u32 width;

    __device__ __forceinline__ u64 operator()(long long row) const {
        const u64 known = offsets ? offsets[row + 1] - offsets[row] : least<u64>(pairs[row], width);
        if (!left_out) return known;
        return pairs[row] ? least<u64>(known + (left_out[row + 1] - left_out[row]), WIDEST) : 0;
    }
};

template <u32 lanes>
__device__ __forceinline__ void count_pairs_of_rows(CSR a, const long long* b_offsets, u64 rows, long long* pairs) {
    constexpr u32 groups = WARP / lanes;
    const u32 group = lane() / lanes;
    const auto met = [&](u64 at) {
        const int k = a.indices[at];
        return (u64)(b_offsets[k + 1] - b_offsets[k]);
    };
    for (u64 base = this_warp_of_grid() * groups; base < rows; base += warps_of_grid() * groups) {
        const u64 row = base + group;
        const u64 first = row < rows ? a.offsets[row] : 0, last = row < rows ? a.offsets[row + 1] : 0;
        const bool is_long = last - first > LONG;
        u64 sum = 0;
        for (u64 at = is_long ? last : first + lane_of<lanes>(); at < last; at += lanes) sum += met(at);
        sum = sum_lanes<lanes>(sum);
        for (u32 g = 0; __any_sync(ALL, is_long && group >= g); ++g) {
            const u64 begin = shuffle(first, g * lanes), end = shuffle(last, g * lanes);
            if (end - begin <= LONG) continue;
            u64 part = 0;
#pragma unroll 4
            for (u64 at = begin + lane(); at < end; at += WARP) part += met(at);
            part = warp_sum(part);
            if (group == g) sum = part;
        }
        if (row < rows && lane_of<lanes>() == 0) pairs[row] = sum;
    }
}

// The methods for computing a row of the product. SMALL, TABLES, LARGE and MEMORY use hash tables of different sizes.
// The method with windows computes one range of columns (a window) at a time. It has the 32 numbers from WINDOWS on,
// because its rows are divided into classes by their number of partial products, the rows with most first. Rows start in
// the order of the classes. So long rows start early, and no warp begins a long row when other warps have nothing left
// to do. Rows with the number NOWHERE are empty.
enum : u32 { SMALL, TABLES, LARGE, MEMORY, WINDOWS, NOWHERE = WINDOWS + 32, ALL_METHODS };

struct Limits {
    u64 small, small_pairs, tables, large;  // the most columns, and partial products, that tables are used for
    u64 windows, visit;  // number of windows, and the overhead of a window, as a number of entries of A
};

__device__ __forceinline__ u32 method_of(u64 most, u64 pairs, u64 entries, const Limits& limits) {
    if (most == 0) return NOWHERE;
    if (most <= limits.small && pairs <= limits.small_pairs) return SMALL;
    if (most <= limits.tables) return TABLES;
    if ((entries + limits.visit) * limits.windows > pairs) return most <= limits.large ? LARGE : MEMORY;
    return WINDOWS + __clz((u32)least<u64>(NONE, pairs));
}

// Choose the method for computing each row of the product, and count the rows for each method.
__device__ __forceinline__ void choose_methods_of_rows(
    MaxColumns most, const long long* a_offsets, u64 rows, Limits limits, unsigned char* methods, u64* counts, u32* here
) {
    for (u32 i = threadIdx.x; i < ALL_METHODS; i += blockDim.x) here[i] = 0;
    __syncthreads();
    for (u64 row = thread_of_grid(); row < rows; row += threads_of_grid()) {
        const u32 method = method_of(most(row), most.pairs[row], a_offsets[row + 1] - a_offsets[row], limits);
        methods[row] = method;
        atomicAdd(here + method, 1u);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < ALL_METHODS; i += blockDim.x)
        if (here[i]) atomicAdd(counts + i, (u64)here[i]);
}

// Write the numbers of all rows to a list, grouped by method. `taken`, which is zero before, counts the rows written
// for each method.
__device__ __forceinline__ void list_rows_by_method(
    const unsigned char* methods, u64 rows, const u64* counts, u64* taken, long long* list, u32* here, u64* starts
) {
    for (u64 base = blockIdx.x * (u64)blockDim.x; base < rows; base += threads_of_grid()) {
        for (u32 i = threadIdx.x; i < ALL_METHODS; i += blockDim.x) here[i] = 0;
        __syncthreads();
        const u64 row = base + threadIdx.x;
        const u32 method = row < rows ? methods[row] : 0, before = row < rows ? atomicAdd(here + method, 1u) : 0;
        __syncthreads();
        for (u32 i = threadIdx.x; i < ALL_METHODS; i += blockDim.x) {
            if (!here[i]) continue;
            starts[i] = atomicAdd(taken + i, (u64)here[i]);
            for (u32 k = 0; k < i; ++k) starts[i] += counts[k];
        }
        __syncthreads();
        if (row < rows) list[starts[method] + before] = row;
        __syncthreads();
    }
}

// Count the entries with a lower column than the previous entry of the same row, and the entries with the same column
// as the previous entry of the row.
__device__ __forceinline__ void find_order_of_rows(CSR lines, u64 rows, u64* found) {
    const u64 first = rows ? lines.offsets[0] : 0, last = rows ? lines.offsets[rows] : 0;
    u64 falls = 0, repeats = 0;
    const auto add_at = [&](u64 at, u64 times) {
        const int before = lines.indices[at - 1], here = lines.indices[at];
        falls += here < before ? times : 0;
        repeats += here == before ? times : 0;
    };
    for (u64 at = first + 1 + thread_of_grid(); at < last; at += threads_of_grid()) add_at(at, 1);
    // The first entry of each row was compared with the last entry of another row, too. Subtract these comparisons.
    for (u64 row = thread_of_grid(); row < rows; row += threads_of_grid()) {
        const u64 at = lines.offsets[row];
        if (at > first && at < (u64)lines.offsets[row + 1]) add_at(at, ~(u64)0);
    }
    falls = warp_sum(falls), repeats = warp_sum(repeats);
    if (lane() != 0) return;
    if (falls) atomicAdd(found, falls);
    if (repeats) atomicAdd(found + 1, repeats);
}

}  // namespace gasla
