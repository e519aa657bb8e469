// Core numbers (k-core decomposition) of a graph without vertices of very high degree, in one launch. At each level,
// warps remove the vertices of that degree, and all vertices whose degree thereby falls to it.
//
// A warp keeps the vertices that it has to remove in shared memory. So blocks wait for each other only when a level is
// finished. A level of many steps, as on a grid graph, costs no more than walking its edges. Vertices that do not fit a
// warp's memory go to a list in global memory, which all warps process after the next barrier.
//
// A. Ahmad, L. Yuan, D. Yan, G. Guo, J. Chen, C. Zhang: Accelerating k-Core Decomposition by a GPU. ICDE 2023.
//
// Lower bound of the time: a random read for each of m edges, an atomic for half of them, and for each level a pass
// over the degrees and three barriers.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 THREADS = 512;
constexpr u32 ROOM = 256;  // vertices that a warp can keep in shared memory
constexpr u32 AT_ONCE = 4;  // edges of one lane whose loads overlap

// Global memory that all blocks of a launch share. It is zero before and after the launch.
struct Peeling {
    u32 barrier[2];
    u64 sizes[2];
    u64 tickets[2];
    u64 lowest;  // bitwise complement of the lowest degree above the level, or zero if there is none
};

struct Peel {
    const offset_t* offsets;
    const vertex_t* neighbors;
    u64 n;
    vertex_t* degrees;
    vertex_t* lists[2];  // two lists in global memory, of up to n vertices each
    Peeling* shared;

    __device__ void count() const {
        for (u64 v = thread_of_grid(); v < n; v += threads_of_grid())
            degrees[v] = (vertex_t)(offsets[v + 1] - offsets[v]);
    }

    // Append the vertices whose degree is `level` to lists[0], and find the lowest degree above `level`.
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

    // Remove the vertices in a list, and then also the vertices whose degree thereby falls to `level`.
    __device__ void drain(vertex_t level, u32 side, u64 size) const {
        __shared__ vertex_t kept[THREADS / WARP][ROOM];
        __shared__ u32 counts[THREADS / WARP];
        vertex_t* const own = kept[warp_of_block()];
        u32* const count = counts + warp_of_block();
        if (lane() == 0) *count = 0;
        __syncwarp();
        while (true) {
            const u32 left = *count, taken = least(left, WARP);
            u32 lanes = WARP;  // lanes that process one vertex
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

    // Lower the degrees of the neighbors of v, because v is removed. `lanes` lanes do this together.
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

    // Lower the degree of u if it is above `level`. If the degree falls to `level`, u is appended to the vertices to
    // remove.
    __device__ __forceinline__ void lower(vertex_t u, vertex_t level, vertex_t* own, u32* count, u32 other) const {
        const vertex_t degree = change(degrees + u, -1);
        // Another thread has lowered the degree to the level before, so the decrement of this thread is undone.
        if (degree <= level) change(degrees + u, 1);
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

    // Process level after level. If no vertex has the degree of a level, go on with the lowest degree that is left.
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
            barrier.wait();  // wait until all threads have read `lowest`, which is cleared next
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
