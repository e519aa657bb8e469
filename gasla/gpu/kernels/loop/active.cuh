// Conversions between the forms of the active set (queue, bitmap, segments of each block), and clearing of claims.
#pragma once
#include "loop.cuh"

namespace gasla {

// Convert the active set to the form that the iteration needs.
template <class P> __device__ __forceinline__ void Loop<P>::change_form() {
    if constexpr (P::SMALL_FRONTIERS)
        if (now.form == SEGMENTS && !s.is_small && now.size > 0) out_of_line<&Loop::widen>();
    if constexpr (P::PRIORITISED && !P::ONLY_PULLS) return;  // the active set is always a list
    // decided before the conversion, which completes the count of edges
    const bool dense = P::ONLY_PULLS || s.way == DENSE;
    if (dense && now.form == LIST) to_bits();
    if (!dense && now.form == BITS) {
        to_list(c.active(), parity());
        by_one_thread([&] {
            now.form = LIST;
            s.touched = now.edges = edges_of(fresh(counter(LISTED)));  // a push to the bitmap only estimates them
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

// Bitmap to queue; the number of vertices is known. Each lane loads one word; the warp then lists the vertices of one
// word at a time.
template <class P> __device__ __forceinline__ void Loop<P>::to_list(const u32* bits, u32 side) {
    auto listed = to_queue(side, LISTED);
    for (u64 base = this_warp_of_grid(); base < c.a.words; base += WARP * warps_of_grid()) {
        const u64 own = base + lane() * warps_of_grid();
        const u32 mine = own < c.a.words ? bits[own] : 0;
        for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
            const u32 k = __ffs(rest) - 1;
            const vertex_t v = (vertex_t)((base + k * warps_of_grid()) * WARP + lane());
            listed.add(__shfl_sync(ALL, mine, k) >> lane() & 1, v);
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
