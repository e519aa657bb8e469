// Gathers by key: the values of a row (the in-edges of a vertex) are combined for each key separately, and the best key
// is chosen. Short rows are processed side by side in the registers of a warp. For a longer row, a warp uses a hash
// table in shared memory. Rows too long for such a table are postponed until a whole block processes them
// (long_rows.cuh). If the order of values matters, or if stages are kernels of their own, a warp uses a hash table in
// global memory for these rows instead.
#pragma once
#include "key_table.cuh"

namespace gasla {

constexpr u32 SHORT_ROW = 32;  // the most entries of a row that is reduced without a hash table

// Return the length of the longest row for which a hash table of `slots` slots suffices, at most three quarters of
// which may be taken (as in tables.py).
__device__ __forceinline__ u64 most_for(u64 slots) { return slots - slots / 4; }

// The counters of an iteration: the number of postponed rows, and the number of slots of hash tables that are reserved
// in global memory. Odd and even iterations have different counters.
enum KeysUsed { PUT_OFF, SLOTS };
template <class P> __device__ __forceinline__ u64* keys_used(const typename P::Context& c, u32 which) {
    return c.a.keys_used + 2 * (c.u.self_iteration & 1) + which;
}
// Set the counters of the next iteration to zero.
template <class P> __device__ __forceinline__ void forget_keys_used(const typename P::Context& c) {
    if (thread_of_grid() < 2) c.a.keys_used[2 * (1 - (c.u.self_iteration & 1)) + thread_of_grid()] = 0;
}

// Reserve a hash table in global memory for a row of `length` entries, and return its first slot. One thread calls
// this, and passes the result to the threads that use the table.
template <class P> __device__ __forceinline__ u64 take_slots(const typename P::Context& c, u64 length) {
    return atomicAdd(keys_used<P>(c, SLOTS), 2 * length);
}
template <class P>
__device__ __forceinline__ KeyTable<P> table_in_memory(const typename P::Context& c, u64 place, u64 length) {
    return KeyTable<P>{c.a.table_keys + place, c.a.table_totals + place, (u32)(2 * length)};
}

// Return a hash table in shared memory whose first slot is `first`, for a row of `length` entries. It has twice as many
// slots as the row has entries, but at most `slots`.
template <class P> __device__ __forceinline__ KeyTable<P> table_in_block(u32 first, u32 slots, u64 length) {
    typename P::Key* keys = (typename P::Key*)tables_of_block<P>();
    typename P::Value* totals = (typename P::Value*)(keys + P::TABLE_SLOTS * (THREADS / WARP));
    return KeyTable<P>{keys + first, totals + first, (u32)least<u64>(slots, 2 * length)};
}

// Reduce the rows of the lanes whose bit is set in `wanted`, which have up to `lanes` entries. As many rows as fit in a
// warp are processed side by side.
template <class P, bool TEST, u32 lanes>
__device__ __forceinline__ void short_rows(const typename P::Context& c, u32 wanted, vertex_t v, offset_t first, u32 length,
                                           Row<P>& row) {
    constexpr u32 GROUPS = WARP / lanes, N = lanes <= 8 ? 4 : 2, EACH_LANE = ALL >> (WARP - lanes);
    const u32 group = lane() / lanes;
    while (wanted) {
        const u32 any = __ffs(wanted) - 1;
        u32 taken[N];
        vertex_t w[N];
        offset_t from[N];
        u64 at[N], lengths[N];
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            u32 owner = WARP, rest = wanted;
#pragma unroll
            for (u32 g = 0; g < GROUPS; ++g) {
                if (group == g && rest) owner = __ffs(rest) - 1;
                rest &= rest - 1;
            }
            taken[k] = wanted & ~rest;
            wanted = rest;
            const u32 source = owner < WARP ? owner : any;
            w[k] = shuffle(v, source);
            from[k] = shuffle(first, source);
            lengths[k] = __shfl_sync(ALL, length, source);
            at[k] = owner < WARP ? lane() % lanes : lengths[k];
        }
        Terms<P, N> terms;
        terms.template load<TEST>(c, w, from, at, lengths);
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (k && !taken[k]) break;
            const u32 alike = alike_of(terms.key[k]) & EACH_LANE << group * lanes;
            const typename P::Value total = total_of<P>(P::no_value(), terms.value[k], alike);
            typename P::Gathered best = P::identity();
            if (terms.key[k] != P::NO_KEY && !(alike & lanes_below()))
                best = P::choice(c, P::load_chooser(c, w[k]), terms.key[k], total);
            best = best_of_lanes<P, lanes>(best);
            const u32 finders = __ballot_sync(ALL, terms.found[k]);
            // the first lane, divided by `lanes`, of the group that has reduced this lane's own row
            const u32 place = __popc(taken[k] & lanes_below()) % GROUPS;
            best = shuffle(best, place * lanes);
            if (taken[k] >> lane() & 1) {
                row.gathered = best;
                row.found |= (finders >> place * lanes & EACH_LANE) != 0;
            }
        }
    }
}

