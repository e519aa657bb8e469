// Pull iterations: all vertices that the mask admits, or the vertices in a list, gather along their incoming edges.
// Then they apply, or store the gathered value for a second phase.
#pragma once
#include "loop.cuh"

namespace gasla {

template <class P> __device__ __forceinline__ typename Loop<P>::Ahead Loop<P>::look_ahead(u64 w) const {
    Ahead found{0, 0, 0};
    if (w >= c.a.words) return found;
    const u64 v = w * WARP + lane();
    if constexpr (P::CLOSES) found.closed = c.a.closed[w];
    if (v < c.a.self_n) {
        found.first = c.a.gp[v];
        found.last = c.a.gp[v + 1];
    }
    return found;
}

// Make one iteration of a search, as a pull or as a push. A pull builds a bitmap of the vertices that are active next,
// and so does a push if the next iteration pulls.
template <class P> __device__ __forceinline__ void Loop<P>::reach() {
    const bool is_small = s.is_small, builds_bitmap = s.builds_bitmap;
    u64 next, touched = 0;
    if (s.way == DENSE) {
        __syncthreads();
        const SearchResult<P> result = gasla::search<P>(s.arguments, s.uniform, s.buffers);
        c.sums = P::add_sums(c.sums, result.sums);
        next = result.next;
        touched = result.touched;
        __syncthreads();
    } else {
        next = push(to_aside());
    }
    if (builds_bitmap) reduce_block(next, touched);
    if (!is_small) end_push();
    release_open();
}

// Let all vertices that the mask admits gather. They apply at once, or store the gathered value for a second phase. A
// warp processes 32 vertices at a time. The row offsets and first neighbors of the next 32 are loaded ahead.
template <class P> __device__ __forceinline__ void Loop<P>::gather_all_narrow() {
    auto listed = to_aside();
    u64 next = 0, touched = 0;
    Ahead coming = look_ahead(this_warp_of_grid()), later = look_ahead(this_warp_of_grid() + warps_of_grid());
    Neighbors<ahead_of<P>> coming_neighbors;
    coming_neighbors.load(c.a.gi, coming.first, coming.last, 1);
    for (u64 w = this_warp_of_grid(); w < c.a.words; w += warps_of_grid()) {
        const u64 v = w * WARP + lane();
        const Ahead here = coming;
        const Neighbors<ahead_of<P>> neighbors = coming_neighbors;
        coming = later;
        if (!(coming.closed >> lane() & 1)) coming_neighbors.load(c.a.gi, coming.first, coming.last, 1);
        later = look_ahead(w + 2 * warps_of_grid());
        const u32 closed = here.closed;
        bool open = v < c.a.self_n && !(closed >> lane() & 1);
        if constexpr (!P::CLOSES) open = open && P::admits(c, (vertex_t)v);
        const Row<P> result = gather_rows<P, false>(c, open, (vertex_t)v, here.first, here.last, neighbors, touched);
        const bool receives = open && result.found;
        if constexpr (P::TWO_PHASES) {
            if (receives) P::put_aside(c, (vertex_t)v, result.gathered);
            if constexpr (P::SUMS_IN_ORDER) {
                const u32 word = __ballot_sync(ALL, receives);
                if (lane() == 0) c.a.received[w] = word;
            }
        } else {
            u32 outcome = OPEN;
            if (receives) outcome = P::finish(c, (vertex_t)v, result.gathered);
            const bool active = receives && (outcome & ACTIVE);
            if constexpr (P::DOUBLED)
                if (!open && v < c.a.self_n) P::carry_over(c, (vertex_t)v);
            if constexpr (P::KEEPS_ACTIVE) {
                const u32 word = __ballot_sync(ALL, active);
                if (lane() == 0) c.next_active()[w] = word;
            }
            if constexpr (P::CLOSES) {
                const bool shuts = receives ? !(outcome & OPEN) : open && here.first == here.last;
                const u32 shut = closed | __ballot_sync(ALL, shuts);
                if (lane() == 0 && shut != closed) c.a.closed[w] = shut;
            }
            if (active) next += 1;
            if constexpr (P::SENDS)
                if (active) next += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
        }
        if constexpr (P::KEEPS_RECEIVERS) listed.add(receives, (vertex_t)v);
    }
    over_put_off<false>([&](vertex_t v, const Row<P>& row) {
        const bool receives = lane() == 0 && row.found;
        if constexpr (P::TWO_PHASES) {
            if (receives) P::put_aside(c, v, row.gathered);
            if constexpr (P::SUMS_IN_ORDER)
                if (receives) atomicOr(c.a.received + v / WARP, bit_of(v));
        } else if (receives && (P::finish(c, v, row.gathered) & ACTIVE)) {
            if constexpr (P::KEEPS_ACTIVE) atomicOr(c.next_active() + v / WARP, bit_of(v));
            next += 1;
            if constexpr (P::SENDS) next += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
        }
        if constexpr (P::KEEPS_RECEIVERS) listed.add(receives, v);
    });
    if constexpr (P::KEEPS_RECEIVERS) listed.flush_block();
    finish_pass<ENDS && !P::TWO_PHASES>(next, touched, [&] {
        s.receivers = read[ASIDE];
        now.form = P::TWO_PHASES ? LIST : BITS;
    });
}

// Fill an array in shared memory with `value(i)` for each index i. Each thread loads 8 values at a time, so that the
// loads overlap.
template <class T, class Value> __device__ __forceinline__ void stage(T* to, u32 count, Value value) {
    constexpr u32 AT_ONCE = 8;
    for (u32 base = threadIdx.x; base < count; base += AT_ONCE * blockDim.x) {
        T x[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) x[k] = value(least(base + k * blockDim.x, count - 1));
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (base + k * blockDim.x < count) to[base + k * blockDim.x] = x[k];
    }
}

// Let every vertex reduce its row and apply. Programs whose iterations have no other stage use this.
template <class P> __device__ __forceinline__ void Loop<P>::reduce_all() {
    if constexpr (P::ROWS) {
        typename P::Body body{c};
        if constexpr (P::BRINGS_NEAR) body.near.copies = s.near.copies[warp_of_block()];
        if constexpr (P::HAS_HUBS) {
            P::stage_hubs(c);
            __syncthreads();
        }
        reduce_rows<P::ROW_LANES, typename P::Body::row_t>(c.a.rows, body);
        if (c.a.rows.cut) {
            barrier.wait();
            reduce_cut_rows<typename P::Body::row_t>(c.a.rows, body);
        }
        finish_pass<ENDS>(body.active, 0, [] {});
    }
}

// Let each receiver, a vertex in `list`, gather along its incoming edges. The vertex then applies the gathered value,
// or stores the value for a second phase of the iteration.
template <class P> __device__ __forceinline__ void Loop<P>::gather_list_narrow(const vertex_t* list) {
    constexpr bool lists_next = !P::TWO_PHASES && P::KEEPS_ACTIVE;
    auto next = to_queue(1 - parity());
    u64 touched = 0;
    for (u64 base = this_warp_of_grid() * WARP; base < s.receivers; base += threads_of_grid()) {
        const bool is = base + lane() < s.receivers;
        const vertex_t v = is ? list[base + lane()] : 0;
        const offset_t first = is ? c.a.gp[v] : 0, last = is ? c.a.gp[v + 1] : 0;
        Neighbors<ahead_of<P>> neighbors;
        neighbors.load(c.a.gi, first, last, 1);
        const Row<P> result = gather_rows<P, true>(c, is, v, first, last, neighbors, touched);
        bool active = false;
        if (is) {
            if constexpr (P::TWO_PHASES) {
                if (!P::KEYED || result.found) P::put_aside(c, v, result.gathered);
            } else {
                if (!P::KEYED || result.found) active = P::finish(c, v, result.gathered) & ACTIVE;
                if constexpr (P::CLAIMS) c.claimed()[v / WARP] = 0;
            }
        }
        if constexpr (lists_next) next.add(active, v);
    }
    over_put_off<true>([&](vertex_t v, const Row<P>& row) {
        bool active = false;
        if (lane() == 0) {
            if constexpr (P::TWO_PHASES)
                P::put_aside(c, v, row.gathered);
            else
                active = P::finish(c, v, row.gathered) & ACTIVE;
        }
        if constexpr (lists_next) next.add(active, v);
    });
    if constexpr (lists_next) next.flush_block();
    finish_pass<ENDS && !P::TWO_PHASES>(0, touched, [] {});
}

// Let each receiver apply the gathered value that is stored for it. The order of the list of receivers is arbitrary. So
// if the order of sums matters, as for floats, threads visit the receivers by a bitmap instead, in the order of ids.
template <class P> __device__ __forceinline__ void Loop<P>::apply_list_narrow(const vertex_t* list) {
    auto next = to_queue(1 - parity());
    const auto apply = [&](bool is, vertex_t v) {
        bool active = false;
        if (is) {
            const Gathered gathered = P::take_back(c, v);
            if constexpr (P::ACCUMULATES) P::put_aside(c, v, P::identity());
            active = P::finish(c, v, gathered) & ACTIVE;
            if constexpr (P::CLAIMS) c.claimed()[v / WARP] = 0;
        }
        if constexpr (P::KEEPS_ACTIVE) next.add(active, v);
    };
    if constexpr (P::SUMS_IN_ORDER) {
        for (u64 w = this_warp_of_grid(); w < c.a.words; w += warps_of_grid())
            apply(c.a.received[w] >> lane() & 1, (vertex_t)(w * WARP + lane()));
    } else {
        for (u64 base = this_warp_of_grid() * WARP; base < s.receivers; base += threads_of_grid()) {
            const bool is = base + lane() < s.receivers;
            apply(is, is ? list[base + lane()] : 0);
        }
    }
    if constexpr (P::KEEPS_ACTIVE) next.flush_block();
    finish_pass<ENDS>(0, 0, [] {});
}

}  // namespace gasla
