// Stages over a forest of vertices: unite the trees at both ends of edges, flatten the trees, number them.
//
// A forest is an array: parents[v] is v's parent, a root is its own. A root changes by compare-and-swap alone. Paths are
// read through the L1 cache and shortened by plain writes: both may be late, but what they see or leave is an ancestor,
// and after a barrier everything is up to date. A thread that follows a path to its end therefore gets a vertex that was the
// root a moment ago; the compare-and-swap tells whether it still is.
//
// In front of this file: vertex_t (of ids) and offset_t (of positions in the lists), each int or long long.
//
// Floor, for n vertices that fit the L2 cache: lists' first entries, n sectors of 32 to 64 bytes, and about 5 gathers a
// vertex at 125 G/s, 40 passes over 4 n bytes: about 0.35 ms for 4 Mi vertices.
#pragma once

#include "runtime.cuh"

namespace gasla {

typedef Choose<sizeof(offset_t) == 8, u64, u32>::type position_t;
typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type rank_t;

constexpr u32 SAMPLES = 256;
constexpr u32 SHORT = 32;    // entries of the longest list that one thread walks
constexpr u32 SLICE = 2048;  // entries of the longest that one warp walks; longer ones are cut up
constexpr u32 ROUNDS = 2;    // of tries before what's left is linked for certain

struct Lists {
    const offset_t* offsets;
    const vertex_t* neighbours;
    u64 n;

    __device__ __forceinline__ position_t begin(u64 v) const { return (position_t)__ldg(offsets + v); }
    __device__ __forceinline__ vertex_t neighbour(position_t k) const { return __ldg(neighbours + k); }
};

// A part of a long list, for one warp.
struct Slice {
    u64 low, high, vertex;
};

// What the blocks of a launch share. All zero before and after, but for `known` and `counts`.
struct Control {
    u32 barrier[2];
    u64 slices;
    u64 known;
    u64 counts[1];  // one a block
};

// Which of two roots becomes the parent: the one of lower rank. By id, a root is the smallest vertex of its tree.
// Scattered ranks keep trees shallow however vertices are numbered: by id a grid numbered by rows is all long paths.
struct Order {
    bool scattered;

    __device__ __forceinline__ rank_t rank(vertex_t v) const {
        rank_t x = (rank_t)v;
        if (!scattered) return x;
        if constexpr (sizeof(rank_t) == 4) {  // one to one, so that no two vertices have the same rank
            x = (x ^ (x >> 16)) * 0x7feb352du;
            x = (x ^ (x >> 15)) * 0x846ca68bu;
            return x ^ (x >> 16);
        } else {
            x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
            x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
            return x ^ (x >> 31);
        }
    }
};

__device__ __forceinline__ vertex_t sample(u64 i, u64 n) { return (vertex_t)(i * 0x9e3779b97f4a7c15ull % n); }

// --- one vertex ------------------------------------------------------------------------------------------------------

struct Hooked {
    vertex_t parent;
    vertex_t other;  // a neighbour that isn't in the same tree yet, or v itself
};

// v under its first neighbour, or with `two` the lower of its first two, if that is lower than v.
__device__ __forceinline__ Hooked hooked(const Lists& lists, Order order, vertex_t v, bool two) {
    const position_t low = lists.begin(v), high = lists.begin(v + (u64)1);
    const vertex_t first = low < high ? lists.neighbour(low) : v;
    const vertex_t second = two && low + 1 < high ? lists.neighbour(low + 1) : v;
    const bool swap = order.rank(second) < order.rank(first);
    const vertex_t lower = swap ? second : first, higher = swap ? first : second;
    if (order.rank(lower) < order.rank(v)) return {lower, higher};
    return {v, first == v ? second : first};
}

// The root of v's tree. Puts every vertex on the way under its grandparent.
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

// The same, but only reads.
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

// Puts `high` under `low` if it's still a root; returns its parent before. Many threads want the same of a large tree's
// root: those that come late only look, and all of a warp at once.
__device__ __forceinline__ vertex_t attach(vertex_t* parents, vertex_t high, vertex_t low) {
    const vertex_t parent = fresh(parents + high);
    return parent == high ? compare_and_swap(parents + high, high, low) : parent;
}

// One tree of those of `root` and v; its root is returned.
__device__ __forceinline__ vertex_t unite(vertex_t* parents, Order order, vertex_t root, vertex_t v) {
    vertex_t other = find(parents, v);
    while (root != other) {
        const bool stays = order.rank(root) < order.rank(other);
        const vertex_t low = stays ? root : other, high = stays ? other : root;
        const vertex_t parent = attach(parents, high, low);
        if (parent == high) return low;
        root = find(parents, parent);  // another thread was faster
        other = low;
    }
    return root;
}

// --- all vertices, by all threads of the grid ------------------------------------------------------------------------

__device__ void hook(const Lists& lists, Order order, vertex_t* parents) {
    for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid())
        parents[v] = hooked(lists, order, (vertex_t)v, false).parent;
}

