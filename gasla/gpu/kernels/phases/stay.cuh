// A *stay* is one run of a phase, that is, of one of several programs that take turns on the same graph. It begins and
// ends in the middle of a launch.
#pragma once
#include "loop.cuh"

namespace gasla {

// Run a phase until its turn ends. `target` is how often blocks have arrived at the barrier that all phases share.
// Returns the new number.
template <class P, class Values>
__device__ __forceinline__ u32 stay(const typename P::Arguments& a, Shared<P>& s, Kept<P>& kept, Between& between, Values& values, u32 target) {
    if (threadIdx.x == 0) {
        s.now = kept.control;
        s.polls = between.polls;
        s.stay = Stay{between.active, between.done.turns, kept.control.iteration < 0};
        const bool is_all = P::EVERYONE || (!P::KEEPS_ACTIVE && s.stay.active.size);
        if (is_all) s.stay.active = Handed{(u64)a.self_n, 0, nullptr, nullptr, nullptr};
        P::take_shared(s.uniform, values);
    }
    Loop<P> loop(a, s, target);
    loop.run();
    loop.by_one_thread([&] {
        const Control& now = s.now;
        kept.control = now;
        kept.sums = s.sums[0];
        P::leave_shared(s.sums[0], values);
        between.polls = s.polls;
        between.active = loop.left_active();
        between.left += between.active.size + (now.iteration > 1 && !P::RESUMES);
        between.done.edges += now.total;
        ++between.done.stays;
        between.done.is_over = now.done;
        between.stops = s.read[STOPPED];
    });
    return loop.barrier.target;
}

// Return the active vertices at the end of this phase's turn, with which the next phase begins.
template <class P> __device__ __forceinline__ Handed Loop<P>::left_active() const {
    if constexpr (!P::KEEPS_ACTIVE) {
        return Handed{!P::ENDS_WHEN_STILL || now.size ? (u64)c.a.self_n : 0, 0, nullptr, nullptr, nullptr};
    } else {
        const bool is_list = now.form == LIST;
        return Handed{now.size, 0, nullptr, is_list ? queue(parity()) : nullptr, is_list ? nullptr : c.active()};
    }
}

// Append the active vertices with which this phase's turn begins to the queue. If the program only needs their number,
// count them.
template <class P> __device__ __forceinline__ void Loop<P>::list_handed() {
    if constexpr (P::KEEPS_ACTIVE) {
        auto next = to_queue(0);
        over_handed([&](bool is, vertex_t v) { next.add(is, v); });
        next.flush_block();
    } else {
        u64 mine = 0;
        over_handed([&](bool is, vertex_t) { mine += is; });
        add_to(NEXT, mine);
    }
}

// Call `visit(is, v)` for the active vertices with which this phase's turn begins. All lanes of a warp call this
// together, and `is` tells whether this lane has an active vertex v.
template <class P> template <class Visit> __device__ __forceinline__ void Loop<P>::over_handed(Visit visit) {
    const Handed& from = s.stay.active;
    // If there is no list of the active vertices, every vertex must be tested.
    const bool asks = P::STARTS || from.bits;
    const u64 count = asks ? c.a.self_n : from.size;
    for (u64 base = this_warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
        const u64 i = base + lane();
        bool is = i < count;
        vertex_t v = (vertex_t)(asks ? i : from.first + i);
        if constexpr (P::STARTS) {
            is = of_each<P>(is, v, [&](vertex_t u) { return P::starts(c, u); });
        } else {
            if (from.bits) is = is && has(from.bits, v);
            if (is && from.ids) v = from.ids[i];
            if (is && from.entries) v = from.entries[i].vertex;
        }
        visit(is, v);
    }
}

// End this phase's turn: copy fields and aggregates of vertices to the arrays from which the other phases read them.
template <class P> __device__ __forceinline__ void Loop<P>::end_stay() {
    by_one_thread([&] { now.iteration = c.u.self_iteration; });
    barrier.wait();
    if ((P::DOUBLED && parity()) || P::DEPOSITS) {
        for (u64 v = thread_of_grid(); v < c.a.self_n; v += threads_of_grid()) {
            if constexpr (P::DOUBLED)
                if (parity()) P::settle(c, (vertex_t)v);
            if constexpr (P::DEPOSITS) P::hand_on(c, (vertex_t)v);
        }
        barrier.wait();
    }
}

// Store the state of a phase for the host and for the next launch. One thread calls this at the end of a launch.
template <class P> __device__ __forceinline__ void leave_phase(const typename P::Arguments& a, const Kept<P>& kept, Control& end) {
    *a.control = end = kept.control;
    if constexpr (P::AGGREGATES) *(typename P::Sums*)a.shown = kept.sums;
}

}  // namespace gasla
