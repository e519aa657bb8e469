// Spanning trees without searches: union-find records the edges that unite trees, an Euler tour of these edges roots and
// numbers the trees, and tables find the extremes in each subtree. No step depends on the depth of the trees.
//
// A vertex that is attached to another tree has the edge that did it; the others, one of each tree, have an edge from
// the root of the tree to a root above all trees, whose id is n. So the edges are one tree, and that of vertex s is the
// arcs 2s and 2s + 1. After an arc, the tour takes the arc at its end that follows its reverse in the list of the arcs
// that begin there. The tour is ranked by sampled arcs (splitters): each is followed to the next one, and pointers
// jump over them.
//
// R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
// M. Reid-Miller: List ranking and list scan on the Cray C90. SPAA 1994.
// A. Polak, A. Siwiec, M. Stobierski: Euler Meets GPU: Practical Graph Algorithms with Theoretical Guarantees. IPDPS 2021.
//
// Lower bound for n vertices: union-find, and 8 random accesses for each of 2n arcs.
#pragma once

#include "grid_sums.cuh"
#include "union_find.cuh"

namespace gasla {

constexpr u32 STRIDE = 32;  // arcs for each splitter

struct Ends {
    rank_t from, to;
};

struct RecordedEdges : AllEdges {
    Ends* ends;

    __device__ __forceinline__ explicit RecordedEdges(Ends* ends) : ends(ends) {}
    __device__ __forceinline__ void joined(vertex_t root, vertex_t u, vertex_t v) const {
        ends[root] = {(rank_t)u, (rank_t)v};
    }
};

// An arc of the tour: the next one; later its splitter, and how far behind that it is.
struct Arc {
    rank_t next, place;
};

// A splitter: the next one, and how far that is. Pointers jump from one array to another.
struct Splitter {
    rank_t next, distance;
};

// The lanes whose sources are equal.
__device__ __forceinline__ u32 alike(rank_t source) {
    u32 lanes = __match_any_sync(ALL, (u32)source);
    if constexpr (sizeof(rank_t) == 8) lanes &= __match_any_sync(ALL, (u32)((u64)source >> 32));
    return lanes;
}

struct Tour {
    u64 n;
    Ends* ends;           // n
    Arc* arcs;            // 2 n
    rank_t* lists;        // n + 1: the last arc that was put into the list of each vertex
    Splitter* splitters;  // 2 * stretches()
    u32* marks;           // words(): the arcs that lead down, a bit each, by rank
    rank_t* before;       // words(): how many lead down before each word

    static constexpr rank_t NONE = -1;

    __device__ __forceinline__ u64 count() const { return 2 * n; }
    __device__ __forceinline__ u64 words() const { return (count() + WARP - 1) / WARP; }
    __device__ __forceinline__ u64 stretches() const { return (count() + STRIDE - 1) / STRIDE; }
    __device__ __forceinline__ u64 splitter(u64 stretch) const {
        return least(stretch * STRIDE + mix(stretch + GOLDEN) % STRIDE, count() - 1);
    }

    __device__ void clear() const {
        for (u64 v = thread_of_grid(); v <= n; v += threads_of_grid()) lists[v] = NONE;
        for (u64 i = thread_of_grid(); i < words(); i += threads_of_grid()) marks[i] = 0;
    }

    // Put the arcs of a warp's vertices before others of their sources; one lane does it for those of equal sources.
    __device__ __forceinline__ void insert(rank_t source, u64 start, u32 side, u32 present) const {
        const u32 equal = alike(source) & present, lower = equal & lanes_below();
        if (!(present >> lane() & 1)) return;
        const auto arc_of = [&](u32 highest) { return (rank_t)(2 * (start + 31 - __clz(highest)) + side); };
        const rank_t behind = lower ? arc_of(lower) : atomicExch(lists + source, arc_of(equal));
        arcs[2 * (start + lane()) + side].next = behind;
    }

