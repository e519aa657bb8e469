// Lists to which all blocks append: queues of active vertices, in which each entry has the number of edges of all
// entries before it, and plain lists of vertices.
//
// One 64-bit atomic reserves both entries of the queue and a range of edge numbers (edges << shift | count), so that
// the next pass can cut the queue into slices with equally many edges. Warps first collect vertices in a buffer in
// shared memory, because one atomic per vertex would be the bottleneck.
#pragma once
#include "runtime.cuh"

namespace gasla {

struct Entry {
    prefix_t prefix;  // number of edges of all entries before this one
    vertex_t vertex;
};

// What `apply` returns for a vertex, as bits: the vertex is active in the next iteration, and the mask still admits it.
enum Outcome : u32 { ACTIVE = 1, OPEN = 2 };

constexpr u32 CAPACITY = 512 / sizeof(vertex_t);  // vertices that a warp's buffer can hold
constexpr u32 EACH = CAPACITY / WARP;
constexpr u32 MOST_WARPS = THREADS / WARP;

struct NoBuffers {  // shared memory of programs that append to no list
    u64 sums[MOST_WARPS];
};
struct Buffers {  // shared memory of all other programs
    vertex_t next[MOST_WARPS * CAPACITY];
    vertex_t aside[MOST_WARPS * CAPACITY];
    u64 sums[MOST_WARPS + 1];
};

// Writes entries of a queue of active vertices. An entry has a vertex and the number of edges of all entries before it.
struct QueueSink {
    Entry* entries;
    u64* counter;
    const offset_t* offsets;  // row offsets of the outgoing edges; null if the edges are not walked
    u32 shift;

    struct Share {  // the vertices that one lane writes when a buffer is flushed
        vertex_t v[EACH];
        prefix_t degree[EACH];
        u32 count = 0;
        prefix_t edges = 0;
    };
    __device__ __forceinline__ u64 measure(const vertex_t* buffer, u32 held, Share& share) const {
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            const u32 i = lane() * EACH + j;
            share.degree[j] = 0;
            if (i >= held) continue;
            share.v[j] = buffer[i];
            if (offsets) share.degree[j] = (prefix_t)(offsets[share.v[j] + 1] - offsets[share.v[j]]);
            share.edges += share.degree[j];
            ++share.count;
        }
        return ((u64)share.edges << shift) | share.count;
    }
    // Write the vertices of one lane to the queue. `before` is the number of edges and the number of entries that come
    // before these vertices, packed in one word.
    __device__ __forceinline__ void write(const Share& share, u64 before) const {
        u64 place = before & (((u64)1 << shift) - 1);
        prefix_t prefix = (prefix_t)(before >> shift);
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            if (j >= share.count) break;
            entries[place + j] = Entry{prefix, share.v[j]};
            prefix += share.degree[j];
        }
    }
};

// Writes vertices to a list without numbers of edges.
struct ListSink {
    vertex_t* list;
    u64* counter;

    struct Share {
        vertex_t v[EACH];
        u32 count = 0;
    };
    __device__ __forceinline__ u64 measure(const vertex_t* buffer, u32 held, Share& share) const {
#pragma unroll
        for (u32 j = 0; j < EACH; ++j) {
            const u32 i = lane() * EACH + j;
            if (i >= held) continue;
            share.v[j] = buffer[i];
            ++share.count;
        }
        return share.count;
    }
    __device__ __forceinline__ void write(const Share& share, u64 before) const {
#pragma unroll
        for (u32 j = 0; j < EACH; ++j)
            if (j < share.count) list[before + j] = share.v[j];
    }
};

