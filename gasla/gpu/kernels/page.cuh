// Pinned host memory that both the host and a kernel access while the kernel runs, so that the host can stop the kernel
// and show its progress.
#pragma once
#include "runtime.cuh"

namespace gasla {

// clock ticks (about a millisecond) between two reads of host memory by a block
constexpr long long LOOK_INTERVAL = 1 << 21;

struct Page {
    u64 stop;  // set by the host when the kernel should end early
    u64 taken;  // pieces of work that blocks have begun, for the host's progress bar
};

}  // namespace gasla