// Add the keys and values of a warp's lanes to a hash table. With SHARED, other warps add to the same table at the same
// time.
template <class P, bool SHARED>
__device__ __forceinline__ void put_into(const KeyTable<P>& table, typename P::Key key, typename P::Value value) {
    typedef typename P::Value Value;
    const u32 alike = alike_of(key);
    const bool leads = key != P::NO_KEY && !(alike & lanes_below());
    Value* place = leads ? table.at(key) : nullptr;
    if constexpr (SHARED) {
        const Value total = total_of<P>(P::no_value(), value, alike);
        if (leads) P::add_to(place, total);
    } else {
        const Value total = total_of<P>(leads ? *place : P::no_value(), value, alike);
        if (leads) *place = total;
        __syncwarp();
    }
}

// Add entries of a row to a hash table: of every `stride` entries from entry `begin` on, the first 32. Returns whether
// the vertex receives a value because of an entry of this lane.
template <class P, bool TEST, bool SHARED>
__device__ __forceinline__ bool fill_table(const typename P::Context& c, const KeyTable<P>& table, vertex_t v, offset_t first,
                                           u64 begin, u64 stride, u64 length) {
    constexpr u32 N = 2;
    bool found = false;
    for (u64 base = begin; base < length; base += N * stride) {
        vertex_t w[N];
        offset_t from[N];
        u64 at[N], lengths[N];
#pragma unroll
        for (u32 k = 0; k < N; ++k) w[k] = v, from[k] = first, lengths[k] = length, at[k] = base + k * stride + lane();
        Terms<P, N> terms;
        terms.template load<TEST>(c, w, from, at, lengths);
#pragma unroll
        for (u32 k = 0; k < N; ++k) {
            if (base + k * stride >= length) break;
            put_into<P, SHARED>(table, terms.key[k], terms.value[k]);
            found |= terms.found[k];
        }
    }
    return found;
}

// Reduce a row by one warp with its own hash table. All lanes get the result.
template <class P, bool TEST>
__device__ __forceinline__ Row<P> row_of_warp(const typename P::Context& c, const KeyTable<P>& table, vertex_t v,
                                              offset_t first, u64 length) {
    table.clear(lane(), WARP);
    __syncwarp();
    const bool found = fill_table<P, TEST, false>(c, table, v, first, 0, WARP, length);
    __syncwarp();
    const typename P::Gathered best = best_of_lanes<P, WARP>(table.best(c, v, lane(), WARP));
    __syncwarp();
    return Row<P>{best, __any_sync(ALL, found), false};
}

// Postpone the rows of vertices, by appending the vertices to a list whose rows are reduced by whole blocks later.
template <class P> __device__ __forceinline__ void put_off(const typename P::Context& c, bool is, vertex_t v) {
    const u32 all = __ballot_sync(ALL, is);
    if (!all) return;
    u64 start = 0;
    if (lane() == 0) start = atomicAdd(keys_used<P>(c, PUT_OFF), (u64)__popc(all));
    start = __shfl_sync(ALL, start, 0);
    if (is) c.a.put_off[start + __popc(all & lanes_below())] = v;
}

// Reduce the rows of up to 32 vertices by key, one vertex per lane (in place of `gather_rows`). Long rows are
// postponed, and the result says that their vertices receive no value yet.
template <class P, bool RECEIVER>
__device__ __forceinline__ Row<P> keyed_rows(const typename P::Context& c, bool wanted, vertex_t v, offset_t first,
                                             offset_t last, u64& touched) {
    constexpr bool test = Tests<P, RECEIVER>::value, receives = RECEIVER || P::EVERYONE;
    const u64 length = wanted ? (u64)(last - first) : 0;
    Row<P> row{P::identity(), receives, !wanted};
    touched += length;
    const auto lanes_with = [&](u64 above, u64 most) { return __ballot_sync(ALL, length > above && length <= most); };
    short_rows<P, test, 4>(c, lanes_with(0, 4), v, first, (u32)length, row);
    short_rows<P, test, 8>(c, lanes_with(4, 8), v, first, (u32)length, row);
    short_rows<P, test, 16>(c, lanes_with(8, 16), v, first, (u32)length, row);
    short_rows<P, test, 32>(c, lanes_with(16, SHORT_ROW), v, first, (u32)length, row);
    u32 rest = lanes_with(SHORT_ROW, ~(u64)0);
    if constexpr (P::SHARES_KEYS) {
        const bool is_long = length > SHORT_ROW && length > most_for(P::TABLE_SLOTS);
        if (is_long) row.found = false;
        put_off<P>(c, is_long, v);
        rest &= ~__ballot_sync(ALL, is_long);
    }
    for (; rest; rest &= rest - 1) {
        const u32 owner = __ffs(rest) - 1;
        const vertex_t w = shuffle(v, owner);
        const offset_t from = shuffle(first, owner);
        const u64 its = shuffle(length, owner);
        KeyTable<P> table;
        bool is_near = false;
        if constexpr (P::TABLE_SLOTS > 0) {
            is_near = its <= most_for(P::TABLE_SLOTS);
            if (is_near) table = table_in_block<P>(P::TABLE_SLOTS * warp_of_block(), P::TABLE_SLOTS, its);
        }
        if constexpr (!P::SHARES_KEYS)
            if (!is_near) {
                u64 place = 0;
                if (lane() == 0) place = take_slots<P>(c, its);
                table = table_in_memory<P>(c, __shfl_sync(ALL, place, 0), its);
            }
        const Row<P> part = row_of_warp<P, test>(c, table, w, from, its);
        if (lane() == owner) {
            row.gathered = part.gathered;
            row.found |= part.found;
        }
    }
    return row;
}

}  // namespace gasla
