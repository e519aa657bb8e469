// Smallest and largest value of an array in one pass: values become unsigned words of the same order, reduced by
// atomics.
#pragma once
#include "runtime.cuh"

namespace gasla {

struct MinMax {
    u64 below, above;  // 2^64 - 1 minus the smallest word, and the largest word; both 0 initially
    u64 unordered;     // whether there is a NaN
};

constexpr u64 SIGN = 1ull << 63;

// Map a value to a word of the same order.
template <class T> __device__ __forceinline__ u64 word_of(T x) {
    if constexpr ((T)0.5 != (T)0) {
        const u64 bits = (u64)__double_as_longlong((double)x);
        return bits & SIGN ? ~bits : bits | SIGN;
    } else if constexpr ((T)-1 < (T)0) {
        return (u64)(long long)x ^ SIGN;
    } else {
        return (u64)x;
    }
}

template <class T> __device__ void min_max(const T* values, u64 count, MinMax* found) {
    u64 below = 0, above = 0;
    bool unordered = false;
#pragma unroll 4
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const T x = values[i];
        const u64 word = word_of(x);
        unordered |= x != x;
        below = most(below, ~word);
        above = most(above, word);
    }
    for (u32 step = WARP / 2; step; step >>= 1) {
        below = most(below, __shfl_xor_sync(ALL, below, step));
        above = most(above, __shfl_xor_sync(ALL, above, step));
    }
    if (lane() == 0) {
        atomicMax(&found->below, below);
        atomicMax(&found->above, above);
    }
    if (unordered) found->unordered = 1;
}

}  // namespace gasla
