// What a generated module of stages needs to be compiled for the emulated warp, beside the warp itself.
#pragma once
#include <math.h>

#include "warp.hpp"

#define __global__
#define __shared__ static
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
