// Finds distinct vertices in the order of their first appearance, by a hash table.
//
// The code that includes this file first defines the type vertex_t.
#pragma once
#include "grid_sums.cuh"
#include "random.cuh"

namespace gasla {

// A sequence of vertices: first `count` vertices that are distinct, and then the vertices of `found`, which may repeat.
struct Appearances {
    const vertex_t *vertices, *found;
    u64 count;

    __device__ __forceinline__ vertex_t operator[](u64 i) const { return i < count ? vertices[i] : found[i - count]; }
};

// Enter the i-th vertex of the sequence in the hash table, and return its slot. The slot keeps the smallest i at which
// the vertex occurs, or ~0 if the slot is empty. The table has more slots than the sequence has vertices, so the search
// ends.
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

// Append to the distinct `vertices` those of `found` that are new, each once, and write the result to `known`.
// `at` gets, for each entry of `found`, its position in `known`, and `total` the length of `known`. The hash table has
// `slots` words, a power of two above count + length, each ~0 at first.
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
    own.each([&](u64 j) {  // a first appearance is marked by the bitwise complement of its slot
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
