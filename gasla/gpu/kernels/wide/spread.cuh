// Loads and stores of values in programs with wide vectors. A wide vector is spread over the lanes of a warp: lane l
// has items l, l + 32, ..., so that memory accesses are coalesced. Scalars are in every lane.
#pragma once
#include "runtime.cuh"

namespace semirings {
template <class T, int k> struct vector;  // defined in code that semirings/printers generates
template <class T, int k> struct spread;
}  // namespace semirings

namespace gasla {

// The number of items of the longest vector that is not spread over lanes, the same as in semirings/types.py.
constexpr int MOST_SHORT = 8;

// Call `what(part, at)` for each item of a vector that this lane holds. `part` is the item's index within the lane, and
// `at` its index in the vector.
template <int k, class Do> __device__ __forceinline__ void for_items(Do what) {
    constexpr int PARTS = (k + 31) / 32, IN_REGISTERS = 16;
    const auto one = [&](int part) {
        const int at = part * (int)WARP + (int)lane();
        if (k % 32 == 0 || at < k) what(part, at);
    };
    if constexpr (PARTS <= IN_REGISTERS) {
#pragma unroll
        for (int part = 0; part < PARTS; ++part) one(part);
    } else {
#pragma unroll 1
        for (int part = 0; part < PARTS; ++part) one(part);
    }
}

template <class T, int k> __device__ __forceinline__ semirings::spread<T, k> get(const semirings::vector<T, k>* from) {
    semirings::spread<T, k> x;
    for_items<k>([&](int part, int at) { x.item[part] = from->item[at]; });
    return x;
}

// Load a value past the L1 cache, because another block may have written it since the last barrier.
template <class T> __device__ __forceinline__ T get_fresh(const T* from) { return fresh(from); }
template <class T, int k>
__device__ __forceinline__ auto get_fresh(const semirings::vector<T, k>* from) {
    if constexpr (k > MOST_SHORT) {
        semirings::spread<T, k> x;
        for_items<k>([&](int part, int at) { x.item[part] = fresh(from->item + at); });
        return x;
    } else {  // a short vector is not spread, and each lane loads all its items
        semirings::vector<T, k> x;
        for (int at = 0; at < k; ++at) x.item[at] = fresh(from->item + at);
        return x;
    }
}

template <class T, int k> __device__ __forceinline__ semirings::spread<T, k> alike(T value) {
    semirings::spread<T, k> x;
    for_items<k>([&](int part, int) { x.item[part] = value; });
    return x;
}

// Store a value. The caller must call __syncwarp before, because other lanes may still have to read the old value.
template <class T> __device__ __forceinline__ void put(T* to, const T& value) {
    if (lane() == 0) *to = value;
}
template <class T, int k>
__device__ __forceinline__ void put(semirings::vector<T, k>* to, const semirings::spread<T, k>& x) {
    for_items<k>([&](int part, int at) { to->item[at] = x.item[part]; });
}

}  // namespace gasla
