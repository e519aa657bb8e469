// Union-find on a forest of vertices, with operations for all threads of a grid: unite the trees at both ends of edges,
// make trees flat, and number them.
//
// parents[v] is the parent of v, and a root is its own parent. A root gets a parent by compare-and-swap only. Paths are
// read through the L1 cache and shortened by plain writes. Both may be out of date, but a stale value is still an
// ancestor, and after a barrier all values are current. A thread that follows a path to its end gets a vertex that was
// the root a moment ago. The compare-and-swap tells whether it still is.
//
// The code that includes this file first defines the types vertex_t (vertex ids) and offset_t (positions in
// `neighbors`), each int or long long.
//
// Lower bound of the time for n vertices that fit the L2 cache: the first neighbor of each vertex is read, in n sectors
// of 32 to 64 bytes; there are about 5 random reads per vertex at 125 G/s, and 40 passes over 4 n bytes. In all, this
// is about 0.35 ms for 4 Mi vertices.
#pragma once

#include "random.cuh"

namespace gasla {

typedef Choose<sizeof(offset_t) == 8, u64, u32>::type position_t;
typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type rank_t;

constexpr u32 SAMPLES = 256;
constexpr u32 SHORT = 32;  // the longest adjacency list that one thread walks alone
// length of the longest adjacency list that one warp walks; longer lists are cut into slices of this length
constexpr u32 SLICE = 2048;
// number of attempts to link trees by their roots alone, before the remaining edges are linked by following paths
constexpr u32 ROUNDS = 2;

struct Lists {
    const offset_t* offsets;
    const vertex_t* neighbors;
    u64 n;

    __device__ __forceinline__ position_t begin(u64 v) const { return (position_t)__ldg(offsets + v); }
    __device__ __forceinline__ vertex_t neighbor(position_t k) const { return __ldg(neighbors + k); }
};

// The bipartite double cover of a graph: each vertex v appears twice, as v and as n + v, and each edge leads from one
// copy to the other. Both copies of v are in one tree if and only if v's component has an odd cycle.
struct BothSides {
    Lists lists;
    position_t m;
    u64 n;

    __device__ __forceinline__ BothSides(const Lists& lists, u64 m) : lists(lists), m((position_t)m), n(2 * lists.n) {}
    __device__ __forceinline__ position_t begin(u64 v) const {
        return v < lists.n ? lists.begin(v) : m + lists.begin(v - lists.n);
    }
    __device__ __forceinline__ vertex_t neighbor(position_t k) const {
        return k < m ? (vertex_t)(lists.neighbor(k) + lists.n) : lists.neighbor(k - m);
    }
};

// A part of a long adjacency list, which one warp walks.
struct Slice {
    u64 low, high, vertex;
};

// Global memory that all blocks of a launch share. It is zero before and after the launch, except for `known` and
// `counts`, which need no initial value.
struct Control {
    u32 barrier[2];
    u64 slices;
    u64 known;
    u64 counts[1];  // length: the number of blocks
};

// The order in which roots become parents: of two roots, the one of lower rank becomes the parent of the other. If
// ranks are ids, the root of each tree is its smallest vertex. Hashed ranks (`scattered`) keep trees shallow however
// vertices are numbered. For example, a grid graph numbered by rows would give long paths if ranks were ids.
struct Order {
    bool scattered;

    __device__ __forceinline__ rank_t rank(vertex_t v) const {
        rank_t x = (rank_t)v;
        if (!scattered) return x;
        if constexpr (sizeof(rank_t) == 4) {  // a bijection: no two vertices have the same rank
            x = (x ^ (x >> 16)) * 0x7feb352du;
            x = (x ^ (x >> 15)) * 0x846ca68bu;
            return x ^ (x >> 16);
        } else {
            return mix(x);
        }
    }
};

// A policy for which edges unite trees, and what the nodes of the forest are: every edge unites, and nodes are
// vertices. The structs below derive from this one to select edges.
struct AllEdges {
    // Return the node of the forest that stands for v.
    __device__ __forceinline__ vertex_t entry(vertex_t v) const { return v; }
    __device__ __forceinline__ bool is_inside(const vertex_t* parents, vertex_t v, vertex_t root) const {
        return parents[v] == root;
    }
    __device__ __forceinline__ bool unites(vertex_t, vertex_t) const { return true; }
    // This is called with a root that has just become a child, and the two ends of the edge that caused this.
    __device__ __forceinline__ void joined(vertex_t, vertex_t, vertex_t) const {}
};

// A policy in which the nodes of the forest are groups of vertices instead of single vertices. groups[v] is the group
// of vertex v. An edge unites the tree that has the group of its source with the tree that has the group of its target.
// This changes only the parents of groups: a tree then has more groups, but each vertex stays in its group.
struct GroupedEdges : AllEdges {
    const vertex_t* groups;

