// Roots and numbers the trees of a spanning forest without a search. Union-find records the edges that unite trees, an
// Euler tour of these edges roots and numbers the trees, and tables give the extremes of values in each subtree. No
// step takes longer if trees are deep.
//
// Each vertex has one edge. If the vertex was attached to another tree by union-find, that is the edge that united the
// two trees. Otherwise it is an edge from the root of its tree to a common root above all trees, whose id is n. So the
// edges form one tree, and the edge of vertex s consists of the arcs 2s and 2s + 1, one in each direction. After an
// arc, the tour takes an arc that begins where it ends: the one that follows the reverse of the arc in the list of arcs
// from there. Ranks in the tour are found from sampled arcs (splitters): the tour is followed from each splitter to the
// next, and pointers then jump over splitters.
//
// R. E. Tarjan, U. Vishkin: An efficient parallel biconnectivity algorithm. SIAM J. Computing 14 (1985).
// M. Reid-Miller: List ranking and list scan on the Cray C90. SPAA 1994.
// A. Polak, A. Siwiec, M. Stobierski: Euler Meets GPU: Practical Graph Algorithms with Theoretical Guarantees. IPDPS
// 2021.
//
// Lower bound of the time for n vertices: that of union-find, and 8 random accesses for each of 2n arcs.
#pragma once

#include "grid_sums.cuh"
#include "union_find.cuh"

namespace gasla {

constexpr u32 STRIDE = 32;  // one splitter is sampled from each stretch of this many arcs

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

// An arc of an Euler tour, one direction of an edge. At first `next` is the next arc of the tour. After `walk`, `next`
// is the splitter (sampled arc) before this arc, and `place` the number of arcs from the splitter to it.
struct Arc {
    rank_t next, place;
};

// A splitter is a sampled arc of the Euler tour. It has the next splitter, and the distance to it in arcs. Each step of
// pointer jumping reads one array of splitters and writes another.
struct Splitter {
    rank_t next, distance;
};

// Return the mask of the warp's lanes whose `source` is equal to this lane's `source`.
__device__ __forceinline__ u32 alike(rank_t source) {
    u32 lanes = __match_any_sync(ALL, (u32)source);
    if constexpr (sizeof(rank_t) == 8) lanes &= __match_any_sync(ALL, (u32)((u64)source >> 32));
    return lanes;
}

struct Tour {
    u64 n;
    Ends* ends;  // length n
    Arc* arcs;  // length 2 n
    rank_t* lists;  // length n + 1: for each vertex, the arc that was put into its list last
    Splitter* splitters;  // length 2 * stretches()
    u32* marks;  // words() words: a bit for each arc, by rank in the tour, set if the arc leads down to a child
    rank_t* before;  // length words(): how many arcs lead down before each word of `marks`

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

    // Insert one arc of each lane at the head of the list of arcs that begin at its source. Lanes with equal sources
    // link their arcs, so that only one of them makes an atomic exchange.
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

    // Turn the lists of arcs into an Euler tour: after an arc, the tour takes the arc that follows the reverse arc in
    // the list.
    __device__ void connect() const {
        for (u64 s = thread_of_grid(); s < n; s += threads_of_grid()) {
            const Ends edge = ends[s];
            const rank_t there = arcs[2 * s].next, back = arcs[2 * s + 1].next;
            arcs[2 * s].next = back != NONE ? back : lists[edge.to];
            arcs[2 * s + 1].next = there != NONE ? there : lists[edge.from];
        }
    }

    // Follow the tour from each splitter (sampled arc) to the next splitter, and store for each arc the splitter before
    // it and its distance from this splitter.
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

    // Sum the distances along the tour from each splitter (sampled arc) to splitter 0 by pointer jumping. Returns the
    // array that has the result.
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

    // Return the rank of an arc in the tour, which begins at splitter 0.
    __device__ __forceinline__ rank_t rank(const Splitter* distances, Arc arc) const {
        return arc.next == 0 ? arc.place : (rank_t)count() - distances[arc.next].distance + arc.place;
    }

    // Find the parent and the subtree size of each vertex. Of the two arcs of an edge, the arc that comes first in the
    // tour leads down to the child. In this step, a vertex's number is the rank of the arc that leads to it.
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

// The smallest and the largest of several values.
struct Extremes {
    vertex_t low, high;

    __device__ __forceinline__ Extremes with(Extremes other) const {
        return {least(low, other.low), most(high, other.high)};
    }
};

// A sparse table, which gives the smallest and the largest value of any range. It has these extremes for each block of
// 32 values, and for 2, 4, 8, ... consecutive blocks that begin at each block.
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

    // Return the smallest and the largest of the values at positions `first` to `last` inclusive.
    __device__ Extremes of(u64 first, u64 last) const {
        Extremes all = values[first];
        const u64 begin = first / WARP + 1, end = last / WARP;  // the blocks that lie entirely in the range
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

// Root the trees of a spanning forest of an undirected graph, and number the vertices such that the numbers of each
// subtree are a contiguous range.
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

// Replace low[v] and high[v] of each vertex by the minimum of `low` and the maximum of `high` over the subtree of v.
// This is a query for a range, because the vertices of a subtree have consecutive numbers.
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
