// Sorts vertices by level, and by id within a level, by a counting sort, which is fast if there are few levels. In a
// first launch, each warp counts the vertices of each level in its range. From these counts each warp knows in a second
// launch where to write its vertices.
//
// The code that includes this file first defines the type vertex_t.
//
// Lower bound of the time for n vertices: 4 n bytes are read twice, the second time from the L2 cache, and n ids are
// written. For 4 Mi vertices this is 12 us.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 MOST = 64;  // the largest number of levels
constexpr u32 AT_ONCE = 4;

// The range of vertices that a warp processes.
struct WarpRange {
    const int* levels;
    u32 first, depth;
    u64 begin, end;

    __device__ WarpRange(const int* levels, u64 n, u32 first, u32 depth) : levels(levels), first(first), depth(depth) {
        const u64 size = ((n + WARP - 1) / WARP + warps_of_grid() - 1) / warps_of_grid() * WARP;
        begin = least(n, warp_of_grid() * size);
        end = least(n, begin + size);
    }

    // Call `visit(v, level, alike)` for each vertex. The level is counted from `first` on, or is `depth` if the vertex
    // never receives. `alike` is the mask of the warp's lanes whose vertices have the same level.
    template <class Visit> __device__ __forceinline__ void each(Visit visit) const {
        for (u64 v = begin + lane(); v - lane() < end; v += AT_ONCE * WARP) {
            u32 level[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) level[k] = v + k * WARP < end ? (u32)levels[v + k * WARP] - first : depth;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                const u32 mine = least(level[k], depth);
                visit(v + k * WARP, mine, __match_any_sync(ALL, mine));
            }
        }
    }
};

}  // namespace gasla

// The following kernels count the vertices of each level, and then write them.

using namespace gasla;

// Count the vertices of each level, in each warp's range (`counts`) and in each block's range (`totals`).
extern "C" __global__ void __launch_bounds__(1024)
count_levels(const int* levels, u64 n, u64 first, u64 depth, u32* counts, u32* totals) {
    __shared__ u32 rows[WARP][MOST + 1];
    for (u32 i = threadIdx.x; i < WARP * (MOST + 1); i += blockDim.x) rows[i / (MOST + 1)][i % (MOST + 1)] = 0;
    __syncthreads();
    u32* mine = rows[warp_of_block()];
    WarpRange(levels, n, (u32)first, (u32)depth).each([&](u64 v, u32 level, u32 alike) {
        if (!(alike & lanes_below())) mine[level] += __popc(alike);
        __syncwarp();
    });
    __syncthreads();
    for (u32 level = warp_of_block(); level < depth; level += warps_of_block()) {
        const u32 own = rows[lane()][level], total = warp_sum(own);
        counts[(blockIdx.x * depth + level) * WARP + lane()] = own;
        if (lane() == 0) totals[level * gridDim.x + blockIdx.x] = total;
    }
}

// Write the vertices sorted by level to `order`, and the position at which each level starts to `starts`.
extern "C" __global__ void __launch_bounds__(1024)
place_by_level(const int* levels, u64 n, u64 first, u64 depth, const u32* counts, const u32* totals, vertex_t* order,
               long long* starts) {
    // For each level, the number of all its vertices, and of those vertices in the ranges of earlier blocks.
    __shared__ u64 all[MOST], before[MOST];
    __shared__ u64 places[WARP][MOST];  // for each warp and level: the position of the next vertex
    for (u32 level = warp_of_block(); level < depth; level += warps_of_block()) {
        u64 sum = 0, below = 0;
        for (u32 block = lane(); block < gridDim.x; block += WARP) {
            const u32 total = totals[level * gridDim.x + block];
            sum += total;
            if (block < blockIdx.x) below += total;
        }
        sum = warp_sum(sum);
        below = warp_sum(below);
        if (lane() == 0) all[level] = sum, before[level] = below;
    }
    __syncthreads();
    for (u32 level = warp_of_block(); level <= depth; level += warps_of_block()) {
        u64 start = 0;
        for (u32 lower = lane(); lower < level; lower += WARP) start += all[lower];
        start = warp_sum(start);
        if (blockIdx.x == 0 && lane() == 0) starts[level] = start;
        if (level == depth) break;
        const u32 own = counts[(blockIdx.x * depth + level) * WARP + lane()];
        places[lane()][level] = start + before[level] + scan_inclusive(own) - own;
    }
    __syncthreads();
    u64* mine = places[warp_of_block()];
    WarpRange(levels, n, (u32)first, (u32)depth).each([&](u64 v, u32 level, u32 alike) {
        const u32 rank = __popc(alike & lanes_below());
        const u64 place = level < depth ? mine[level] : 0;
        __syncwarp();
        if (level < depth) {
            if (rank == 0) mine[level] = place + __popc(alike);
            order[place + rank] = (vertex_t)v;
        }
        __syncwarp();
    });
}
