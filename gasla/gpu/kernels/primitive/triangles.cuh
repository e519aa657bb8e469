// Triangle counting: common neighbors of the two ends of every edge, in a simple undirected graph.
//
// The code that includes this file first defines the types vertex_t and offset_t, and the booleans per_vertex and
// per_edge, which say whether triangles are also counted at each vertex and at each edge. An edge has 32-bit counters
// at its positions: one in a forward list and, if forward lists are copies, more in the adjacency lists. A thread adds
// to the counter whose position it knows, and `spread_support` adds them up.
//
// Vertices are ordered, so that each triangle is counted once, at the edge of its first two vertices. The third vertex
// is in the forward lists of both, where a forward list holds the neighbors that come later in the order. There are two
// methods:
//
//   merging      If all adjacency lists are short, the order is that of descending ids, and a forward list is the start
//                of a sorted list. A few threads per vertex merge the lists in place (count_merging). Nothing else is
//                read or written.
//   look-up      Otherwise the order is that of degrees, so no forward list is longer than the square root of twice the
//                number of edges. Forward lists are copied (copy_forward_*). The list of a vertex x goes into a hash
//                table in shared memory. The forward lists of all its neighbors that are shorter are looked up in the
//                table, so the cost of an edge is the shorter of its two lists. A warp does so (count_by_warps), or a
//                block if lists are long or many (count_by_blocks).
#pragma once

#include "hash_table.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u32 WARP_THREADS = 256;   // threads per block of count_by_warps and count_merging
constexpr u32 WARP_SLOTS = 256;  // slots of a warp's hash table
constexpr u32 LONG = 96;  // length of the longest forward list that a warp processes
constexpr u32 BUSY = 512;  // the most neighbors of a vertex that a warp processes
constexpr u32 PIECE = 2048;  // blocks process a vertex in pieces of this many neighbors
constexpr u32 BLOCK_THREADS = 512;  // threads per block of count_by_blocks; four blocks fill a multiprocessor
constexpr bool has_tallies = per_vertex || per_edge;
constexpr u32 BLOCK_SLOTS = (has_tallies ? 16384 : 32768) / sizeof(vertex_t);

// The following code makes forward lists in the order of degrees.

// The graph's adjacency lists and forward lists (each vertex's neighbors that come later in the order). The forward
// list of v has lengths[v] entries from forward[indptr[v]] on. Counters of edges have the same positions as the entries
// of forward lists (at_forward) and of adjacency lists (at_stored).
struct Oriented {
    u64 n;
    const offset_t* indptr;
    const vertex_t* indices;
    const vertex_t* forward;
    const u32* lengths;
    u32 *at_forward, *at_stored;
};

// Copy the neighbors of v at positions [first, last) that come after v in the order of degree, then id. A whole warp
// calls this. `reserve(count)` returns the position in `forward` for `count` entries.
template <class Reserve>
__device__ __forceinline__ void copy_forward(
    const u32* degrees, const vertex_t* indices, vertex_t* forward, vertex_t v, offset_t first, offset_t last,
    Reserve reserve
) {
    const u32 degree = degrees[v];
    for (offset_t at = first; at < last; at += WARP) {
        const bool there = last - at > (offset_t)lane();
        const vertex_t w = there ? indices[at + lane()] : v;
        const u32 other = there ? degrees[w] : 0;
        const bool higher = other > degree || (other == degree && w > v);
        const u32 votes = __ballot_sync(ALL, higher);
        if (!votes) continue;
        vertex_t* place = forward + reserve(__popc(votes));
        if (higher) place[__popc(votes & lanes_below())] = w;
    }
}

// The part of the vertices that one GPU processes: of every `all` groups of 32 vertices, the group number `mine`.
// Several GPUs that have the same graph divide the work in this way.
struct Share {
    u32 mine, all;

    __device__ __forceinline__ u64 vertex(u64 i) const { return (i / WARP * all + mine) * WARP + i % WARP; }
    __device__ __forceinline__ bool has(u64 v) const { return v / WARP % all == mine; }
};

