// The two sides of each bipartite component, in one launch: the components of a graph that has every vertex twice.
#pragma once
#include "union_find.cuh"

// A vertex's side: 0 for the smallest one of its component, -1 where an odd cycle is. `parents` and `work` have two entries
// per vertex.
KERNEL label_sides(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, u64 outward, vertex_t* parents,
                   vertex_t* work, Slice* slices, Control* control, int* sides) {
    Barrier barrier(control->barrier);
    const BothSides lists(Lists{offsets, neighbors, n}, m);
    join_all(lists, 2 * m, outward != 0, AllEdges{}, parents, work, slices, control, barrier);
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const vertex_t one = parents[v], other = parents[v + n];
        sides[v] = one == other ? -1 : work[one] > work[other];
    }
    barrier.leave();
}
