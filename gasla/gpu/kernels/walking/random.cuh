// Hash functions and counter-based random numbers: a random number is a function only of the key, the walker, the step
// and the number of the draw. Numbers are bit-identical to those of the CPU.
#pragma once

#include "runtime.cuh"

namespace gasla {

// The increment of the generator SplitMix64, whose multiples are evenly spread over 64-bit numbers.
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

// The last steps of the generator SplitMix64, which map 64-bit words one-to-one.
__device__ __forceinline__ u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// Mix a number into a state, in the same way as semirings.hash.
__device__ __forceinline__ u64 mixed(u64 state, u64 number) { return mix((number + 1) * GOLDEN + state); }

// Return a random integer below `count`: bits * count / 2^64, rounded down. `count` must be less than 2^32.
__device__ __forceinline__ u64 share(u64 bits, u64 count) {
    return ((bits >> 32) * count + (((bits & 0xffffffffull) * count) >> 32)) >> 32;
}

__device__ __forceinline__ double fraction(u64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }

// After this many rejected draws, the weights of all edges in an adjacency list are computed, and an edge is drawn by
// them.
constexpr u64 TRIES = 32;

// The weights of the edges in an adjacency list as cumulative sums. For each of `size` fractions of the total, the
// struct also has the position at which a search for this fraction starts. Positions count from 0.
struct Weights {
    const double* sums;
    const u32* guides;
    u64 size;

    __device__ __forceinline__ double total() const { return sums[size - 1]; }
    __device__ __forceinline__ double of(u64 place) const { return sums[place] - (place ? sums[place - 1] : 0); }

    // Return the position at which the cumulative weights exceed a fraction (`part`) of the total.
    __device__ __forceinline__ u64 draw(double part) const {
        double mark = part * total();
        if (mark >= total()) mark = 0;  // may happen by rounding, if the total is barely above 0
        u64 place = guides[least((u64)(part * (double)size), size - 1)];
        while (place > 0 && sums[place - 1] > mark) --place;
        while (sums[place] <= mark) ++place;
        return place;
    }
};

}  // namespace gasla
