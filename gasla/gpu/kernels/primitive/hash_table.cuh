// Sets of vertex ids in shared memory, as hash tables with open addressing.
//
// The code that includes this file first defines the type vertex_t.
#pragma once
#include "runtime.cuh"

namespace gasla {

// slots per entry of a hash table, if there is memory for so many; with 4 slots, counting triangles takes 1.15 times as
// long
constexpr u32 SPARSE = 8;

typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type bits_t;

constexpr vertex_t FREE = -1;
constexpr u32 NOWHERE = 0xffffffffu;

// A set of vertex ids: a hash table with open addressing and linear probing. All slots are FREE before and after each
// use.
struct Table {
    vertex_t* slots;
    u32 shift, mask;

    // Make a hash table for `entries` ids in an array of `capacity` slots, a power of two.
    __device__ __forceinline__ Table(vertex_t* slots, u32 entries, u32 capacity) : slots(slots) {
        const u32 wanted = least(capacity, entries * SPARSE);
        const u32 bits = WARP - __clz(wanted - 1);
        shift = WARP - bits;
        mask = (1u << bits) - 1;
    }
    __device__ __forceinline__ u32 home(vertex_t w) const { return ((u32)w * 2654435769u) >> shift; }

    // Insert an id that is not in the set, and return its slot.
    __device__ __forceinline__ u32 insert(vertex_t w) const {
        u32 slot = home(w);
        while (atomicCAS(reinterpret_cast<bits_t*>(slots + slot), (bits_t)FREE, (bits_t)w) != (bits_t)FREE)
            slot = (slot + 1) & mask;
        return slot;
    }
    __device__ __forceinline__ u32 find(vertex_t w) const {
        for (u32 slot = home(w);; slot = (slot + 1) & mask) {
            const vertex_t held = slots[slot];
            if (held == w) return slot;
            if (held == FREE) return NOWHERE;
        }
    }
};

}  // namespace gasla
