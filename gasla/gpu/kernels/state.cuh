// State of a run: shared counters, the form of the active set, and messages to the host.
#pragma once
#include "runtime.cuh"

namespace gasla {

enum Counter { NEXT, TOUCHED, ASIDE, STOPPED, LISTED, ROUSED, LOWEST, COUNTED, COUNTERS = 8 };
enum Read { FAR = 4, LOW, HIGH, READS };  // values that a block reads after a barrier, besides the first four counters
enum Way { CHOOSE, SPARSE, DENSE };
enum Form { LIST, BITS, SEGMENTS };

// State that a run keeps between launches: `Control` in workspace.py.
struct Control {
    long long iteration, total;
    u64 size, edges, remaining, far;
    long long bucket;
    double threshold, last_threshold;
    u32 form, done, splits, slot, stamp;
    u64 round, everywhere;  // over several GPUs: their meetings so far; active and waiting vertices of all
};

// Pinned host memory that host and device share while a kernel runs.
struct Page {
    Control control;
    long long progress;
    u32 stop;   // number of the launch that should end after its current iteration
    u32 ended;  // number of the launch that ended last: its results are written, its workspace is free
};

constexpr long long POLL_INTERVAL = 30000000;  // cycles between polls of the host's page

// Tell the host that the launch has ended. Called by one thread after all writes; the host polls `ended`.
template <class A> __device__ __forceinline__ void publish_end(const A& a) {
    __threadfence_system();
    *(volatile u32*)&a.page->ended = a.launch;
}

#ifndef GASLA_EMULATED
__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

// Sum the aggregates of a warp's lanes, in a fixed order; lane 0 has the result.
template <class P> __device__ __forceinline__ typename P::Sums warp_total(typename P::Sums sums) {
    if constexpr (P::AGGREGATES) {
#pragma unroll
        for (u32 step = 1; step < WARP; step <<= 1) sums = P::add_sums(sums, shuffle(sums, (lane() + step) % WARP));
    }
    return sums;
}

}  // namespace gasla
