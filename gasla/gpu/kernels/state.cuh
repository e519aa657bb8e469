// State of a run on the GPU: the counters that all blocks share, the form of the active set (list, bitmap or segments),
// and the memory through which host and device exchange messages.
#pragma once
#include "runtime.cuh"

namespace gasla {

enum Counter { NEXT, TOUCHED, ASIDE, STOPPED, LISTED, ROUSED, LOWEST, COUNTED, COUNTERS = 8 };
// The values that each block reads after a barrier are numbered. Numbers 0 to 3 are the first four counters, and
// numbers from 4 on these values.
enum Read { FAR = 4, LOW, HIGH, READS };
enum Way { CHOOSE, SPARSE, DENSE };
enum Form { LIST, BITS, SEGMENTS };

// The state of a run that the next launch continues. Its layout is that of the class `Control` in workspace.py.
struct Control {
    long long iteration, total;
    u64 size, edges, remaining, far;
    long long bucket;
    double threshold, last_threshold;
    u32 form, done, splits, slot, stamp;
    // In runs on several GPUs: the number of exchanges between the GPUs so far, and the number of active and waiting
    // vertices on all GPUs together.
    u64 round, everywhere;
};

// Pinned host memory that host and device share while a kernel runs.
struct Page {
    Control control;
    long long progress;
    u32 stop;  // number of the launch that the host asks to end after its current iteration
    u32 ended;  // number of the last launch that has ended: its results are written, and its workspace may be reused
};

constexpr long long POLL_INTERVAL = 30000000;  // clock cycles between two reads of the host's `Page` by a kernel

// Tell the host that this launch has ended, by writing its number to `ended`, which the host polls. One thread calls
// this after all threads have written their results.
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

// Sum the aggregates (the program's global sums) of a warp's lanes. The order of additions is fixed, so that results of
// floats repeat exactly. Only lane 0 has the result.
template <class P> __device__ __forceinline__ typename P::Sums warp_total(typename P::Sums sums) {
    if constexpr (P::AGGREGATES) {
#pragma unroll
        for (u32 step = 1; step < WARP; step <<= 1) sums = P::add_sums(sums, shuffle(sums, (lane() + step) % WARP));
    }
    return sums;
}

}  // namespace gasla