// Hooks, and notes in `others` what is to be linked next: by then the lists would have to be read again.
__device__ void hook(const Lists& lists, Order order, vertex_t* parents, vertex_t* others) {
    for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid()) {
        const Hooked start = hooked(lists, order, (vertex_t)v, true);
        parents[v] = start.parent;
        others[v] = start.other;
    }
}

// One try at linking what hook noted, in flat trees: no path is followed, and a late thread loses. A tree is hung under
// another unless its root ranks below all it meets, so few trees are left, and few threads at work on the same root.
__device__ void try_others(Order order, vertex_t* parents, const vertex_t* others, u64 n) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const vertex_t other = others[v];
        if (other == (vertex_t)v) continue;
        const vertex_t mine = parents[v], its = parents[other];
        if (mine == its) continue;
        const bool stays = order.rank(mine) < order.rank(its);
        attach(parents, stays ? its : mine, stays ? mine : its);
    }
}

// Links what hook noted; every entry of `others` becomes the vertex itself.
__device__ void link_others(Order order, vertex_t* parents, vertex_t* others, u64 n) {
    for (u64 i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const vertex_t v = (vertex_t)i, other = others[v];
        if (other == v) continue;
        if (parents[v] != parents[other]) unite(parents, order, find(parents, v), other);
        others[v] = v;
    }
}

// The trees that edges from vertices outside the known tree unite; those from inside that lead out too, if `outward`.
struct Linker {
    Lists lists;
    Order order;
    vertex_t* parents;
    vertex_t known;  // a root, or -1
    bool outward;

    __device__ __forceinline__ void walk(vertex_t v, position_t low, position_t high, u32 step) const {
        if (low >= high) return;
        const bool inside = parents[v] == known;
        vertex_t root = find(parents, v);
        for (; low < high; low += step) {
            const vertex_t other = lists.neighbour(low);
            if (!inside || parents[other] != known) root = unite(parents, order, root, other);
        }
    }

    // Positions first to last of every list. Long lists are left to `walk_slices`, after a barrier.
    __device__ void walk_all(u64 first, u64 last, Slice* slices, Control* control) const {
        for (u64 start = warp_of_grid() * WARP; start < lists.n; start += threads_of_grid()) {
            const u64 v = start + lane();
            position_t low = 0, high = 0;
            if (v < lists.n && (outward || parents[v] != known)) {
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

// Points v at its root. Writes nothing else: another thread may be done with the vertices on the way.
__device__ __forceinline__ vertex_t flatten(vertex_t* parents, vertex_t v) {
    const vertex_t parent = parents[v], root = root_of(parents, v);
    if (parent != root) parents[v] = root;
    return root;
}

__device__ void compress(vertex_t* parents, u64 n) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) flatten(parents, (vertex_t)v);
}

// Flattens, and leaves the smallest vertex of each tree in `firsts` at its root; firsts[v] is v before.
__device__ void compress(vertex_t* parents, vertex_t* firsts, u64 n) {
    vertex_t seen = -1;  // each thread goes upward, so once for a root is enough
    for (u64 start = warp_of_grid() * WARP; start < n; start += threads_of_grid()) {
        const vertex_t v = (vertex_t)least(start + lane(), n - 1);
        const vertex_t root = flatten(parents, v), left = __shfl_up_sync(ALL, root, 1);
        if (v < root && root != seen && (lane() == 0 || left != root) && firsts[root] > v) atomicMin(firsts + root, v);
        seen = root;
    }
}

// The root that most of a sample of vertices have; for one block, all of whose threads get it.
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

// --- numbers ---------------------------------------------------------------------------------------------------------

// Replaces parents, which are roots, by the number of the tree, in the order of firsts[root]; how many trees there are
// is left in `result`. Each warp has a run of vertices of its own: it counts the firsts among them, and once all have,
// it knows the number of its own first one. A number takes the place of firsts[root] as its complement, which is no
// vertex.
struct ComponentNumbering {
    vertex_t* parents;
    vertex_t* firsts;
    u64 n, begin, end;

    __device__ ComponentNumbering(vertex_t* parents, vertex_t* firsts, u64 n) : parents(parents), firsts(firsts), n(n) {
        const u64 share = ((n + WARP - 1) / WARP + warps_of_grid() - 1) / warps_of_grid() * WARP;
        begin = least(n, warp_of_grid() * share);
        end = least(n, begin + share);
    }

    __device__ u64 count() const {  // of the warp
        u64 firsts_seen = 0;
#pragma unroll 4
        for (u64 v = begin + lane(); v < end; v += WARP) firsts_seen += firsts[parents[v]] == (vertex_t)v;
        return warp_sum(firsts_seen);
    }

    // Some at a time, so that their loads are under way together.
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

// --- for kernels -----------------------------------------------------------------------------------------------------

using namespace gasla;

#define KERNEL extern "C" __global__ void __launch_bounds__(512, 4)
