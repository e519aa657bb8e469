// Kernels that measure the device's peak rates for `gasla bench`: each kernel measures one rate.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr u32 TOGETHER = 8;  // independent reads per thread that are in flight together

__device__ __forceinline__ u32 scattered(u32 x) {
    x *= 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA77u;
    return x ^ (x >> 13);
}

// Copy `count` words from array a to array b, then from b to a, and so on, `rounds` copies in all. This measures memory
// bandwidth.
__device__ __forceinline__ void copy_words(float4* a, float4* b, u64 count, u32 rounds) {
    for (u32 round = 0; round < rounds; ++round) {
        for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) __stcg(b + i, __ldcg(a + i));
        float4* const t = a;
        a = b;
        b = t;
    }
}

// Let each thread read `reads` words at random places of the array x, whose length is the power of two `mask` + 1. This
// measures the rate of random reads.
__device__ __forceinline__ void gather_words(const u32* x, u32 mask, u32 reads, u32* sum) {
    u32 total = 0, k = (u32)thread_of_grid() * reads;
    for (u32 i = 0; i < reads; i += TOGETHER) {
#pragma unroll
        for (u32 j = 0; j < TOGETHER; ++j) total += x[scattered(k + i + j) & mask];
    }
    // This is practically never true. Without the store, the compiler would remove the reads.
    if (total == 0xfffffffeu) *sum = total;
}

// Let each thread make `adds` atomic additions at random places of the array x. This measures the rate of random
// atomics.
__device__ __forceinline__ void add_to_words(u32* x, u32 mask, u32 adds) {
    const u32 k = (u32)thread_of_grid() * adds;
    for (u32 i = 0; i < adds; ++i) atomicAdd(x + (scattered(k + i) & mask), 1u);
}

__device__ __forceinline__ void wait_often(u32* counter, u32 rounds) {
    Barrier barrier(counter);
    for (u32 i = 0; i < rounds; ++i) barrier.wait();
    barrier.leave();
}

}  // namespace gasla
