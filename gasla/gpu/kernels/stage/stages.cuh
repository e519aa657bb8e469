// The stages of a program (gather, apply, scatter), each as a separate kernel over a list of vertices, for loops that
// users write in Python. The code for a vertex or an edge is the same as in the loop that runs a whole program.
#pragma once
#include "frontier.cuh"
#include "gather_wide.cuh"
#include "keyed_rows.cuh"
#include "runtime.cuh"
#include "send.cuh"

namespace gasla {

template <class P> struct Stages {
    typename P::Context c;

    __device__ __forceinline__ Stages(const typename P::Arguments& a, typename P::Uniform& uniform) : c(a, uniform) {
        if (threadIdx.x == 0) {
            uniform = typename P::Uniform{};
            uniform.self_iteration = a.iteration;
        }
        __syncthreads();
    }

    // Call `visit` for the vertices in a list. A warp takes 32 vertices at a time, so that its lanes may cooperate.
    // With wide vectors, the whole warp visits one vertex after another.
    template <class Visit> __device__ __forceinline__ void over_vertices(Visit visit) {
        const u64 count = c.a.count;
        if constexpr (P::WIDE) return by_warps(count, [&](u64 i) { visit(true, i, c.a.vertices[i]); });
        for (u64 base = warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
            const u64 i = base + lane();
            visit(i < count, i, i < count ? c.a.vertices[i] : 0);
        }
    }

    // The gather stage: each receiver reduces over its incoming edges and stores the result.
    __device__ __forceinline__ void gather() {
        u64 touched = 0;
        over_vertices([&](bool is, u64, vertex_t v) {
            if constexpr (P::WIDE) {
                P::put_aside(c, v, gather_row<P, true>(c, v, touched).gathered);
            } else {
                const offset_t first = is ? c.a.gp[v] : 0, last = is ? c.a.gp[v + 1] : 0;
                Neighbors<ahead_of<P>> neighbors;
                neighbors.load(c.a.gi, first, last, 1);
                const Row<P> row = gather_rows<P, true>(c, is, v, first, last, neighbors, touched);
                if (is) P::put_aside(c, v, row.gathered);
            }
        });
    }

    // The apply stage: each receiver applies its stored value. A flag tells whether the vertex is active next.
    __device__ __forceinline__ void apply() {
        over_vertices([&](bool is, u64, vertex_t v) {
            if (is) c.a.flags[v] = P::finish(c, v, P::take_back(c, v)) & ACTIVE;
        });
    }

    __device__ __forceinline__ void revise() {
        if constexpr (P::REVISES)
            over_vertices([&](bool is, u64, vertex_t v) {
                if (is) P::revise(c, v);
            });
    }

    // The scatter stage: the vertices in the queue write to fields of their outgoing edges.
    __device__ __forceinline__ void scatter() {
        if constexpr (P::HAS_SCATTER) {
            typename Choose<P::WIDE, ScatterWide<P>, Scatter<P>>::type visit{c};
            const auto load = [&](vertex_t u) { return visit.load(u); };
            advance<P::AT_ONCE, false, P::STREAMED, typename decltype(visit)::Source>(
                (const Entry*)c.a.queue, c.a.count, c.a.edges, c.a.sp, load, visit);
        }
    }

    // Set a flag for each vertex in the list: whether the program's mask admits the vertex.
    __device__ __forceinline__ void mask() {
        over_vertices([&](bool is, u64 i, vertex_t v) {
            if (is) c.a.flags[i] = P::admits(c, v);
        });
    }

    // Set a flag for each edge, which tells whether the program's edge mask admits the edge. An edge is given by both
    // ends and its position in the adjacency lists along which active vertices send.
    __device__ __forceinline__ void edge_mask() {
        const auto visit = [&](u64 i) {
            const typename P::Source source = P::load_source(c, c.a.vertices[i]);
            const typename P::Target target = P::load_target(c, c.a.targets[i]);
            c.a.flags[i] = P::edge_mask(c, source, target, P::load_edge_out(c, c.a.places[i]));
        };
        if constexpr (P::WIDE) return by_warps(c.a.count, visit);
        for (u64 i = thread_of_grid(); i < (u64)c.a.count; i += threads_of_grid()) visit(i);
    }
};

}  // namespace gasla