    __device__ __forceinline__ explicit GroupedEdges(const vertex_t* groups) : groups(groups) {}
    __device__ __forceinline__ vertex_t entry(vertex_t v) const { return __ldg(groups + v); }
    __device__ __forceinline__ bool is_inside(const vertex_t*, vertex_t v, vertex_t group) const {
        return entry(v) == group;
    }
};

// A policy in which only some edges unite trees: those where neither end is an ancestor of the other in a given rooted
// forest. Vertices are numbered in preorder, so the vertices of a subtree have consecutive numbers, its root the first.
struct AcrossEdges : AllEdges {
    const vertex_t* numbers;
    const vertex_t* sizes;

    __device__ __forceinline__ AcrossEdges(const vertex_t* numbers, const vertex_t* sizes)
        : numbers(numbers), sizes(sizes) {}
    __device__ __forceinline__ bool unites(vertex_t u, vertex_t v) const {
        const vertex_t first = __ldg(numbers + u), other = __ldg(numbers + v);
        return first < other ? other - first >= __ldg(sizes + u) : first - other >= __ldg(sizes + v);
    }
};

__device__ __forceinline__ vertex_t sample(u64 i, u64 n) { return (vertex_t)(i * GOLDEN % n); }

// The following functions work on one vertex. One thread calls them.

struct Hooked {
    vertex_t parent;
    vertex_t other;  // a neighbor that may be in another tree still, or the vertex itself if there is none
};

// Choose a first parent for v: its first neighbor or, with `two`, the one of its first two neighbors that has the lower
// rank. If that neighbor doesn't rank below v, then v is its own parent, a root.
template <class L>
__device__ __forceinline__ Hooked hooked(const L& lists, Order order, vertex_t v, bool two) {
    const position_t low = lists.begin(v), high = lists.begin(v + (u64)1);
    const vertex_t first = low < high ? lists.neighbor(low) : v;
    const vertex_t second = two && low + 1 < high ? lists.neighbor(low + 1) : v;
    const bool swap = order.rank(second) < order.rank(first);
    const vertex_t lower = swap ? second : first, higher = swap ? first : second;
    if (order.rank(lower) < order.rank(v)) return {lower, higher};
    return {v, first == v ? second : first};
}

// Return the root of v's tree. Each vertex that is passed becomes a child of its grandparent, which shortens later
// searches (path halving).
__device__ __forceinline__ vertex_t find(vertex_t* parents, vertex_t v) {
    vertex_t parent = parents[v];
    vertex_t grandparent = parents[parent];
    while (parent != grandparent) {
        parents[v] = grandparent;
        v = parent;
        parent = grandparent;
        grandparent = parents[parent];
    }
    return parent;
}

// Return the root of v's tree without changing any parent.
__device__ __forceinline__ vertex_t root_of(const vertex_t* parents, vertex_t v) {
    vertex_t parent = parents[v];
    vertex_t grandparent = parents[parent];
    while (parent != grandparent) {
        parent = grandparent;
        grandparent = parents[parent];
    }
    return parent;
}

__device__ __forceinline__ vertex_t compare_and_swap(vertex_t* address, vertex_t expected, vertex_t wanted) {
    return (vertex_t)atomicCAS(reinterpret_cast<rank_t*>(address), (rank_t)expected, (rank_t)wanted);
}

// Make `low` the parent of `high` if `high` is still a root, and return the previous parent of `high`. Many threads try
// to attach the same large root. A thread that comes late only reads that it is no root any more, and makes no atomic
// operation.
__device__ __forceinline__ vertex_t attach(vertex_t* parents, vertex_t high, vertex_t low) {
    const vertex_t parent = fresh(parents + high);
    return parent == high ? compare_and_swap(parents + high, high, low) : parent;
}

// Unite the tree of `root` with the tree of v, and return their common root. `joined` is called with the root that has
// got a parent, if any.
template <class Joined>
__device__ __forceinline__ vertex_t unite(vertex_t* parents, Order order, vertex_t root, vertex_t v, Joined joined) {
    vertex_t other = find(parents, v);
    while (root != other) {
        const bool stays = order.rank(root) < order.rank(other);
        const vertex_t low = stays ? root : other, high = stays ? other : root;
        const vertex_t parent = attach(parents, high, low);
        if (parent == high) {
            joined(high);
            return low;
        }
        root = find(parents, parent);  // another thread has attached `high` first
        other = low;
    }
    return root;
}

// The following functions work on all vertices. All threads of the grid call them.

__device__ void hook(const Lists& lists, Order order, vertex_t* parents) {
    for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid())
        parents[v] = hooked(lists, order, (vertex_t)v, false).parent;
}

