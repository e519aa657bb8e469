// Conversions of the active set between its forms: a queue, a bitmap, or segments (short lists of each block). Also the
// clearing of claims, bits by which only one thread appends a vertex to the queue.
#pragma once
#include "loop.cuh"

namespace gasla {

// Convert the active set to the form that the next iteration needs.
template <class P> __device__ __forceinline__ void Loop<P>::change_form() {
    if constexpr (P::SMALL_FRONTIERS)
        if (now.form == SEGMENTS && !s.is_small && now.size > 0) out_of_line<&Loop::widen>();
    constexpr bool only_lists = P::PRIORITISED && !P::ONLY_PULLS;  // such programs always keep the active set as a list
    // This is decided before the conversion, because converting the active set completes the count of edges.
    const bool dense = P::ONLY_PULLS || (!only_lists && s.way == DENSE);
    if constexpr (P::STREAMED && !P::ONLY_PULLS)
        if (!dense && now.form == LIST && now.size >= SORTED && now.size >= c.a.words / SORTED) return sort_list();
    if constexpr (only_lists) return;
    if (dense && now.form == LIST) to_bits();
    if (!dense && now.form == BITS) {
        to_list(c.active(), parity());
        by_one_thread([&] {
            now.form = LIST;
            // A push that only sets bits estimates the number of edges of the active vertices. Now the number is exact.
            s.touched = now.edges = edges_of(fresh(counter(LISTED)));
        });
    }
}

// Convert the active set from a queue to a bitmap. Also clear all claims (bits by which only one thread appends a
// vertex to the queue), because a bitmap needs none.
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

// Sort the queue of active vertices approximately: only the vertices that a warp appends at a time may be out of order.
// Adjacency lists in host memory are read five times as fast if lists that are read at the same time are near each
// other.
template <class P> __device__ __forceinline__ void Loop<P>::sort_list() {
    to_bits();
    to_list(c.active(), parity());
}

// Convert a bitmap of vertices to a queue. The number of these vertices must be known already. Each lane loads a word
// of the bitmap. The warp then appends the vertices of one word at a time. A warp takes every n-th word, so that each
// warp works on all parts of the graph. If adjacency lists are read from host memory (STREAMED), its words are
// adjacent.
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

// Convert a small active set from segments (short lists of each block) to a queue.
template <class P> __device__ __forceinline__ void Loop<P>::widen() {
    if constexpr (P::SMALL_FRONTIERS) SmallFrontier<Loop>(*this, 1).to_queue();
}

template <class P> __device__ __forceinline__ void Loop<P>::clear_claims() {
    if constexpr (P::CLAIMS) {
        const u64 words = c.a.words * (CLAIMS_BY_TURNS ? 2 : 1);
        for (u64 w = thread_of_grid(); w < words; w += threads_of_grid()) c.a.claimed[w] = 0;
    }
}

// Clear the claim of a vertex (the bit by which only one thread has appended the vertex), together with the whole word
// of the bitmap. All vertices with claims in this word are active now or were released, so none of the claims is
// needed.
template <class P> __device__ __forceinline__ void Loop<P>::clear_claim(vertex_t v) {
    if constexpr (CLAIMS_BY_TURNS) c.a.claimed[(1 - parity()) * c.a.words + v / WARP] = 0;
}

}  // namespace gasla
