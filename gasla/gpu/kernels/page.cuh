// Pinned host memory that host and device both access while a kernel runs, so that the host can interrupt the kernel
// and show its progress.
#pragma once
#include "runtime.cuh"

namespace gasla {

// clock ticks between two reads of host memory by a block: about a millisecond
constexpr long long LOOK_INTERVAL = 1 << 21;

struct Page {
    u64 stop;  // set by the host when the kernel should end early
    u64 taken;  // pieces of work that blocks have begun, for the host's progress bar
};

}  // namespace gasla