// Give every vertex a first parent. Also store in others[v] the second neighbor of v that is linked with v in the next
// step, which saves reading the adjacency lists again.
template <class L, class Edges>
__device__ void hook(const L& lists, Order order, const Edges& edges, vertex_t* parents, vertex_t* others) {
    for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid()) {
        const Hooked start = hooked(lists, order, (vertex_t)v, true);
        parents[v] = start.parent;
        others[v] = start.other;
        if (start.parent != (vertex_t)v) edges.joined((vertex_t)v, (vertex_t)v, start.parent);
    }
}

// Try once to link the trees of each vertex v and others[v] by their roots, which are known because trees are flat. Of
// two roots, the one of higher rank is attached. A thread whose root has got a parent meanwhile gives up. So few trees
// remain, and few threads contend for the same root.
template <class Edges>
__device__ void try_others(Order order, const Edges& edges, vertex_t* parents, const vertex_t* others, u64 n) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const vertex_t other = others[v];
        if (other == (vertex_t)v) continue;
        const vertex_t mine = parents[v], its = parents[other];
        if (mine == its) continue;
        const bool stays = order.rank(mine) < order.rank(its);
        const vertex_t high = stays ? its : mine, low = stays ? mine : its;
        if (attach(parents, high, low) == high) edges.joined(high, (vertex_t)v, other);
    }
}

// Link the trees of each vertex v and others[v], following paths as far as needed. Afterwards others[v] is v for every
// vertex, so that the array can be used again.
template <class Edges>
__device__ void link_others(Order order, const Edges& edges, vertex_t* parents, vertex_t* others, u64 n) {
    for (u64 i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const vertex_t v = (vertex_t)i, other = others[v];
        if (other == v) continue;
        if (parents[v] != parents[other])
            unite(parents, order, find(parents, v), other, [&](vertex_t root) { edges.joined(root, v, other); });
        others[v] = v;
    }
}

// Unites trees along the edges of all vertices outside one tree, `known`, which is usually the largest. With `outward`,
// edges that lead out of that tree are followed, too. Directed graphs need this, because their edges are listed in one
// direction only.
template <class Edges, class L = Lists> struct Linker {
    L lists;
    Order order;
    Edges edges;
    vertex_t* parents;
    vertex_t known;  // the root or group of the tree whose inner edges can be skipped, or -1
    bool outward;

    __device__ __forceinline__ bool is_known(vertex_t v) const { return edges.is_inside(parents, v, known); }

    __device__ __forceinline__ void walk(vertex_t v, position_t low, position_t high, u32 step) const {
        if (low >= high) return;
        const bool inside = is_known(v);
        vertex_t root = find(parents, edges.entry(v));
        for (; low < high; low += step) {
            const vertex_t other = lists.neighbor(low);
            if (!edges.unites(v, other) || (inside && is_known(other))) continue;
            const auto joined = [&](vertex_t last) { edges.joined(last, v, other); };
            root = unite(parents, order, root, edges.entry(other), joined);
        }
    }

    // Walk the neighbors at positions `first` to `last` of every adjacency list. Long lists are cut into slices, which
    // `walk_slices` processes after a barrier.
    __device__ void walk_all(u64 first, u64 last, Slice* slices, Control* control) const {
        for (u64 start = warp_of_grid() * WARP; start < lists.n; start += threads_of_grid()) {
            const u64 v = start + lane();
            position_t low = 0, high = 0;
            if (v < lists.n && (outward || !is_known((vertex_t)v))) {
                low = lists.begin(v);
                high = least(lists.begin(v + 1), (position_t)(low + last));
                low = least((position_t)(low + first), high);
            }
            if (high - low <= SHORT) walk((vertex_t)v, low, high, 1);
            for (u32 longer = __ballot_sync(ALL, high - low > SHORT); longer; longer &= longer - 1) {
                const u32 from = __ffs(longer) - 1;
                walk_by_warp(start + from, shuffle(low, from), shuffle(high, from), slices, control);
            }
        }
    }

    __device__ void walk_by_warp(u64 v, position_t low, position_t high, Slice* slices, Control* control) const {
        if (high - low <= SLICE) {
            walk((vertex_t)v, low + lane(), high, WARP);
            return;
        }
        const u64 count = ((u64)(high - low) + SLICE - 1) / SLICE;
        u64 place = 0;
        if (lane() == 0) place = atomicAdd(&control->slices, count);
        place = shuffle(place, 0);
        for (u64 i = lane(); i < count; i += WARP) {
            const u64 begin = low + i * SLICE;
            slices[place + i] = {begin, least(begin + SLICE, (u64)high), v};
        }
    }

    __device__ void walk_slices(const Slice* slices, u64 count) const {
        for (u64 i = warp_of_grid(); i < count; i += warps_of_grid()) {
            const Slice slice = slices[i];
            walk((vertex_t)slice.vertex, (position_t)slice.low + lane(), (position_t)slice.high, WARP);
        }
    }

    __device__ void link(u64 first, u64 last, Slice* slices, Control* control, Barrier& barrier) const {
        walk_all(first, last, slices, control);
        barrier.wait();
        const u64 count = fresh(&control->slices);
        if (count == 0) return;
        walk_slices(slices, count);
        barrier.wait();
        if (thread_of_grid() == 0) control->slices = 0;
    }
};

