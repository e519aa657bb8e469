// Conversions between the forms of the active set (queue, bitmap, segments of each block), and clearing of claims.
#pragma once
#include "loop.cuh"

namespace gasla {

// Convert the active set to the form that the iteration needs.
template <class P> __device__ __forceinline__ void Loop<P>::change_form() {
    if constexpr (P::SMALL_FRONTIERS)
        if (now.form == SEGMENTS && !s.is_small && now.size > 0) out_of_line<&Loop::widen>();
    constexpr bool only_lists = P::PRIORITISED && !P::ONLY_PULLS;  // the active set is always a list
    // decided before the conversion, which completes the count of edges
    const bool dense = P::ONLY_PULLS || (!only_lists && s.way == DENSE);
    if constexpr (P::STREAMED && !P::ONLY_PULLS)
        if (!dense && now.form == LIST && now.size >= SORTED && now.size >= c.a.words / SORTED) return sort_list();
    if constexpr (only_lists) return;
    if (dense && now.form == LIST) to_bits();
    if (!dense && now.form == BITS) {
        to_list(c.active(), parity());
        by_one_thread([&] {
            now.form = LIST;
            s.touched = now.edges = edges_of(fresh(counter(LISTED)));  // a push to the bitmap only estimates it
        });
    }
}

// Queue to bitmap. Clears the claims, which are not needed any more.
template <class P> __device__ __forceinline__ void Loop<P>::to_bits() {
    for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.active()[w] = 0;
    clear_claims();
    barrier.wait();
    const Entry* entries = queue(parity());
    for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) {
        const vertex_t v = entries[i].vertex;
        atomicOr(c.active() + v / WARP, bit_of(v));
    }
    barrier.wait();
}

// Put the queue in ascending order, but for the order of the groups that warps list at a time: neighbor lists in host
// memory are read five times as fast if those read at a time are near each other.
template <class P> __device__ __forceinline__ void Loop<P>::sort_list() {
    to_bits();
    to_list(c.active(), parity());
}

// Bitmap to queue; the number of vertices is known. Each lane loads one word; the warp then lists the vertices of one
// word at a time. The words are strided, so that each warp works on all parts of the graph, or, where lists are
// streamed, adjacent.
template <class P> __device__ __forceinline__ void Loop<P>::to_list(const u32* bits, u32 side) {
    auto listed = to_queue(side, LISTED);
    const u64 stride = P::STREAMED ? 1 : warps_of_grid(), warp = this_warp_of_grid();
    for (u64 base = P::STREAMED ? WARP * warp : warp; base < c.a.words; base += WARP * warps_of_grid()) {
        const u64 own = base + lane() * stride;
        const u32 mine = own < c.a.words ? bits[own] : 0;
        for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
            const u32 k = __ffs(rest) - 1;
            listed.add(__shfl_sync(ALL, mine, k) >> lane() & 1, (vertex_t)((base + k * stride) * WARP + lane()));
        }
    }
    listed.flush_block();
    barrier.wait();
}

// Segments of a small frontier to queue.
template <class P> __device__ __forceinline__ void Loop<P>::widen() {
    if constexpr (P::SMALL_FRONTIERS) SmallFrontier<Loop>(*this, 1).to_queue();
}

template <class P> __device__ __forceinline__ void Loop<P>::clear_claims() {
    if constexpr (P::CLAIMS) {
        const u64 words = c.a.words * (CLAIMS_BY_TURNS ? 2 : 1);
        for (u64 w = thread_of_grid(); w < words; w += threads_of_grid()) c.a.claimed[w] = 0;
    }
}

// Clear the word with a vertex's claim of the last iteration. All vertices with claims in it are active now, or were
// released.
template <class P> __device__ __forceinline__ void Loop<P>::clear_claim(vertex_t v) {
    if constexpr (CLAIMS_BY_TURNS) c.a.claimed[(1 - parity()) * c.a.words + v / WARP] = 0;
}

}  // namespace gasla
