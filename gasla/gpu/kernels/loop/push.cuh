// Push iterations, in which active vertices send values along their outgoing edges, and the stages that follow apply:
// scatter and revise.
#pragma once
#include "loop.cuh"

namespace gasla {

template <class P> __device__ __forceinline__ void Loop<P>::sparse() {
    if constexpr (P::ABSORBS) {
        push(to_aside());
    } else if constexpr (P::PUSHES_AT_ONCE) {
        push(to_aside());
        release_open();
    } else {
        if constexpr (!P::PUSHES && (P::ACTIVE_ONLY || P::WIDE)) to_bits();
        push(to_aside());
        if constexpr (!P::PUSHES)
            gather_list(c.a.aside);
        else if constexpr (!P::TWO_PHASES)
            apply_list(c.a.aside);
    }
}

// Make one iteration of a program with a priority. Push from the near vertices, those with a priority below the
// threshold. If no near vertex is left, raise the threshold, which makes some of the waiting vertices near.
template <class P> __device__ __forceinline__ void Loop<P>::near_first() {
    const bool is_small = s.is_small;
    const Range put_off = now.size == 0 ? far().split() : push(far().appender(0));
    if (is_small) return;
    far().note(put_off);
    end_push();
}

// Send values along the outgoing edges of the active vertices. If the next iteration of a search pulls, newly active
// vertices are only marked in a bitmap. The result then has estimates of their number and of the number of their edges,
// packed in one word. In programs with priorities, the result is the range of priorities that this thread has
// postponed.
template <class P> template <class ToAside>
__device__ __forceinline__ typename Loop<P>::Pushed Loop<P>::push(ToAside aside) {
    constexpr bool lists_next = P::ABSORBS || P::PUSHES_AT_ONCE;
    const Context& context = c;
    const auto load = [&](vertex_t u) { return P::load_source(context, u); };
    if constexpr (P::SMALL_FRONTIERS)
        if (s.is_small) {
            SmallFrontier<Loop>(*this, c.a.lanes).run(aside);
            return {};
        }
    if constexpr (P::SEARCHES)
        if (s.builds_bitmap) {
            for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.next_active()[w] = 0;
            barrier.wait();
        }
    auto next = to_next();
    const Entry* entries = queue(parity());
    if constexpr (CLAIMS_BY_TURNS)
        for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) clear_claim(entries[i].vertex);
    Push<P, decltype(next), ToAside, true> visit{c, next, aside};
    advance<P::AT_ONCE, P::SOURCE_IS_EMPTY, P::STREAMED, typename P::Source>(
        entries, now.size, now.edges, c.a.sp, load, visit);
    if (__syncthreads_or(next.held || aside.held)) {
        if constexpr (lists_next) next.flush_block();
        if constexpr (!P::APPLIES_ONCE) aside.flush_block();
    }
    if constexpr (P::PRIORITISED) {
        return visit.waiting;
    } else if constexpr (P::SEARCHES) {
        if (s.builds_bitmap) return next.count * (((u64)((prefix_t)c.a.m / (prefix_t)c.a.self_n + 1) << c.a.shift) + 1);
        publish_sums(parity());
    } else {
        if constexpr (P::PUSHES_AT_ONCE) publish_sums(parity());
        end_push();
    }
    return {};
}

// Wait for all blocks after a push, or after a pull of a search. If the iteration has no further stage, the next
// iteration is prepared as well.
template <class P> __device__ __forceinline__ void Loop<P>::end_push() {
    wait_and_read([&] {
        s.receivers = read[ASIDE];
        if (P::SEARCHES && s.builds_bitmap) now.form = BITS;
        if constexpr (ENDS_AT_ONCE && (P::ABSORBS || P::PUSHES_AT_ONCE))
            if (P::ABSORBS || P::APPLIES_ONCE || s.receivers == 0) end_iteration();
    });
}

// Clear the claims of vertices that a push has reached but that the mask still admits. While a vertex is claimed, no
// other value can reach it.
template <class P> __device__ __forceinline__ void Loop<P>::release_open() {
    if constexpr (!P::APPLIES_ONCE)
        if (s.receivers) out_of_line<&Loop::release>();
}

// Clear the claims (bits that keep other values away) of the vertices in the list `aside`, and wait for all blocks.
// After that, values can reach these vertices again.
template <class P> __device__ __forceinline__ void Loop<P>::release() {
    u32* taken = P::CLOSES ? c.a.closed : c.claimed();
    for (u64 i = thread_of_grid(); i < s.receivers; i += threads_of_grid())
        atomicAnd(taken + c.a.aside[i] / WARP, ~bit_of(c.a.aside[i]));
    barrier.wait();
}

template <class P> __device__ __forceinline__ void Loop<P>::scatter() {
    if constexpr (P::HAS_SCATTER) {
        const u32 side = 1 - parity();
        if (now.form == BITS) to_list(c.next_active(), side);
        if constexpr (!P::EVERYONE) by_one_thread([&] { now.form = LIST; });
        typename Choose<P::WIDE, ScatterWide<P>, Scatter<P>>::type visit{c};
        advance<P::AT_ONCE, false, P::STREAMED, typename decltype(visit)::Source>(
            queue(side), count_of(read[NEXT]), edges_of(read[NEXT]), c.a.sp,
            [&](vertex_t u) { return visit.load(u); }, visit);
        barrier.wait();
        if constexpr (P::EDGES_BEHIND) {
            CatchUpEdges<P> catch_up{c};
            advance<P::AT_ONCE, true, P::STREAMED, vertex_t>(
                queue(side), count_of(read[NEXT]), edges_of(read[NEXT]), c.a.sp, [](vertex_t u) { return u; }, catch_up);
            barrier.wait();
        }
    }
}

template <class P> __device__ __forceinline__ void Loop<P>::revise(const vertex_t* list) {
    if constexpr (P::REVISES) {
        if constexpr (P::WIDE)
            revise_wide(list);
        else
            for (u64 i = thread_of_grid(); i < s.receivers; i += threads_of_grid()) P::revise(c, list[i]);
        barrier.wait();
    }
}

// Reset aggregates with a value per vertex. They have three rows, which are used in turn: this iteration adds to one
// row, reads another, and resets the third for the next iteration.
template <class P> __device__ __forceinline__ void Loop<P>::clear_deposits() {
    if constexpr (P::DEPOSITS)
        for (u64 v = thread_of_grid(); v < c.a.self_n; v += threads_of_grid()) P::clear_deposits(c, v);
}

// Copy new field values of the vertices in a list to the copies that other vertices read.
template <class P> __device__ __forceinline__ void Loop<P>::catch_up(const vertex_t* list) {
    if constexpr (P::FALLS_BEHIND) {
        for (u64 i = thread_of_grid(); i < s.receivers; i += threads_of_grid())
            if (!P::WIDE || list[i] != NOBODY) P::catch_up(c, list[i]);
        barrier.wait();
    }
}

}  // namespace gasla
