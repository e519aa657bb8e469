// Where a run stands: what blocks count together, in which form the active set is, what the host is told.
#pragma once
#include "runtime.cuh"

namespace gasla {

enum Counter { NEXT, TOUCHED, ASIDE, STOPPED, LISTED, ROUSED, LOWEST, COUNTED, COUNTERS = 8 };
enum Read { FAR = 4, LOW, HIGH, READS };  // what a block reads after a barrier, beside the first four counters
enum Way { CHOOSE, SPARSE, DENSE };
enum Form { LIST, BITS, SEGMENTS };

// Where a run stands between launches.
struct Control {
    long long iteration, total;
    u64 size, edges, remaining, far;
    long long bucket;
    double threshold, last_threshold;
    u32 form, done, splits, slot, stamp;
};

// What the host reads and writes while a kernel runs.
struct Page {
    Control control;
    long long progress;
    u32 stop;   // the number of the launch that is to end after the iteration at hand
    u32 ended;  // the number of the launch that ended last: all is written, and the workspace is no longer read
};

constexpr long long POLL_INTERVAL = 30000000;  // cycles between looks at the host's page

// By one thread, once all others have written what they had to: for the host, which waits for it.
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

// What a warp's aggregates come to: lane 0 has them all, in order.
template <class P> __device__ __forceinline__ typename P::Sums warp_total(typename P::Sums sums) {
    if constexpr (P::AGGREGATES) {
#pragma unroll
        for (u32 step = 1; step < WARP; step <<= 1) sums = P::add_sums(sums, shuffle(sums, (lane() + step) % WARP));
    }
    return sums;
}

}  // namespace gasla
