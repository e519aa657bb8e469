// Properties of adjacency lists, found in one pass over the edges: whether the lists are sorted, repeat an edge,
// contain self-loops, and are symmetric. To test symmetry, every edge i -> j adds hash(i, j) to a sum and subtracts
// hash(j, i), as in gasla/graph/symmetry.py.
#pragma once
#include "random.cuh"

namespace gasla {

struct ListProperties {
    u64 imbalance;  // sum of the hashes modulo 2^64, which is 0 if the lists are symmetric
    // whether any entry of an adjacency list is less than the previous entry, equal to the previous entry, or equal to
    // the list's own vertex
    u64 falls, repeats, loops;
};

constexpr u32 SLICE = 1024;  // edges that a warp processes at a time

__device__ __forceinline__ u64 hash(u64 i, u64 j, u64 extra) { return mix(((i << 32) ^ j) * GOLDEN + extra); }

// Return the vertex whose adjacency list contains an edge: the last one that starts at or before the edge's position.
// The whole warp searches, with 32 comparisons in each step.
template <class offset_t> __device__ __forceinline__ u64 owner_of(const offset_t* offsets, u64 n, u64 edge) {
    u64 owner = 0;
    for (u64 high = n; high - owner > 1;) {
        const u64 step = (high - owner + WARP - 1) / WARP, i = owner + lane() * step;
        const bool before = i < high && (u64)offsets[i] <= edge;
        owner += (__popc(__ballot_sync(ALL, before)) - 1) * step;
        high = least(high, owner + step);
    }
    return owner;
}

// Find the properties of adjacency lists. Given edge values (`bits`), edges are symmetric if for each value as many
// edges lead from i to j as from j to i.
template <class offset_t, class vertex_t, class bits_t>
__device__ void find_list_properties(
    const offset_t* offsets, const vertex_t* indices, const bits_t* bits, u64 n, u64 m, ListProperties* found) {
    u64 imbalance = 0;
    bool falls = false, repeats = false, loops = false;
    for (u64 from = warp_of_grid() * SLICE; from < m; from += warps_of_grid() * SLICE) {
        const u64 to = least(from + SLICE, m);
        u64 owner = owner_of(offsets, n, from);
        for (u64 begin = from; begin < to;) {  // each step takes the adjacency lists of 32 vertices
            const offset_t start = offsets[least(owner + lane(), n)];
            const u64 end = least(to, (u64)offsets[least(owner + WARP, n)]);
            // If all 32 adjacency lists are empty, search for the next list with an entry. This saves time where nearly
            // all lists are empty.
            const u64 next = begin == end ? owner_of(offsets, n, begin) : owner + WARP;
#pragma unroll 1
            for (; begin < end; begin += WARP) {
                const u64 e = begin + lane();
                u32 at = 0;
#pragma unroll
                for (u32 step = WARP / 2; step; step >>= 1)
                    if ((u64)shuffle(start, at + step) <= e) at += step;
                const offset_t first = shuffle(start, at);
                if (e >= end) continue;
                const vertex_t neighbor = indices[e], before = indices[e ? e - 1 : 0];
                const u64 i = owner + at, j = (u64)neighbor;
                const bool follows = e > (u64)first;
                falls |= follows && neighbor < before;
                repeats |= follows && before == neighbor;
                loops |= i == j;
                const u64 extra = bits ? mix((u64)bits[e] * GOLDEN) : 0;
                imbalance += hash(i, j, extra) - hash(j, i, extra);
            }
            begin = end;
            owner = next;
        }
    }
    imbalance = warp_sum(imbalance);
    if (lane() == 0 && imbalance) atomicAdd(&found->imbalance, imbalance);
    if (falls) found->falls = 1;
    if (repeats) found->repeats = 1;
    if (loops) found->loops = 1;
}

}  // namespace gasla
