// What is done at the end of an iteration: update the size of the active set, the log, and messages to and from the
// host.
#pragma once
#include "loop.cuh"

namespace gasla {

// Update counts and the log, and begin the next iteration. One thread of each block calls this.
template <class P> __device__ __forceinline__ void Loop<P>::end_iteration() {
    note(s.touched + read[TOUCHED]);
    if (now.form != SEGMENTS) {
        now.size = P::SCHEDULED ? c.a.active_count - 1 - c.u.self_iteration : count_of(read[NEXT]);
        now.edges = edges_of(read[NEXT]);
    }
    if constexpr (P::PRIORITISED) now.far = read[FAR];
    lower_remaining();
    if constexpr (P::HAS_STOP && !P::PEERS) now.done = P::stop(c);
    // The program's `stop` has read the fields, so wait until all blocks have done this before any block writes the
    // fields.
    if constexpr (P::STOP_SEES_FIELDS) barrier.arrive_and_wait();
    rotate_counters();
    begin_iteration(c.u.self_iteration + 1);
    s.ended = true;
}

template <class P> __device__ __forceinline__ void Loop<P>::note(u64 touched) {
    const long long line = c.u.self_iteration - c.a.log_from;
    if (blockIdx.x == 0 && line < c.a.log_rows) {
        long long* entry = c.a.log + 4 * line;
        entry[0] = s.size;
        entry[1] = touched;
        entry[2] = P::SCHEDULED || P::EVERYONE ? DENSE : s.way;
        entry[3] = nanoseconds();
    }
    now.total += touched;
}

template <class P> __device__ __forceinline__ void Loop<P>::lower_remaining() {
    if constexpr (P::HAS_MASK && !P::EVERYONE)
        now.remaining -= least(now.remaining, now.edges);
}

template <class P> __device__ __forceinline__ bool Loop<P>::poll_host() {
    if (!s.polls.are_due(POLL_INTERVAL)) return false;
    volatile Page* page = c.a.page;
    if constexpr (P::IN_TURNS)
        page->progress = s.stay.turns;
    else
        page->progress = c.u.self_iteration;
    const bool stops = page->stop == c.a.launch;
    if (stops) *counter(STOPPED) = 1;
    return stops;
}

}  // namespace gasla
