// Hash tables for gathers by key. A table holds the total value of each key in a row, and the best key is then chosen.
//
// Lanes of a warp that have the same key combine their values before one of them accesses the table. So a key is added
// at most once per 32 entries, and a warp that has its own table needs no atomics for totals.
#pragma once
#include "gather.cuh"

namespace gasla {

// Return the dynamic shared memory of the block, which holds a table for each warp, or one table for the block.
template <class P> char* tables_of_block();

// Return the mask of lanes of the warp that have the same key as this lane.
template <class Key> __device__ __forceinline__ u32 alike_of(Key key) {
    u32 alike = __match_any_sync(ALL, (u32)key);
    if constexpr (sizeof(Key) == 8) alike &= __match_any_sync(ALL, (u32)((u64)key >> 32));
    return alike;
}

// Combine `start` with the values of the lanes in the mask `alike`, which have the same key. Only the first of these
// lanes has the result. Values are combined in the order of lanes (KEYS_IN_ORDER) or pairwise.
template <class P>
__device__ __forceinline__ typename P::Value total_of(typename P::Value start, typename P::Value value, u32 alike) {
    typedef typename P::Value Value;
    if constexpr (P::KEYS_IN_ORDER) {
        for (u32 rest = alike; __any_sync(ALL, rest); rest &= rest - 1) {
            const Value next = shuffle(value, rest ? __ffs(rest) - 1 : 0);
            if (rest) start = P::combine_values(start, next);
        }
        return start;
    } else {
        u32 rank = __popc(alike & lanes_below()), rest = alike;
        while (__any_sync(ALL, rest & (rest - 1))) {  // until each group of lanes has a single value
            const u32 above = rest & ~lanes_below() & ~(1u << lane());
            const Value next = shuffle(value, above ? __ffs(above) - 1 : 0);
            if (above) value = P::combine_values(value, next);
            // Lanes of odd rank leave the mask, because the lane before each of them has added that lane's value.
            rest &= __ballot_sync(ALL, !(rank & 1));
            rank >>= 1;
        }
        return P::combine_values(start, value);
    }
}

// A hash table with open addressing and linear probing. It is never full, so probing always ends.
template <class P> struct KeyTable {
    typedef typename P::Key Key;
    typedef typename P::Value Value;
    typedef typename Choose<sizeof(Key) == 8, u64, u32>::type Word;
    Key* keys;
    Value* values;
    u32 size;

    __device__ __forceinline__ u32 home(Key key) const {
        const u32 mixed = sizeof(Key) == 8 ? (u32)((u64)key * 0x9e3779b97f4a7c15ull >> 32) : (u32)key * 2654435769u;
        return (u32)((u64)mixed * size >> 32);
    }
    __device__ __forceinline__ void clear(u32 first, u32 stride) const {
        for (u32 i = first; i < size; i += stride) {
            keys[i] = P::NO_KEY;
            values[i] = P::no_value();
        }
    }
    // Return the address of a key's total, and insert the key if it is new. A taken slot never becomes free, so only a
    // slot that is read as free needs an atomic.
    __device__ __forceinline__ Value* at(Key key) const {
        for (u32 slot = home(key);; slot = slot + 1 == size ? 0 : slot + 1) {
            Key held = *const_cast<volatile Key*>(keys + slot);
            if (held == P::NO_KEY) {
                held = (Key)atomicCAS(reinterpret_cast<Word*>(keys + slot), (Word)P::NO_KEY, (Word)key);
                if (held == P::NO_KEY) return values + slot;
            }
            if (held == key) return values + slot;
        }
    }
    // Return the best key among the slots first, first + stride, ... of the table.
    __device__ __forceinline__ typename P::Gathered best(const typename P::Context& c, vertex_t v, u32 first, u32 stride) const {
        typename P::Gathered best = P::identity();
        const typename P::Chooser chooser = P::load_chooser(c, v);
        for (u32 i = first; i < size; i += stride)
            if (keys[i] != P::NO_KEY) best = P::combine(best, P::choice(c, chooser, keys[i], values[i]));
        return best;
    }
};

// Return the best of the keys of `lanes` adjacent lanes. All of these lanes get the result.
template <class P, u32 lanes> __device__ __forceinline__ typename P::Gathered best_of_lanes(typename P::Gathered best) {
#pragma unroll
    for (u32 step = lanes / 2; step; step >>= 1) best = P::combine(best, shuffle_xor(best, step));
    return best;
}

// The keys and values of N entries of rows per lane, which are loaded together. Positions at or beyond the length of
// the row are ignored. Rows must not be empty.
template <class P, u32 N> struct Terms {
    typename P::Key key[N];  // the entry's key, or NO_KEY if the entry is ignored
    typename P::Value value[N];
    bool found[N];  // whether the entry makes its target receive a value

    template <bool TEST>
    __device__ __forceinline__ void load(const typename P::Context& c, const vertex_t (&v)[N], const offset_t (&first)[N],
                                         const u64 (&at)[N], const u64 (&length)[N]) {
        vertex_t u[N];
        offset_t place[N];
        typename P::Source source[N];
        typename P::Edge edge[N];
#pragma unroll
        // Beyond the end of the row, its last entry is loaded again, so that no load waits for a branch.
        for (u32 k = 0; k < N; ++k) {
            place[k] = first[k] + (offset_t)least<u64>(at[k], length[k] - 1);
            u[k] = c.a.gi[place[k]];
        }
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            source[k] = P::load_source(c, u[k]);
            edge[k] = P::load_edge_in(c, place[k]);
        }
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            key[k] = P::NO_KEY;
            value[k] = P::no_value();
            found[k] = false;
            if (at[k] >= length[k]) continue;
            const bool from_active = !TEST || has(c.active(), u[k]);
            if (P::ACTIVE_ONLY && !from_active) continue;
            const typename P::Target target = P::load_target(c, v[k]);
            if constexpr (P::HAS_EDGE_MASK)
                if (!P::edge_mask(c, source[k], target, edge[k])) continue;
            found[k] = from_active;
            const typename P::Key own = P::key(c, source[k], target, edge[k]);
            if (own < 0) continue;
            key[k] = own;
            value[k] = P::value(c, source[k], target, edge[k]);
        }
    }
};

}  // namespace gasla
