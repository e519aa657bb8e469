// Printed expressions on the CPU, one element after another.
#pragma once
#include <cmath>
#include <cstring>

#define __device__
#define __global__
#define __forceinline__ inline
using std::isfinite, std::isinf, std::isnan;
inline float __int_as_float(int bits) { float x; std::memcpy(&x, &bits, sizeof x); return x; }
inline double __longlong_as_double(long long bits) { double x; std::memcpy(&x, &bits, sizeof x); return x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
struct Index { unsigned x; };
static Index blockIdx{0}, blockDim{1}, threadIdx{0};
struct Pointer {  // to items of any type
    void* address;
    template <class T> operator T*() const { return (T*)address; }
};