// Copy the forward lists of vertices with at most BUSY neighbors, by a warp each. Lower bound of the time: the ids are
// read once and half of them written, and there is a random read of a degree per edge; this is 1.1 ms for 128 M edges.
extern "C" __global__ void __launch_bounds__(256) copy_forward_of_short(
    u64 n, const offset_t* indptr, const u32* degrees, const vertex_t* indices, vertex_t* forward, u32* lengths,
    u64* tickets
) {
    for (u64 start = take_tickets(tickets, WARP); start < n; start = take_tickets(tickets, WARP)) {
        const u64 v = start + lane();
        const offset_t first = v < n ? indptr[v] : 0;
        const u32 degree = v < n ? degrees[v] : 0;
        u32 length = 0;
        for (u32 left = __ballot_sync(ALL, degree && degree <= BUSY); left; left &= left - 1) {
            const u32 which = __ffs(left) - 1;
            const offset_t from = shuffle(first, which);
            u32 copied = 0;
            copy_forward(degrees, indices, forward, (vertex_t)(start + which), from, from + (offset_t)shuffle(degree, which),
                        [&](u32 count) { return from + (copied += count) - count; });
            if (lane() == which) length = copied;
        }
        if (v < n) lengths[v] = length;
    }
}

extern "C" __global__ void __launch_bounds__(256) copy_forward_of_pieces(
    const offset_t* indptr, const u32* degrees, const vertex_t* indices, vertex_t* forward, u32* lengths,
    const vertex_t* piece_vertices, const offset_t* piece_starts, const u64* pieces, u64* tickets
) {
    for (u64 piece = take_tickets(tickets, 1); piece < *pieces; piece = take_tickets(tickets, 1)) {
        const vertex_t v = piece_vertices[piece];
        const offset_t first = piece_starts[piece], left = indptr[v + 1] - first;
        copy_forward(degrees, indices, forward, v, first, first + least(left, (offset_t)PIECE), [&](u32 count) {
            u32 before = 0;
            if (lane() == 0) before = atomicAdd(lengths + v, count);
            return indptr[v] + shuffle(before, 0);
        });
    }
}

__device__ __forceinline__ bool is_long(u32 length, offset_t degree) { return length > LONG || degree > BUSY; }

// Cut the adjacency lists of vertices of high degree into pieces, and append the pieces to an array. With `lengths`,
// the pieces are those whose triangles blocks count, otherwise those whose forward lists are copied.
extern "C" __global__ void list_pieces(
    u64 n, const offset_t* indptr, const u32* lengths, vertex_t* piece_vertices, offset_t* piece_starts, u64* pieces,
    Share share
) {
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        const offset_t first = indptr[v], last = indptr[v + 1];
        const u32 length = lengths ? lengths[v] : 0;
        if (!is_long(length, last - first) || (lengths && length < 2) || !share.has(v)) continue;
        u64 at = atomicAdd(pieces, (u64)((last - first + PIECE - 1) / PIECE));
        for (offset_t start = first; start < last; start += least((offset_t)PIECE, last - start), ++at) {
            piece_vertices[at] = (vertex_t)v;
            piece_starts[at] = start;
        }
    }
}

// The following code counts triangles by merging sorted adjacency lists.

__device__ __forceinline__ void add_to_total(u64* total, u64 found) {
    found = warp_sum(found);
    if (lane() == 0 && found) atomicAdd(total, found);
}

// Sum the counts of all blocks. All threads of a block call this. One 64-bit word holds the sum and, in 21 bits, the
// number of blocks that have finished, which is at most 2^20. This leaves 43 bits for triangles, enough for vertices
// with up to 128 neighbors. The last block writes the result and resets the word.
__device__ __forceinline__ void write_total(u64* word, u64* result, u64 found) {
    constexpr u32 LEFT_BITS = 21;
    __shared__ u64 sums[WARP_THREADS / WARP];
    found = warp_sum(found);
    if (lane() == 0) sums[threadIdx.x / WARP] = found;
    __syncthreads();
    if (threadIdx.x != 0) return;
    found = 0;
    for (u32 i = 0; i < WARP_THREADS / WARP; ++i) found += sums[i];
    const u64 before = atomicAdd(word, (found << LEFT_BITS) + 1);
    if ((before & ((1ull << LEFT_BITS) - 1)) != gridDim.x - 1) return;
    *result = (before >> LEFT_BITS) + found;
    *word = 0;
}

