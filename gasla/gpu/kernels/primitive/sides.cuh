// Finds the two sides of each bipartite component, in one launch. It finds the connected components of a graph that has
// every vertex twice, as v and n + v, and in which every edge leads from one copy to the other (`BothSides`). If v and
// n + v are in one component, the component of v in the original graph has an odd cycle, and has no two sides.
#pragma once
#include "union_find.cuh"

// Write the side of each vertex: 0 for the smallest vertex of a component and all vertices on its side, 1 for the
// vertices on the other side, and -1 for all vertices of a component with an odd cycle. `parents` and `work` have two
// entries per vertex.
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
