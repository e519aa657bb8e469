// Kernels launched as the driver launches them, by a list of where their arguments are: each by one block.
#pragma once
#include <utility>

#include "loop.hpp"

namespace warp {
// Another thread that can go on does so, before this one.
inline void let_another() {
    const unsigned me = threadIdx.x, first = random_number() % BLOCK;
    for (unsigned i = 0; i < BLOCK; ++i) {
        const unsigned next = (first + i) % BLOCK;
        if (next == me || lanes[next].waits()) continue;
        return go_on(next);
    }
}

template <class... A> void launch(void (*kernel)(A...), void** arguments) {
    [&]<size_t... i>(std::index_sequence<i...>) {
        run([&] { kernel(*(A*)arguments[i]...); });
    }(std::index_sequence_for<A...>{});
}
}  // namespace warp
