// Core numbers of graphs without hubs, in one launch: warps remove the vertices of the lowest degree, and all that
// thereby fall to it.
//
// A warp keeps the vertices that it has to remove in shared memory. So blocks meet only when a level is done, and a level
// of many steps, as on a grid, costs no more than its edges. What finds no room goes to a list, for all warps after the
// next barrier.
//
// A. Ahmad, L. Yuan, D. Yan, G. Guo, J. Chen, C. Zhang: Accelerating k-Core Decomposition by a GPU. ICDE 2023.
//
// Lower bound: a gather for each of m edges, an atomic operation for half of them, and a pass over the degrees and
// three barriers for each level.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 THREADS = 512;
constexpr u32 ROOM = 256;  // vertices that a warp keeps
constexpr u32 AT_ONCE = 4;  // edges of a lane whose loads overlap

// Memory shared by the blocks of a launch; zero before and after.
struct Peeling {
    u32 barrier[2];
    u64 sizes[2];
    u64 tickets[2];
    u64 lowest;  // the complement of the lowest degree above the level, or zero
};

struct Peel {
    const offset_t* offsets;
    const vertex_t* neighbors;
    u64 n;
    vertex_t* degrees;
    vertex_t* lists[2];  // n vertices each
    Peeling* shared;

    __device__ void count() const {
        for (u64 v = thread_of_grid(); v < n; v += threads_of_grid())
            degrees[v] = (vertex_t)(offsets[v + 1] - offsets[v]);
    }

    // List the vertices of a degree.
    __device__ void list(vertex_t level) const {
        u64 lowest = 0;
        for (u64 start = warp_of_grid() * WARP; start < n; start += threads_of_grid()) {
            const u64 v = start + lane();
            const vertex_t degree = v < n ? degrees[v] : -1;
            if (degree > level) lowest = most(lowest, ~(u64)degree);
            const u32 chosen = __ballot_sync(ALL, degree == level);
            if (!chosen) continue;
            const u64 first = take_tickets(&shared->sizes[0], __popc(chosen));
            if (degree == level) lists[0][first + __popc(chosen & lanes_below())] = (vertex_t)v;
        }
        if (lowest > fresh(&shared->lowest)) atomicMax(&shared->lowest, lowest);
    }

    // Remove the vertices of a list, and those that fall to the level as well.
    __device__ void drain(vertex_t level, u32 side, u64 size) const {
        __shared__ vertex_t kept[THREADS / WARP][ROOM];
        __shared__ u32 counts[THREADS / WARP];
        vertex_t* const own = kept[warp_of_block()];
        u32* const count = counts + warp_of_block();
        if (lane() == 0) *count = 0;
        __syncwarp();
        while (true) {
            const u32 left = *count, taken = least(left, WARP);
            u32 lanes = WARP;  // of a vertex
            vertex_t v = -1;
            if (left) {
                while (lanes * taken > WARP) lanes /= 2;
                if (lane() / lanes < taken) v = own[left - 1 - lane() / lanes];
            } else {
                lanes = 1;
                const u64 place = take_tickets(&shared->tickets[side], WARP) + lane();
                if (place - lane() >= size) break;
                if (place < size) v = lists[side][place];
            }
            __syncwarp();
            if (lane() == 0) *count = left - taken;
            __syncwarp();
            if (v >= 0) remove(v, lanes, level, own, count, 1 - side);
            __syncwarp();
            if (lane() == 0) *count = least(*count, ROOM);
            __syncwarp();
        }
    }

    // Lower the degrees of a vertex's neighbors, by some lanes.
    __device__ __forceinline__ void remove(vertex_t v, u32 lanes, vertex_t level, vertex_t* own, u32* count,
                                           u32 other) const {
        const u64 end = (u64)offsets[v + (u64)1];
        for (u64 k = (u64)offsets[v] + lane() % lanes; k < end; k += AT_ONCE * lanes) {
            vertex_t u[AT_ONCE], seen[AT_ONCE];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) u[i] = neighbors[k + i * lanes < end ? k + i * lanes : k];
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i) seen[i] = k + i * lanes < end ? fresh(degrees + u[i]) : -1;
#pragma unroll
            for (u32 i = 0; i < AT_ONCE; ++i)
                if (seen[i] > level) lower(u[i], level, own, count, other);
        }
    }

    // Lower a degree that is above the level; keep the vertex if it falls to the level.
    __device__ __forceinline__ void lower(vertex_t u, vertex_t level, vertex_t* own, u32* count, u32 other) const {
        const vertex_t degree = change(degrees + u, -1);
        if (degree <= level) change(degrees + u, 1);  // another thread was faster
        if (degree != level + 1) return;
        const u32 place = add_in_block(count, 1);
        if (place < ROOM)
            own[place] = u;
        else
            lists[other][atomicAdd(&shared->sizes[other], 1ull)] = u;
    }

    static __device__ __forceinline__ vertex_t change(vertex_t* degree, int by) {
        typedef typename Choose<sizeof(vertex_t) == 8, u64, u32>::type Word;
        return (vertex_t)atomicAdd(reinterpret_cast<Word*>(degree), (Word)by);
    }

    // Each level removes vertices, or is followed by the lowest degree that is left.
    __device__ void run(Barrier& barrier) const {
        const bool is_first = thread_of_grid() == 0;
        for (vertex_t level = 0;; ++level) {
            list(level);
            barrier.wait();
            u64 size = fresh(&shared->sizes[0]);
            const u64 lowest = fresh(&shared->lowest);
            if (size == 0) {
                if (lowest == 0) return;
                level = (vertex_t)~lowest - 1;
            }
            for (u32 side = 0; size; side = 1 - side) {
                drain(level, side, size);
                barrier.wait();
                size = fresh(&shared->sizes[1 - side]);
                if (is_first) shared->sizes[side] = shared->tickets[side] = 0;
                if (size) barrier.wait();
            }
            barrier.wait();  // all have read what is cleared
            if (is_first) shared->lowest = 0;
            barrier.wait();
        }
    }
};

}  // namespace gasla

using namespace gasla;

extern "C" __global__ void __launch_bounds__(512, 4)
peel_vertices(const offset_t* offsets, const vertex_t* neighbors, u64 n, vertex_t* degrees, vertex_t* first,
              vertex_t* second, Peeling* shared) {
    Barrier barrier(shared->barrier);
    const Peel peel{offsets, neighbors, n, degrees, {first, second}, shared};
    peel.count();
    barrier.wait();
    peel.run(barrier);
    barrier.leave();
}
