// Host memory that both sides read and write while a kernel runs, so that it can be interrupted, and shows its progress.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr long long LOOK_INTERVAL = 1 << 21;  // clock ticks between looks of a block at host memory: a millisecond

struct Page {
    u64 stop;   // whether the kernel is to end before its time
    u64 taken;  // pieces of work that blocks have taken, for a progress bar
};

}  // namespace gasla
