// Greedy coloring in a given order, without barriers: a vertex gets its color as soon as all earlier neighbors have
// theirs.
//
// Warps take vertices in the given order, and wait for earlier neighbors that have no color yet. A warp has taken each
// of these neighbors before, so some warp can always go on, and there is no deadlock. Each step along a path of
// neighbors in this order takes one store and one load by another warp. A loop over iterations would take two barriers
// and some ten dependent loads for the same step.
//
// M. T. Jones, P. E. Plassmann: A Parallel Graph Coloring Heuristic. SIAM Journal on Scientific Computing 14 (1993).
//
// Lower bound of the time: the adjacency lists are read, with a random read of 4 bytes for each of m edges, and there
// is 1 us for each vertex on the longest such path.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 THREADS = 512;
constexpr u32 LANES = 4;  // lanes that process a vertex with a short adjacency list
constexpr u32 LONG = LANES * WARP;  // a whole warp processes a vertex whose adjacency list has more entries than this
constexpr u32 WORDS = 32;  // words of 32 colors in the window that is searched for a free color
constexpr u32 ROOM = 256;  // neighbors that a whole warp waits for at a time
constexpr u32 AT_ONCE = 4;           // edges of a lane whose loads overlap
constexpr u32 REST = 100;  // nanoseconds to sleep if none of the awaited neighbors has got a color

typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type Word;
constexpr Word COLORED = Word(1) << (8 * sizeof(Word) - 1);

// Global memory that all blocks of a launch share. It is zero before `place_vertices` and after `color_vertices`.
struct Fitting {
    u64 tickets;
    // The number of vertices at the beginning of the order that whole warps color one by one. The last vertex with a
    // long adjacency list is the last of them.
    u64 alone;
    u64 left;  // number of blocks that have finished
};

struct Fit {
    const offset_t* offsets;
    const vertex_t* neighbors;
    u64 n;
    const vertex_t* order;
    Word* states;  // for each vertex, its position in the order and, once it is colored, COLORED plus its color
    int* colors;

    __device__ __forceinline__ void color(vertex_t v, u64 chosen) const {
        *(volatile Word*)(states + v) = COLORED | (Word)chosen;
        colors[v] = (int)chosen;
    }