// Count triangles by merging. For each vertex v, each smaller neighbor u, and each neighbor w of v that is smaller than
// u, test whether w is in the list of u. The list of u contains v, which is larger than any w, so the scan never runs
// past its end. `lanes` threads, a power of two up to 32, process a vertex. On a grid graph, rows are read about once,
// which takes 0.1 ms for 16 M vertices. If neighbors are scattered, half of the edges need two or three sectors of 32
// bytes each, which takes 2.5 ms for 134 M random edges.
extern "C" __global__ void __launch_bounds__(WARP_THREADS) count_merging(
    u64 n, const offset_t* indptr, const vertex_t* indices, u32 lanes, u64* word, u64* result, u64* counts,
    u32* at_forward, Share share
) {
    u64 found = 0;
    for (u64 i = thread_of_grid() / lanes, v; (v = share.vertex(i)) < n; i += threads_of_grid() / lanes) {
        const offset_t low = indptr[v], high = indptr[v + 1];
        for (offset_t at = low + 1 + (threadIdx.x & (lanes - 1)); at < high; at += lanes) {
            const u64 u = indices[at];
            if (u >= v) break;
            offset_t j = indptr[u];
            vertex_t other = indices[j];
            u32 common = 0;
            for (offset_t i = low; i < at; ++i) {
                const vertex_t w = indices[i];
                while (other < w) other = indices[++j];
                if (other != w) continue;
                ++found;
                if constexpr (per_vertex) {
                    atomicAdd(counts + v, 1ull);
                    atomicAdd(counts + u, 1ull);
                    atomicAdd(counts + w, 1ull);
                }
                if constexpr (per_edge) {
                    ++common;
                    atomicAdd(at_forward + i, 1u);
                    atomicAdd(at_forward + j, 1u);
                }
            }
            if (common) atomicAdd(at_forward + at, common);
        }
    }
    write_total(word, result, found);
}

template <bool is_used> struct Place {  // a position in a list, which takes no memory unless it is used
    __device__ void put(offset_t) {}
    __device__ offset_t place() const { return 0; }
};
template <> struct Place<true> {
    offset_t held;
    __device__ void put(offset_t place) { held = place; }
    __device__ offset_t place() const { return held; }
};

// A neighbor whose forward list is looked up in the hash table. If triangles are counted per edge, the struct also has
// the neighbor's position in the adjacency list.
struct Neighbor : Place<per_edge> {
    offset_t start;
    vertex_t vertex;
    u32 length;
};

// Return how many entries of one forward list are in the hash table. A group of `group` lanes looks them up. Each lane
// reads `ahead` entries at a time, so that its reads overlap.
template <u32 group, u32 ahead>
__device__ __forceinline__ u32 look_up(
    const vertex_t* list, u32 length, const Table& table, u32* tallies, u32* at_list
) {
    u32 found = 0;
    for (u32 at = lane() % group; at < length; at += group * ahead) {
        vertex_t w[ahead];
#pragma unroll
        for (u32 i = 0; i < ahead; ++i)
            if (at + i * group < length) w[i] = list[at + i * group];
#pragma unroll
        for (u32 i = 0; i < ahead; ++i) {
            if (at + i * group >= length) break;
            const u32 slot = table.find(w[i]);
            found += slot != NOWHERE;
            if constexpr (has_tallies)
                if (slot != NOWHERE) atomicAdd(tallies + slot, 1u);
            if constexpr (per_edge)
                if (slot != NOWHERE) atomicAdd(at_list + at + i * group, 1u);
        }
    }
    return found;
}

// Process up to 32 neighbors of x at positions [first, last) by one warp: look up those of their forward lists that are
// shorter than the list of x, which is in the hash table. `wanted` is memory for 32 neighbors.
template <u32 group, u32 ahead>
__device__ __forceinline__ u32 look_up_neighbors(
    const Oriented& graph, vertex_t x, u32 length, offset_t first, offset_t last, const Table& table, u32* tallies,
    Neighbor* wanted, u64* counts
) {
    Neighbor mine;
    bool is_wanted = false;
    if (last - first > (offset_t)lane()) {
        mine.vertex = graph.indices[first + lane()];
        mine.length = graph.lengths[mine.vertex];
        is_wanted = mine.length && (mine.length < length || (mine.length == length && mine.vertex < x));
        if (is_wanted) mine.start = graph.indptr[mine.vertex];
        mine.put(first + lane());
    }
    const u32 votes = __ballot_sync(ALL, is_wanted);
    if (is_wanted) wanted[__popc(votes & lanes_below())] = mine;
    __syncwarp();
    u32 found = 0;
    for (u32 k = lane() / group; k < __popc(votes); k += WARP / group) {
        const Neighbor y = wanted[k];
        const u32 common =
            look_up<group, ahead>(graph.forward + y.start, y.length, table, tallies, graph.at_forward + y.start);
        if constexpr (per_vertex)
            if (common) atomicAdd(counts + y.vertex, (u64)common);
        if constexpr (per_edge)
            if (common) atomicAdd(graph.at_stored + y.place(), common);
        found += common;
    }
    __syncwarp();
    return found;
}

