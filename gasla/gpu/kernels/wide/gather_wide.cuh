// Gather over wide vectors: a warp takes a vertex, and walks its list in order. The neighbours are loaded 32 at a time,
// one by each lane; then the lanes read the values of one neighbour side by side, of some neighbours at once.
//
// So whatever the lanes do they do together, and every function of such a program is called by all of them.
#pragma once
#include "gather.cuh"
#include "rows.cuh"
#include "spread.cuh"

namespace gasla {

// Neighbours whose values are under way at once: enough bytes to hide how long memory takes, and not too many registers.
template <class P> constexpr u32 values_at_once() {
    constexpr u32 bytes = sizeof(typename P::Source);  // of a lane
    return P::LEAVES_EARLY ? 2 : bytes <= 4 ? 8 : bytes <= 16 ? 4 : 2;
}

// One after the other, as many side by side as there are warps.
template <class Visit> __device__ __forceinline__ void by_warps(u64 count, Visit visit) {
    for (u64 i = this_warp_of_grid(); i < count; i += warps_of_grid()) visit(i);
}

// Of a list's places from `first` on, the lane's own neighbour; any of the list's where there are fewer.
__device__ __forceinline__ vertex_t own_neighbour(const vertex_t* indices, offset_t first, offset_t last) {
    if (first >= last) return 0;
    return indices[first + least<offset_t>(lane(), last - first - 1)];
}

// The neighbours of one vertex, from place `first` on; `own` is the lane's among the first 32. RECEIVER: it receives in any
// case.
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
            if (base + (offset_t)count < last) own = own_neighbour(c.a.gi, base + (offset_t)count, last);
            const u32 from_active = test ? __ballot_sync(ALL, lane() < count && has(c.active(), u)) : all;
            u32 rest = from_active;  // of those to take, where others are passed over
            const u32 taken = P::ACTIVE_ONLY ? __popc(from_active) : count;
            for (u32 done = 0; done < taken && !row.over; done += AT_ONCE) {
                typename P::Source source[AT_ONCE];
                typename P::Edge edge[AT_ONCE];
                u32 at[AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k) {  // past the end the last one again, so that no load waits for a branch
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

// The whole list of a vertex.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> gather_row(const typename P::Context& c, vertex_t v, u64& touched) {
    const offset_t first = c.a.gp[v], last = c.a.gp[v + 1];
    return gather_row<P, RECEIVER>(c, v, first, last, own_neighbour(c.a.gi, first, last), touched);
}

// Write a bit for each vertex of a group, of 32, 16 or 8.
__device__ __forceinline__ void put_bits(u32* bits, u64 group, u32 together, u32 mask) {
    if (together == 32)
        bits[group] = mask;
    else if (together == 16)
        reinterpret_cast<unsigned short*>(bits)[group] = (unsigned short)mask;
    else
        reinterpret_cast<unsigned char*>(bits)[group] = (unsigned char)mask;
}

// Visit vertices in groups, of those that lie side by side: one after the other, if a lane that sees its list wants it;
// `then` gets each group, a lane's own vertex, and how many are together: 32, or less where there would be few groups.
// While one is visited the first neighbours of the next are on their way, and where the lists of the next group are.
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
            return own_neighbour(c.a.gi, shuffle(mine.first, next), rest ? shuffle(mine.last, next) : 0);
        };
        vertex_t neighbour = ask(rest);
        while (rest) {
            const u32 j = __ffs(rest) - 1;
            rest &= rest - 1;
            const vertex_t here = neighbour;
            neighbour = ask(rest);
            visit((vertex_t)(group * together + j), j, shuffle(mine.first, j), shuffle(mine.last, j), here);
        }
        then(group, own, together);
    }
}

}  // namespace gasla
