// Where a run stands: what blocks count together, in which form the active set is, what the host is told.
#pragma once
#include "runtime.cuh"

namespace gasla {

enum Counter { NEXT, TOUCHED, ASIDE, STOPPED, LISTED, COUNTED, COUNTERS = 8 };
enum Read { FAR = 4, LOW, HIGH, READS };  // what a block reads after a barrier, beside the first four counters
enum Way { CHOOSE, SPARSE, DENSE };
enum Form { LIST, BITS, SEGMENTS };

// Where a run stands between launches.
struct Control {
    long long iteration, total;
    u64 size, edges, remaining, far;
    double threshold, last_threshold;
    u32 form, done, splits, slot, stamp;
};

// What the host reads and writes while a kernel runs.
struct Page {
    Control control;
    long long progress;
    u32 stop;   // the number of the launch that is to end after the iteration at hand
    u32 ended;  // the number of the launch that ended last: all is written, and nobody reads the workspace any more
};

}  // namespace gasla