    // Color WARP / LANES consecutive vertices of the order by one warp, each by LANES lanes. `place` is the position of
    // the first vertex in the order. The adjacency lists of these vertices must be short.
    __device__ void color_together(u64 place) const {
        const u64 mine = place + lane() / LANES;
        const bool is = mine < n;
        const vertex_t v = is ? order[mine] : 0;
        const Word own = is ? states[v] : COLORED;
        bool waits = !(own & COLORED);
        const u64 first = waits ? (u64)offsets[v] + lane() % LANES : 0, end = waits ? (u64)offsets[v + (u64)1] : 0;
        // A bitmap of those of the colors 0 to 127 that earlier neighbors have. A vertex here has at most 128
        // neighbors. So one of these colors is free, or else color 128 is.
        u64 low = 0, high = 0;
        u32 open = 0;  // bitmap of this lane's entries that have no color yet
        const auto take = [&](Word state, u32 entry) {
            const Word chosen = state & ~COLORED;
            if (state & COLORED) {
                if (chosen < 64)
                    low |= 1ull << chosen;
                else if (chosen < 128)
                    high |= 1ull << (chosen - 64);
            } else if (state < own) {
                open |= 1u << entry;
            }
        };
        for (u64 k = first, entry = 0; k < end; k += AT_ONCE * LANES, entry += AT_ONCE) {
            vertex_t u[AT_ONCE];
            Word state[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) u[i] = neighbors[k + i * LANES < end ? k + i * LANES : k];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) state[i] = fresh(states + u[i]);
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i)
                if (k + i * LANES < end) take(state[i], (u32)entry + i);
        }
        while (true) {
            const u32 blocked = __ballot_sync(ALL, open != 0) >> (lane() & ~(LANES - 1)) & ((1u << LANES) - 1);
            const bool is_ready = waits && !blocked;
            if (__any_sync(ALL, is_ready)) {
                u64 below = low, above = high;
#pragma unroll
                for (u32 step = 1; step < LANES; step <<= 1) {
                    below |= shuffle_xor(below, step);
                    above |= shuffle_xor(above, step);
                }
                if (is_ready) {
                    waits = false;
                    if (lane() % LANES == 0) color(v, ~below ? lowest(~below) : ~above ? 64 + lowest(~above) : 128);
                }
            }
            if (!__any_sync(ALL, waits)) return;
            if (!__any_sync(ALL, is_ready)) rest(REST);
            for (u32 left = open; left; left &= left - 1) {
                const u32 entry = __ffs(left) - 1;
                const Word state = fresh(states + neighbors[first + entry * LANES]);
                if (!(state & COLORED)) continue;
                open ^= 1u << entry;
                take(state, entry);
            }
        }
    }

    static __device__ __forceinline__ u32 lowest(u64 bits) {
        return (u32)bits ? __ffs((u32)bits) - 1 : WARP + __ffs((u32)(bits >> WARP)) - 1;
    }

    // Color one vertex by a whole warp. `taken` is memory for the bitmap of a window of colors, and `waiting` for ROOM
    // neighbors.
    __device__ void color_alone(vertex_t v, u32* taken, vertex_t* waiting) const {
        const Word own = states[v];
        if (own & COLORED) return;
        // Each round of this loop looks for a free color in a window of colors. The next window is needed only if all
        // colors of this window are taken.
        for (u64 window = 0;; window += WORDS * WARP) {
            __syncwarp();
            if (lane() < WORDS) taken[lane()] = 0;
            __syncwarp();
            u32 held = 0;
            const u64 begin = (u64)offsets[v], end = (u64)offsets[v + (u64)1];
            for (u64 base = begin; base < end; base += AT_ONCE * WARP) {
                while (held + AT_ONCE * WARP > ROOM) held = look_again(waiting, held, window, taken);
                vertex_t u[AT_ONCE];
                Word state[AT_ONCE];
#pragma unroll
                for (u32 i = 0; i < AT_ONCE; ++i) u[i] = neighbors[least(base + i * WARP + lane(), end - 1)];
#pragma unroll
                for (u32 i = 0; i < AT_ONCE; ++i) state[i] = fresh(states + u[i]);
#pragma unroll
                for (u32 i = 0; i < AT_ONCE; ++i) {
                    note(state[i], window, taken);
                    held = keep(waiting, held, u[i], base + i * WARP + lane() < end && state[i] < own);
                }
            }
            while (held) held = look_again(waiting, held, window, taken);
            __syncwarp();
            const u32 free = lane() < WORDS ? ~taken[lane()] : 0, lanes = __ballot_sync(ALL, free != 0);
            if (!lanes) continue;
            const u32 one = __ffs(lanes) - 1;
            if (lane() == one) color(v, window + one * WARP + __ffs(free) - 1);
            return;
        }
    }

    __device__ __forceinline__ void note(Word state, u64 window, u32* taken) const {
        const u64 place = (u64)(state & ~COLORED) - window;
        if ((state & COLORED) && place < WORDS * WARP) atomicOr(taken + place / WARP, 1u << place % WARP);
    }
    // Append neighbors to the list of those for which the warp waits, and return the new length of the list.
    __device__ __forceinline__ u32 keep(vertex_t* waiting, u32 held, vertex_t u, bool is) const {
        const u32 ballot = __ballot_sync(ALL, is);
        if (is) waiting[held + __popc(ballot & lanes_below())] = u;
        return held + __popc(ballot);
    }
    // Look again at all neighbors for which the warp waits, and keep those that still have no color in the list.
    // Returns the length of the list.
    __device__ u32 look_again(vertex_t* waiting, u32 held, u64 window, u32* taken) const {
        u32 kept = 0;
        for (u32 i = lane(); i - lane() < held; i += WARP) {
            __syncwarp();
            const vertex_t u = i < held ? waiting[i] : 0;
            const Word state = i < held ? fresh(states + u) : Word(0);
            note(state, window, taken);
            kept = keep(waiting, kept, u, i < held && !(state & COLORED));
        }
        __syncwarp();
        if (kept == held) rest(REST);
        return kept;
    }
};

}  // namespace gasla

using namespace gasla;

// Store in `states` the position of each vertex without a color (-1), and the color of each other vertex. Also find
// how many vertices at the beginning of the order whole warps must color one by one.
extern "C" __global__ void __launch_bounds__(512)
place_vertices(const offset_t* offsets, u64 n, const vertex_t* order, const int* colors, Word* states, Fitting* shared) {
    u64 alone = 0;
    for (u64 i = thread_of_grid(); i < n; i += threads_of_grid()) {
        const vertex_t v = order[i];
        const int color = colors[v];
        states[v] = color < 0 ? (Word)i : COLORED | (Word)color;
        if (color < 0 && (u64)(offsets[v + (u64)1] - offsets[v]) > LONG) alone = i + 1;
    }
    if (alone > fresh(&shared->alone)) atomicMax(&shared->alone, alone);
}

extern "C" __global__ void __launch_bounds__(512, 3)
color_vertices(const offset_t* offsets, const vertex_t* neighbors, u64 n, const vertex_t* order, Word* states, int* colors,
               Fitting* shared) {
    __shared__ u32 taken[THREADS / WARP][WORDS];
    __shared__ vertex_t waiting[THREADS / WARP][ROOM];
    const Fit fit{offsets, neighbors, n, order, states, colors};
    const u64 alone = least(fresh(&shared->alone), n);  // an interrupted call may have left a number that is too large
    while (true) {
        const u64 ticket = take_tickets(&shared->tickets, 1);
        if (ticket < alone) {
            fit.color_alone(order[ticket], taken[warp_of_block()], waiting[warp_of_block()]);
            continue;
        }
        const u64 place = alone + (ticket - alone) * (WARP / LANES);
        if (place >= n) break;
        fit.color_together(place);
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&shared->left, 1ull) == gridDim.x - 1) *shared = Fitting{0, 0, 0};
}
