// Common neighbors of given pairs of vertices: their number, or the sum of their weights.
//
// The code that includes this file first defines the types vertex_t and offset_t, and the boolean `weighted`. The order
// of additions depends only on the adjacency lists, so that sums are reproducible.
#pragma once

#include "runtime.cuh"

namespace gasla {

typedef Choose<weighted, double, long long>::type sum_t;

constexpr u32 PAIR_THREADS = 256;  // threads per block, and pairs that a block processes at a time
constexpr u32 PAIR_GROUP = 8;      // threads per pair
constexpr u32 LONG_PAIR = 2048;  // if the shorter list has at least this many entries, a whole block processes the pair

// The sorted adjacency lists of a pair of vertices. The shorter list comes first.
struct Pair {
    const vertex_t *shorter, *longer;
    offset_t shorter_length, longer_length;
};

__device__ __forceinline__ offset_t first_not_less(const vertex_t* list, offset_t length, vertex_t w) {
    offset_t low = 0, high = length;
    while (low < high) {
        const offset_t middle = low + (high - low) / 2;
        if (list[middle] < w)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Return whether entry i of the shorter list also occurs in the longer list. If the entry is the k-th of several equal
// entries in the shorter list, the longer list must have at least k of them.
__device__ __forceinline__ bool has_partner(const Pair& pair, offset_t i) {
    const vertex_t w = pair.shorter[i];
    const bool repeats = i && pair.shorter[i - 1] == w;
    const offset_t before = repeats ? i - first_not_less(pair.shorter, i, w) : 0;
    const offset_t j = first_not_less(pair.longer, pair.longer_length, w) + before;
    return j < pair.longer_length && pair.longer[j] == w;
}

// Add up the weights of those of the entries first, first + step, ... of the shorter list that also occur in the longer
// list. Without weights, count these entries.
__device__ __forceinline__ sum_t common_part(const Pair& pair, offset_t first, u32 step, const double* weights) {
    sum_t sum = 0;
    for (offset_t i = first; i < pair.shorter_length; i += step)
        if (has_partner(pair, i)) {
            if constexpr (weighted)
                sum += weights[pair.shorter[i]];
            else
                ++sum;
        }
    return sum;
}

template <u32 lanes> __device__ __forceinline__ sum_t sum_of_lanes(sum_t x) {  // called by a whole warp
#pragma unroll
    for (u32 step = lanes / 2; step; step >>= 1) x += shuffle_xor(x, step);
    return x;
}

// Write the number of common neighbors, or the sum of their weights, for each pair. Each entry of the shorter list is
// searched in the longer list. This takes about shorter * log2(longer) reads per pair, of which caches serve all but
// the first few. Blocks take PAIR_THREADS pairs at a time from a shared counter.
extern "C" __global__ void __launch_bounds__(PAIR_THREADS) intersect_pairs(
    u64 count, const offset_t* indptr, const vertex_t* indices, const vertex_t* sources, const vertex_t* targets,
    const double* weights, u64* tickets, sum_t* found
) {
    __shared__ Pair pairs[PAIR_THREADS];
    __shared__ sum_t parts[PAIR_THREADS / WARP];
    __shared__ u64 ticket;
    while (true) {
        if (threadIdx.x == 0) ticket = atomicAdd(tickets, (u64)PAIR_THREADS);
        __syncthreads();
        const u64 start = ticket;
        if (start >= count) break;
        const u64 e = start + threadIdx.x;
        Pair mine = {nullptr, nullptr, 0, 0};
        if (e < count) {
            const vertex_t u = sources[e], v = targets[e];
            mine = {indices + indptr[u], indices + indptr[v], indptr[u + 1] - indptr[u], indptr[v + 1] - indptr[v]};
            if (mine.longer_length < mine.shorter_length)
                mine = {mine.longer, mine.shorter, mine.longer_length, mine.shorter_length};
        }
        pairs[threadIdx.x] = mine;
        __syncthreads();
        for (u32 k = threadIdx.x / PAIR_GROUP; k < PAIR_THREADS; k += PAIR_THREADS / PAIR_GROUP) {
            const Pair& pair = pairs[k];
            sum_t sum = 0;
            if (pair.shorter_length < LONG_PAIR) sum = common_part(pair, lane() % PAIR_GROUP, PAIR_GROUP, weights);
            sum = sum_of_lanes<PAIR_GROUP>(sum);
            if (lane() % PAIR_GROUP == 0 && start + k < count) found[start + k] = sum;
        }
        for (u32 k = 0; k < PAIR_THREADS; ++k) {
            const Pair& pair = pairs[k];
            if (pair.shorter_length < LONG_PAIR) continue;
            const sum_t sum = sum_of_lanes<WARP>(common_part(pair, threadIdx.x, PAIR_THREADS, weights));
            if (lane() == 0) parts[warp_of_block()] = sum;
            __syncthreads();
            if (threadIdx.x == 0) {
                sum_t all = 0;
                for (u32 i = 0; i < PAIR_THREADS / WARP; ++i) all += parts[i];
                found[start + k] = all;
            }
            __syncthreads();
        }
        __syncthreads();
    }
}

}  // namespace gasla
