// The minimum, the maximum and a checksum of an array, or its sum, in one pass and one launch. Values are mapped to
// unsigned integers of the same order, which are reduced by atomics. The last block writes the result to host memory.
#pragma once
#include "runtime.cuh"

namespace gasla {

// The memory into which all blocks reduce. It is zero before and after each launch.
struct MinMax {
    // `below` is the largest bitwise complement of an encoded value, which gives the minimum, and `above` the largest
    // encoded value.
    u64 below, above;
    u64 checksum;
    u64 unordered;  // not 0 if any value is NaN
    u64 blocks;  // number of blocks that have finished
};

// The result in host memory. The host polls `ended`, the number of the launch whose result has been written.
struct MinMaxPage {
    u64 below, above, checksum;
    u32 unordered, ended;
};

// Map a value to an unsigned integer, such that integers compare as the values do. The integer has 32 bits for types of
// up to 4 bytes, and else 64 bits.
template <class T> __device__ __forceinline__ auto word_of(T x) {
    typedef typename Choose<sizeof(T) == 8, u64, u32>::type Word;
    constexpr Word SIGN = Word(1) << (8 * sizeof(Word) - 1);
    // This is true for floats only, because 0.5 becomes 0 as an integer, and a bool has only one byte.
    if constexpr ((T)0.5 != (T)0 && sizeof(T) >= 4) {
        const Word bits = reinterpret_cast<const Word&>(x);
        return bits & SIGN ? ~bits : bits | SIGN;
    } else if constexpr ((T)-1 < (T)0) {
        return (Word)x ^ SIGN;
    } else {
        return (Word)x;
    }
}

// Return what a value at position i adds to the checksum. `word` is the encoded value, and `place` is i * STRIDE. At
// any position, different values have different terms. The checksum is the sum of all terms, so it does not depend on
// the order of threads.
constexpr u64 STRIDE = 0x9e3779b97f4a7c15ull;
__device__ __forceinline__ u64 term_of(u64 word, u64 place) {
    const u64 mixed = (word ^ place) * 0xbf58476d1ce4e5b9ull;
    return mixed ^ mixed >> 32;
}

// Write the result that all blocks have reduced to host memory, and zero the global memory. One thread of each block
// calls this, and only the call of the last block writes anything.
__device__ __forceinline__ void publish(MinMax* found, MinMaxPage* page, u32 launch) {
    __threadfence();
    if (atomicAdd(&found->blocks, 1ull) != gridDim.x - 1) return;
    __threadfence();
    volatile MinMaxPage* result = page;
    result->below = fresh(&found->below);
    result->above = fresh(&found->above);
    result->checksum = fresh(&found->checksum);
    result->unordered = fresh(&found->unordered) != 0;
    found->below = found->above = found->checksum = found->unordered = found->blocks = 0;
    __threadfence_system();
    result->ended = launch;
}

template <class T>
__device__ void min_max(const T* values, u64 count, MinMax* found, MinMaxPage* page, u32 launch) {
    // number of loads of a thread that overlap; if the loop could end between two of them, the second would wait for
    // the first
    constexpr u32 LOADS = 4;
    __shared__ u64 of_block[3];
    if (threadIdx.x < 3) of_block[threadIdx.x] = 0;
    __syncthreads();
    decltype(word_of(T())) below = 0, above = 0;
    bool unordered = false;
    const u64 step = threads_of_grid();
    u64 i = thread_of_grid(), place = i * STRIDE, checksum = 0;
    const u64 stride = step * STRIDE;
    const auto take = [&](T x) {
        const auto word = word_of(x);
        unordered |= x != x;
        checksum += term_of(word, place);
        place += stride;
        below = most(below, ~word);
        above = most(above, word);
    };
    for (; i + (LOADS - 1) * step < count; i += LOADS * step) {
        T loaded[LOADS];
#pragma unroll
        for (u32 j = 0; j < LOADS; ++j) loaded[j] = values[i + j * step];
#pragma unroll
        for (u32 j = 0; j < LOADS; ++j) take(loaded[j]);
    }
    for (; i < count; i += step) take(values[i]);
    for (u32 lanes = WARP / 2; lanes; lanes >>= 1) {
        below = most(below, __shfl_xor_sync(ALL, below, lanes));
        above = most(above, __shfl_xor_sync(ALL, above, lanes));
        checksum += __shfl_xor_sync(ALL, checksum, lanes);
    }
    if (lane() == 0) {
        atomicMax(&of_block[0], (u64)below);
        atomicMax(&of_block[1], (u64)above);
        atomicAdd(&of_block[2], checksum);
    }
    if (unordered) found->unordered = 1;
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicMax(&found->below, of_block[0]);
    atomicMax(&found->above, of_block[1]);
    atomicAdd(&found->checksum, of_block[2]);
    publish(found, page, launch);
}

// Compute the exact sum of integers, or of their absolute values. `below` is the sum of the low 32 bits of all values,
// and `above` the sum of the high bits.
template <class T>
__device__ void total(const T* values, u64 count, MinMax* found, MinMaxPage* page, u32 launch, bool magnitudes) {
    __shared__ u64 of_block[2];
    if (threadIdx.x < 2) of_block[threadIdx.x] = 0;
    __syncthreads();
    constexpr bool is_signed = (T)-1 < (T)0;
    u64 below = 0, above = 0;
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        const T x = values[i];
        u64 bits = (u64)x;  // sign-extended if T is smaller
        const bool negated = is_signed && magnitudes && x < (T)0;
        if (negated) bits = 0 - bits;
        below += (u32)bits;
        above += is_signed && !magnitudes ? (u64)((long long)bits >> 32) : bits >> 32;
    }
    for (u32 lanes = WARP / 2; lanes; lanes >>= 1) {
        below += __shfl_xor_sync(ALL, below, lanes);
        above += __shfl_xor_sync(ALL, above, lanes);
    }
    if (lane() == 0) {
        atomicAdd(&of_block[0], below);
        atomicAdd(&of_block[1], above);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    atomicAdd(&found->below, of_block[0]);
    atomicAdd(&found->above, of_block[1]);
    publish(found, page, launch);
}

}  // namespace gasla
