// Helpers that all kernels use: numbers of lanes and warps, the barrier of a cooperative grid, atomics, and bitmaps. No
// CUDA header is included, so that NVRTC compiles a kernel in about a tenth of a second.
#pragma once

namespace gasla {

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 ALL = 0xffffffffu;  // mask of all lanes of a warp
constexpr u32 WARP = 32;

__device__ __forceinline__ u32 lane() { return threadIdx.x & (WARP - 1); }
__device__ __forceinline__ u32 lanes_below() { return (1u << lane()) - 1; }
__device__ __forceinline__ u32 warp_of_block() { return threadIdx.x / WARP; }
__device__ __forceinline__ u32 warps_of_block() { return blockDim.x / WARP; }
__device__ __forceinline__ u64 thread_of_grid() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 threads_of_grid() { return gridDim.x * (u64)blockDim.x; }
__device__ __forceinline__ u64 warp_of_grid() { return thread_of_grid() / WARP; }
__device__ __forceinline__ u64 warps_of_grid() { return threads_of_grid() / WARP; }

// Return the number of the warp within its block or grid. The number is passed through a shuffle, because only then
// does the compiler know that all lanes of the warp have the same value. Otherwise it would expect lanes to diverge in
// loops over this number, and add code to every shuffle inside such a loop.
__device__ __forceinline__ u32 this_warp() { return __shfl_sync(ALL, warp_of_block(), 0); }
__device__ __forceinline__ u64 this_warp_of_grid() { return blockIdx.x * (u64)warps_of_block() + this_warp(); }

template <class T> __device__ __forceinline__ T least(T a, T b) { return b < a ? b : a; }
template <class T> __device__ __forceinline__ T most(T a, T b) { return a < b ? b : a; }

// A timer that says when a thread should next read host memory, to see whether the user asks to stop. Reads by many
// blocks at the same time take a microsecond each, so they are spaced out.
struct Looks {
    long long next;  // time of the next read, in ticks of clock64

    __device__ __forceinline__ void wait(long long ticks) { next = clock64() + ticks; }

    // Return whether the time of the next read has come. If so, set the next time to `ticks` from now.
    __device__ __forceinline__ bool are_due(long long ticks) {
        const long long now = clock64();
        if (now < next) return false;
        next = now + ticks;
        return true;
    }
};

template <bool first, class A, class B> struct Choose { typedef A type; };
template <class A, class B> struct Choose<false, A, B> { typedef B type; };

// The following functions load values that other blocks may have written, or load values without a branch.

// Load a value through the L2 cache. A plain load could return a stale value from the L1 cache if another block has
// written the address since the last barrier.
template <class T> __device__ __forceinline__ T fresh(const T* address) {
    if constexpr (sizeof(T) == 1) {
        unsigned char bits = __ldcg(reinterpret_cast<const unsigned char*>(address));
        return *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits = __ldcg(reinterpret_cast<const unsigned short*>(address));
        return *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        u32 bits = __ldcg(reinterpret_cast<const u32*>(address));
        return *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8 && alignof(T) == 8) {
        u64 bits = __ldcg(reinterpret_cast<const u64*>(address));
        return *reinterpret_cast<T*>(&bits);
    } else {
        T result;
        const volatile unsigned char* from = reinterpret_cast<const volatile unsigned char*>(address);
        for (u32 i = 0; i < sizeof(T); ++i) reinterpret_cast<unsigned char*>(&result)[i] = from[i];
        return result;
    }
}

// Load a value from shared memory if `near` is true, otherwise from global memory. Predicated instructions do this
// without a branch, so that many such loads can be in flight together.
template <class T> __device__ __forceinline__ T from_either(bool near, const T* shared, const T* global) {
    if constexpr (sizeof(T) == 4) {
        u32 bits;
        asm volatile(
            "{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.b32 %0, [%2]; @!p ld.global.b32 %0, [%3]; }"
            : "=r"(bits) : "r"((u32)near), "r"((u32)__cvta_generic_to_shared(shared)), "l"(global));
        return *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 8) {
        u64 bits;
        asm volatile(
            "{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.b64 %0, [%2]; @!p ld.global.b64 %0, [%3]; }"
            : "=l"(bits) : "r"((u32)near), "r"((u32)__cvta_generic_to_shared(shared)), "l"(global));
        return *reinterpret_cast<T*>(&bits);
    } else {
        return near ? *shared : *global;
    }
}

// Load the value at `from` if `wanted` is true, otherwise return `otherwise`. Predicated instructions do this without a
// branch, so that many such loads can be in flight together.
template <class T> __device__ __forceinline__ T load_if(bool wanted, const T* from, T otherwise) {
#ifndef GASLA_EMULATED
    if constexpr (sizeof(T) == 4) {
        u32& bits = reinterpret_cast<u32&>(otherwise);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.b32 %0, [%2]; }"
                     : "+r"(bits) : "r"((u32)wanted), "l"(from));
        return otherwise;
    } else if constexpr (sizeof(T) == 8) {
        u64& bits = reinterpret_cast<u64&>(otherwise);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.global.b64 %0, [%2]; }"
                     : "+l"(bits) : "r"((u32)wanted), "l"(from));
        return otherwise;
    } else if constexpr (sizeof(T) == 16 && alignof(T) == 8) {
        u64* bits = reinterpret_cast<u64*>(&otherwise);
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.b64 %0, [%3]; @p ld.global.b64 %1, [%3 + 8]; }"
                     : "+l"(bits[0]), "+l"(bits[1]) : "r"((u32)wanted), "l"(from));
        return otherwise;
    }
