// Finds the neighbor of highest degree of each vertex. A breadth-first search usually reaches this neighbor before
// other neighbors, so it is tested first.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr u32 GROUP = 8;  // lanes that process one vertex
constexpr u32 LOOKS = 64;  // neighbors that are compared; if a vertex has more, a sample of them

// Write the neighbor of highest degree of each vertex to `hub_neighbors`. A few adjacent lanes process a vertex, so
// that a warp reads the adjacency lists of consecutive vertices together. A vertex without neighbors gets its own id.
template <class offset_t, class ids_t, class vertex_t>
__device__ void find_hub_neighbors(const offset_t* offsets, ids_t indices, u64 n, vertex_t* hub_neighbors) {
    constexpr u64 AT_ONCE = WARP / GROUP;
    for (u64 base = warp_of_grid() * AT_ONCE; base < n; base += warps_of_grid() * AT_ONCE) {
        const u64 v = base + lane() / GROUP;
        const offset_t first = v < n ? offsets[v] : 0, last = v < n ? offsets[v + 1] : 0;
        const offset_t step = (last - first) / (offset_t)LOOKS + 1;
        vertex_t hub = (vertex_t)v;
        offset_t highest = -1;
        for (offset_t e = first + (offset_t)(lane() % GROUP) * step; e < last; e += (offset_t)GROUP * step) {
            const vertex_t u = indices[e];
            const offset_t degree = offsets[u + 1] - offsets[u];
            if (degree > highest) {
                highest = degree;
                hub = u;
            }
        }
#pragma unroll
        for (u32 distance = GROUP / 2; distance; distance >>= 1) {
            const offset_t other_highest = shuffle_xor(highest, distance);
            const vertex_t other_hub = shuffle_xor(hub, distance);
            if (other_highest > highest || (other_highest == highest && other_hub < hub)) {
                highest = other_highest;
                hub = other_hub;
            }
        }
        if (v < n && lane() % GROUP == 0) hub_neighbors[v] = hub;
    }
}

}  // namespace gasla
