// One warp of a GPU on the CPU: 32 threads that meet at every shuffle. Enough of CUDA to run
// kernels/rows.cuh and kernels/stages.cuh.
#pragma once

#include <barrier>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#define __device__
#define __forceinline__ inline

struct Index {
    unsigned x;
};
static thread_local Index threadIdx;
static const Index blockIdx{0}, blockDim{32}, gridDim{1};

namespace warp {
static std::barrier<> meeting(32);
static unsigned slots[32];

// Everybody puts a word down; then each reads what it wants of them.
template <class Read> unsigned exchange(unsigned word, Read read) {
    slots[threadIdx.x] = word;
    meeting.arrive_and_wait();
    const unsigned found = read();
    meeting.arrive_and_wait();
    return found;
}
inline void run(const std::function<void()>& kernel) {
    std::vector<std::thread> lanes;
    for (unsigned i = 0; i < 32; ++i) lanes.emplace_back([&, i] { threadIdx.x = i, kernel(); });
    for (std::thread& lane : lanes) lane.join();
}
}  // namespace warp

inline unsigned __shfl_sync(unsigned, unsigned word, unsigned from, unsigned width = 32) {
    const unsigned first = threadIdx.x & ~(width - 1);
    return warp::exchange(word, [&] { return warp::slots[first + (from & (width - 1))]; });
}
inline unsigned long long __shfl_sync(unsigned, unsigned long long word, unsigned from) {
    const unsigned low = __shfl_sync(0u, (unsigned)word, from), high = __shfl_sync(0u, (unsigned)(word >> 32), from);
    return (unsigned long long)high << 32 | low;
}
inline unsigned __shfl_up_sync(unsigned, unsigned word, unsigned step) {
    const unsigned me = threadIdx.x;
    return warp::exchange(word, [&] { return warp::slots[me < step ? me : me - step]; });
}
inline unsigned __reduce_or_sync(unsigned, unsigned word) {
    return warp::exchange(word, [] {
        unsigned all = 0;
        for (unsigned slot : warp::slots) all |= slot;
        return all;
    });
}
inline unsigned long long __shfl_up_sync(unsigned, unsigned long long word, unsigned step) {
    const unsigned low = __shfl_up_sync(0u, (unsigned)word, step), high = __shfl_up_sync(0u, (unsigned)(word >> 32), step);
    return (unsigned long long)high << 32 | low;
}
inline unsigned __ballot_sync(unsigned mask, bool yes) { return __reduce_or_sync(mask, yes ? 1u << threadIdx.x : 0); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline void __syncthreads() { warp::meeting.arrive_and_wait(); }
template <class T> T atomicAdd(T* address, T value) { return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST); }
template <class T> T __ldcg(const T* address) { return *address; }
template <class T> T __ldg(const T* address) { return *address; }

// Named in the headers and not used here.
inline unsigned long long __shfl_xor_sync(unsigned, unsigned long long, unsigned) { abort(); }
inline void __threadfence() { abort(); }
inline void __syncwarp() { abort(); }
inline int __syncthreads_or(int) { abort(); }
inline unsigned atomicOr(unsigned*, unsigned) { abort(); }
template <class T> T atomicCAS(T*, T, T) { abort(); }
template <class T> T atomicMin(T*, T) { abort(); }
template <class T> T atomicMax(T*, T) { abort(); }
