// The gather stage, in which a vertex reduces values over its incoming edges. Each lane walks the first edges of its
// own vertex. The whole warp then walks the remaining edges of vertices with many edges. The order of edges is kept
// within and between lanes, so that sums are reproducible and monoids need not commute.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr u32 EDGES_OF_LANE = 32;  // edges of a row that one lane walks, before the whole warp walks the rest

// The state of the reduction of one vertex's row. P is the program, a class that gasla/gpu/program/generate writes.
template <class P> struct Row {
    typename P::Gathered gathered;
    bool found;  // whether the vertex has received a value
    bool over;   // whether no further edge can change the result
};

// Reduce the value of one edge into the result of a vertex's row. `from_active` says whether the edge's source is
// active.
template <class P>
__device__ __forceinline__ void take(const typename P::Context& c, Row<P>& row, const typename P::Target& target,
                                     const typename P::Edge& edge, const typename P::Source& source, bool from_active) {
    if constexpr (P::HAS_EDGE_MASK)
        if (!P::edge_mask(c, source, target, edge)) return;
    row.found |= from_active;
    if constexpr (P::GATHERS) {
        if constexpr (P::TAKES_FIRST) {
            row.gathered = P::gather(c, source, target, edge);
            row.over = row.found;
        } else {
            row.gathered = P::combine(row.gathered, P::gather(c, source, target, edge));
            row.over = row.found && P::is_terminal(row.gathered);
        }
    } else {
        row.over = row.found;
    }
}

// Load an edge and its source, and reduce the value of the edge into the result of a vertex's row by `take`. If the
// program gathers from active vertices only, edges from other vertices are skipped.
template <class P>
__device__ __forceinline__ void step(const typename P::Context& c, Row<P>& row, const typename P::Target& target,
                                     offset_t e, vertex_t u, bool from_active) {
    if constexpr (P::ACTIVE_ONLY)
        if (!from_active) return;
    take<P>(c, row, target, P::load_edge_in(c, e), P::load_source(c, u), from_active);
}

// The ids of the next few neighbors in a row. They are loaded before it is known whether they are needed, to save time.
template <int AHEAD> struct Neighbors {
    vertex_t u[AHEAD];

    __device__ __forceinline__ void load(ids_t indices, offset_t first, offset_t last, u32 stride) {
        if (first >= last) return;
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            const offset_t e = first + (offset_t)(j * stride);
            u[j] = indices[e < last ? e : first];
        }
    }
};

// Force a value to be loaded at this point. Otherwise the compiler would delay the load until it is known whether a
// branch needs the value, and loads would not overlap.
__device__ __forceinline__ void settle(u32 value) { asm volatile("" ::"r"(value)); }

// Reduce the edges at positions first, first + stride, ... of a row. `neighbors` holds the ids of the first few
// neighbors. Returns the number of edges visited.
template <class P, bool TEST, int AHEAD>
__device__ __forceinline__ u32 walk(const typename P::Context& c, Row<P>& row, const typename P::Target& target,
                                    offset_t first, offset_t last, u32 stride, Neighbors<AHEAD> neighbors) {
    u32 touched = 0;
    const u32* active = c.active();
    for (offset_t e = first; e < last && !row.over; e += (offset_t)(AHEAD * stride)) {
        const Neighbors<AHEAD> here = neighbors;
        neighbors.load(c.a.gi, e + (offset_t)(AHEAD * stride), last, stride);
        u32 word[AHEAD];
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) word[j] = TEST ? active[here.u[j] / WARP] : ALL;
        if constexpr (TEST)
#pragma unroll
            for (int j = 0; j < AHEAD; ++j) settle(word[j]);
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            if (e + (offset_t)(j * stride) >= last || row.over) break;
            step<P>(c, row, target, e + (offset_t)(j * stride), here.u[j], word[j] & bit_of(here.u[j]));
            ++touched;
        }
    }
    return touched;
}

template <class P> constexpr int ahead_of = P::LEAVES_EARLY ? 2 : 4;

// Whether a gather must look up which neighbors are active. With RECEIVER, all vertices that gather receive a value
// even if no neighbor is active.
template <class P, bool RECEIVER> struct Tests {
    static constexpr bool value = P::ACTIVE_ONLY || (!RECEIVER && !P::EVERYONE);
};

template <class P, bool RECEIVER>  // gathers by key; defined in keyed_rows.cuh
__device__ Row<P> keyed_rows(const typename P::Context& c, bool wanted, vertex_t v, offset_t first, offset_t last, u64& touched);

// Reduce the rows of up to 32 vertices, one vertex per lane. `wanted` says whether this lane has a vertex. With
// RECEIVER, all of these vertices receive a value even if no neighbor is active.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> gather_rows(
    const typename P::Context& c, bool wanted, vertex_t v, offset_t first, offset_t last,
    Neighbors<ahead_of<P>> neighbors, u64& touched) {
    constexpr bool test = Tests<P, RECEIVER>::value;
    constexpr int ahead = ahead_of<P>;
    Row<P> row{P::identity(), RECEIVER || P::EVERYONE, !wanted};
    if constexpr (P::KEYED) {
        row = keyed_rows<P, RECEIVER>(c, wanted, v, first, last, touched);
    } else if constexpr (P::GATHERS || (!RECEIVER && !P::EVERYONE)) {
        typename P::Target target;
        if (wanted) {
            target = P::load_target(c, v);
            const offset_t end = last - first > (offset_t)EDGES_OF_LANE ? first + (offset_t)EDGES_OF_LANE : last;
            touched += walk<P, test, ahead>(c, row, target, first, end, 1, neighbors);
            first = end;
        }
        for (u32 rest = __ballot_sync(ALL, !row.over && first < last); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const vertex_t w = shuffle(v, owner);
            const offset_t low = shuffle(first, owner), high = shuffle(last, owner);
            const typename P::Target its = P::load_target(c, w);
            Row<P> part{P::identity(), false, false};
            if constexpr (P::COMMUTES) {
                neighbors.load(c.a.gi, low + lane(), high, WARP);
                touched += walk<P, test, ahead>(c, part, its, low + lane(), high, WARP, neighbors);
            } else {  // each lane reduces consecutive edges, which keeps their order
                const offset_t run = (high - low + WARP - 1) / WARP;
                const offset_t from = low + run * lane();
                neighbors.load(c.a.gi, least(from, high), least(from + run, high), 1);
                touched += walk<P, test, ahead>(c, part, its, least(from, high), least(from + run, high), 1, neighbors);
            }
            const u32 finders = __ballot_sync(ALL, part.found);
            if constexpr (P::GATHERS) {
                if constexpr (P::TAKES_FIRST) {
                    const u32 winner = finders ? __ffs(finders) - 1 : 0;
                    part.gathered = shuffle(part.gathered, winner);
                } else {
#pragma unroll
                    // The results of adjacent lanes are combined first, so that values are combined in the order of
                    // edges.
                    for (u32 step = 1; step < WARP; step <<= 1) {
                        const typename P::Gathered other = shuffle(part.gathered, (lane() + step) % WARP);
                        part.gathered = P::combine(part.gathered, other);
                    }
                    part.gathered = shuffle(part.gathered, 0);
                }
                if (lane() == owner && (finders || !P::TAKES_FIRST))
                    row.gathered = P::TAKES_FIRST ? part.gathered : P::combine(row.gathered, part.gathered);
            }
            if (lane() == owner) row.found |= finders != 0;
        }
    }
    return row;
}

}  // namespace gasla