    __device__ void build(const vertex_t* parents, const vertex_t* firsts) const {
        for (u64 start = warp_of_grid() * WARP; start < n; start += threads_of_grid()) {
            const u64 v = start + lane();
            const u32 present = __ballot_sync(ALL, v < n);
            Ends edge{0, 0};
            if (v < n) {
                if (parents[v] == (vertex_t)v) ends[v] = {(rank_t)n, (rank_t)firsts[v]};
                edge = ends[v];
            }
            insert(edge.from, start, 0, present);
            insert(edge.to, start, 1, present);
        }
    }

    // From lists to the tour: the arc after one is that behind its reverse.
    __device__ void connect() const {
        for (u64 s = thread_of_grid(); s < n; s += threads_of_grid()) {
            const Ends edge = ends[s];
            const rank_t there = arcs[2 * s].next, back = arcs[2 * s + 1].next;
            arcs[2 * s].next = back != NONE ? back : lists[edge.to];
            arcs[2 * s + 1].next = there != NONE ? there : lists[edge.from];
        }
    }

    // Follow the tour from each splitter to the next one.
    __device__ void walk() const {
        for (u64 i = thread_of_grid(); i < stretches(); i += threads_of_grid()) {
            const u64 start = splitter(i);
            rank_t arc = (rank_t)start, next = arcs[arc].next, place = 0;
            arcs[arc] = {(rank_t)i, place++};
            for (arc = next; splitter(arc / STRIDE) != arc; arc = next) {
                next = arcs[arc].next;
                arcs[arc] = {(rank_t)i, place++};
            }
            splitters[i] = {arc / STRIDE, place};
        }
    }

    // Sum the distances up to splitter 0; returns where they are then.
    __device__ const Splitter* jump(Barrier& barrier) const {
        Splitter* now = splitters;
        Splitter* after = splitters + stretches();
        for (u64 reach = 1; reach < stretches(); reach *= 2) {
            for (u64 i = thread_of_grid(); i < stretches(); i += threads_of_grid()) {
                Splitter at = now[i];
                if (at.next != 0) {
                    const Splitter other = now[at.next];
                    at = {other.next, at.distance + other.distance};
                }
                after[i] = at;
            }
            Splitter* const swapped = now;
            now = after;
            after = swapped;
            barrier.wait();
        }
        return now;
    }

    // The rank of an arc in the tour, from splitter 0 on.
    __device__ __forceinline__ rank_t rank(const Splitter* distances, Arc arc) const {
        return arc.next == 0 ? arc.place : (rank_t)count() - distances[arc.next].distance + arc.place;
    }

    // The arc that comes first leads down to the child. Numbers are ranks of these arcs for now.
    __device__ void unroll(const Splitter* distances, vertex_t* parents, vertex_t* numbers, vertex_t* sizes) const {
        const rank_t origin = rank(distances, arcs[lists[n]]), all = (rank_t)count();
        const auto from_origin = [&](rank_t rank) { return rank >= origin ? rank - origin : rank + (all - origin); };
        for (u64 s = thread_of_grid(); s < n; s += threads_of_grid()) {
            const Ends edge = ends[s];
            const rank_t there = from_origin(rank(distances, arcs[2 * s]));
            const rank_t back = from_origin(rank(distances, arcs[2 * s + 1]));
            const bool is_down = there < back;
            const rank_t child = is_down ? edge.to : edge.from, parent = is_down ? edge.from : edge.to;
            const rank_t first = is_down ? there : back, last = is_down ? back : there;
            parents[child] = (vertex_t)(parent == n ? child : parent);
            numbers[child] = (vertex_t)first;
            sizes[child] = (vertex_t)((last - first) / 2 + 1);
            atomicOr(marks + first / WARP, bit_of(first));
        }
    }

    __device__ void number(vertex_t* numbers) const {
        for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
            const rank_t first = (rank_t)numbers[v];
            const u32 below = marks[first / WARP] & (bit_of(first) - 1);
            numbers[v] = (vertex_t)(before[first / WARP] + __popc(below));
        }
    }
};

