// What active vertices do along their outgoing edges: send values, which the targets reduce, or write to fields of the
// edges (scatter).
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"

namespace gasla {

// Sends values along outgoing edges. Vertices that need further work are appended to the list `aside`: those that are
// yet to apply a value, are postponed, or must be released so that other values can reach them. With LOOKS, a plain
// read first tests whether a vertex needs an atomic operation, which avoids most of these but takes time. A stale read
// only causes an atomic operation that was not needed.
template <class P, class Next, class Aside, bool LOOKS> struct Push {
    typedef typename P::Context Context;
    typedef typename P::Source Source;
    typedef typename P::Target Target;
    typedef typename P::Gathered Gathered;
    Context& c;
    Next& next;  // where newly active vertices are appended
    Aside& aside;
    Range waiting;

    template <int N>
    __device__ __forceinline__ void batch(
        const offset_t (&at)[N], const Source (&source)[N], const bool (&valid)[N]) {
        vertex_t v[N];
#pragma unroll
        for (int j = 0; j < N; ++j) v[j] = valid[j] ? c.a.si[at[j]] : 0;
        next.prepare(valid, v);
        if constexpr (P::ABSORBS)
            into_field<N>(at, source, valid, v);
        else if constexpr (P::PUSHES_AT_ONCE)
            apply_at_once<N>(at, source, valid, v);
        else
            into_accumulators<N>(at, source, valid, v);
    }

    // Combine the values with the targets' fields directly, by an atomic for each component. A thread whose value
    // changes a component appends the target to the active vertices of the next iteration.
    template <int N>
    __device__ __forceinline__ void into_field(const offset_t (&at)[N], const Source (&source)[N],
                                               const bool (&valid)[N], const vertex_t (&v)[N]) {
        if constexpr (P::ABSORBS) {
            Gathered value[N];
            bool better[N], put_off[N];
#pragma unroll
            for (int j = 0; j < N; ++j) {
                better[j] = put_off[j] = false;
                if (!valid[j] || !P::admits(c, v[j])) continue;
                const typename P::Edge edge = P::load_edge_out(c, at[j]);
                const Target target = P::load_target(c, v[j]);
                if constexpr (P::HAS_EDGE_MASK)
                    if (!P::edge_mask(c, source[j], target, edge)) continue;
                value[j] = P::gather(c, source[j], target, edge);
                better[j] = !LOOKS || P::improves(c, v[j], value[j]);
            }
#pragma unroll
            for (int j = 0; j < N; ++j)
                if (better[j]) better[j] = P::improve(c, v[j], value[j]);
#pragma unroll
            for (int j = 0; j < N; ++j) {
                if (!better[j]) continue;
                if constexpr (P::PRIORITISED) {
                    const double priority = P::priority(c, v[j], value[j]);
                    put_off[j] = priority >= c.u.threshold;
                    if (put_off[j]) waiting.take(priority);
                    // A vertex that is active in the next iteration sends all its components then, so no component
                    // waits any more.
                    if constexpr (P::WAITS) {
                        if (put_off[j])
                            atomicMin(c.a.waits + v[j], ordered(priority));
                        else
                            c.a.waits[v[j]] = ordered(infinity());
                    }
                }
                const bool first = claim<LOOKS>(put_off[j] ? c.a.far_bits : c.claimed(), v[j]);
                better[j] = first && !put_off[j];
                put_off[j] = first && put_off[j];
            }
            next.add(better, v);
            if constexpr (P::PRIORITISED) aside.add(put_off, v);
        }
    }

    // Let the first thread that reaches a vertex apply to it, and no other thread. If the mask still admits the vertex
    // afterwards, the vertex is released after the next barrier, so that another value can reach it.
    template <int N>
    __device__ __forceinline__ void apply_at_once(const offset_t (&at)[N], const Source (&source)[N],
                                                const bool (&valid)[N], const vertex_t (&v)[N]) {
        u32* taken = P::CLOSES ? c.a.closed : c.claimed();
        bool won[N];
        u32 word[N];
#pragma unroll
        for (int j = 0; j < N; ++j) word[j] = !valid[j] ? ALL : LOOKS ? taken[v[j] / WARP] : 0;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            won[j] = !(word[j] & bit_of(v[j]));
            if (!won[j]) continue;
            if constexpr (!P::CLOSES) won[j] = P::admits(c, v[j]);
            if constexpr (P::HAS_EDGE_MASK)
                won[j] = won[j] && P::edge_mask(c, source[j], P::load_target(c, v[j]),
                                                      P::load_edge_out(c, at[j]));
            if (won[j]) won[j] = !(atomicOr(taken + v[j] / WARP, bit_of(v[j])) & bit_of(v[j]));
        }
        bool active[N], open[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            active[j] = open[j] = false;
            if (!won[j]) continue;
            const Target target = P::load_target(c, v[j]);
            const u32 outcome = P::finish(c, v[j], P::gather(c, source[j], target, P::load_edge_out(c, at[j])));
            active[j] = outcome & ACTIVE;
            open[j] = P::CLOSES ? outcome & OPEN : !active[j];
        }
        next.add(active, v);
        if constexpr (!P::APPLIES_ONCE) aside.add(open, v);
    }

