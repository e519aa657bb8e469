// Distinct vertices in the order of their first appearance, by a hash table.
//
// Before this file: the typedef vertex_t.
#pragma once
#include "grid_sums.cuh"
#include "random.cuh"

namespace gasla {

// Vertices by number: first `count` distinct ones, then those of `found`, which may repeat.
struct Appearances {
    const vertex_t *vertices, *found;
    u64 count;

    __device__ __forceinline__ vertex_t operator[](u64 i) const { return i < count ? vertices[i] : found[i - count]; }
};

// Enter number i in the table, unless it has a smaller number of the same vertex; returns the slot. A slot has the
// number of its vertex, or ~0 if it is empty. There are more slots than numbers, so the search ends.
__device__ __forceinline__ u64 enter(u64* table, u64 slots, const Appearances& all, u64 i) {
    const vertex_t v = all[i];
    for (u64 slot = mixed(0, (u64)v) & (slots - 1);; slot = (slot + 1) & (slots - 1)) {
        u64 seen = fresh(table + slot);
        if (seen == ~(u64)0) seen = atomicCAS(table + slot, ~(u64)0, i);
        if (seen == ~(u64)0) return slot;
        if (all[seen] == v) {
            if (i < seen) atomicMin(table + slot, i);
            return slot;
        }
    }
}

// Write to `known` the distinct vertices and, after them, those that appear first in `found`; to `at`, for each entry
// of `found`, its place in `known`; to `total`, how many are known. The table has `slots` words, a power of two above
// count + found, each ~0.
extern "C" __global__ void append_distinct(
    const vertex_t* vertices, u64 count, const vertex_t* found, u64 length, u64* table, u64 slots, u64* sums,
    u32* counter, vertex_t* known, long long* at, long long* total
) {
    Barrier barrier(counter);
    const Appearances all{vertices, found, count};
    const BlockShare own(length);
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        enter(table, slots, all, i);
        known[i] = vertices[i];
    }
    own.each([&](u64 j) { at[j] = (long long)enter(table, slots, all, count + j); });
    barrier.wait();
    own.each([&](u64 j) {  // mark first appearances by the complement
        if (fresh(table + at[j]) == count + j) at[j] = ~at[j];
    });
    const u64 added = sum_over_grid(
        length, sums, barrier, [&](u64 j) -> u64 { return at[j] < 0; },
        [&](u64 j, u64 before) {
            if (at[j] >= 0) return;
            table[~at[j]] = count + before;
            known[count + before] = found[j];
        });
    barrier.wait();
    own.each([&](u64 j) { at[j] = (long long)fresh(table + (at[j] < 0 ? ~at[j] : at[j])); });
    if (thread_of_grid() == 0) *total = (long long)(count + added);
    barrier.leave();
}

}  // namespace gasla