// Make the root of v's tree the parent of v. The parents of other vertices on the path are not changed, because other
// threads may have read them for the last time.
__device__ __forceinline__ vertex_t flatten(vertex_t* parents, vertex_t v) {
    const vertex_t parent = parents[v], root = root_of(parents, v);
    if (parent != root) parents[v] = root;
    return root;
}

__device__ void compress(vertex_t* parents, u64 n) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) flatten(parents, (vertex_t)v);
}

// Make all trees flat, so that every vertex's parent is its root. Also store the smallest vertex of each tree in
// firsts[root]. Before the call, firsts[v] must be v.
__device__ void compress(vertex_t* parents, vertex_t* firsts, u64 n) {
    // The root of this thread's last vertex. A thread's vertices ascend, so it needs only one atomic per root.
    vertex_t seen = -1;
    for (u64 start = warp_of_grid() * WARP; start < n; start += threads_of_grid()) {
        const vertex_t v = (vertex_t)least(start + lane(), n - 1);
        const vertex_t root = flatten(parents, v), left = __shfl_up_sync(ALL, root, 1);
        if (v < root && root != seen && (lane() == 0 || left != root) && firsts[root] > v) atomicMin(firsts + root, v);
        seen = root;
    }
}

// Return the most frequent root among SAMPLES vertices, which is probably the root of the largest tree. A whole block
// calls this, and all its threads get the result.
__device__ vertex_t likely_largest(const vertex_t* parents, u64 n) {
    __shared__ vertex_t roots[SAMPLES];
    __shared__ u32 best;
    if (threadIdx.x == 0) best = 0;
    for (u32 i = threadIdx.x; i < SAMPLES; i += blockDim.x) roots[i] = root_of(parents, sample(i, n));
    __syncthreads();
    for (u32 i = threadIdx.x; i < SAMPLES; i += blockDim.x) {
        u32 equal = 0;
        for (u32 k = 0; k < SAMPLES; ++k) equal += roots[k] == roots[i];
        atomicMax(&best, equal * SAMPLES + i);
    }
    __syncthreads();
    return roots[best % SAMPLES];
}

