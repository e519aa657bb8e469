// Finds the maximal independent set that a loop over the vertices in the order of ranks would find, but without
// barriers: every thread looks at its undecided vertices again and again.
//
// A vertex joins the set once no neighbor of a higher rank is undecided. Its neighbors are then marked as left out.
// Ranks are read past the L1 cache, so a thread sees what other threads have decided. There is no deadlock: all blocks
// are resident on the GPU, and the undecided vertex of the highest rank need not wait for any other vertex.
//
// M. Burtscher, S. Devale, S. Azimi, J. Jaiganesh, E. Powers: A High-Quality and Fast Maximal Independent Set
// Implementation for GPUs. ACM Transactions on Parallel Computing 5 (2018).
//
// Lower bound of the time: reads of one sector of each adjacency list, of the whole lists of the vertices in the set,
// and of two or three random ranks of 4 bytes for each vertex, and one store for each edge of the set's vertices.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 JOINED = 0xffffffffu, LEFT = 0;  // stored in place of the ranks of vertices that have been decided
constexpr u32 OWN = 32;  // entries of an adjacency list that one thread walks, before the whole warp walks the rest
constexpr u32 AT_ONCE = 2;  // edges of one lane whose loads overlap

struct Deciding {
    const offset_t* offsets;
    const vertex_t* neighbors;
    u64 n;
    u32* ranks;
    bool* members;

    __device__ __forceinline__ void set(vertex_t v, u32 rank) const { *(volatile u32*)(ranks + v) = rank; }

    // Whether a vertex must wait for a neighbor that is undecided, or has to stay out of the set because a neighbor is
    // in the set. `ask` finds this for the neighbors at positions first, first + stride, ...
    struct Answer {
        bool waits, leaves;
    };
    __device__ __forceinline__ Answer ask(vertex_t v, u32 own, u64 first, u64 last, u32 stride) const {
        for (u64 k = first; k < last; k += AT_ONCE * stride) {
            vertex_t u[AT_ONCE];
            u32 rank[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) u[i] = neighbors[k + i * stride < last ? k + i * stride : k];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) rank[i] = fresh(ranks + u[i]);
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) {
                if (u[i] == v) continue;
                if (rank[i] == JOINED) return {false, true};
                if (rank[i] > own || (rank[i] == own && u[i] > v)) return {true, false};
            }
        }
        return {false, false};
    }
    __device__ __forceinline__ void send_away(vertex_t v, u64 first, u64 last, u32 stride) const {
        for (u64 k = first; k < last; k += stride)
            if (neighbors[k] != v) set(neighbors[k], LEFT);
    }

    // Look at up to 32 vertices, one per lane, and decide those that need not wait for a neighbor. Returns whether any
    // of these vertices is still undecided.
    __device__ bool look(u64 base, bool is_first) const {
        const u64 place = base + lane();
        const vertex_t v = (vertex_t)place;
        const u32 own = place < n ? fresh(ranks + place) : LEFT;
        const bool is_open = own != LEFT && own != JOINED;
        if (is_first && place < n) members[place] = own == JOINED;
        if (!__any_sync(ALL, is_open)) return false;
        const u64 first = is_open ? (u64)offsets[place] : 0, last = is_open ? (u64)offsets[place + 1] : 0;
        const u64 middle = least(last, first + OWN);
        Answer answer{!is_open, false};
        if (is_open) answer = ask(v, own, first, middle, 1);
        const bool is_long = is_open && middle < last;
        for (u32 rest = __ballot_sync(ALL, is_long && !answer.waits && !answer.leaves); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const Answer mine = ask(shuffle(v, owner), shuffle(own, owner), shuffle(middle, owner) + lane(), shuffle(last, owner), WARP);
            const bool waits = __any_sync(ALL, mine.waits), leaves = __any_sync(ALL, mine.leaves);
            if (lane() == owner) answer = Answer{waits && !leaves, leaves};
        }
        const bool joins = is_open && !answer.waits && !answer.leaves;
        if (is_open && !answer.waits) set(v, joins ? JOINED : LEFT);
        if (joins) members[place] = true;
        if (joins) send_away(v, first, middle, 1);
        for (u32 rest = __ballot_sync(ALL, joins && is_long); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            send_away(shuffle(v, owner), shuffle(middle, owner) + lane(), shuffle(last, owner), WARP);
        }
        return __any_sync(ALL, is_open && answer.waits);
    }
};

}  // namespace gasla

using namespace gasla;

// Decide all vertices: replace their ranks by JOINED (in the set) or LEFT (left out), and set `members` for those in
// the set.
extern "C" __global__ void __launch_bounds__(256, 8)
decide_vertices(const offset_t* offsets, const vertex_t* neighbors, u64 n, u32* ranks, bool* members) {
    const Deciding deciding{offsets, neighbors, n, ranks, members};
    for (bool is_first = true, again = true; again; is_first = false) {
        again = false;
        for (u64 base = this_warp_of_grid() * WARP; base < n; base += threads_of_grid())
            if (deciding.look(base, is_first)) again = true;
        if (again) rest(20);
    }
}
