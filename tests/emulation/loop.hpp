// What a generated module with the whole loop needs, beside what one of stages does; and a grid of blocks. Each of these is
// a process: it shares the arrays of a run with the others, and nothing else.
#pragma once
#define GASLA_EMULATED
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages.hpp"

namespace gasla {
template <class T> T load_acquire(const T* address) {
    warp::change(), usleep(10);  // somebody is waiting: another block needs the processor
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}
template <class T, class V> void add_release(T* address, V value) {
    __atomic_fetch_add(address, (T)value, __ATOMIC_SEQ_CST);
}
inline unsigned add_in_block(unsigned* address, unsigned value) { return atomicAdd(address, value); }
inline void prefetch(const void*) {}
static double memory_of_launch[1 << 12];
inline unsigned hide(unsigned at) { return at; }
inline unsigned start_of_near() { return 0; }
template <class T> T* near(unsigned at) { return (T*)((char*)memory_of_launch + at); }
template <class T> T& hidden(T& shared) { return shared; }
inline unsigned long long nanoseconds() { return 0; }
}  // namespace gasla

inline long long clock64() { return 0; }
inline void __threadfence_system() {}
inline double __shfl_xor_sync(unsigned mask, double x, unsigned bits) {
    return __longlong_as_double(__shfl_xor_sync(mask, (unsigned long long)__double_as_longlong(x), bits));
}

namespace warp {
// Whether any block failed.
template <class Kernel> int run_grid(unsigned blocks, const Kernel& kernel) {
    gridDim.x = blocks;
    pid_t others[32];
    for (unsigned i = 0; i < blocks; ++i) {
        if ((others[i] = fork())) continue;
        blockIdx.x = i;
        run(kernel);
        _exit(0);
    }
    int failed = 0;
    for (unsigned i = 0; i < blocks; ++i) {
        int status;
        wait(&status);
        if (status && !failed)  // nobody will come to where the others wait
            for (unsigned j = 0; j < blocks; ++j) kill(others[j], SIGKILL);
        failed |= status;
    }
    return failed;
}
}  // namespace warp
