// A block of a GPU on the CPU, one warp unless BLOCK says more threads: those of a warp meet at every shuffle. Enough of
// CUDA to run kernels/rows.cuh, kernels/stages.cuh, and of kernels/loop.cuh the scheduled runs.
#pragma once

#include <barrier>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#ifndef BLOCK
#define BLOCK 32
#endif

#define __device__
#define __forceinline__ inline
inline unsigned long long __cvta_generic_to_shared(const void*) { std::abort(); }  // for PTX, which isn't run here

struct Index {
    unsigned x;
};
static thread_local Index threadIdx;
static const Index blockDim{BLOCK};
static Index blockIdx{0}, gridDim{1};

namespace warp {
struct Warp {
    std::barrier<> meeting{32};
    unsigned slots[32];
};
static Warp warps[BLOCK / 32];
static std::barrier<> all(BLOCK);

inline unsigned me() { return threadIdx.x % 32; }
inline Warp& mine() { return warps[threadIdx.x / 32]; }

// Everybody puts a word down; then each reads what it wants of them.
template <class Read> unsigned exchange(unsigned word, Read read) {
    mine().slots[me()] = word;
    mine().meeting.arrive_and_wait();
    const unsigned found = read(mine().slots);
    mine().meeting.arrive_and_wait();
    return found;
}
inline void run(const std::function<void()>& kernel) {
    std::vector<std::thread> lanes;
    for (unsigned i = 0; i < BLOCK; ++i) lanes.emplace_back([&, i] { threadIdx.x = i, kernel(); });
    for (std::thread& lane : lanes) lane.join();
}
}  // namespace warp

inline unsigned __shfl_sync(unsigned, unsigned word, unsigned from, unsigned width = 32) {
    const unsigned first = warp::me() & ~(width - 1);
    return warp::exchange(word, [&](const unsigned* slots) { return slots[first + (from & (width - 1))]; });
}
inline unsigned long long __shfl_sync(unsigned, unsigned long long word, unsigned from) {
    const unsigned low = __shfl_sync(0u, (unsigned)word, from), high = __shfl_sync(0u, (unsigned)(word >> 32), from);
    return (unsigned long long)high << 32 | low;
}
inline unsigned __shfl_up_sync(unsigned, unsigned word, unsigned step) {
    const unsigned me = warp::me();
    return warp::exchange(word, [&](const unsigned* slots) { return slots[me < step ? me : me - step]; });
}
inline unsigned __reduce_or_sync(unsigned, unsigned word) {
    return warp::exchange(word, [](const unsigned* slots) {
        unsigned all = 0;
        for (unsigned i = 0; i < 32; ++i) all |= slots[i];
        return all;
    });
}
inline unsigned long long __shfl_up_sync(unsigned, unsigned long long word, unsigned step) {
    const unsigned low = __shfl_up_sync(0u, (unsigned)word, step), high = __shfl_up_sync(0u, (unsigned)(word >> 32), step);
    return (unsigned long long)high << 32 | low;
}
inline unsigned __match_any_sync(unsigned, unsigned word) {
    return warp::exchange(word, [&](const unsigned* slots) {
        unsigned alike = 0;
        for (unsigned i = 0; i < 32; ++i) alike |= (slots[i] == word) << i;
        return alike;
    });
}
inline unsigned __ballot_sync(unsigned mask, bool yes) { return __reduce_or_sync(mask, yes ? 1u << warp::me() : 0); }
inline unsigned __shfl_xor_sync(unsigned mask, unsigned word, unsigned bits) {
    return __shfl_sync(mask, word, warp::me() ^ bits);
}
inline unsigned long long __shfl_xor_sync(unsigned mask, unsigned long long word, unsigned bits) {
    return __shfl_sync(mask, word, warp::me() ^ bits);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline void __syncthreads() { warp::all.arrive_and_wait(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <class T, class Value> T atomicAdd(T* address, Value value) {
    return __atomic_fetch_add(address, (T)value, __ATOMIC_SEQ_CST);
}
template <class T> T __ldcg(const T* address) { return *address; }
template <class T> T __ldg(const T* address) { return *address; }

inline bool __any_sync(unsigned mask, bool yes) { return __ballot_sync(mask, yes); }
inline void __syncwarp() { warp::mine().meeting.arrive_and_wait(); }
inline int __syncthreads_or(int yes) {
    static int any[3];
    static thread_local unsigned turn = 0;
    const unsigned now = turn++ % 3;
    if (yes) __atomic_store_n(any + now, 1, __ATOMIC_SEQ_CST);
    if (threadIdx.x == 0) any[(now + 1) % 3] = 0;
    __syncthreads();
    return any[now];
}
inline unsigned atomicOr(unsigned* address, unsigned bits) { return __atomic_fetch_or(address, bits, __ATOMIC_SEQ_CST); }
inline unsigned atomicAnd(unsigned* address, unsigned bits) { return __atomic_fetch_and(address, bits, __ATOMIC_SEQ_CST); }
template <class T> T atomicCAS(T* address, T expected, T value) {
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class T, class Better> T exchange_if(T* address, T value, Better better) {
    T seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (better(value, seen) &&
           !__atomic_compare_exchange_n(address, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}
template <class T> T atomicMin(T* address, T value) { return exchange_if(address, value, [](T a, T b) { return a < b; }); }
template <class T> T atomicMax(T* address, T value) { return exchange_if(address, value, [](T a, T b) { return b < a; }); }