// Find the connected components along all edges, by the algorithm Afforest. At first every vertex is a tree of its own.
// After the call and a barrier, the parent of every vertex is the root of its component, and firsts[root] is the
// smallest vertex of the component.
template <class L, class Edges>
__device__ void join_all(const L& lists, u64 m, bool outward, const Edges& edges, vertex_t* parents, vertex_t* firsts,
                         Slice* slices, Control* control, Barrier& barrier) {
    const Order order{true};
    hook(lists, order, edges, parents, firsts);
    barrier.wait();
    for (u32 round = 0; round < ROUNDS; ++round) {
        compress(parents, lists.n);
        barrier.wait();
        try_others(order, edges, parents, firsts, lists.n);
        barrier.wait();
    }
    compress(parents, lists.n);
    barrier.wait();
    link_others(order, edges, parents, firsts, lists.n);
    barrier.wait();
    if (blockIdx.x == 0) {  // may overlap with `compress` in other blocks, since that does not change roots
        const vertex_t root = likely_largest(parents, lists.n);
        if (threadIdx.x == 0) control->known = (u64)root;
    }
    compress(parents, lists.n);
    barrier.wait();
    const vertex_t known = (vertex_t)fresh(&control->known);
    Linker<Edges, L>{lists, order, edges, parents, known, outward}.link(0, m, slices, control, barrier);
    compress(parents, firsts, lists.n);
    barrier.wait();
}

// The following code numbers the components in the order of their smallest vertices.

// Replaces parents, which must be roots, by component numbers from 0 in the order of the components' smallest
// vertices, and writes the number of components to `result`. Each warp takes a range of vertices and counts the
// components whose smallest vertex lies in this range. The counts of all earlier warps give the number of the warp's
// first component. Until all numbers are known, firsts[root] holds the bitwise complement of the number, which cannot
// be mistaken for a vertex because it is negative.
struct ComponentNumbering {
    vertex_t* parents;
    vertex_t* firsts;
    u64 n, begin, end;

    __device__ ComponentNumbering(vertex_t* parents, vertex_t* firsts, u64 n) : parents(parents), firsts(firsts), n(n) {
        const u64 share = ((n + WARP - 1) / WARP + warps_of_grid() - 1) / warps_of_grid() * WARP;
        begin = least(n, warp_of_grid() * share);
        end = least(n, begin + share);
    }

    __device__ u64 count() const {  // the components whose smallest vertex is in this warp's range
        u64 firsts_seen = 0;
#pragma unroll 4
        for (u64 v = begin + lane(); v < end; v += WARP) firsts_seen += firsts[parents[v]] == (vertex_t)v;
        return warp_sum(firsts_seen);
    }

    // number of vertices that each lane processes together, so that their loads overlap
    static constexpr u32 AT_ONCE = 4;

    __device__ u64 name(u64 number) const {
        for (u64 start = begin + lane(); start - lane() < end; start += AT_ONCE * WARP) {
            vertex_t roots[AT_ONCE];
            bool is_first[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) roots[k] = start + k * WARP < end ? parents[start + k * WARP] : -1;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                is_first[k] = roots[k] >= 0 && firsts[roots[k]] == (vertex_t)(start + k * WARP);
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) {
                const u32 all = __ballot_sync(ALL, is_first[k]);
                if (is_first[k]) firsts[roots[k]] = ~(vertex_t)(number + __popc(all & lanes_below()));
                number += __popc(all);
            }
        }
        return number;
    }

    __device__ void write() const {
        for (u64 v = begin + lane(); v < end; v += AT_ONCE * WARP) {
            vertex_t numbers[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) numbers[k] = v + k * WARP < end ? parents[v + k * WARP] : 0;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) numbers[k] = firsts[numbers[k]];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                if (v + k * WARP < end) parents[v + k * WARP] = ~numbers[k];
        }
    }

    __device__ void run(Control* control, Barrier& barrier, u64* result) const {
        __shared__ u64 of_warp[WARP];
        __shared__ u64 of_blocks;
        const u64 own = count();
        if (threadIdx.x == 0) of_blocks = 0;
        if (lane() == 0) of_warp[warp_of_block()] = own;
        __syncthreads();
        const u64 below = lane() < warps_of_block() ? of_warp[lane()] : 0, upto = scan_inclusive(below);
        if (threadIdx.x == warps_of_block() - 1) control->counts[blockIdx.x] = upto;
        barrier.wait();
        u64 before = 0;
        for (u32 block = threadIdx.x; block < blockIdx.x; block += blockDim.x) before += fresh(control->counts + block);
        before = warp_sum(before);
        if (lane() == 0 && before) atomicAdd(&of_blocks, before);
        __syncthreads();
        const u64 total = name(of_blocks + shuffle(upto, warp_of_block()) - own);
        if (warp_of_grid() == warps_of_grid() - 1 && lane() == 0) *result = total;
        barrier.wait();
        write();
    }
};

}  // namespace gasla

// The following definitions are for the files that make kernels from these functions.

using namespace gasla;

#define KERNEL extern "C" __global__ void __launch_bounds__(512, 4)
