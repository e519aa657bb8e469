// The steps of union-find (union_find.cuh), each as a separate kernel.
#pragma once
#include "union_find.cuh"

KERNEL forest_hook(const offset_t* offsets, const vertex_t* neighbors, u64 n, vertex_t* parents) {
    hook(Lists{offsets, neighbors, n}, Order{false}, parents);
}

KERNEL forest_link(const offset_t* offsets, const vertex_t* neighbors, u64 n, vertex_t* parents, u64 first, u64 last,
                   u64 known, u64 outward, Slice* slices, Control* control) {
    Barrier barrier(control->barrier);
    const Lists lists{offsets, neighbors, n};
    Linker<AllEdges>{lists, Order{false}, AllEdges{}, parents, (vertex_t)known, outward != 0}.link(
        first, last, slices, control, barrier);
    barrier.leave();
}

KERNEL forest_link_groups(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, const vertex_t* groups,
                          vertex_t* parents, u64 known, Slice* slices, Control* control) {
    Barrier barrier(control->barrier);
    const Lists lists{offsets, neighbors, n};
    const GroupedEdges edges(groups);
    Linker<GroupedEdges>{lists, Order{false}, edges, parents, (vertex_t)known, false}.link(
        0, m, slices, control, barrier);
    barrier.leave();
}

KERNEL forest_compress(vertex_t* parents, u64 n) { compress(parents, n); }

KERNEL forest_largest(const vertex_t* parents, u64 n, u64* result) {
    const vertex_t root = likely_largest(parents, n);
    if (threadIdx.x == 0) *result = (u64)root;
}

KERNEL forest_number(vertex_t* parents, vertex_t* firsts, u64 n, Control* control, u64* result) {
    Barrier barrier(control->barrier);
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        firsts[v] = (vertex_t)v;
        flatten(parents, (vertex_t)v);
    }
    barrier.wait();
    ComponentNumbering(parents, firsts, n).run(control, barrier, result);
    barrier.leave();
}

KERNEL forest_link_across(const offset_t* offsets, const vertex_t* neighbors, u64 n, vertex_t* parents, u64 first,
                          u64 last, u64 known, u64 outward, const vertex_t* numbers, const vertex_t* sizes, Slice* slices,
                          Control* control) {
    Barrier barrier(control->barrier);
    const AcrossEdges edges(numbers, sizes);
    Linker<AcrossEdges>{Lists{offsets, neighbors, n}, Order{false}, edges, parents, (vertex_t)known, outward != 0}.link(
        first, last, slices, control, barrier);
    barrier.leave();
}
