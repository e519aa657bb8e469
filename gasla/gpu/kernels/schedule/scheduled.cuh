// The loop of a run whose receiving vertices in each iteration are known in advance (a schedule).
#pragma once
#include "loop.cuh"

namespace gasla {

// Iterate until the end of the schedule. The data of the next two iterations is loaded ahead, as schedule.cuh explains.
template <class P> __device__ __forceinline__ void Loop<P>::run_schedule() {
    if constexpr (P::LISTS_ROWS) {
        // Most iterations of such a program need no counters, so they only advance the number of the iteration.
        constexpr bool ends = ENDS && !P::AGGREGATES && !P::HAS_STOP;
        Schedule<P> schedule;
        Receiver<P> receiver(c);
        schedule.begin(c, c.u.self_iteration);
        while (goes_on()) {
            const u64 count = schedule.receivers().count;
            clear_deposits();
            const vertex_t* list = c.a.aside + schedule.receivers().first;
            if constexpr (!ENDS) by_one_thread([&] { s.receivers = count; });
            receiver.use_levels(schedule.coming);
            if (schedule.is_light(c)) {
                do {
                    const vertex_t v = schedule.here.v;
                    const bool finishes = schedule.here.is && schedule.lane_of_group(c) == 0;
                    typename P::Had had;
                    if (finishes) had = P::load_had(c, v);
                    const Gathered gathered = schedule.reduce(receiver);
                    if (finishes) P::finish(c, v, gathered, had);
                } while (schedule.take_more(c));
            } else {
                const bool uses_bitmap = P::READS_BY_LEVEL && !P::ONE_BLOCK && count >= c.a.self_n / MARKED;
                if (uses_bitmap) receiver.use_bitmap();
                u64 pieces = 0;
                if constexpr (P::CUTS_ROWS) {
                    u64* cut = counter(schedule.coming & 1 ? ASIDE : LISTED);
                    receiver.cut(list, count, cut);
                    if (thread_of_grid() == 0) *counter(schedule.coming & 1 ? LISTED : ASIDE) = 0;
                    wait_meanwhile([] {}, false, [&] { s.pieces = P::ONE_BLOCK ? *cut : fresh(cut); });
                    pieces = s.pieces;
                } else if (uses_bitmap) {
                    barrier.wait();
                }
                receiver.reduce(list, count, pieces);
                if (pieces) {
                    barrier.wait();
                    receiver.join(pieces);
                }
            }
            publish_sums(parity());
            if (c.a.log_rows) {
                add_to(TOUCHED, receiver.touched);
                receiver.touched = 0;
            }
            const bool due = !ends || c.a.log_rows || looks_now();
            const auto ahead = [&] {
                if (threadIdx.x == 0 && !due) count_iteration();
                schedule.advance(c);
            };
            wait_meanwhile(ahead, due, [&] {
                s.size = count;
                if (ends && due) end_iteration();
            });
            if constexpr (!ends) {
                if constexpr (!ENDS) {
                    revise(list);
                    catch_up(list);
                }
                take_sums(parity());
                by_one_thread([&] { end_iteration(); });
            }
        }
        add_to(TOUCHED, receiver.touched);
        barrier.wait();
        if (thread_of_grid() == 0) {
            now.total += P::ONE_BLOCK ? *counter(TOUCHED) : fresh(counter(TOUCHED));
            *counter(TOUCHED) = *counter(ASIDE) = *counter(LISTED) = 0;
        }
    }
}

// Begin the next iteration by advancing its number. The counters are not read, because nothing needs them.
template <class P> __device__ __forceinline__ void Loop<P>::count_iteration() {
    enter(c.u.self_iteration + 1);
    --now.size;
}

// Make an iteration whose receivers are known from a schedule. This is for programs that need further stages of the
// general loop.
template <class P> __device__ __forceinline__ void Loop<P>::follow_schedule() {
    if constexpr (P::SCHEDULED) {
        const auto receivers = Schedule<P>::range_of(c, c.u.self_iteration);
        by_one_thread([&] { s.receivers = receivers.count; });
        gather_list(c.a.aside + receivers.first);
        if constexpr (P::TWO_PHASES) apply_list(c.a.aside + receivers.first);
    }
}

}  // namespace gasla
