// What a generated module with the whole loop needs, beside what one of stages does.
#pragma once
#define GASLA_EMULATED
#include "stages.hpp"

namespace gasla {
inline unsigned load_acquire(const unsigned* address) { return __atomic_load_n(address, __ATOMIC_SEQ_CST); }
inline void add_release(unsigned* address, unsigned value) { __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST); }
inline unsigned long long nanoseconds() { return 0; }
}  // namespace gasla

inline long long clock64() { return 0; }
inline void __threadfence_system() {}

// Named in the headers and not used by scheduled runs.
inline bool __any_sync(unsigned, bool) { abort(); }
inline double __shfl_xor_sync(unsigned, double, unsigned) { abort(); }
inline unsigned atomicAnd(unsigned*, unsigned) { abort(); }
inline long long __double_as_longlong(double) { abort(); }
