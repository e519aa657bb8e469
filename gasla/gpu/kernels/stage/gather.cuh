// Gather: a vertex reduces over its in-edges. Short lists are walked by one lane each; what a list has beyond that, by
// the whole warp. Order is kept, in lanes and between them, so that sums come out the same and a monoid need not commute.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr u32 ALONE = 32;  // edges of a list that a lane walks before the warp helps

// The state of one vertex's reduction. P is the program (see `gasla/gpu/program/generate`).
template <class P> struct Row {
    typename P::Gathered gathered;
    bool found;  // whether it receives
    bool over;   // whether nothing can change the result
};

// One edge of the row of a vertex, and its neighbour, which is active or not.
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

// The same where they aren't loaded yet.
template <class P>
__device__ __forceinline__ void step(const typename P::Context& c, Row<P>& row, const typename P::Target& target,
                                     offset_t e, vertex_t u, bool from_active) {
    if constexpr (P::ACTIVE_ONLY)
        if (!from_active) return;
    take<P>(c, row, target, P::load_edge_in(c, e), P::load_source(c, u), from_active);
}

// Neighbours that are on their way before it is known whether they will be looked at.
template <int AHEAD> struct Neighbours {
    vertex_t u[AHEAD];

    __device__ __forceinline__ void load(const vertex_t* indices, offset_t first, offset_t last, u32 stride) {
        if (first >= last) return;
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            const offset_t e = first + (offset_t)(j * stride);
            u[j] = indices[e < last ? e : first];
        }
    }
};

// Values that must be there at this point: else the compiler puts a load off until a branch has been decided.
__device__ __forceinline__ void settle(u32 value) { asm volatile("" ::"r"(value)); }

// Edges first, first + stride, ... of a row; `neighbours` are the first few. Returns how many were looked at.
template <class P, bool TEST, int AHEAD>
__device__ __forceinline__ u32 walk(const typename P::Context& c, Row<P>& row, const typename P::Target& target,
                                    offset_t first, offset_t last, u32 stride, Neighbours<AHEAD> neighbours) {
    u32 touched = 0;
    const u32* active = c.active();
    for (offset_t e = first; e < last && !row.over; e += (offset_t)(AHEAD * stride)) {
        const Neighbours<AHEAD> here = neighbours;
        neighbours.load(c.a.gi, e + (offset_t)(AHEAD * stride), last, stride);
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

// Whether the activity of neighbours has to be looked up.
template <class P, bool RECEIVER> struct Tests {
    static constexpr bool value = P::ACTIVE_ONLY || (!RECEIVER && !P::EVERYONE);
};

template <class P, bool RECEIVER>  // the same where values reduce by key (keyed_rows.cuh)
__device__ Row<P> keyed_rows(const typename P::Context& c, bool wanted, vertex_t v, offset_t first, offset_t last, u64& touched);

// Reduce the rows of up to 32 vertices, one a lane; `wanted` says which lanes have one. RECEIVER: they all receive.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> gather_rows(
    const typename P::Context& c, bool wanted, vertex_t v, offset_t first, offset_t last,
    Neighbours<ahead_of<P>> neighbours, u64& touched) {
    constexpr bool test = Tests<P, RECEIVER>::value;
    constexpr int ahead = ahead_of<P>;
    Row<P> row{P::identity(), RECEIVER || P::EVERYONE, !wanted};
    if constexpr (P::KEYED) {
        row = keyed_rows<P, RECEIVER>(c, wanted, v, first, last, touched);
    } else if constexpr (P::GATHERS || (!RECEIVER && !P::EVERYONE)) {
        typename P::Target target;
        if (wanted) {
            target = P::load_target(c, v);
            const offset_t alone = last - first > (offset_t)ALONE ? first + (offset_t)ALONE : last;
            touched += walk<P, test, ahead>(c, row, target, first, alone, 1, neighbours);
            first = alone;
        }
        for (u32 rest = __ballot_sync(ALL, !row.over && first < last); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const vertex_t w = shuffle(v, owner);
            const offset_t low = shuffle(first, owner), high = shuffle(last, owner);
            const typename P::Target its = P::load_target(c, w);
            Row<P> part{P::identity(), false, false};
            if constexpr (P::COMMUTES) {
                neighbours.load(c.a.gi, low + lane(), high, WARP);
                touched += walk<P, test, ahead>(c, part, its, low + lane(), high, WARP, neighbours);
            } else {  // a run of neighbours for each lane
                const offset_t run = (high - low + WARP - 1) / WARP;
                const offset_t from = low + run * lane();
                neighbours.load(c.a.gi, least(from, high), least(from + run, high), 1);
                touched += walk<P, test, ahead>(c, part, its, least(from, high), least(from + run, high), 1, neighbours);
            }
            const u32 finders = __ballot_sync(ALL, part.found);
            if constexpr (P::GATHERS) {
                if constexpr (P::TAKES_FIRST) {
                    const u32 winner = finders ? __ffs(finders) - 1 : 0;
                    part.gathered = shuffle(part.gathered, winner);
                } else {
#pragma unroll
                    for (u32 step = 1; step < WARP; step <<= 1) {  // neighbours first, so that the order stays
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
