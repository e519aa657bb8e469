// Near-far ordering (delta stepping), for programs with a priority. Active vertices whose priority is below a threshold
// are near, and are processed. Other vertices are put into a list, where they wait until no near vertex is left. Then a
// split raises the threshold: the waiting vertices that are near now become active, and the others are put into a list
// again.
//
// A bitmap (`far_bits`) ensures that a vertex is in a list at most once. There are two lists: a split reads one and
// writes the other. The length of a list and the range of its priorities are in one of four rows (`far`), which are
// used in rotation, so that a row is reset before it is needed.
//
// If a vertex receives values of several components (WAITS), it may have sent some of its components while others wait.
// Then `waits` holds, for each vertex, the smallest priority of the components that it has not sent yet.
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"
#include "state.cuh"

namespace gasla {

template <class Loop> struct Far {
    typedef typename Loop::Program P;
    // If the user gives no width of buckets, the range of waiting priorities is divided into this many.
    static constexpr double PARTS = 16;
    Loop& loop;

    __device__ __forceinline__ u64* count(u32 ahead) const { return loop.c.a.far + (loop.now.splits + ahead) % 4; }
    __device__ __forceinline__ u64* low(u32 ahead) const { return count(ahead) + 4; }
    __device__ __forceinline__ u64* high(u32 ahead) const { return count(ahead) + 8; }
    __device__ __forceinline__ vertex_t* list(u32 ahead) const {
        return loop.c.a.far_lists + (loop.now.splits + ahead) % 2 * loop.c.a.self_n;
    }
    struct Waiting {
        __device__ __forceinline__ static vertex_t* buffers(typename Loop::Shared& s) { return s.buffers.aside; }
        __device__ __forceinline__ static ListSink sink(Loop loop, u32 ahead) {
            const Far far{loop};
            return ListSink{far.list(ahead), far.count(ahead)};
        }
    };
    __device__ __forceinline__ auto appender(u32 ahead) const {
        return loop.template appender_to<Waiting>([=] { return ahead; });
    }

    __device__ __forceinline__ void clear() const {
        for (u64 w = thread_of_grid(); w < loop.c.a.words; w += threads_of_grid()) loop.c.a.far_bits[w] = 0;
        if constexpr (P::WAITS)
            for (u64 v = thread_of_grid(); v < loop.c.a.self_n; v += threads_of_grid())
                loop.c.a.waits[v] = ordered(infinity());
        if (thread_of_grid() < 4) {
            loop.c.a.far[threadIdx.x] = 0;
            loop.c.a.far[4 + threadIdx.x] = ordered(infinity());
            loop.c.a.far[8 + threadIdx.x] = ordered(-infinity());
        }
    }

    // Extend the global range of waiting priorities by the priorities that the threads of this warp have postponed.
    __device__ __forceinline__ void note(Range mine) const {
#pragma unroll 1
        for (u32 step = WARP / 2; step; step >>= 1) {
            mine.low = least(mine.low, __shfl_xor_sync(ALL, mine.low, step));
            if constexpr (!P::ADDS_UP) mine.high = -least(-mine.high, -__shfl_xor_sync(ALL, mine.high, step));
        }
        if (lane() == 0 && mine.low < infinity()) {
            atomicMin(low(0), ordered(mine.low));
            if constexpr (!P::ADDS_UP) atomicMax(high(0), ordered(mine.high));
        }
    }

    // Return the width of the next bucket (range of priorities): the given delta, or a fraction of the range of waiting
    // priorities.
    __device__ __forceinline__ double width() const {
        if (P::ADDS_UP || loop.c.a.delta > 0) return loop.c.a.delta;
        const double low = from_ordered(loop.read[LOW]), high = from_ordered(loop.read[HIGH]);
        return -latest() < low && low < high ? (high - low) / PARTS : 0;
    }

    // Return the upper end of the bucket (range of priorities) that contains `low`. If the width is so small that
    // rounding would lose it, the upper end is the next double after `low`.
    __device__ __forceinline__ static double beyond(double low, double delta) {
        double end = (floor(low / delta) + 1.0) * delta;
        if (!(end > low)) end = nextafter(low, infinity());
        return low < latest() ? least(end, latest()) : infinity();
    }

    // Raise the threshold. Waiting vertices whose priority is below the new threshold become active, and all others are
    // put into a list again. If a waiting vertex got a priority below the old threshold, it has been processed already,
    // and is dropped. Returns the range of priorities that this thread has put into the list again.
    __device__ __forceinline__ Range split() const {
        Control& now = loop.now;
        loop.by_one_thread([&] {
            now.last_threshold = now.threshold;
            now.threshold = beyond(from_ordered(loop.read[LOW]), width());
            now.form = LIST;
        });
        const vertex_t* from = list(0);
        const u64 waiting = now.far;
        auto next = loop.to_queue(1 - loop.parity());
        auto later = appender(1);
        Range again;
        for (u64 base = this_warp_of_grid() * WARP; base < waiting; base += threads_of_grid()) {
            const bool is = base + lane() < waiting;
            const vertex_t v = is ? from[base + lane()] : 0;
            const double priority = is ? P::priority_of(loop.c, v) : 0;
            const bool sent = P::WAITS ? priority == infinity() : priority < now.last_threshold;
            const bool waits = is && priority >= now.threshold && !(P::WAITS && sent);
            const bool near = is && !waits && !sent;
            if constexpr (P::WAITS)
                if (near) loop.c.a.waits[v] = ordered(infinity());
            if (waits) again.take(priority);
            if (is && !waits) atomicAnd(loop.c.a.far_bits + v / WARP, ~bit_of(v));
            next.add(near, v);
            later.add(waits, v);
        }
        next.flush_block();
        later.flush_block();
        if (thread_of_grid() == 0) {
            *count(2) = 0;
            *low(2) = ordered(infinity());
            *high(2) = ordered(-infinity());
        }
        loop.by_one_thread([&] { ++now.splits; });
        return again;
    }
};

}  // namespace gasla
