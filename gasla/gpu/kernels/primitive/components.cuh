// Connected components by the algorithm Afforest, in one launch: the steps of union_find.cuh, with barriers between
// them.
#pragma once
#include "union_find.cuh"

// Write the number of each vertex's component to `parents`, and the number of components to `result`. `work` has one
// entry per vertex.
KERNEL label_components(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, u64 outward, vertex_t* parents,
                        vertex_t* work, Slice* slices, Control* control, u64* result) {
    Barrier barrier(control->barrier);
    const Lists lists{offsets, neighbors, n};
    join_all(lists, m, outward != 0, AllEdges{}, parents, work, slices, control, barrier);
    ComponentNumbering(parents, work, n).run(control, barrier, result);
    barrier.leave();
}