    // Combine the values with the targets' accumulators, which hold the identity between iterations. The first thread
    // that reaches a vertex appends it to the list of vertices that are yet to apply.
    template <int N>
    __device__ __forceinline__ void into_accumulators(const offset_t (&at)[N], const Source (&source)[N],
                                                      const bool (&valid)[N], const vertex_t (&v)[N]) {
        bool first[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            first[j] = false;
            // Here the target is only appended to a list. Whether it receives a value is found when it gathers.
            if constexpr (P::WIDE) {
                first[j] = valid[j] && claim(c.claimed(), v[j]);
            } else if (valid[j] && P::admits(c, v[j])) {
                const typename P::Edge edge = P::load_edge_out(c, at[j]);
                const Target target = P::load_target(c, v[j]);
                if (P::edge_mask(c, source[j], target, edge)) {
                    if constexpr (P::PUSHES) {
                        if constexpr (P::TAKES_FIRST) {
                            first[j] = claim(c.claimed(), v[j]);
                            if (first[j]) P::put_aside(c, v[j], P::gather(c, source[j], target, edge));
                        } else {
                            P::accumulate(c, v[j], P::gather(c, source[j], target, edge));
                            first[j] = claim(c.claimed(), v[j]);
                        }
                    } else {  // the target is only appended to a list, and gathers later
                        first[j] = claim(c.claimed(), v[j]);
                    }
                }
            }
        }
        aside.add(first, v);
    }
};

// The scatter stage: newly active vertices write to fields of their outgoing edges.
template <class P> struct Scatter {
    typedef typename P::ScatterSource Source;
    const typename P::Context& c;

    __device__ __forceinline__ Source load(vertex_t u) const { return P::load_scatter_source(c, u); }
    template <int N>
    __device__ __forceinline__ void batch(
        const offset_t (&at)[N], const Source (&source)[N], const bool (&valid)[N]) {
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (valid[j]) P::scatter(c, source[j], c.a.si[at[j]], at[j]);
    }
};

// Copies new values of edge fields to second copies, which vertices read through the reverse edges.
template <class P> struct CatchUpEdges {
    const typename P::Context& c;

    template <int N>
    __device__ __forceinline__ void batch(const offset_t (&at)[N], const vertex_t (&)[N], const bool (&valid)[N]) {
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (valid[j]) P::catch_up_edge(c, at[j]);
    }
};

// The scatter stage with wide vectors. Each lane has an edge, and all lanes of the warp process one edge after another
// together.
template <class P> struct ScatterWide {
    typedef vertex_t Source;
    const typename P::Context& c;

    __device__ __forceinline__ Source load(vertex_t u) const { return u; }
    template <int N>
    __device__ __forceinline__ void batch(
        const offset_t (&at)[N], const Source (&source)[N], const bool (&valid)[N]) {
#pragma unroll 1
        for (int j = 0; j < N; ++j)
            for (u32 rest = __ballot_sync(ALL, valid[j]); rest; rest &= rest - 1) {
                const u32 owner = __ffs(rest) - 1;
                const offset_t e = shuffle(at[j], owner);
                P::scatter(c, P::load_scatter_source(c, shuffle(source[j], owner)), c.a.si[e], e);
            }
    }
};

}  // namespace gasla
