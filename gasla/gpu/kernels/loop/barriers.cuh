// Barriers between blocks, and what blocks exchange at barriers: counters and aggregates.
#pragma once
#include "loop.cuh"

namespace gasla {

// Wait for all blocks. Then one thread of each block reads the counters into shared memory and calls `then`.
template <class P> template <class Then> __device__ __forceinline__ void Loop<P>::wait_and_read(Then then) {
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier.arrive_and_wait();
        read_counters();
        s.ended = false;
        then();
    }
    __syncthreads();
}

template <class P> __device__ __forceinline__ void Loop<P>::read_counters() {
    u64 values[READS] = {};
    const u64* from = counter(0);
#pragma unroll
    for (u32 i = 0; i < 4; ++i) values[i] = P::ONE_BLOCK ? from[i] : fresh(from + i);
    if constexpr (P::PRIORITISED) {
        values[FAR] = fresh(far().count(0));
        values[LOW] = fresh(far().low(0));
        if constexpr (!P::ADDS_UP) values[HIGH] = fresh(far().high(0));
    }
#pragma unroll
    for (u32 i = 0; i < READS; ++i) read[i] = values[i];
}

// Arrive at the barrier of all blocks, call `meanwhile` in all threads, wait for the other blocks, and call `then` in
// one thread per block. If `due` is true, that thread reads the counters before it calls `then`.
template <class P> template <class Do, class Then>
__device__ __forceinline__ void Loop<P>::wait_meanwhile(Do meanwhile, bool due, Then then) {
    __syncthreads();
    if (threadIdx.x == 0) barrier.arrive();
    meanwhile();
    if (threadIdx.x == 0) {
        barrier.wait_for_all();
        if (due) read_counters();
        s.ended = false;
        then();
    }
    __syncthreads();
}

// Sum `next`, `touched` and all aggregates over the block, and add the first two sums to counters that all blocks
// share. The first warp gets the block's aggregates.
template <class P> __device__ __forceinline__ typename Loop<P>::Sums Loop<P>::reduce_block(u64 next, u64 touched) {
    next = warp_sum(next);
    if constexpr (!P::ROWS) touched = warp_sum(touched);
    Sums sums = warp_total<P>(c.sums);
    c.sums = P::no_sums();
    if (lane() == 0) {
        s.buffers.sums[warp_of_block()] = next;
        s.touched_by[warp_of_block()] = touched;
        s.sums[warp_of_block()] = sums;
    }
    __syncthreads();
    if (this_warp() == 0) {
        const bool is = lane() < warps_of_block();
        next = warp_sum(is ? s.buffers.sums[lane()] : 0);
        if constexpr (!P::ROWS) touched = warp_sum(is ? s.touched_by[lane()] : 0);
        sums = warp_total<P>(is ? s.sums[lane()] : P::no_sums());
        if (lane() == 0) {
            if (next) atomicAdd(counter(NEXT), next);
            if (touched) atomicAdd(counter(TOUCHED), touched);
            if constexpr (P::AGGREGATES) parts(parity())[blockIdx.x] = sums;
        }
    }
    return sums;
}

// End a pass over vertices: sum the counts of the block, and wait for all blocks. All threads then see the counters. If
// the iteration ends with this pass (`ends`), all threads also see the aggregates, and the next iteration is prepared.
template <class P> template <bool ends, class Then>
__device__ __forceinline__ void Loop<P>::finish_pass(u64 next, u64 touched, Then then) {
    const Sums sums = reduce_block(next, touched);
    if (this_warp() == 0) {
        if (lane() == 0) {
            barrier.arrive_and_wait();
            read_counters();
            s.ended = false;
            then();
        }
        __syncwarp();
        if constexpr (ends) {
            take(gridDim.x == 1 ? sums : sum_of_parts(parity()));
            if (lane() == 0) end_iteration();
        }
    }
    __syncthreads();
}

// Add the sum of `mine` over all threads to a global counter, with one atomic per block.
template <class P> __device__ __forceinline__ void Loop<P>::add_to(u32 which, u64 mine) {
    mine = warp_sum(mine);
    if (lane() == 0) s.buffers.sums[warp_of_block()] = mine;
    __syncthreads();
    if (warp_of_block() == 0) {
        const u64 sum = warp_sum(lane() < warps_of_block() ? s.buffers.sums[lane()] : 0);
        if (lane() == 0 && sum) atomicAdd(counter(which), sum);
    }
    __syncthreads();
}

// Switch to the next of three sets of counters, for the next iteration. The set after that one is no longer read, and
// is set to zero.
template <class P> __device__ __forceinline__ void Loop<P>::rotate_counters() {
    const auto after = [](u32 slot) { return slot == 2 * COUNTERS ? 0 : slot + COUNTERS; };
    const u32 slot = now.slot = after(now.slot);
    u64* zeroed = counters() + after(slot);
    if (blockIdx.x == 0)
        for (u32 i = 0; i < COUNTED; ++i) zeroed[i] = 0;
}

// Store the block's contribution to all aggregates. Contributions are always combined in the same order, so results of
// floats repeat exactly.
template <class P> __device__ __forceinline__ void Loop<P>::publish_sums(u32 side) {
    if constexpr (P::AGGREGATES) {
        __syncthreads();
        Sums sums = warp_total<P>(c.sums);
        if (lane() == 0) s.sums[warp_of_block()] = sums;
        __syncthreads();
        if (warp_of_block() == 0) {
            sums = P::no_sums();
            if (lane() < warps_of_block()) sums = s.sums[lane()];
            sums = warp_total<P>(sums);
            if (lane() == 0) parts(side)[blockIdx.x] = sums;
        }
        c.sums = P::no_sums();
    }
}

// Return the sum of the aggregates of all blocks. In each block, one warp computes the sum.
template <class P> __device__ __forceinline__ typename Loop<P>::Sums Loop<P>::sum_of_parts(u32 side) const {
    Sums sums = P::no_sums();
    if constexpr (P::AGGREGATES)
        for (u32 i = lane(); i < gridDim.x; i += WARP) sums = P::add_sums(sums, parts(side)[i]);
    return warp_total<P>(sums);
}

template <class P> __device__ __forceinline__ void Loop<P>::take_sums(u32 side) {
    if constexpr (P::AGGREGATES) {
        if (warp_of_block() == 0) take(sum_of_parts(side));
        __syncthreads();
    }
}

template <class P> __device__ __forceinline__ void Loop<P>::take(const Sums& sums) {
    if (lane() != 0) return;
    P::take_sums(c, sums);
    s.sums[0] = sums;
}

}  // namespace gasla
