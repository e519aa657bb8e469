// What a generated module of stages needs to be compiled for the emulated warp, beside the warp itself.
#pragma once
#include <math.h>

#include "warp.hpp"

namespace semirings {  // PTX has instructions for these
inline float widened_half(unsigned short bits) { return *reinterpret_cast<_Float16*>(&bits); }
template <class Float> unsigned short to_half(Float x) {
    const _Float16 half = x;
    return *reinterpret_cast<const unsigned short*>(&half);
}
}  // namespace semirings

#define __global__
#define __shared__ BLOCKS_OWN
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