// Add the counts of the hash table's slots to the counters of edges. A slot counts the triangles of the edge from the
// vertex being processed to the vertex in the slot. The counters of these edges begin at `first`.
__device__ __forceinline__ void add_tallies_to_edges(
    const Oriented& graph, offset_t first, u32 entries, const Table& table, const u32* tallies, u32 thread, u32 threads
) {
    for (u32 k = thread; k < entries; k += threads) {
        const u32 found = tallies[table.find(graph.forward[first + k])];
        if (found) atomicAdd(graph.at_forward + first + k, found);
    }
}

// Add the counts of the hash table's slots to the counters of the vertices in these slots, and empty the slots.
// `threads` threads do this together.
__device__ __forceinline__ void clear(const Table& table, u32* tallies, u64* counts, u32 thread, u32 threads) {
    for (u32 slot = thread; slot <= table.mask; slot += threads) {
        if constexpr (per_vertex)
            if (tallies[slot]) atomicAdd(counts + table.slots[slot], (u64)tallies[slot]);
        if constexpr (has_tallies) tallies[slot] = 0;
        table.slots[slot] = FREE;
    }
}

extern "C" __global__ void __launch_bounds__(WARP_THREADS) count_by_warps(
    Oriented graph, u64* tickets, u64* total, u64* counts, Share share
) {
    constexpr u32 warps = WARP_THREADS / WARP;
    __shared__ vertex_t slots[warps][WARP_SLOTS];
    __shared__ u32 tallies[has_tallies ? warps : 1][has_tallies ? WARP_SLOTS : 1];
    __shared__ Neighbor wanted[warps][WARP];
    const u32 warp = warp_of_block();
    u32* const my_tallies = has_tallies ? tallies[warp % (has_tallies ? warps : 1)] : nullptr;
    for (u32 slot = lane(); slot < WARP_SLOTS; slot += WARP) {
        slots[warp][slot] = FREE;
        if constexpr (has_tallies) my_tallies[slot] = 0;
    }
    __syncwarp();
    u64 found = 0;
    for (u64 start; (start = share.vertex(take_tickets(tickets, WARP))) < graph.n;) {
        const u64 v = start + lane();
        const u32 my_length = v < graph.n ? graph.lengths[v] : 0;
        const offset_t my_first = my_length ? graph.indptr[v] : 0, my_last = my_length ? graph.indptr[v + 1] : 0;
        const bool is_mine = my_length >= 2 && !is_long(my_length, my_last - my_first);
        for (u32 left = __ballot_sync(ALL, is_mine); left; left &= left - 1) {
            const u32 which = __ffs(left) - 1, length = shuffle(my_length, which);
            const offset_t first = shuffle(my_first, which), last = shuffle(my_last, which);
            const vertex_t x = (vertex_t)(start + which);
            Table table(slots[warp], length, WARP_SLOTS);
            for (u32 k = lane(); k < length; k += WARP) table.insert(graph.forward[first + k]);
            __syncwarp();
            u32 here = 0;
            for (offset_t at = first; at < last; at += WARP)
                here += look_up_neighbors<8, 2>(
                    graph, x, length, at, last, table, my_tallies, wanted[warp], counts);
            if constexpr (per_edge) {
                add_tallies_to_edges(graph, first, length, table, my_tallies, lane(), WARP);
                __syncwarp();
            }
            clear(table, my_tallies, counts, lane(), WARP);
            __syncwarp();
            if constexpr (per_vertex) add_to_total(counts + x, here);
            found += here;
        }
    }
    add_to_total(total, found);
}