#endif
    return wanted ? *from : otherwise;
}

// The following code is the barrier of a cooperative grid, with the acquire and release instructions that it needs.

// Tests run kernels on the CPU (tests/helpers/emulation). They define this macro, and supply C++ functions that replace
// the PTX instructions below.
#ifndef GASLA_EMULATED
__device__ __forceinline__ u32 load_acquire(const u32* address) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ u64 load_acquire(const u64* address) {
    u64 value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ void add_release(u32* address, u32 value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void add_release(u64* address, u64 value) {
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
// Loads with acquire semantics and stores with release semantics for GPUs or processes that write into each other's
// memory (system scope).
__device__ __forceinline__ u64 load_acquire_of_peer(const u64* address) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}
__device__ __forceinline__ void store_release_to_peer(u64* address, u64 value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
// Add a value in shared memory atomically. One lane of a warp calls this. With atomicAdd, the compiler would add code
// that first finds out which lanes of the warp call it.
__device__ __forceinline__ u32 add_in_block(u32* address, u32 value) {
    u32 old;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                 : "=r"(old) : "r"((u32)__cvta_generic_to_shared(address)), "r"(value) : "memory");
    return old;
}
__device__ __forceinline__ void prefetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }
// Let the calling warp sleep for about `duration` nanoseconds, so that other warps can use the multiprocessor.
__device__ __forceinline__ void rest(u32 duration) { asm volatile("nanosleep.u32 %0;" ::"r"(duration)); }
#endif

// Barrier of all threads of a cooperative grid. It takes 1.1 us on an H100. With a single block it is only
// __syncthreads. Thread 0 of each block adds to a counter with release semantics and polls the counter with acquire
// semantics, so that writes before the barrier are visible after it. Every thread must call `leave` at the end of the
// kernel: this resets the counter for the next launch, and returns true in only one thread, the one that leaves last.
struct Barrier {
    u32* counter;  // two words: blocks that have arrived, and blocks that have left; zero before the launch
    u32 target;

    __device__ __forceinline__ explicit Barrier(u32* counter, u32 target = 0) : counter(counter), target(target) {}

    __device__ __forceinline__ void arrive() {  // called by one thread per block
        if (gridDim.x == 1) return;
        target += gridDim.x;
        add_release(counter, 1);
    }
    __device__ __forceinline__ void wait_for_all() {  // called by the same thread as `arrive`
        while (gridDim.x > 1 && (int)(load_acquire(counter) - target) < 0) {
        }
    }
    __device__ __forceinline__ void arrive_and_wait() {
        arrive();
        wait_for_all();
    }
    __device__ __forceinline__ void wait() {
        __syncthreads();
        if (threadIdx.x == 0) arrive_and_wait();
        __syncthreads();
    }
    __device__ __forceinline__ bool leave() {
        __syncthreads();
        if (threadIdx.x != 0) return false;
        if (gridDim.x > 1) {
            __threadfence();
            if (atomicAdd(counter + 1, 1u) != gridDim.x - 1) return false;
            counter[0] = 0;
            counter[1] = 0;
            __threadfence();
        }
        return true;
    }
};

// The following functions scan, sum and shuffle values within a warp.

__device__ __forceinline__ u32 scan_inclusive(u32 x) {
#pragma unroll
    for (u32 step = 1; step < WARP; step <<= 1) {
        const u32 below = __shfl_up_sync(ALL, x, step);
        if (lane() >= step) x += below;
    }
    return x;
}
__device__ __forceinline__ u64 scan_inclusive(u64 x) {
#pragma unroll 1
    for (u32 step = 1; step < WARP; step <<= 1) {
        const u64 below = __shfl_up_sync(ALL, x, step);
        if (lane() >= step) x += below;
    }
    return x;
}
__device__ __forceinline__ u32 warp_sum(u32 x) {
// These devices sum over a warp by one instruction. A block of 1024 threads would be limited by the throughput of
// shuffles.
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(ALL, x);
#endif
#pragma unroll
    for (u32 step = WARP / 2; step; step >>= 1) x += __shfl_xor_sync(ALL, x, step);
    return x;
}
__device__ __forceinline__ u64 warp_sum(u64 x) {
#if __CUDA_ARCH__ >= 800
    constexpr u32 PART = 26, MASK = (1 << PART) - 1;
    const u64 low = warp_sum((u32)x & MASK), middle = warp_sum((u32)(x >> PART) & MASK);
    return low + (middle << PART) + ((u64)warp_sum((u32)(x >> 2 * PART)) << 2 * PART);
#endif
#pragma unroll
    for (u32 step = WARP / 2; step; step >>= 1) x += __shfl_xor_sync(ALL, x, step);
    return x;
}

// Move a value of any trivial type between the lanes of a warp by applying `move`, a shuffle, to each of its 32-bit
// words.
template <class T, class Move> __device__ __forceinline__ T word_by_word(T value, Move move) {
    constexpr u32 words = (sizeof(T) + 3) / 4;
    union Bits {
        T value;
        u32 word[words];
        __device__ Bits() {}
    } bits;
    if constexpr (sizeof(T) % 4 != 0) bits.word[words - 1] = 0;
    bits.value = value;
#pragma unroll
    for (u32 i = 0; i < words; ++i) bits.word[i] = move(bits.word[i]);
    return bits.value;
}
template <class T> __device__ __forceinline__ T shuffle(T value, u32 from, u32 width = WARP) {
    return word_by_word(value, [=](u32 word) { return __shfl_sync(ALL, word, from, width); });
}
template <class T> __device__ __forceinline__ T shuffle_xor(T value, u32 mask) {
    return word_by_word(value, [=](u32 word) { return __shfl_xor_sync(ALL, word, mask); });
}

// Reserve `count` consecutive numbers of a counter that all warps of the grid share. All lanes of a warp call this, and
// all get the first of the reserved numbers.
__device__ __forceinline__ u64 take_tickets(u64* tickets, u64 count) {
    u64 first = 0;
    if (lane() == 0) first = atomicAdd(tickets, count);
    return shuffle(first, 0);
}

// The following functions access bitmaps, which have one bit per vertex, in 32-bit words.

template <class V> __device__ __forceinline__ u32 bit_of(V v) { return 1u << ((u32)v & (WARP - 1)); }
template <class V> __device__ __forceinline__ bool has(const u32* bits, V v) { return bits[v / WARP] & bit_of(v); }

// Set the bit of vertex v. Returns true only to the caller that found the bit clear, so that exactly one of several
// threads goes on with v. With LOOKS, a plain read first tests the bit, which avoids most atomic operations. If that
// read is stale, the result is still right, and only the atomic operation was not needed.
template <bool LOOKS = true, class V> __device__ __forceinline__ bool claim(u32* bits, V v) {
    const u32 bit = bit_of(v);
    if (LOOKS && (bits[v / WARP] & bit)) return false;
    return !(atomicOr(bits + v / WARP, bit) & bit);
}

// The following functions update values of any type atomically.

// Atomically replace the value at an address by `change(old, wanted)`, and return the old value. The type has 1, 2, 4
// or 8 bytes. `change` sets `wanted` to false if the value should stay as it is.
template <class T, class Change> __device__ __forceinline__ T update(T* address, Change change) {
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "no atomic of this size");
    typedef typename Choose<sizeof(T) == 8, u64, u32>::type Word;
    const u64 place = reinterpret_cast<u64>(address);
    Word* word = reinterpret_cast<Word*>(place & ~(u64)(sizeof(Word) - 1));
    const u32 shift = 8 * (u32)(place & (sizeof(Word) - 1));
    const Word field = sizeof(T) == sizeof(Word) ? ~Word(0) : ((Word(1) << (8 * (sizeof(T) % sizeof(Word)))) - 1) << shift;
    Word seen = *reinterpret_cast<volatile Word*>(word);
    while (true) {
        Word bits = (seen & field) >> shift;
        const T old = *reinterpret_cast<T*>(&bits);
        bool wanted = true;
        T next = change(old, wanted);
        if (!wanted) return old;
        Word replaced = 0;
        *reinterpret_cast<T*>(&replaced) = next;
        const Word before = atomicCAS(word, seen, (seen & ~field) | (replaced << shift));
        if (before == seen) return old;
        seen = before;
    }
}

