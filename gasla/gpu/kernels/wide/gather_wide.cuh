// Gathering wide vectors (many components per vertex). A warp processes one vertex and walks its row in order. Its
// lanes load 32 neighbor ids at a time, one id each. Then all lanes load the vector of one neighbor side by side, for
// several neighbors at once.
//
// Therefore all lanes of a warp call every function of the program together.
#pragma once
#include "gather.cuh"
#include "rows.cuh"
#include "spread.cuh"

namespace gasla {

// The number of neighbors whose values a warp loads together. It keeps enough bytes in flight to hide memory latency,
// without using too many registers.
template <class P> constexpr u32 values_at_once() {
    constexpr u32 bytes = sizeof(typename P::Source);  // bytes per lane
    return P::LEAVES_EARLY ? 2 : bytes <= 4 ? 8 : bytes <= 16 ? 4 : 2;
}

// Call `visit(i)` for each of `count` items, one warp per item.
template <class Visit> __device__ __forceinline__ void by_warps(u64 count, Visit visit) {
    for (u64 i = this_warp_of_grid(); i < count; i += warps_of_grid()) visit(i);
}

// Return the neighbor of this lane: the warp's lanes get the 32 neighbors from position `first` on. Lanes beyond the
// end of the row get the last neighbor, so that the id is always valid.
__device__ __forceinline__ vertex_t own_neighbor(ids_t indices, offset_t first, offset_t last) {
    if (first >= last) return 0;
    return indices[first + least<offset_t>(lane(), last - first - 1)];
}

// Reduce the row of a vertex from position `first` on. `own` is this lane's neighbor among the first 32. With RECEIVER,
// the vertex receives a value even if no neighbor is active.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> gather_row(const typename P::Context& c, vertex_t v, offset_t first, offset_t last,
                                             vertex_t own, u64& touched) {
    constexpr bool test = Tests<P, RECEIVER>::value;
    constexpr u32 AT_ONCE = values_at_once<P>();
    Row<P> row{P::identity(), RECEIVER || P::EVERYONE, false};
    if constexpr (P::GATHERS || (!RECEIVER && !P::EVERYONE)) {
        if (first >= last) return row;
        const typename P::Target target = P::load_target(c, v);
        u32 looked_at = 0;
        u32 count;
        for (offset_t base = first; base < last && !row.over; base += (offset_t)count) {
            const vertex_t u = own;
            count = (u32)least<offset_t>(last - base, WARP);
            const u32 all = ALL >> (WARP - count);
            if (base + (offset_t)count < last) own = own_neighbor(c.a.gi, base + (offset_t)count, last);
            const u32 from_active = test ? __ballot_sync(ALL, lane() < count && has(c.active(), u)) : all;
            u32 rest = from_active;  // bits of the neighbors still to be reduced, if only active neighbors count
            const u32 taken = P::ACTIVE_ONLY ? __popc(from_active) : count;
            for (u32 done = 0; done < taken && !row.over; done += AT_ONCE) {
                typename P::Source source[AT_ONCE];
                typename P::Edge edge[AT_ONCE];
                u32 at[AT_ONCE];
#pragma unroll
                // Beyond the end of the row, the last neighbor is loaded again, so that no load waits for a branch.
                for (u32 k = 0; k < AT_ONCE; ++k) {
                    if constexpr (P::ACTIVE_ONLY) {
                        at[k] = rest ? __ffs(rest) - 1 : at[k ? k - 1 : 0];
                        rest &= rest - 1;
                    } else {
                        at[k] = least(done + k, count - 1);
                    }
                    source[k] = P::load_source(c, shuffle(u, at[k]));
                    edge[k] = P::load_edge_in(c, base + (offset_t)at[k]);
                }
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k)
                    if (done + k < taken && !row.over) {
                        take<P>(c, row, target, edge[k], source[k], from_active >> at[k] & 1);
                        ++looked_at;
                    }
            }
            if constexpr (P::ACTIVE_ONLY) looked_at += count - taken;
        }
        if (lane() == 0) touched += looked_at;
    }
    return row;
}

// Reduce the whole row of vertex v by one warp.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> gather_row(const typename P::Context& c, vertex_t v, u64& touched) {
    const offset_t first = c.a.gp[v], last = c.a.gp[v + 1];
    return gather_row<P, RECEIVER>(c, v, first, last, own_neighbor(c.a.gi, first, last), touched);
}

// Write the bits of a group of consecutive vertices to a bitmap. A group has 32, 16 or 8 vertices (`together`).
__device__ __forceinline__ void put_bits(u32* bits, u64 group, u32 together, u32 mask) {
    if (together == 32)
        bits[group] = mask;
    else if (together == 16)
        reinterpret_cast<unsigned short*>(bits)[group] = (unsigned short)mask;
    else
        reinterpret_cast<unsigned char*>(bits)[group] = (unsigned char)mask;
}

// Visit all vertices in groups of consecutive vertices, a warp per group. In a group, the vertices for whose rows
// `wanted(first, last)` is true are visited one after another. Then `then(group, own, together)` is called, where `own`
// is the vertex of this lane and `together` the size of the group: 32, or fewer if there would be too few groups. While
// one vertex is visited, the first neighbors of the next vertex and the row offsets of the next group are loaded.
template <class P, class Wanted, class Visit, class Then>
__device__ __forceinline__ void over_lists(const typename P::Context& c, u64 begin, Wanted wanted, Visit visit, Then then) {
    struct List {
        offset_t first, last;
    };
    const u64 n = c.a.self_n, words = c.a.words, stride = warps_of_grid();
    const u32 together = words >= stride ? 32 : 2 * words >= stride ? 16 : 8;
    const auto list_of = [&](u64 group) {
        const u64 v = group * together + lane();
        return lane() < together && v < n ? List{c.a.gp[v], c.a.gp[v + 1]} : List{0, 0};
    };
    List coming = list_of(begin);
    for (u64 group = begin; group < words * (WARP / together); group += stride) {
        const List mine = coming;
        const u64 own = group * together + lane();
        coming = list_of(group + stride);
        u32 rest = __ballot_sync(ALL, lane() < together && own < n && wanted(mine.first, mine.last));
        const auto ask = [&](u32 rest) {
            const u32 next = rest ? __ffs(rest) - 1 : 0;
            return own_neighbor(c.a.gi, shuffle(mine.first, next), rest ? shuffle(mine.last, next) : 0);
        };
        vertex_t neighbor = ask(rest);
        while (rest) {
            const u32 j = __ffs(rest) - 1;
            rest &= rest - 1;
            const vertex_t here = neighbor;
            neighbor = ask(rest);
            visit((vertex_t)(group * together + j), j, shuffle(mine.first, j), shuffle(mine.last, j), here);
        }
        then(group, own, together);
    }
}

}  // namespace gasla
