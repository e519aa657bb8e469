// Counts the matches of a join, either all matches or those that contain each vertex. A block processes the edges of
// one first vertex after another.
#pragma once
#include "joins.cuh"

namespace gasla {

// Set the bits of the first vertex's neighbors in the block's bitmaps. Without SETS, clear these bits again. A whole
// block calls this.
template <bool SETS> __device__ __forceinline__ void mark(const Search& search, u32* marks) {
    const u64 words = Search::mark_words(search.graph.n);
#pragma unroll
    for (u32 slot = 0; slot < SLOTS; ++slot) {
        const List list = search.lists[0][slot];
        for (length_t at = threadIdx.x; at < list.length; at += blockDim.x) {
            const vertex_t w = list.of[at];
            if (SETS)
                atomicOr(marks + slot * words + w / WARP, bit_of(w));
            else
                marks[slot * words + w / WARP] = 0;
        }
    }
}

// Fill the tables of a block. For each vertex, a table has the number of paths of two edges from the match's first
// vertex to it. Without COUNTS, set the same entries back to 0. The warps of the block divide the middle vertices of
// these paths.
template <bool COUNTS> __device__ __forceinline__ void fill(const Search& search, u32* tables) {
#pragma unroll
    for (u32 f = 0; f < FREE; ++f) {
        if (!FREES[f].is_tabled) continue;
        const Reach to = JOINS[SIZE + f].within.of[1];
        const List list = search.list(JOINS[SIZE + f].within.of[0]);
        const vertex_t first = search.row[0];
        u32* const table = tables + FREES[f].table * search.graph.n;
        bool is_above = false;  // whether the table is read only at vertices with larger ids than the first vertex
#pragma unroll
        for (u32 i = 0; i < JOINS[to.place].above.count; ++i) is_above |= JOINS[to.place].above.of[i] == 0;
        const length_t from = JOINS[SIZE + f].above.count ? list.upto(first) : 0;
        for (length_t at = from + warp_of_block(); at < list.length; at += warps_of_block()) {
            const vertex_t middle = list.of[at];
            if (JOINS[SIZE + f].label && !(search.graph.kinds[middle] & JOINS[SIZE + f].label)) continue;
            const List ends = search.graph.of(middle, FREES[f].crossed);
            for (length_t k = (is_above && ends.length > FAR * WARP ? ends.upto(first) : 0) + lane(); k < ends.length; k += WARP) {
                if (COUNTS)
                    atomicAdd(table + ends.of[k], 1u);
                else
                    table[ends.of[k]] = 0;
            }
        }
    }
}

// Count the matches that begin with one of the edges at positions `first` to `end`: all of them, or those that contain
// each vertex (`tally`). A block takes `piece` edges at a time or, if `whole`, all adjacency lists that begin among
// these edges. `counts` has a number of two words for each `grain` edges. `memory` has `words` words for each block,
// which are 0 before and after.
extern "C" __global__ void __launch_bounds__(MOST_THREADS) visit_matches(
    u64 n, const offset_t* indptr, const vertex_t* indices, const unsigned char* kinds, u64 first, u64 end, u64 grain,
    u64 most, u64 piece, bool whole, u32* memory, u64 words, u64* tickets, u64* counts, u64* tally, volatile Page* page
) {
    __shared__ u64 ticket;
    __shared__ u32 next;
    u32 *const marks = memory + blockIdx.x * words, *const tables = marks + words - TABLES * n;
    Search search{Graph{n, indptr, indices, kinds}, marks, tables, tally};
    search.most = most, search.page = page, search.stopped = false;
    search.low = search.high = search.matches = 0;
    u64 unit = 0;
    search.looks.wait(WARP_INTERVAL);
    Looks looks;
    looks.wait(LOOK_INTERVAL);
    // Whether a warp may process several first edges at once, which is possible if matches are not counted per group of
    // edges.
    const bool is_wide = ALONE == 1 && grain >= end - first && most == NO_LIMIT;
    const u64 base = FIRST_SLOT * n, pieces = (end - first + piece - 1) / piece;
    // Vertices of high degree have the highest or the lowest ids. They take longest, so they are processed first.
    const bool is_reversed = indptr[base + n] - indptr[base + n - 1] > indptr[base + 1] - indptr[base];
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            ticket = atomicAdd(tickets, 1ull);
            if (looks.are_due(LOOK_INTERVAL)) {
                page->taken = ticket;
                if (page->stop) ticket = pieces;
            }
        }
        __syncthreads();
        if (ticket >= pieces) break;
        const u64 start = first + (is_reversed ? pieces - 1 - ticket : ticket) * piece, stop = least(start + piece, end);
        for (u64 v = search.graph.owner_of(start); v < base + n && (u64)indptr[v] < stop; ++v) {
            u64 low = gasla::most<u64>(indptr[v], start), high = indptr[v + 1];
            if (whole && low != (u64)indptr[v]) continue;
            if (!whole) high = least(high, stop);
            const vertex_t root = (vertex_t)(v - base);
            if (low >= high || !search.may_be_first(root)) continue;
            if (JOINS[1].above.count) low += List{indices + low, (length_t)(high - low)}.upto(root);
            if (low >= high) continue;
            search.match(0, root);
            if (!search.count_ready(1)) continue;
            if (ALONE == 1) search.count_coinciding();
            __syncthreads();
            if (MARKS) mark<true>(search, marks);
            fill<true>(search, tables);
            if (threadIdx.x == 0) next = 0;
            __syncthreads();
            const u32 width = is_wide ? (u32)gasla::most<u64>(1, least<u64>(WARP, (high - low) / warps_of_block())) : 1;
            while (!search.stopped) {
                u32 at = 0;
                if (lane() == 0) at = atomicAdd(&next, width);
                const u64 e = low + shuffle(at, 0);
                if (e >= high) break;
                const u64 now = (e - first) / grain;
                if (now != unit || most != NO_LIMIT) search.tell(counts + 2 * unit);
                unit = now;
                if (most != NO_LIMIT && shuffle(fresh(counts + 2 * unit), 0) >= most) continue;
                if constexpr (ALONE == 1) {
                    const bool is_there = lane() < width && e + lane() < high;
                    const vertex_t w = is_there ? indices[e + lane()] : 0;
                    search.enough = false;
                    if (!search.ends()) search.spread(w, is_there && search.may_follow(w));
                } else {
                    const vertex_t w = indices[e];
                    if (search.may_follow(w)) search.begin(w);
                }
            }
            __syncthreads();
            if (MARKS) mark<false>(search, marks);
            fill<false>(search, tables);
        }
    }
    search.tell(counts + 2 * unit);
}

}  // namespace gasla
