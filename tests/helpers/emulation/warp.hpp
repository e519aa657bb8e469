// A block of a GPU on the CPU, one warp unless BLOCK says more threads: those of a warp meet at every shuffle. Enough of
// CUDA to run the kernels of products, of stages, of the loop and of one block alone.
//
// Threads are contexts of one thread of the system, which change wherever they meet, and now and then where one is about
// to change what others may see; who is ahead is random. So a run takes no time for waiting, comes out the same every
// time, and fails where threads would wait for each other for ever.
#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#ifndef BLOCK
#define BLOCK 32
#endif

#define __device__
#define __forceinline__ inline
inline float __int_as_float(int bits) { return *reinterpret_cast<float*>(&bits); }
inline double __longlong_as_double(long long bits) { return *reinterpret_cast<double*>(&bits); }
inline long long __double_as_longlong(double x) { return *reinterpret_cast<long long*>(&x); }
inline long long clock64() { return 0; }
inline unsigned long long __cvta_generic_to_shared(const void*) { abort(); }  // for PTX, which isn't run here

struct Index {
    unsigned x;
};
// What each block has for itself: several are threads of the system.
#define BLOCKS_OWN static thread_local
BLOCKS_OWN Index threadIdx;
static const Index blockDim{BLOCK};
BLOCKS_OWN Index blockIdx{0};
static Index gridDim{1};

