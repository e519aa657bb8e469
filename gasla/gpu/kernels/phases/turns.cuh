// Phases (programs on the same graph) that take turns in one launch: what a phase hands to the next one, and what all
// phases share.
#pragma once
#include "frontier.cuh"
#include "state.cuh"

namespace gasla {

// The active vertices with which a phase begins its turn. They are in that array which is not null. If all arrays are
// null, they are a range of ids.
struct Handed {
    u64 size;
    long long first;  // the first id, if the active vertices are a range of ids
    const vertex_t* ids;
    const Entry* entries;
    const u32* bits;
};

// The counts that a run of several phases reports to the host (`Done` in phases.py).
struct Done {
    long long turns, edges, stays;
    u64 is_over;
};

// The arguments of a run of several phases that belong to no single phase (`Turns` in phases.py).
struct Turns {
    Handed active;
    long long limit;
    Page* page;
    Done* done;
    Control* ends;  // for each phase, its state at the end of the run
    u32 launch;
    u32 goes_on;  // whether another turn follows if a turn leaves no vertex active
};

// The state of a run of several phases between the turns of two phases. It is in the shared memory of each block, and
// all blocks compute the same values.
struct Between {
    Handed active;
    Done done;
    u64 left;  // active vertices that the phases have left in this round of turns
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

// The state of a phase that a block keeps from one turn of the phase to the next.
template <class P> struct Kept {
    Control control;
    typename P::Sums sums;
};

// What the loop of a phase knows about its current turn (a *stay*). It is in shared memory.
struct Stay {
    Handed active;
    long long turns;
    bool is_first;  // whether this is the first turn of this phase
};
struct NoStay {};

}  // namespace gasla