// Of several values at once.
struct Extremes {
    vertex_t low, high;

    __device__ __forceinline__ Extremes with(Extremes other) const {
        return {least(low, other.low), most(high, other.high)};
    }
};

// Extremes of blocks of values, and of 2, 4, 8, ... blocks in a row, from each block on.
struct ExtremesTable {
    u64 n;
    const Extremes* values;
    Extremes* table;

    __device__ __forceinline__ u64 blocks() const { return (n + WARP - 1) / WARP; }

    __device__ void build(Barrier& barrier) const {
        for (u64 block = warp_of_grid(); block < blocks(); block += warps_of_grid()) {
            Extremes all = values[least(block * WARP + lane(), n - 1)];
            for (u32 step = WARP / 2; step; step >>= 1) all = all.with(shuffle_xor(all, step));
            if (lane() == 0) table[block] = all;
        }
        barrier.wait();
        Extremes* row = table;
        for (u64 half = 1; 2 * half <= blocks(); half *= 2) {
            Extremes* const next = row + blocks();
            for (u64 i = thread_of_grid(); i + 2 * half <= blocks(); i += threads_of_grid())
                next[i] = row[i].with(row[i + half]);
            row = next;
            barrier.wait();
        }
    }

    // Of the values at first to last, which is at least first.
    __device__ Extremes of(u64 first, u64 last) const {
        Extremes all = values[first];
        const u64 begin = first / WARP + 1, end = last / WARP;  // the blocks that are inside
        if (begin >= end) {
            for (u64 i = first + 1; i <= last; ++i) all = all.with(values[i]);
            return all;
        }
        for (u64 i = first + 1; i < begin * WARP; ++i) all = all.with(values[i]);
        for (u64 i = end * WARP; i <= last; ++i) all = all.with(values[i]);
        u32 row = 0;
        while (2ull << row <= end - begin) ++row;
        const Extremes* const of_row = table + row * blocks();
        return all.with(of_row[begin]).with(of_row[end - (1ull << row)]);
    }
};

}  // namespace gasla

// Root the trees of a spanning forest of an undirected graph, and number them: each subtree is a range of numbers.
KERNEL number_trees(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, vertex_t* parents,
                    vertex_t* numbers, vertex_t* sizes, Ends* ends, Arc* arcs, rank_t* lists, Splitter* splitters,
                    u32* marks, rank_t* before, Slice* slices, Control* control) {
    Barrier barrier(control->barrier);
    const Tour tour{n, ends, arcs, lists, splitters, marks, before};
    tour.clear();
    join_all(Lists{offsets, neighbors, n}, m, false, RecordedEdges(ends), parents, numbers, slices, control, barrier);
    tour.build(parents, numbers);
    barrier.wait();
    tour.connect();
    barrier.wait();
    tour.walk();
    barrier.wait();
    const Splitter* const distances = tour.jump(barrier);
    tour.unroll(distances, parents, numbers, sizes);
    barrier.wait();
    sum_over_grid(
        tour.words(), control->counts, barrier, [&](u64 i) { return (u64)__popc(marks[i]); },
        [&](u64 i, u64 sum) { before[i] = (rank_t)sum; });
    barrier.wait();
    tour.number(numbers);
    barrier.leave();
}

// Replace the extremes at each vertex by those of its subtree, a range of numbers.
KERNEL extremes_of_subtrees(const vertex_t* numbers, const vertex_t* sizes, u64 n, vertex_t* low, vertex_t* high,
                            Extremes* values, Extremes* table, Control* control) {
    Barrier barrier(control->barrier);
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) values[numbers[v]] = {low[v], high[v]};
    barrier.wait();
    const ExtremesTable extremes{n, values, table};
    extremes.build(barrier);
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const u64 first = (u64)numbers[v];
        const Extremes found = extremes.of(first, first + (u64)sizes[v] - 1);
        low[v] = found.low;
        high[v] = found.high;
    }
    barrier.leave();
}
