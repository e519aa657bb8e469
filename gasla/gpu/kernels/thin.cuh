// Thin frontiers: thousands of iterations with a few thousand vertices each, where only latency counts.
//
// Each block lists what it finds in a segment of its own, beside where its edges begin and end, and publishes how many
// they are; after the barrier all blocks put the counts together for themselves. Nobody reserves places in a common
// queue or searches in one, so an iteration is a barrier and four reads that wait for each other. A few lanes share a
// vertex, so no vertex may have very many edges.
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u32 SEGMENT = 2048;  // vertices a block may list; what does not fit goes to the queue, and the frontier is wide
constexpr u32 MOST_BLOCKS = 256;

struct alignas(sizeof(offset_t) == 4 && sizeof(vertex_t) == 4 ? 16 : 8) Slot {
    offset_t begin, end;
    vertex_t vertex;
};

struct ThinShared {
    u32 before[MOST_BLOCKS + 1];  // vertices in the segments of all blocks before each
    u32 listed;                   // by this block, in this iteration
    u32 edges;                    // of those
};

// A warp's way to append to the segment of its block.
template <class Overflow> struct ThinAppender {
    Slot* segment;
    ThinShared& s;
    const offset_t* offsets;
    const vertex_t* indices;
    Overflow& overflow;
    offset_t begin = 0, end = 0;

    // Where the edges of a vertex lie is read while it is not yet known whether it will be listed.
    __device__ __forceinline__ void prepare(bool valid, vertex_t v) {
        if (!valid) return;
        begin = offsets[v];
        end = offsets[v + 1];
    }
    __device__ __forceinline__ void add(const bool (&wanted)[1], const vertex_t (&v)[1]) {
        const u32 ballot = __ballot_sync(ALL, wanted[0]);
        if (!ballot) return;
        u32 place = 0;
        if (lane() == 0) place = atomicAdd(&s.listed, __popc(ballot));
        place = __shfl_sync(ALL, place, 0) + __popc(ballot & lanes_below());
        const bool fits = place < SEGMENT;
        if (wanted[0] && fits) {
            segment[place] = Slot{begin, end, v[0]};
            asm volatile("prefetch.global.L2 [%0];" ::"l"(indices + begin));
            atomicAdd(&s.edges, (u32)(end - begin));
        }
        overflow.add(wanted[0] && !fits, v[0]);
    }
};

// Some lanes for each vertex of all segments of one side.
template <class Source, class Load, class Visit>
__device__ __forceinline__ void advance_thin(
    const Slot* segments, const ThinShared& s, u32 lanes, Load load, Visit& visit) {
    const u32 total = s.before[gridDim.x], mine = threadIdx.x & (lanes - 1);
    const u32 groups = blockDim.x / lanes;
    for (u32 i = threadIdx.x / lanes * gridDim.x + blockIdx.x; __any_sync(ALL, i < total); i += groups * gridDim.x) {
        offset_t at = 0, end = 0;
        Source source;
        if (i < total) {
            u32 block = 0;
#pragma unroll
            for (u32 step = MOST_BLOCKS / 2; step; step >>= 1)
                if (block + step < gridDim.x && s.before[block + step] <= i) block += step;
            const Slot slot = segments[(u64)block * SEGMENT + i - s.before[block]];
            at = slot.begin + (offset_t)mine;
            end = slot.end;
            source = load(slot.vertex);
        }
        while (__any_sync(ALL, at < end)) {
            const offset_t places[1] = {at};
            const Source sources[1] = {source};
            const bool valid[1] = {at < end};
            visit.template batch<1>(places, sources, valid);
            at += (offset_t)lanes;
        }
    }
}

}  // namespace gasla
