// Samples of neighbors, a thread per row; and prefix sums of weights, from which walkers draw.
//
// Before this file: the typedefs vertex_t and offset_t.
#pragma once

#include "random.cuh"

namespace gasla {

// Prefix sums of each list's weights, a thread per list: additions are in the order of the CPU.
extern "C" __global__ void sum_lists(u64 n, const offset_t* indptr, const double* weights, double* sums) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        double total = 0;
        for (offset_t k = indptr[v]; k < indptr[v + 1]; ++k) sums[k] = total += weights[k];
    }
}

// For each list of d entries and each j < d: the first position whose sum exceeds j / d of the list's total.
extern "C" __global__ void guide_lists(u64 n, const offset_t* indptr, const double* sums, u32* guides) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const u64 first = indptr[v], last = indptr[v + 1], size = last - first;
        u64 k = first;
        for (u64 j = 0; j < size; ++j) {
            const double mark = (double)j / (double)size * sums[last - 1];
            while (k < last - 1 && sums[k] <= mark) ++k;
            guides[first + j] = (u32)(k - first);
        }
    }
}

// Samples without replacement by Floyd's algorithm: a draw that repeats an earlier one is replaced by the highest
// position allowed so far.
extern "C" __global__ void sample(
    u64 rows, u64 k, const offset_t* indptr, const vertex_t* indices, const vertex_t* ids, u64 key, bool replace,
    vertex_t* found
) {
    for (u64 w = thread_of_grid(); w < rows; w += threads_of_grid()) {
        vertex_t* const row = found + w * k;
        const vertex_t v = ids[w];
        const u64 first = indptr[v], degree = (u64)indptr[v + 1] - first, state = mixed(key, w);
        const u64 count = replace && degree ? k : least(k, degree);
        for (u64 j = 0; j < count; ++j) {
            const u64 top = degree - count + j;
            u64 drawn = share(mixed(state, j), replace ? degree : top + 1);
            for (u64 i = 0; i < j && !replace; ++i) {
                if ((u64)row[i] == drawn) {
                    drawn = top;
                    break;
                }
            }
            row[j] = (vertex_t)drawn;
        }
        for (u64 j = 0; j < k; ++j) row[j] = j < count ? indices[first + (u64)row[j]] : (vertex_t)-1;
    }
}

}  // namespace gasla
