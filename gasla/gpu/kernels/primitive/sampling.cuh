// Sampling of neighbors, with one thread per row of samples, and the cumulative weights of edges from which samples and
// random walks are drawn.
//
// The code that includes this file first defines the types vertex_t and offset_t.
#pragma once

#include "distinct.cuh"
#include "random.cuh"

namespace gasla {

// Write the cumulative sums of each adjacency list's weights, with one thread per list. Additions are made in the same
// order as on the CPU, so that results are the same. `single` says that weights are float32. The kernel converts them
// itself, because CuPy's conversion would turn subnormal weights into 0.
extern "C" __global__ void sum_lists(u64 n, const offset_t* indptr, const void* weights, bool single, double* sums) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        double total = 0;
        for (offset_t k = indptr[v]; k < indptr[v + 1]; ++k)
            sums[k] = total += single ? (double)((const float*)weights)[k] : ((const double*)weights)[k];
    }
}

// For each adjacency list of d entries and each j < d, write the first position whose cumulative weight exceeds j / d
// of the list's total. A draw by weight starts its search there.
extern "C" __global__ void guide_lists(u64 n, const offset_t* indptr, const double* sums, u32* guides) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const u64 first = indptr[v], last = indptr[v + 1], size = last - first;
        u64 k = first;
        for (u64 j = 0; j < size; ++j) {
            const double mark = (double)j / (double)size * sums[last - 1];
            while (k < last - 1 && sums[k] <= mark) ++k;
            guides[first + j] = (u32)(k - first);
        }
    }
}

// Return whether a position is among the first `count` positions in `drawn`.
__device__ __forceinline__ bool has(const vertex_t* drawn, u64 count, u64 place) {
    for (u64 i = 0; i < count; ++i) {
        if ((u64)drawn[i] == place) return true;
    }
    return false;
}

// Draws neighbors from an adjacency list with probabilities proportional to weights.
struct Weighted : Weights {
    // Draw one of the positions that are not drawn yet, by adding up their weights. Returns `size` if all their weights
    // are 0.
    __device__ __forceinline__ u64 draw_of_rest(const vertex_t* drawn, u64 count, double part) const {
        double total = 0;
        for (u64 place = 0; place < size; ++place) {
            if (of(place) > 0 && !has(drawn, count, place)) total += of(place);
        }
        const double mark = part * total;
        u64 chosen = size;
        total = 0;
        for (u64 place = 0; place < size && total <= mark; ++place) {
            if (of(place) > 0 && !has(drawn, count, place)) {
                chosen = place;
                total += of(place);
            }
        }
        return chosen;
    }
    // Draw up to k positions of the adjacency list, write them to `drawn`, and return how many were drawn.
    __device__ __forceinline__ u64 fill(vertex_t* drawn, u64 k, bool replace, u64 state) const {
        if (total() == 0) return 0;
        u64 count = 0;
        if (k >= size && !replace) {
            for (u64 place = 0; place < size; ++place) {
                if (of(place) > 0) drawn[count++] = (vertex_t)place;
            }
            return count;
        }
        for (; count < k; ++count) {
            const u64 keyed = mixed(state, count);
            u64 place = 0;
            bool is_new = false;
            for (u64 tries = 0; !is_new && tries < TRIES; ++tries) {
                place = draw(fraction(mixed(keyed, tries)));
                is_new = replace || !has(drawn, count, place);
            }
            if (!is_new) place = draw_of_rest(drawn, count, fraction(mixed(keyed, TRIES)));
            if (place == size) break;
            drawn[count] = (vertex_t)place;
        }
        return count;
    }
};

// Draw up to k of the positions below `degree` into `drawn`, all with equal probability, and return how many were
// drawn. Without replacement, this is Floyd's algorithm: a draw that repeats an earlier one is replaced by the highest
// position allowed so far.
__device__ __forceinline__ u64 fill(vertex_t* drawn, u64 k, u64 degree, bool replace, u64 state) {
    if (degree == 0) return 0;
    const u64 count = replace ? k : least(k, degree);
    for (u64 j = 0; j < count; ++j) {
        const u64 top = degree - count + j;
        u64 place = count == degree && !replace ? j : share(mixed(state, j), replace ? degree : top + 1);
        if (!replace && count < degree && has(drawn, j, place)) place = top;
        drawn[j] = (vertex_t)place;
    }
    return count;
}

// Write where the samples of each row begin in the output. A row has k samples, or fewer if the adjacency list is
// shorter and samples must not repeat.
extern "C" __global__ void begin_samples(
    u64 rows, u64 k, const offset_t* indptr, const vertex_t* ids, bool replace, u64* sums, u32* counter,
    long long* firsts
) {
    Barrier barrier(counter);
    const u64 total = sum_over_grid(
        rows, sums, barrier,
        [&](u64 w) -> u64 {
            const u64 degree = (u64)indptr[ids[w] + 1] - (u64)indptr[ids[w]];
            return replace && degree ? k : least(k, degree);
        },
        [&](u64 w, u64 before) { firsts[w] = (long long)before; });
    if (thread_of_grid() == 0) firsts[rows] = (long long)total;
    barrier.leave();
}

// Returns the number of the edge at a position. Without an array of numbers, this is the position itself.
struct EdgeNumbers {
    const void* numbers;
    bool wide;  // whether each number has 8 bytes; otherwise 4

    __device__ __forceinline__ long long operator[](u64 place) const {
        if (!numbers) return (long long)place;
        return wide ? ((const long long*)numbers)[place] : ((const int*)numbers)[place];
    }
};

// Sample neighbors of the vertices `ids`. Without `firsts`, each row has k entries, and missing samples are -1. With
// `firsts`, rows begin at these positions, and the edge and the row of each sample are written, too. Samples are drawn
// by weight if there are `sums` (cumulative weights), otherwise with equal probability.
extern "C" __global__ void sample(
    u64 rows, u64 k, u64 row, const offset_t* indptr, const vertex_t* indices, const double* sums, const u32* guides,
    const vertex_t* ids, const long long* firsts, u64 key, bool replace, const void* edge_ids, bool wide,
    vertex_t* found, long long* edges, long long* owners
) {
    const EdgeNumbers numbers{edge_ids, wide};
    for (u64 w = thread_of_grid(); w < rows; w += threads_of_grid()) {
        const u64 begin = firsts ? (u64)firsts[w] : w * k, room = firsts ? (u64)firsts[w + 1] - begin : k;
        const u64 first = indptr[ids[w]], degree = (u64)indptr[ids[w] + 1] - first, state = mixed(key, row + w);
        vertex_t* const drawn = found + begin;
        u64 count;
        if (sums && degree)
            count = Weighted{{sums + first, guides + first, degree}}.fill(drawn, room, replace, state);
        else
            count = fill(drawn, room, degree, replace, state);
        for (u64 j = 0; j < room; ++j) {
            const u64 place = j < count ? first + (u64)drawn[j] : 0;
            if (firsts) {
                edges[begin + j] = j < count ? numbers[place] : -1;
                owners[begin + j] = (long long)(row + w);
            }
            drawn[j] = j < count ? indices[place] : (vertex_t)-1;
        }
    }
}

}  // namespace gasla
