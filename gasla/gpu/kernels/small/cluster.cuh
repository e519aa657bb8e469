// A cluster: blocks that run at the same time, each on a multiprocessor of its own, and write to each other's shared memory.
//
// What one sends counts its bytes where it arrives. Whoever waits there for so many needs no fence: one across the GPU,
// and the empty L1 cache after it, would take longer than all else in an iteration of a small graph.
#pragma once
#include "runtime.cuh"

namespace gasla {

#if __CUDA_ARCH__ >= 900 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201
#define IN_A_CLUSTER __cluster_dims__(gasla::CLUSTER)
constexpr u32 CLUSTER = 8;  // blocks: `CLUSTER` in space.py

__device__ __forceinline__ u32 shared_address(const void* place) { return (u32)__cvta_generic_to_shared(place); }
__device__ __forceinline__ u32 address_in(u32 block, u32 address) {
    u32 result;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(block));
    return result;
}

// A value, of words of 4 or of 8 bytes, to the same place in the memory of a block.
template <class T> __device__ __forceinline__ void send(u32 block, T* place, const T& value, u32 arrival) {
    const u32 to = address_in(block, shared_address(place)), at = address_in(block, arrival);
    if constexpr (alignof(T) == 8) {
#pragma unroll
        for (u32 i = 0; i < sizeof(T) / 8; ++i)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                         ::"r"(to + 8 * i), "l"(reinterpret_cast<const u64*>(&value)[i]), "r"(at) : "memory");
    } else {
#pragma unroll
        for (u32 i = 0; i < sizeof(T) / 4; ++i)
            asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                         ::"r"(to + 4 * i), "r"(reinterpret_cast<const u32*>(&value)[i]), "r"(at) : "memory");
    }
}
template <class T> __device__ __forceinline__ void send_to_all(T* place, const T& value, u32 arrival) {
#pragma unroll
    for (u32 block = 0; block < CLUSTER; ++block) send(block, place, value, arrival);
}

// Where bytes arrive: one thread of the block says how many it will be, each time anew.
__device__ __forceinline__ void make_arrival(u32 arrival) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrival) : "memory");
}
__device__ __forceinline__ void expect(u32 arrival, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival), "r"(bytes) : "memory");
}
// `odd`: for the second, fourth, ... time. The loop is not the compiler's: it would ask who of a warp is in there still.
__device__ __forceinline__ void wait_for(u32 arrival, u32 odd) {
    asm volatile("{ .reg .pred here;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 here, [%0], %1;\n"
                 "@here bra done;\n"
                 "bra again;\n"
                 "done: }" ::"r"(arrival), "r"(odd) : "memory");
}
// All blocks' places for arrivals are made before any sends: less than all that the other barrier makes sure of.
__device__ __forceinline__ void say_begun() {
    asm volatile("fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_until_all_began() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_for_all_blocks() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#else  // a block alone
#define IN_A_CLUSTER
constexpr u32 CLUSTER = 1;
template <class T> __device__ __forceinline__ void send_to_all(T* place, const T& value, u32) { *place = value; }
template <class T> __device__ void send(u32 block, T* place, const T& value, u32 arrival);
__device__ u32 shared_address(const void* place);
__device__ void make_arrival(u32 arrival);
__device__ void expect(u32 arrival, u32 bytes);
__device__ void wait_for(u32 arrival, u32 odd);
__device__ void say_begun();
__device__ void wait_until_all_began();
__device__ void wait_for_all_blocks();
#endif

}  // namespace gasla
