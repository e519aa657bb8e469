// Finds properties of a sparse matrix's rows in one pass, by which the host divides the rows among threads (rows.py),
// and the numbers of long rows.
#pragma once

#include "runtime.cuh"

namespace gasla {

struct RowProperties {
    long long lowest, highest;  // column indices; `lowest` is set only if it is negative
    u64 longest;  // length of the longest row
    u32 wrong_offsets;
    // The number of entries in the sample, and of those whose column is near the column of the entry at the same
    // position in the next row.
    u32 compared, near;
};

constexpr u64 SAMPLES = 1 << 14;
constexpr long long NEAR = 32;

__device__ __forceinline__ u32 mixed(u32 x) {
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

template <class offset_t, class ids_t>
__device__ __forceinline__ void compare_next_row(const offset_t* offsets, ids_t indices, u64 row, RowProperties* found) {
    const u64 a = offsets[row], b = offsets[row + 1], c = offsets[row + 2];
    const u64 shared = least(b - a, c - b);
    if (shared == 0) return;
    const u64 place = mixed((u32)row) * shared >> 32;
    const long long distance = (long long)indices[a + place] - (long long)indices[b + place];
    atomicAdd(&found->compared, 1u);
    if (distance < NEAR && distance > -NEAR) atomicAdd(&found->near, 1u);
}

template <class offset_t, class ids_t>
__device__ void find_row_properties(const offset_t* offsets, ids_t indices, u64 rows, u64 stored, RowProperties* found) {
    const u64 me = thread_of_grid(), all = threads_of_grid();
    u64 longest = 0;
    bool wrong = false;
    for (u64 row = me; row < rows; row += all) {
        const long long a = offsets[row], b = offsets[row + 1];
        wrong |= a < 0 || a > b || b > (long long)stored;
        longest = most<u64>(longest, wrong ? 0 : b - a);
    }
    if (wrong) found->wrong_offsets = 1;
    if (longest) atomicMax(&found->longest, longest);
    const long long first = rows ? offsets[0] : 0, last = rows ? offsets[rows] : 0;
    if (first < 0 || first > last || last > (long long)stored) return;
    long long lowest = 0, highest = -1;
    for (u64 e = first + me; e < (u64)last; e += all) {
        lowest = least<long long>(lowest, indices[e]);
        highest = most<long long>(highest, indices[e]);
    }
    if (lowest < 0) atomicMin(&found->lowest, lowest);
    if (highest >= 0) atomicMax(&found->highest, highest);
}

// Compare a sample of entries with entries at the same positions of the next row. This requires valid row offsets.
template <class offset_t, class ids_t>
__device__ void sample_rows(const offset_t* offsets, ids_t indices, u64 rows, RowProperties* found) {
    const u64 step = most<u64>(rows / SAMPLES, 1);
    for (u64 row = thread_of_grid() * step; row + 1 < rows; row += threads_of_grid() * step)
        compare_next_row(offsets, indices, row, found);
}

// Write the numbers of the rows of more than `limit` entries, in no fixed order.
template <class offset_t>
__device__ void list_long_rows(const offset_t* offsets, u64 rows, u64 limit, u64* found, u64* list) {
    for (u64 row = thread_of_grid(); row < rows; row += threads_of_grid())
        if ((u64)(offsets[row + 1] - offsets[row]) > limit) list[atomicAdd(found, (u64)1)] = row;
}

}  // namespace gasla