// Count the triangles of vertices that have many neighbors or long forward lists. A forward list longer than half the
// slots of the hash table is processed in parts. Lower bound of the time: reads from the L2 cache at about 5 TB/s and
// look-ups in shared memory at about 1 T/s, which is 20 ms for the 13 G look-ups of an R-MAT graph of scale 22.
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 2048 / BLOCK_THREADS) count_by_blocks(
    Oriented graph, const vertex_t* piece_vertices, const offset_t* piece_starts, const u64* pieces, u64* tickets,
    u64* total, u64* counts
) {
    __shared__ vertex_t slots[BLOCK_SLOTS];
    __shared__ u32 tallies[has_tallies ? BLOCK_SLOTS : 1];
    __shared__ Neighbor wanted[BLOCK_THREADS / WARP][WARP];
    __shared__ u64 ticket;
    __shared__ u32 taken;
    for (u32 slot = threadIdx.x; slot < BLOCK_SLOTS; slot += BLOCK_THREADS) {
        slots[slot] = FREE;
        if constexpr (has_tallies) tallies[slot] = 0;
    }
    u64 found = 0;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1ull);
        __syncthreads();
        const u64 piece = ticket;
        if (piece >= *pieces) break;
        const vertex_t x = piece_vertices[piece];
        const u32 length = graph.lengths[x];
        const offset_t first = piece_starts[piece], left = graph.indptr[x + 1] - first;
        const u32 neighbors = (u32)least(left, (offset_t)PIECE);
        u32 here = 0;
        for (u32 part = 0; part < length; part += BLOCK_SLOTS / 2) {
            const u32 entries = least(length - part, BLOCK_SLOTS / 2);
            Table table(slots, entries, BLOCK_SLOTS);
            const vertex_t* list = graph.forward + graph.indptr[x] + part;
            for (u32 k = threadIdx.x; k < entries; k += BLOCK_THREADS) table.insert(list[k]);
            if (threadIdx.x == 0) taken = 0;
            __syncthreads();
            while (true) {
                u32 at = 0;
                if (lane() == 0) at = atomicAdd(&taken, WARP);
                at = shuffle(at, 0);
                if (at >= neighbors) break;
                here += look_up_neighbors<WARP, 4>(
                    graph, x, length, first + at, first + neighbors, table, tallies, wanted[warp_of_block()], counts);
            }
            __syncthreads();
            if constexpr (per_edge) {
                add_tallies_to_edges(graph, graph.indptr[x] + part, entries, table, tallies, threadIdx.x, BLOCK_THREADS);
                __syncthreads();
            }
            clear(table, tallies, counts, threadIdx.x, BLOCK_THREADS);
            __syncthreads();
        }
        if constexpr (per_vertex) add_to_total(counts + x, here);
        found += here;
    }
    add_to_total(total, found);
}

// The following code writes the number of triangles of each edge.

__device__ __forceinline__ offset_t place_of(const vertex_t* indices, offset_t first, offset_t last, vertex_t w) {
    while (last - first > 1) {
        const offset_t middle = first + (last - first) / 2;
        if (indices[middle] <= w)
            first = middle;
        else
            last = middle;
    }
    return first;
}

// Write the number of triangles of each edge, the sum of its counters, to both positions of the edge in the adjacency
// lists, which are sorted. An edge has a counter at its position in a forward list, and one at each position in an
// adjacency list. Without `lengths`, a forward list consists of the smaller neighbors, at the start of an adjacency
// list. `lanes` threads, a power of two up to 32, process a vertex. Lower bound of the time: two binary searches per
// edge, of which caches serve all but the last reads, and writing the results.
extern "C" __global__ void __launch_bounds__(WARP_THREADS) spread_support(
    Oriented graph, u32 lanes, long long* found
) {
    for (u64 v = thread_of_grid() / lanes; v < graph.n; v += threads_of_grid() / lanes) {
        const offset_t first = graph.indptr[v], last = graph.indptr[v + 1];
        const offset_t length = graph.lengths ? (offset_t)graph.lengths[v] : last - first;
        for (offset_t k = threadIdx.x & (lanes - 1); k < length; k += lanes) {
            const vertex_t w = graph.forward[first + k];
            if (!graph.lengths && w > (vertex_t)v) break;
            const offset_t here = graph.lengths ? place_of(graph.indices, first, last, w) : first + k;
            const offset_t there = place_of(graph.indices, graph.indptr[w], graph.indptr[w + 1], (vertex_t)v);
            long long sum = graph.at_forward[first + k];
            if (graph.lengths) sum += (long long)graph.at_stored[here] + graph.at_stored[there];
            found[here] = found[there] = sum;
        }
    }
}

}  // namespace gasla