// Append the vertices in a warp's buffer to a list. With `sums`, shared memory for the counts of warps, all warps of
// the block append their vertices together, with a single atomic.
template <class Sink>
__device__ __forceinline__ void flush_buffer(const vertex_t* buffer, u32 held, const Sink& sink, u64* sums) {
    __syncwarp();
    typename Sink::Share share;
    const u64 mine = sink.measure(buffer, held, share);
    u64 up_to = scan_inclusive(mine), start = 0, before = up_to - mine;
    if (sums) {
        if (lane() == WARP - 1) sums[warp_of_block()] = up_to;
        __syncthreads();
        const u64 own = lane() < warps_of_block() ? sums[lane()] : 0;
        up_to = scan_inclusive(own);
        before += __shfl_sync(ALL, up_to - own, warp_of_block());
    }
    if (lane() == WARP - 1 && (!sums || warp_of_block() == 0)) {
        start = atomicAdd(sink.counter, up_to);
        if (sums) sums[MOST_WARPS] = start;
    }
    start = __shfl_sync(ALL, start, WARP - 1);
    if (sums) {
        __syncthreads();
        start = sums[MOST_WARPS];
    }
    sink.write(share, start + before);
    __syncwarp();
}

// Append the buffered vertices to one of the lists of a loop. This function is not inlined, because a copy in every
// loop that may call it would take registers and compilation time.
template <class Loop, class List>
__device__ __noinline__ void flush_list(typename Loop::Shared& s, u32 which, u32 held, bool of_block) {
    if (of_block && !__syncthreads_or(held > 0)) return;
    const vertex_t* buffer = List::buffers(s) + warp_of_block() * CAPACITY;
    flush_buffer(buffer, held, List::sink(Loop(s, 0), which), of_block ? s.buffers.sums : nullptr);
    if (of_block) __syncthreads();
}

// Appends vertices to a list through a warp's buffer in shared memory. All lanes call every method together. `which`
// computes which list this is only when the buffer is written to it, because keeping the list would take registers.
template <class Loop, class List, class Which> struct Appender {
    typename Loop::Shared& s;
    Which which;
    u32 held = 0;

    __device__ __forceinline__ Appender(typename Loop::Shared& s, Which which) : s(s), which(which) {}

    template <int N> __device__ __forceinline__ void prepare(const bool (&)[N], const vertex_t (&)[N]) {}

    __device__ __forceinline__ void add(bool wanted, vertex_t v) {
        const bool one[1] = {wanted};
        const vertex_t it[1] = {v};
        add(one, it);
    }
    template <int N> __device__ __forceinline__ void add(const bool (&wanted)[N], const vertex_t (&v)[N]) {
        static_assert(N * WARP <= CAPACITY, "more at once than a warp can put aside");
        u32 ballot[N], count = 0;
#pragma unroll
        for (int j = 0; j < N; ++j) count += __popc(ballot[j] = __ballot_sync(ALL, wanted[j]));
        if (!count) return;
        if (held + count > CAPACITY) {
            flush_list<Loop, List>(s, which(), held, false);
            held = 0;
        }
        vertex_t* buffer = List::buffers(s) + warp_of_block() * CAPACITY;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (wanted[j]) buffer[held + __popc(ballot[j] & lanes_below())] = v[j];
            held += __popc(ballot[j]);
        }
    }
    // Append the buffered vertices of all warps of the block to the list, with one atomic. All threads of the block
    // call this.
    __device__ __forceinline__ void flush_block() {
        flush_list<Loop, List>(s, which(), held, true);
        held = 0;
    }
};

// Appends newly active vertices to a list or, if the loop builds a bitmap of them, sets their bits. `count` is the
// number of bits that this thread has set.
template <class Loop, class List> struct OrBits : List {
    const Loop& loop;
    u32 count = 0;

    __device__ __forceinline__ OrBits(const Loop& loop, const List& list) : List(list), loop(loop) {}
    template <int N> __device__ __forceinline__ void add(const bool (&wanted)[N], const vertex_t (&v)[N]) {
        if (!loop.s.builds_bitmap) return List::add(wanted, v);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (!wanted[j]) continue;
            atomicOr(loop.c.next_active() + v[j] / WARP, bit_of(v[j]));
            ++count;
        }
    }
};

