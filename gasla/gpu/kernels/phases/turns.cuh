// Phases that take turns in one launch: what a phase hands to the next one, and what all of them share.
#pragma once
#include "frontier.cuh"
#include "state.cuh"

namespace gasla {

// The active vertices with which a phase begins: in one of the arrays, else a range of ids.
struct Handed {
    u64 size;
    long long first;  // of the range
    const vertex_t* ids;
    const Entry* entries;
    const u32* bits;
};

// What a run of phases has done: `Done` in phases.py.
struct Done {
    long long turns, edges, stays;
    u64 is_over;
};

// Arguments of a run of phases: `Turns` in phases.py.
struct Turns {
    Handed active;
    long long limit;
    Page* page;
    Done* done;
    Control* ends;  // the state of each phase at its end
    u32 launch;
    u32 goes_on;  // whether another turn follows one that leaves no vertex active
};

// The run between two stays of phases. In shared memory: all blocks compute the same.
struct Between {
    Handed active;
    Done done;
    u64 left;  // active vertices that the phases of this turn have left
    bool stops;
    Looks polls;

    __device__ __forceinline__ void begin(const Turns& turns) {
        active = turns.active;
        done = Done{0, 0, 0, 0};
        left = 0;
        stops = false;
        polls.wait(POLL_INTERVAL);
    }
    __device__ __forceinline__ bool ends() const { return done.is_over || stops; }
    __device__ __forceinline__ bool goes_on(const Turns& turns) const { return !ends() && done.turns < turns.limit; }
    __device__ __forceinline__ void end_turn(const Turns& turns) {
        ++done.turns;
        if (!left && !turns.goes_on) done.is_over = 1;
        left = 0;
    }
};

// What a block keeps of a phase from one stay to the next.
template <class P> struct Kept {
    Control control;
    typename P::Sums sums;
};

// A stay, within the shared memory of its loop.
struct Stay {
    Handed active;
    long long turns;
    bool is_first;  // of this phase
};
struct NoStay {};

}  // namespace gasla
