// Connected components by Afforest in one launch: the stages of union_find.cuh, with barriers between them.
#pragma once
#include "union_find.cuh"

// Labels end up in `parents`; `work` has one entry per vertex.
KERNEL label_components(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, u64 outward, vertex_t* parents,
                        vertex_t* work, Slice* slices, Control* control, u64* result) {
    Barrier barrier(control->barrier);
    const Lists lists{offsets, neighbors, n};
    const Order order{true};
    hook(lists, order, parents, work);
    barrier.wait();
    for (u32 round = 0; round < ROUNDS; ++round) {
        compress(parents, n);
        barrier.wait();
        try_others(order, parents, work, n);
        barrier.wait();
    }
    compress(parents, n);
    barrier.wait();
    link_others(order, parents, work, n);
    barrier.wait();
    if (blockIdx.x == 0) {  // concurrent path compression does not change roots
        const vertex_t root = likely_largest(parents, n);
        if (threadIdx.x == 0) control->known = (u64)root;
    }
    compress(parents, n);
    barrier.wait();
    const vertex_t known = (vertex_t)fresh(&control->known);
    Linker<false>{lists, order, parents, known, outward != 0, nullptr}.link(0, m, slices, control, barrier);
    compress(parents, work, n);
    barrier.wait();
    ComponentNumbering(parents, work, n).run(control, barrier, result);
    barrier.leave();
}
