// A minimum spanning forest in one launch, by Boruvka's algorithm: in each round, every tree selects the lightest edge
// that leaves it.
//
// Each edge is read from its smaller end, in sorted adjacency lists. Positions in these lists then order edges of equal
// weight by their ends, and weight and position together form a key of 64 bits that no two edges share. The first
// rounds use light edges only. They unite most vertices, so nearly all heavy edges lie inside a tree when they are
// first read, and need no second look.
//
// V. Osipov, P. Sanders, J. Singler: The Filter-Kruskal Minimum Spanning Tree Algorithm. ALENEX 2009.
// A. Fallin, A. Gonzalez, J. Seo, M. Burtscher: A High-Performance MST Implementation for GPUs. SC 2023.
//
// Lower bound of the time: each round with light edges reads half of the adjacency lists and weights, half of the edges
// need a random read each, and each round makes passes over 30 bytes per vertex and waits at five barriers. For 4 Mi
// vertices and 128 Mi edges this is 1.5 ms.
//
// The code that includes this file first defines the type weight_t, of up to 32 bits, in addition to those that
// union_find.cuh needs.
#pragma once

#include "union_find.cuh"

namespace gasla {

constexpr u64 NO_EDGE = ~0ull;
constexpr u32 LIGHT = 2;  // number of edges per vertex that count as light
constexpr u32 OF_LANE = 32;  // if a list has more entries per lane of its group, a whole warp walks it
constexpr u32 STEPS = 16;  // steps that a vertex climbs towards its root before all wait at a barrier and climb again
constexpr u32 AT_ONCE = 4;  // edges of one lane whose loads overlap
constexpr u32 KEYS = 512;  // edges in the sample from which the limit of light edges is estimated

// Global memory that all blocks of a launch share. It is zero before and after the launch, except for `limit`.
struct Growing {
    u32 barrier[2];
    u64 slices;
    u64 counts[4];  // counters that rotate: one is in use, one is being read, and one is being zeroed
    u64 limit;
};

// Map a weight to an unsigned integer such that integers compare as the weights do.
__device__ __forceinline__ u32 sortable(weight_t weight) {
    if constexpr (weight_t(0.5) != weight_t(0)) {
        const float value = (float)weight + 0.0f;  // turns -0 into 0
        const u32 bits = *reinterpret_cast<const u32*>(&value);
        return bits >> 31 ? ~bits : bits | 0x80000000u;
    } else if constexpr (weight_t(-1) < weight_t(0)) {
        return (u32)(int)weight ^ 0x80000000u;
    } else {
        return (u32)weight;
    }
}

struct Forest {
    Lists lists;
    u64 m;
    const weight_t* weights;  // null if all edges have the same weight
    u32 lanes;  // lanes that walk a short adjacency list together
    vertex_t* parents;  // at the beginning of a round, the root of each vertex's tree
    vertex_t* targets;  // for each root, the root that it gets attached to in this round
    u64* best;  // for each root, the key of the lightest edge that leaves its tree
    position_t* starts;  // for each vertex, the first position in its list with a larger neighbor
    // For each vertex, the phase (a range of weights) in which no edge in its adjacency list leaves its tree any more.
    // In this phase, the list is skipped.
    unsigned char* done;
    long long* taken;  // for each former root, the position of the edge by which it was attached, or -1
    Slice* slices;
    Growing* shared;

    __device__ __forceinline__ u64 key(u64 place) const {
        return (weights ? (u64)sortable(weights[place]) << 32 : 0) | place;
    }

    // Make each vertex a tree of its own, and find in each sorted adjacency list where the neighbors with larger ids
    // begin.
    __device__ void begin() const {
        for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid()) {
            position_t low = lists.begin(v), high = lists.begin(v + 1);
            const position_t end = high;
            while (low < high) {
                const position_t middle = low + (high - low) / 2;
                if (lists.neighbor(middle) <= (vertex_t)v)
                    low = middle + 1;
                else
                    high = middle;
            }
            starts[v] = low;
            parents[v] = targets[v] = (vertex_t)v;
            best[v] = NO_EDGE;
            taken[v] = -1;
            done[v] = 0;
            if (end - low > SLICE) cut(v, low, end);
        }
    }
    __device__ void cut(u64 v, u64 low, u64 end) const {
        const u64 count = (end - low + SLICE - 1) / SLICE, place = atomicAdd(&shared->slices, count);
        for (u64 i = 0; i < count; ++i)
            slices[place + i] = {low + i * SLICE, least(low + (i + 1) * SLICE, end), v};
    }

