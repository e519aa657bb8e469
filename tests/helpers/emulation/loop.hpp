// What a generated module with the whole loop needs, beside what one of stages does; and a grid of blocks. Each of these is
// a thread of the system: it shares the arrays of a run with the others, and nothing else.
#pragma once
#define GASLA_EMULATED
#include <pthread.h>

#include "stages.hpp"

namespace gasla {
template <class T> T load_acquire(const T* address) {
    warp::change(), sched_yield();  // somebody is waiting: another block needs the processor
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}
template <class T, class V> void add_release(T* address, V value) {
    __atomic_fetch_add(address, (T)value, __ATOMIC_SEQ_CST);
}
template <class T> T load_acquire_of_peer(const T* address) { return load_acquire(address); }
template <class T> void store_release_to_peer(T* address, T value) {
    warp::now_and_then();
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);
}
inline unsigned add_in_block(unsigned* address, unsigned value) { return atomicAdd(address, value); }
inline void prefetch(const void*) {}
inline void rest(unsigned) { warp::change(), sched_yield(); }  // for what another warp does
BLOCKS_OWN double memory_of_launch[1 << 12];
template <class P> char* tables_of_block() { return (char*)memory_of_launch; }
inline unsigned opaque(unsigned at) { return at; }
template <class T> T* shared_pointer(unsigned at) { return (T*)((char*)memory_of_launch + at); }
template <class T> T& by_opaque_address(T& shared) { return shared; }
inline unsigned long long nanoseconds() { return 0; }
}  // namespace gasla

inline void __threadfence_system() {}
inline double __shfl_xor_sync(unsigned mask, double x, unsigned bits) {
    return __longlong_as_double(__shfl_xor_sync(mask, (unsigned long long)__double_as_longlong(x), bits));
}

namespace warp {
template <class Kernel> struct Block {
    const Kernel* kernel;
    unsigned place;
    pthread_t thread;
    static void* begin(void* given) {
        Block& block = *(Block*)given;
        blockIdx.x = block.place;
        run(*block.kernel);
        return nullptr;
    }
};
// 0: a block that fails ends the process.
template <class Kernel> int run_grid(unsigned count, const Kernel& kernel) {
    Block<Kernel> blocks[32];
    gridDim.x = count;
    for (unsigned i = 0; i < count; ++i) {
        blocks[i].kernel = &kernel, blocks[i].place = i;
        if (pthread_create(&blocks[i].thread, nullptr, Block<Kernel>::begin, blocks + i)) abort();
    }
    for (unsigned i = 0; i < count; ++i) pthread_join(blocks[i].thread, nullptr);
    return 0;
}
}  // namespace warp
