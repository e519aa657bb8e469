// Counter-based random numbers: a draw is a function of the key, the walker, the step and the number of the draw alone.
// Bit-identical to the CPU's.
#pragma once

#include "runtime.cuh"

namespace gasla {

// Mix a number into a state, as semirings.hash does.
__device__ __forceinline__ u64 mixed(u64 state, u64 number) {
    u64 z = (number + 1) * 0x9E3779B97F4A7C15ull + state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// A random integer below `count`: bits * count / 2^64, rounded down; count < 2^32.
__device__ __forceinline__ u64 share(u64 bits, u64 count) {
    return ((bits >> 32) * count + (((bits & 0xffffffffull) * count) >> 32)) >> 32;
}

__device__ __forceinline__ double fraction(u64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }

}  // namespace gasla