    // Store the limit up to which the key of an edge (its weight and position) counts as light. The limit is estimated
    // from a sample, such that there are about LIGHT * n light edges. One block calls this.
    __device__ void choose_limit() const {
        __shared__ u64 keys[KEYS];
        const u64 rank = 2 * LIGHT * lists.n * KEYS / most(m, (u64)1);
        if (2 * rank >= KEYS) {  // there are few edges, so all of them count as light
            if (threadIdx.x == 0) shared->limit = NO_EDGE;
            return;
        }
        // The function `sample` is not used here. Its result is an id, whose type may be too small for a position.
        for (u32 i = threadIdx.x; i < KEYS; i += blockDim.x) keys[i] = key(i * GOLDEN % m);
        __syncthreads();
        for (u32 i = threadIdx.x; i < KEYS; i += blockDim.x) {
            u32 before = 0;
            for (u32 k = 0; k < KEYS; ++k) before += keys[k] < keys[i] || (keys[k] == keys[i] && k < i);
            if (before == rank) shared->limit = keys[i];
        }
    }

    // Offer each edge whose key (weight and position) is above `floor` and up to `limit` to the tree at its other end,
    // as that tree's lightest edge. Returns the smallest key of an edge that leaves the tree with root `root`. The
    // caller offers that edge to this tree.
    __device__ __forceinline__ u64 offer(vertex_t root, u64 first, u64 last, u32 step, u64 floor, u64 limit) const {
        u64 own = NO_EDGE;
        for (u64 k = first; k < last; k += AT_ONCE * step) {
            u64 keys[AT_ONCE];
            vertex_t other[AT_ONCE];
            bool is[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                is[i] = k + i * step < last;
                keys[i] = key(is[i] ? k + i * step : k);
            }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                is[i] = is[i] && keys[i] <= limit && (floor == NO_EDGE || keys[i] > floor);
                other[i] = is[i] ? parents[lists.neighbor((position_t)(k + i * step))] : root;
            }
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                if (other[i] == root) continue;
                own = least(own, keys[i]);
                offer_to(other[i], keys[i]);
            }
        }
        return own;
    }
    __device__ __forceinline__ void offer_to(vertex_t root, u64 edge) const {
        if (edge < best[root]) atomicMin(best + root, edge);
    }
    __device__ __forceinline__ static u64 lightest(u64 own, u32 lanes) {
        for (u32 step = 1; step < lanes; step <<= 1) own = least(own, shuffle_xor(own, step));
        return own;
    }
    __device__ void offer_by_warp(vertex_t v, u64 low, u64 high, u64 floor, u64 limit) const {
        const vertex_t root = parents[v];
        const u64 own = lightest(offer(root, low + lane(), high, WARP, floor, limit), WARP);
        if (lane() == 0 && own != NO_EDGE) offer_to(root, own);
    }

    __device__ void offer_all(unsigned char phase, u64 floor, u64 limit) const {
        const u32 groups = WARP / lanes, mine = lane() % lanes;
        for (u64 base = this_warp_of_grid() * groups; base < lists.n; base += warps_of_grid() * groups) {
            const u64 v = base + lane() / lanes;
            u64 low = 0, high = 0;
            if (v < lists.n && done[v] != phase) {
                low = starts[v];
                high = lists.begin(v + 1);
            }
            const bool is_long = high - low > OF_LANE * lanes;
            const bool is_short = low < high && !is_long;
            vertex_t root = 0;
            u64 own = NO_EDGE;
            if (is_short) {
                root = parents[v];
                own = offer(root, low + mine, high, lanes, floor, limit);
            }
            own = lightest(own, lanes);
            if (mine == 0 && own != NO_EDGE) offer_to(root, own);
            if (mine == 0 && is_short && own == NO_EDGE) done[v] = phase;
            for (u32 rest = __ballot_sync(ALL, is_long && mine == 0 && high - low <= SLICE); rest; rest &= rest - 1) {
                const u32 owner = __ffs(rest) - 1;
                offer_by_warp((vertex_t)shuffle(v, owner), shuffle(low, owner), shuffle(high, owner), floor, limit);
            }
        }
        const u64 count = fresh(&shared->slices);
        for (u64 i = this_warp_of_grid(); i < count; i += warps_of_grid())
            offer_by_warp((vertex_t)slices[i].vertex, slices[i].low, slices[i].high, floor, limit);
    }

    // Return the smaller end of an edge: the last vertex whose adjacency list begins at or before the edge's position.
    __device__ __forceinline__ vertex_t owner(u64 place) const {
        u64 low = 0, high = lists.n;
        while (high - low > 1) {
            const u64 middle = (low + high) / 2;
            if ((u64)lists.begin(middle) <= place)
                low = middle;
            else
                high = middle;
        }
        return (vertex_t)low;
    }

    // For each root, choose the root to attach it to: the root at the other end of its tree's lightest edge. If two
    // trees have chosen the same edge, the smaller root stays a root. Returns the number of roots to attach.
    __device__ u64 choose() const {
        u64 attached = 0;
        for (u64 r = thread_of_grid(); r < lists.n; r += threads_of_grid()) {
            if (parents[r] != (vertex_t)r || best[r] == NO_EDGE) continue;
            const u64 edge = best[r], place = edge & 0xffffffffu;
            const vertex_t one = parents[owner(place)], another = parents[lists.neighbor((position_t)place)];
            const vertex_t other = one == (vertex_t)r ? another : one;
            if (best[other] == edge && (vertex_t)r < other) continue;
            targets[r] = other;
            taken[r] = (long long)place;
            ++attached;
        }
        return attached;
    }
    __device__ void attach() const {
        for (u64 r = thread_of_grid(); r < lists.n; r += threads_of_grid())
            if (parents[r] == (vertex_t)r && targets[r] != (vertex_t)r) parents[r] = targets[r];
    }
    // Let every former root climb up to STEPS steps towards its root, and make the vertex reached its parent. Returns
    // how many former roots are not yet children of a root.
    __device__ u64 climb() const {
        u64 left = 0;
        for (u64 r = thread_of_grid(); r < lists.n; r += threads_of_grid()) {
            if (taken[r] < 0) continue;
            vertex_t parent = parents[r], above = parents[parent];
            if (parent == above) continue;
            for (u32 i = 0; i < STEPS && parent != above; ++i) {
                parent = above;
                above = parents[parent];
            }
            parents[r] = parent;  // not the root, perhaps, but an ancestor
            left += parent != above;
        }
        return left;
    }
    __device__ void flatten_all() const {
        for (u64 v = thread_of_grid(); v < lists.n; v += threads_of_grid())
            if (flatten(parents, (vertex_t)v) == (vertex_t)v) best[v] = NO_EDGE;
    }

    // Return the sum of `mine` over all threads of the grid. All blocks wait for each other in this. `turn` counts the
    // calls, because successive calls use different counters.
    __device__ u64 sum(u64 mine, u32& turn, Barrier& barrier) const {
        const u64 of_warp = warp_sum(mine);
        if (lane() == 0 && of_warp) atomicAdd(shared->counts + turn % 4, of_warp);
        barrier.wait();
        const u64 found = fresh(shared->counts + turn % 4);
        if (thread_of_grid() == 0) shared->counts[(turn + 2) % 4] = 0;
        ++turn;
        return found;
    }

    __device__ void grow(Barrier& barrier) const {
        begin();
        if (blockIdx.x == 0) choose_limit();
        barrier.wait();
        u64 floor = NO_EDGE, limit = fresh(&shared->limit);
        u32 turn = 0;
        for (unsigned char phase = 1;;) {
            offer_all(phase, floor, limit);
            barrier.wait();
            if (sum(choose(), turn, barrier)) {
                attach();
                barrier.wait();
                while (sum(climb(), turn, barrier)) {
                }
                flatten_all();
                barrier.wait();
            } else {
                if (limit == NO_EDGE) break;
                floor = limit;
                limit = NO_EDGE;
                ++phase;
            }
        }
    }
};

}  // namespace gasla

// Compute a minimum spanning forest. In each component, taken[v] is then an edge of the forest for all vertices v but
// one, and -1 for that vertex. An edge is given by its position in the adjacency list of its smaller end.
KERNEL lightest_forest(const offset_t* offsets, const vertex_t* neighbors, u64 n, u64 m, const weight_t* weights, u32 lanes,
                       vertex_t* parents, vertex_t* targets, u64* best, position_t* starts, unsigned char* done,
                       long long* taken, Slice* slices, Growing* shared) {
    Barrier barrier(shared->barrier);
    const Forest forest{Lists{offsets, neighbors, n}, m, weights, lanes, parents, targets, best, starts, done, taken, slices, shared};
    forest.grow(barrier);
    if (barrier.leave()) {
        shared->slices = 0;
        for (u32 i = 0; i < 4; ++i) shared->counts[i] = 0;
    }
}