// Add a value at an address atomically, by a hardware instruction.
template <class T> __device__ __forceinline__ void add(T* address, T value) {
    if constexpr (sizeof(T) == 8 && T(0.5) == T(0))
        atomicAdd(reinterpret_cast<u64*>(address), (u64)value);
    else if constexpr (sizeof(T) == 4 && T(0.5) == T(0))
        atomicAdd(reinterpret_cast<u32*>(address), (u32)value);
    else
        atomicAdd(address, value);
}

// Lower (improve_min) or raise (improve_max) the value at an address to `value`, atomically. Returns whether the value
// at the address changed. As in NumPy's minimum, NaN counts as smaller and larger than all numbers. If the hardware
// instruction has replaced a NaN, the thread writes the NaN back.
template <class T> __device__ __forceinline__ bool improve_min(T* address, T& value);
template <class T> __device__ __forceinline__ bool improve_max(T* address, T& value);

template <bool MIN, class T> __device__ __forceinline__ bool improve_integer(T* address, T value) {
    if constexpr (sizeof(T) == 8) {
        if constexpr (T(-1) < T(0)) {
            long long* p = reinterpret_cast<long long*>(address);
            const long long x = value, old = MIN ? atomicMin(p, x) : atomicMax(p, x);
            return MIN ? x < old : x > old;
        } else {
            u64* p = reinterpret_cast<u64*>(address);
            const u64 x = value, old = MIN ? atomicMin(p, x) : atomicMax(p, x);
            return MIN ? x < old : x > old;
        }
    } else {
        const T old = MIN ? atomicMin(address, value) : atomicMax(address, value);
        return MIN ? value < old : value > old;
    }
}
// Compute the atomic minimum or maximum of floats by instructions for integers. The bits of nonnegative floats compare
// like signed integers, and those of negative floats like unsigned integers in reverse order.
template <bool MIN, class T> __device__ __forceinline__ bool improve_float(T* address, T& value) {
    typedef typename Choose<sizeof(T) == 8, long long, int>::type Signed;
    typedef typename Choose<sizeof(T) == 8, u64, u32>::type Unsigned;
    // Store a NaN at the address, and return the old value. `update` could do this, but has a loop, after which the
    // compiler would expect that the lanes of a warp have diverged.
    const auto put = [=](T nan) {
        const Unsigned before = atomicExch(reinterpret_cast<Unsigned*>(address), reinterpret_cast<Unsigned&>(nan));
        return reinterpret_cast<const T&>(before);
    };
    if (value != value) {
        const T old = put(value);
        return old == old;
    }
    const T x = value + T(0);  // turns -0 into 0
    const Signed bits = *reinterpret_cast<const Signed*>(&x);
    Signed before;
    if ((bits < 0) != MIN)
        before = MIN ? atomicMin(reinterpret_cast<Signed*>(address), bits)
                     : (Signed)atomicMin(reinterpret_cast<Unsigned*>(address), (Unsigned)bits);
    else
        before = MIN ? (Signed)atomicMax(reinterpret_cast<Unsigned*>(address), (Unsigned)bits)
                     : atomicMax(reinterpret_cast<Signed*>(address), bits);
    const T old = *reinterpret_cast<T*>(&before);
    if (old != old) {
        put(old);
        return false;
    }
    return MIN ? x < old : x > old;
}
template <class T> __device__ __forceinline__ bool improve_min(T* address, T& value) {
    if constexpr (T(0.5) == T(0))
        return improve_integer<true>(address, value);
    else
        return improve_float<true>(address, value);
}
template <class T> __device__ __forceinline__ bool improve_max(T* address, T& value) {
    if constexpr (T(0.5) == T(0))
        return improve_integer<false>(address, value);
    else
        return improve_float<false>(address, value);
}

__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

// Map a double to an unsigned integer, such that integers compare as the doubles do. `from_ordered` maps it back.
__device__ __forceinline__ u64 ordered(double x) {
    const long long bits = __double_as_longlong(x);
    return (u64)(bits < 0 ? ~bits : bits | (1ll << 63));
}
__device__ __forceinline__ double from_ordered(u64 x) {
    return __longlong_as_double(x >> 63 ? (long long)(x & ~(1ull << 63)) : ~(long long)x);
}

// Return the largest finite double, which `ranked` returns in place of NaN.
__device__ __forceinline__ double latest() { return __longlong_as_double(0x7fefffffffffffffll); }
__device__ __forceinline__ double ranked(double priority) {
    const double before = __longlong_as_double(0x7feffffffffffffell);
    if (priority != priority) return latest();
    return least(priority < -latest() ? -latest() : priority, before);
}

// The smallest and the largest priority of the vertices that wait. Infinite and NaN priorities don't count for the
// largest.
struct Range {
    double low = infinity(), high = -infinity();
    __device__ __forceinline__ void take(double priority) {
        low = least(low, priority);
        if (priority > high && priority < ranked(infinity())) high = priority;
    }
};

}  // namespace gasla
