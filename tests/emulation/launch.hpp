// Kernels launched as the driver launches them, by a list of where their arguments are: each by one block.
#pragma once
#include <utility>

#include "loop.hpp"

namespace warp {
template <class... A> void launch(void (*kernel)(A...), void** arguments) {
    [&]<size_t... i>(std::index_sequence<i...>) {
        run([&] { kernel(*(A*)arguments[i]...); });
    }(std::index_sequence_for<A...>{});
}
}  // namespace warp