namespace warp {
// Where `size` threads wait for each other; `round` counts how often they have.
struct Meeting {
    unsigned size, here = 0, round = 0;
    void wait();
};
struct Lane {
    ucontext_t context;  // in which it begins
    jmp_buf place;       // where it goes on
    const Meeting* meeting;  // at which it waits, if it does
    unsigned round;
    bool begun, done;
    unsigned reductions;  // over the block in which it took part
    bool waits() const { return done || (meeting && meeting->round == round); }
};
struct Warp {
    Meeting meeting{32};
    unsigned slots[2][32];  // in turn: some still read those of the last meeting
};
BLOCKS_OWN Warp warps[BLOCK / 32];
BLOCKS_OWN Meeting all{BLOCK};
BLOCKS_OWN Lane lanes[BLOCK];
BLOCKS_OWN ucontext_t outside;
BLOCKS_OWN void (*entry)(const void*);
BLOCKS_OWN const void* argument;
constexpr size_t STACK = 1 << 17;

inline unsigned random_number() {
    BLOCKS_OWN unsigned state = 1;
    state ^= state << 13, state ^= state >> 17;
    return state ^= state << 5;
}
// Let another thread go on in place of this one, which comes back when it is let on itself. Jumps ask nothing of the
// system, which a change of contexts does.
inline void go_on(unsigned next) {
    const unsigned me = threadIdx.x;
    threadIdx.x = next;
    if (next == me || _setjmp(lanes[me].place)) return;
    if (lanes[next].begun) _longjmp(lanes[next].place, 1);
    lanes[next].begun = true;
    setcontext(&lanes[next].context);
}
// Let one go on of those that can: mostly the same is ahead, and its neighbors after it, as far as they come alone.
inline void change() {
    BLOCKS_OWN unsigned first = 0;
    bool all_done = true;
    if (random_number() % BLOCK == 0) first = random_number() % BLOCK;
    for (unsigned i = 0; i < BLOCK; ++i) {
        const unsigned next = (first + i) % BLOCK;
        all_done &= lanes[next].done;
        if (lanes[next].waits()) continue;
        return go_on(next);
    }
    if (all_done) setcontext(&outside);
    fprintf(stderr, "the threads of a block wait for each other\n");
    abort();
}
inline void Meeting::wait() {
    Lane& lane = lanes[threadIdx.x];
    lane.meeting = this, lane.round = round;
    if (++here == size) here = 0, ++round;
    change();
    lane.meeting = nullptr;
}
// Before a thread changes what others see.
inline void now_and_then() {
    if (random_number() % 8 == 0) change();
}
inline void begin(int me) {
    threadIdx.x = me;
    entry(argument);
    lanes[me].done = true;
    change();
}
template <class Kernel> void run(const Kernel& kernel) {
    entry = [](const void* kernel) { (*(const Kernel*)kernel)(); };
    argument = &kernel;
    char* stacks = (char*)malloc(BLOCK * STACK);
    for (int i = 0; i < BLOCK; ++i) {
        Lane& lane = lanes[i];
        lane.meeting = nullptr, lane.begun = lane.done = false;
        getcontext(&lane.context);
        lane.context.uc_stack.ss_sp = stacks + i * STACK, lane.context.uc_stack.ss_size = STACK;
        makecontext(&lane.context, (void (*)())begin, 1, i);
    }
    const unsigned first = random_number() % BLOCK;
    lanes[first].begun = true;
    swapcontext(&outside, &lanes[first].context);
    free(stacks);
}

inline unsigned me() { return threadIdx.x % 32; }
inline Warp& mine() { return warps[threadIdx.x / 32]; }

// Everybody puts a word down; then each reads what it wants of them.
template <class Read> unsigned exchange(unsigned word, Read read) {
    unsigned(&slots)[32] = mine().slots[mine().meeting.round % 2];
    slots[me()] = word;
    mine().meeting.wait();
    return read(slots);
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
inline int __shfl_up_sync(unsigned mask, int word, unsigned step) {
    return (int)__shfl_up_sync(mask, (unsigned)word, step);
}
inline long long __shfl_up_sync(unsigned mask, long long word, unsigned step) {
    return (long long)__shfl_up_sync(mask, (unsigned long long)word, step);
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
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(unsigned x) { return __builtin_ffs((int)x); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
inline void __syncthreads() { warp::all.wait(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
template <class T, class Value> T atomicAdd(T* address, Value value) {
    warp::now_and_then();
    if constexpr (T(0.5) == T(0)) {
        return __atomic_fetch_add(address, (T)value, __ATOMIC_SEQ_CST);
    } else {
        T seen = *(volatile T*)address, sum = seen + (T)value;
        while (!__atomic_compare_exchange(address, &seen, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            sum = seen + (T)value;
        return seen;
    }
}
template <class T> T __ldcg(const T* address) { return *address; }
template <class T> T __ldg(const T* address) { return *address; }

inline bool __any_sync(unsigned mask, bool yes) { return __ballot_sync(mask, yes); }
inline void __syncwarp() { warp::mine().meeting.wait(); }
inline int __syncthreads_or(int yes) {
    BLOCKS_OWN int any[3];
    const unsigned now = warp::lanes[threadIdx.x].reductions++ % 3;
    if (yes) any[now] = 1;
    if (threadIdx.x == 0) any[(now + 1) % 3] = 0;
    __syncthreads();
    return any[now];
}
inline unsigned atomicOr(unsigned* address, unsigned bits) {
    warp::now_and_then();
    return __atomic_fetch_or(address, bits, __ATOMIC_SEQ_CST);
}
inline unsigned atomicAnd(unsigned* address, unsigned bits) {
    warp::now_and_then();
    return __atomic_fetch_and(address, bits, __ATOMIC_SEQ_CST);
}
template <class T> T atomicExch(T* address, T value) {
    warp::now_and_then();
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);
}
template <class T> T atomicCAS(T* address, T expected, T value) {
    warp::now_and_then();
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class T, class Better> T exchange_if(T* address, T value, Better better) {
    T seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    warp::now_and_then();
    while (better(value, seen) &&
           !__atomic_compare_exchange_n(address, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}
template <class T> T atomicMin(T* address, T value) { return exchange_if(address, value, [](T a, T b) { return a < b; }); }
template <class T> T atomicMax(T* address, T value) { return exchange_if(address, value, [](T a, T b) { return b < a; }); }
