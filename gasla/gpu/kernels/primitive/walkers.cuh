// Walkers and samples by lot: a thread a walker, or a row of a sample. The same bits as on the CPU.
//
// Before this file come vertex_t and offset_t (types of ids and offsets), weighted and biased (bools): whether edges are
// drawn by sums of weights, and whether a step depends on the vertex before.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u64 TRIES = 32;  // draws that may be refused, beside one an edge, before all of a list are weighed
constexpr u64 NOWHERE = ~0ull;

// As in semirings.hash: the state with a number mixed in.
__device__ __forceinline__ u64 mixed(u64 state, u64 number) {
    u64 z = (number + 1) * 0x9E3779B97F4A7C15ull + state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

// bits * count / 2^64, rounded down; the count is less than 2^32.
__device__ __forceinline__ u64 share(u64 bits, u64 count) {
    return ((bits >> 32) * count + (((bits & 0xffffffffull) * count) >> 32)) >> 32;
}

__device__ __forceinline__ double fraction(u64 bits) { return (double)(bits >> 11) * (1.0 / 9007199254740992.0); }

// A list of out-edges: positions first to last, and the sums of weights.
struct List {
    const double* sums;
    u64 first, last;

    // A position, by lot; nowhere if the list is empty or weighs nothing.
    __device__ __forceinline__ u64 choice(u64 bits) const {
        if (first == last) return NOWHERE;
        if constexpr (!weighted) return first + share(bits, last - first);
        const double total = sums[last - 1];
        if (total == 0) return NOWHERE;
        double mark = fraction(bits) * total;
        if (mark >= total) mark = 0;  // by rounding, where the total is hardly more than 0
        u64 low = first, high = last - 1;
        while (low < high) {
            const u64 middle = (low + high) >> 1;
            if (sums[middle] > mark)
                high = middle;
            else
                low = middle + 1;
        }
        return low;
    }
    // What `choice` takes a position for.
    __device__ __forceinline__ double weight(u64 k) const {
        if constexpr (!weighted) return 1;
        return sums[k] - (k > first ? sums[k - 1] : 0);
    }
};

// What steps are multiplied by: back to the vertex before, and off to where no edge leads from there.
struct Bias {
    const vertex_t* near;  // the neighbours of the vertex before, ascending
    u64 count;
    vertex_t before;
    double back, off;

    // Whether a vertex is near is looked up only where a mark's fate depends on it.
    __device__ __forceinline__ double of(vertex_t to, double mark) const {
        if (to == before) return back;
        if ((0 <= mark && mark < least(1.0, off)) || mark >= most(1.0, off)) return off;
        u64 low = 0, high = count;
        while (low < high) {
            const u64 middle = (low + high) >> 1;
            if (near[middle] < to)
                low = middle + 1;
            else
                high = middle;
        }
        return low < count && near[low] == to ? 1.0 : off;
    }
};

// The first position drawn that the bias lets pass. After many tries all are weighed, so that there is an end.
__device__ __forceinline__ u64 accepted(
    const vertex_t* indices, const List& list, const Bias& bias, u64 state, u64 place
) {
    const double top = most(most(bias.back, bias.off), 1.0);
    const u64 tries = TRIES + list.last - list.first;
    u64 draw = 1;
    for (u64 i = 0; i < tries; ++i, draw += 2) {
        const double mark = fraction(mixed(state, draw)) * top;
        if (mark < bias.of(indices[place], mark)) return place;
        place = list.choice(mixed(state, draw + 1));
    }
    double total = 0;
    for (u64 k = list.first; k < list.last; ++k) total += list.weight(k) * (bias.of(indices[k], -1) / top);
    const double mark = fraction(mixed(state, draw)) * total;
    total = 0;
    for (u64 k = list.first; k < list.last; ++k) {
        const double more = list.weight(k) * (bias.of(indices[k], -1) / top);
        if (more > 0) {
            place = k;
            total += more;
            if (total > mark) break;
        }
    }
    return place;
}

// Sums of each list's weights up to each position, in order. A thread a list: the order of additions is that of the CPU.
extern "C" __global__ void sum_lists(u64 n, const offset_t* indptr, const double* weights, double* sums) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        double total = 0;
        for (offset_t k = indptr[v]; k < indptr[v + 1]; ++k) sums[k] = total += weights[k];
    }
}