// Walk part of the edges of the vertices in a queue by a warp: of all edges in the order of the queue, those from
// number `begin` up to `end`. `visit.batch(places, sources, valid)` gets several edges of each lane at once, so that
// their loads overlap.
template <int AT_ONCE, bool EMPTY, class Source, class Load, class Visit>
__device__ __forceinline__ void walk_slice(
    const Entry* queue, u64 size, u64 edges, const offset_t* offsets, Load load, Visit& visit, prefix_t begin,
    prefix_t end) {
    u64 k = 0;  // a search with 32 comparisons per step finds the last entry whose edges start at or before `begin`
    for (u64 high = size; high - k > 1;) {
        const u64 step = (high - k + WARP - 1) / WARP, i = k + lane() * step;
        const bool before = i < high && queue[i].prefix <= begin;
        const u32 last = __popc(__ballot_sync(ALL, before)) - 1;
        const u64 low = k + last * step;
        high = least(high, low + step);
        k = low;
    }
    while (begin < end) {
        prefix_t prefix = (prefix_t)edges;
        offset_t base = 0;
        Source source;
        if (k + lane() < size) {
            const Entry entry = queue[k + lane()];
            prefix = entry.prefix;
            base = offsets[entry.vertex] - (offset_t)prefix;
            if constexpr (!EMPTY) source = load(entry.vertex);
        }
        const prefix_t limit = least<prefix_t>(end, k + WARP < size ? queue[k + WARP].prefix : (prefix_t)edges);
        for (; begin < limit; begin += AT_ONCE * WARP) {
            offset_t places[AT_ONCE];
            Source sources[AT_ONCE];
            bool valid[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j) {
                valid[j] = false;
                if (begin + j * WARP >= limit) continue;
                const prefix_t e = begin + j * WARP + lane();
                u32 at = 0;
#pragma unroll
                for (u32 step = WARP / 2; step; step >>= 1)
                    if (__shfl_sync(ALL, prefix, at + step) <= e) at += step;
                places[j] = (offset_t)e + shuffle(base, at);
                if constexpr (!EMPTY) sources[j] = shuffle(source, at);
                valid[j] = e < limit;
            }
            visit.template batch<AT_ONCE>(places, sources, valid);
        }
        begin = limit;
        k += WARP;
    }
}

// Walk the edges of all vertices in a queue. Each warp takes the same number of edges, whatever the degrees. A warp's
// edges are one slice or, with BY_TURNS, many short slices, which the warps take in turn. If the queue is in ascending
// order, all warps then read adjacency lists that are near each other.
template <int AT_ONCE, bool EMPTY, bool BY_TURNS, class Source, class Load, class Visit>
__device__ __forceinline__ void advance(
    const Entry* queue, u64 size, u64 edges, const offset_t* offsets, Load load, Visit& visit) {
    constexpr prefix_t TURN = 128;  // edges
    prefix_t share = ((prefix_t)edges + (prefix_t)warps_of_grid() - 1) / (prefix_t)warps_of_grid();
    share = (share + WARP - 1) / WARP * WARP;
    if constexpr (BY_TURNS) share = least(share, TURN);
    const u32 warp = this_warp() * gridDim.x + blockIdx.x;  // consecutive slices go to different multiprocessors
    if constexpr (BY_TURNS) {
        for (u64 begin = (u64)warp * share; begin < edges; begin += warps_of_grid() * share)
            walk_slice<AT_ONCE, EMPTY, Source>(
                queue, size, edges, offsets, load, visit, (prefix_t)begin, (prefix_t)least(edges, begin + share));
    } else {
        const prefix_t begin = warp * share;
        if (begin < edges)
            walk_slice<AT_ONCE, EMPTY, Source>(
                queue, size, edges, offsets, load, visit, begin, least<prefix_t>(edges, begin + share));
    }
}

}  // namespace gasla
