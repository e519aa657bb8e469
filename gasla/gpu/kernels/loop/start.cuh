// The start of a run: fills fields and initializes bitmaps and lists, or continues where the last launch has ended.
#pragma once
#include "loop.cuh"

namespace gasla {

template <class P> __device__ __forceinline__ void Loop<P>::begin() {
    if (c.a.fresh)
        start();
    else
        by_one_thread([&] {
            read_counters();
            enter(now.iteration);
        });
    take_sums(1 - parity());
    by_one_thread([&] {
        if (c.a.fresh) {
            if constexpr (P::KEEPS_ACTIVE) now.edges = edges_of(read[NEXT]);
            if constexpr (P::STARTS) {
                const u64 count = count_of(read[NEXT]);
                now.size = P::KEEPS_ACTIVE || !count ? count : (u64)c.a.self_n;
            }
            rotate_counters();
        }
        // If this phase makes no iteration, no other place tells all blocks that the host wishes to stop.
        if constexpr (P::IN_TURNS)
            if (blockIdx.x == 0 && poll_host() && P::ONE_BLOCK) read[STOPPED] = 1;
        if constexpr (P::SMALL_FRONTIERS) {  // calls the copy of `choose` that small frontiers use
            enter(now.iteration);
            out_of_line<&Loop::choose>();
        } else {
            begin_iteration(now.iteration);
        }
    });
}

// Fill fields with their initial values, compute the aggregates of the initial state, and initialize all other state of
// the run.
template <class P> __device__ __forceinline__ void Loop<P>::start() {
    u32 stamp = now.stamp;
    if constexpr (P::SMALL_FRONTIERS)
        if (stamp >> 31) stamp = SmallFrontier<Loop>::renew((Slot*)c.a.segments, stamp);
    by_one_thread([&] {
        const u32 slot = now.slot;
        u64 size = c.a.active_count;
        if constexpr (P::IN_TURNS) size = s.stay.active.size;
        now = Control{0, 0, size, (u64)c.a.m, (u64)c.a.m, 0, -1, -infinity(), -infinity(), LIST, 0, 0, slot, stamp, 0, 0};
        if constexpr (P::PEERS) now.round = c.a.met;
        enter(0);
        // The program's aggregates may read aggregates. For the initial state, these are zero.
        if constexpr (P::AGGREGATES) P::take_sums(c, Sums{});
    });
    const u64 n = c.a.self_n;
    if constexpr (P::WIDE) fill_wide();
    for (u64 base = this_warp_of_grid() * WARP; !P::WIDE && base < n; base += threads_of_grid()) {
        const u64 v = base + lane();
        bool closed = true;
        if (v < n) {
            P::fill(c, (vertex_t)v);
            if constexpr (!P::SUMS_LOOK_UP) P::aggregate_start(c, (vertex_t)v);
            if constexpr (P::CLOSES) closed = !P::admits_at_start(c, (vertex_t)v);
        }
        if constexpr (P::CLOSES) {
            const u32 word = __ballot_sync(ALL, closed);
            if (lane() == 0) c.a.closed[base / WARP] = word;
        }
    }
    if constexpr (P::SUMS_LOOK_UP) {
        barrier.wait();
        if constexpr (P::WIDE)
            by_warps(n, [&](u64 v) { P::aggregate_start(c, (vertex_t)v); });
        else
            for (u64 base = this_warp_of_grid() * WARP; base < n; base += threads_of_grid())
                if (base + lane() < n) P::aggregate_start(c, (vertex_t)(base + lane()));
    }
    clear_claims();
    if constexpr (P::KEYED)
        if (thread_of_grid() < 4) c.a.keys_used[thread_of_grid()] = 0;
    if constexpr (P::PRIORITISED) far().clear();
    if constexpr (P::BUCKETS)
        for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.a.waiting[w] = 0;
    bool accumulates = P::ACCUMULATES;
    // Accumulators are initialized only in the first turn of a phase, because they have the identity after each turn.
    if constexpr (P::IN_TURNS) accumulates = accumulates && s.stay.is_first;
    if constexpr (P::ACCUMULATES)
        for (u64 v = thread_of_grid(); accumulates && v < n; v += threads_of_grid()) P::put_aside(c, (vertex_t)v, P::identity());
    publish_sums(1);
    if constexpr (P::IN_TURNS && (P::STARTS || P::KEEPS_ACTIVE))
        list_handed();
    else if constexpr (P::KEEPS_ACTIVE)
        list_active();
    wait_and_read();
}

// Append the initially active vertices to the queue. They are given as an array of ids, or as a range of ids.
template <class P> __device__ __forceinline__ void Loop<P>::list_active() {
    auto next = to_queue(0);
    const u64 count = c.a.active_count;
    for (u64 base = this_warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
        const u64 i = base + lane();
        const bool is = i < count;
        next.add(is, is ? c.a.active_ids ? c.a.active_ids[i] : (vertex_t)(c.a.first_active + i) : 0);
    }
    next.flush_block();
}

}  // namespace gasla