// A row that is written from left to right, 16 bytes at a time: rows of a warp lie apart, so that the write of one entry
// takes as much of the L2 as that of a sector.
struct Row {
    static constexpr u32 WIDE = 16 / sizeof(vertex_t);
    struct alignas(16) Pack {
        vertex_t item[WIDE];
    };
    vertex_t* walks;
    u64 first, place;  // of the row, and of the next entry
    Pack held = {};

    __device__ __forceinline__ void push(vertex_t v) {
        const u32 slot = (u32)(place++ % WIDE);
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k) held.item[k] = k == slot ? v : held.item[k];
        if (slot != WIDE - 1) return;
        if (place >= first + WIDE)
            *reinterpret_cast<Pack*>(walks + place - WIDE) = held;
        else
            write();
    }
    // What of the row is held.
    __device__ __forceinline__ void write() const {
        const u64 from = (place - 1) / WIDE * WIDE;
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k)
            if (from + k >= first && from + k < place) walks[from + k] = held.item[k];
    }
};

// Two dependent reads a step, far apart.
extern "C" __global__ void walk(
    u64 walkers, u64 steps, const offset_t* indptr, const vertex_t* indices, const double* sums,
    const offset_t* near_indptr, const vertex_t* near_indices, const vertex_t* starts, u64 key, double back, double off,
    vertex_t* walks
) {
    for (u64 w = thread_of_grid(); w < walkers; w += threads_of_grid()) {
        Row row = {walks, w * (steps + 1), w * (steps + 1)};
        const u64 mine = mixed(key, w);
        vertex_t before = -1, v = starts[w];
        row.push(v);
        for (u64 t = 0; t < steps; ++t) {
            vertex_t to = -1;
            if (v >= 0) {
                const List list = {sums, (u64)indptr[v], (u64)indptr[v + 1]};
                const u64 state = mixed(mine, t);
                u64 place = list.choice(mixed(state, 0));
                if constexpr (biased) {
                    if (place != NOWHERE && t) {
                        const u64 first = near_indptr[before], last = near_indptr[before + 1];
                        const Bias bias = {near_indices + first, last - first, before, back, off};
                        place = accepted(indices, list, bias, state, place);
                    }
                }
                if (place != NOWHERE) to = indices[place];
            }
            row.push(to);
            before = v;
            v = to;
        }
        if (row.place % Row::WIDE) row.write();
    }
}

// Without replacement: of two draws that meet, the later becomes the highest position so far (Floyd).
extern "C" __global__ void sample(
    u64 rows, u64 k, const offset_t* indptr, const vertex_t* indices, const vertex_t* ids, u64 key, bool replace,
    vertex_t* found
) {
    for (u64 w = thread_of_grid(); w < rows; w += threads_of_grid()) {
        vertex_t* const row = found + w * k;
        const vertex_t v = ids[w];
        const u64 first = indptr[v], degree = (u64)indptr[v + 1] - first, state = mixed(key, w);
        const u64 count = replace && degree ? k : least(k, degree);
        for (u64 j = 0; j < count; ++j) {
            const u64 top = degree - count + j;
            u64 drawn = share(mixed(state, j), replace ? degree : top + 1);
            for (u64 i = 0; i < j && !replace; ++i) {
                if ((u64)row[i] == drawn) {
                    drawn = top;
                    break;
                }
            }
            row[j] = (vertex_t)drawn;
        }
        for (u64 j = 0; j < k; ++j) row[j] = j < count ? indices[first + (u64)row[j]] : (vertex_t)-1;
    }
}

}  // namespace gasla
