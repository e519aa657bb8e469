// Iterations whose receivers are known ahead, so that their lists, offsets and neighbours are read while the grid waits.
//
// Where no vertex has very many edges, a few lanes take a receiver, and an iteration of few receivers costs little but
// its barriers. Elsewhere, or where receivers are many, a warp puts the entries of 32 of them side by side; long rows
// get a warp each, and very long ones a block.
#pragma once
#include "frontier.cuh"
#include "rows.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u32 ROW_OF_WARP = 256;    // entries of a row from which on a warp takes it alone,
constexpr u32 ROW_OF_BLOCK = 2048;  // or a block
constexpr u32 TOGETHER = 4;         // receivers next to each other in the list that a warp takes
constexpr u32 STASH = 64;           // rows that a block puts off

// What the threads of a block share.
template <class P> struct Stash {
    u32 count;
    vertex_t rows[STASH];
    typename P::Gathered parts[MOST_WARPS];
};

// Reduces over the rows of listed vertices, and puts the results aside or applies.
template <class P> struct Receiver : P::Body {
    typedef typename P::Gathered value_t;
    typedef typename P::Body::row_t row_t;
    typedef typename Position<offset_t>::type position_t;

    using P::Body::c;
    Stash<P>& stash;
    u64 touched = 0;  // entries looked at

    __device__ __forceinline__ Receiver(typename P::Context& c, Stash<P>& stash) : P::Body(c), stash(stash) {}

    __device__ __forceinline__ void finish(row_t v, const value_t& value) {
        if constexpr (P::TWO_PHASES)
            P::keep(c, (vertex_t)v, value);
        else
            P::finish(c, (vertex_t)v, value);
    }

    // All listed vertices. All threads of the block call it. Where some rows are far longer than others, they are dealt
    // out a few to each warp in turn: a warp that had 32 of a short list of hubs kept the others waiting.
    __device__ __forceinline__ void reduce(const vertex_t* list, u64 count) {
        constexpr u32 together = P::IS_FLAT ? WARP : TOGETHER;
        const u64 mine = (lane() / together * warps_of_grid() + warp_of_grid()) * together + lane() % together;
        for (u64 base = 0; base < count; base += threads_of_grid()) {
            const bool is = base + mine < count;
            const row_t row = is ? list[base + mine] : 0;
            const position_t begin = is ? c.a.gp[row] : 0, length = is ? c.a.gp[row + 1] - begin : 0;
            touched += P::Body::first_only ? length > 0 : length;
            if constexpr (P::Body::first_only) {
                if (is) finish(row, length ? this->term(row, begin) : this->identity());
            } else {
                const bool is_long = length > ROW_OF_WARP;
                value_t total = this->identity();
                add_packed<true>(*this, row, begin, is_long ? 0u : (u32)length, total);
                if (is && !is_long) finish(row, total);
                for (u32 rest = __ballot_sync(ALL, is_long); rest; rest &= rest - 1) {
                    const u32 owner = __ffs(rest) - 1;
                    long_row(shuffle(row, owner), shuffle(begin, owner), shuffle(length, owner));
                }
            }
        }
        if constexpr (!P::Body::first_only) stashed_rows();
    }

    __device__ __forceinline__ void long_row(row_t row, position_t begin, position_t length) {
        if (length > ROW_OF_BLOCK) {
            const u32 place = __shfl_sync(ALL, lane() == 0 ? atomicAdd(&stash.count, 1u) : 0, 0);
            if (place < STASH) {
                if (lane() == 0) stash.rows[place] = (vertex_t)row;
                return;
            }
        }
        const auto term = [&](position_t at) { return this->term(row, at); };
        const value_t total = reduce_by_lanes<WARP>(*this, begin, (position_t)(begin + length), term);
        if (lane() == 0) finish(row, total);
    }

    __device__ __forceinline__ void stashed_rows() {
        __syncthreads();
        const u32 count = least(stash.count, STASH);
        for (u32 i = 0; i < count; ++i) {
            const row_t row = stash.rows[i];
            const position_t begin = c.a.gp[row], end = c.a.gp[row + 1];
            const position_t share = (end - begin + blockDim.x - 1) / blockDim.x, mine = begin + threadIdx.x * share;
            const auto term = [&](position_t at) { return this->term(row, at); };
            value_t total = P::Body::ordered
                ? reduce_run(*this, least(mine, end), least<position_t>(mine + share, end), 1, term)
                : reduce_run(*this, (position_t)(begin + threadIdx.x), end, blockDim.x, term);
            total = over_warp(total);
            if (lane() == 0) stash.parts[warp_of_block()] = total;
            __syncthreads();
            if (warp_of_block() == 0) {
                total = over_warp(lane() < warps_of_block() ? stash.parts[lane()] : this->identity());
                if (lane() == 0) finish(row, total);
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) stash.count = 0;
    }

    __device__ __forceinline__ value_t over_warp(value_t total) {  // lane 0 has it
#pragma unroll
        for (u32 step = 1; step < WARP; step <<= 1) {
            const value_t above = shuffle(total, (lane() + step) % WARP);
            if (!(lane() & (2 * step - 1))) total = this->combine(total, above);
        }
        return total;
    }
};

// Where a run is in its schedule, and what a thread has read ahead of the next iteration.
template <class P> struct Schedule {
    typedef typename P::Gathered Gathered;
    static constexpr u32 NEAR = 2;  // neighbours

    long long coming = 0;        // the iteration that this is about
    u64 from = 0, to = 0, then = 0;  // where its receivers start among all, where the next ones', and those after
    vertex_t v = 0;              // the receiver of this thread and those around it
    bool is = false;
    offset_t first = 0, last = 0;
    vertex_t near[NEAR];

    __device__ __forceinline__ static u64 start_of(const typename P::Context& c, long long iteration) {
        return c.a.starts[least<long long>(iteration, c.a.active_count)];
    }
    __device__ __forceinline__ void begin(const typename P::Context& c, long long iteration) {
        coming = iteration - 1;
        to = start_of(c, iteration);
        then = start_of(c, iteration + 1);
        advance(c);
        look(c);
    }
    __device__ __forceinline__ u64 count() const { return to - from; }

    // Whether there is a group of lanes for every receiver.
    __device__ __forceinline__ bool is_light(const typename P::Context& c) const {
        return P::IS_FLAT && count() <= threads_of_grid() / c.a.lanes;
    }
    __device__ __forceinline__ u32 lane_of_group(const typename P::Context& c) const { return lane() & (c.a.lanes - 1); }

    // On to the next iteration: its receivers and their offsets. Groups of neighbouring receivers are in different blocks.
    __device__ __forceinline__ void advance(const typename P::Context& c) {
        ++coming;
        from = to;
        to = then;
        then = start_of(c, coming + 2);
        is = false;
        first = last = 0;
        if (is_light(c)) {
            const u64 warp = warp_of_block() * (u64)gridDim.x + blockIdx.x;
            const u64 i = (warp * WARP + lane()) / c.a.lanes;
            is = i < count();
            if (is) {
                v = c.a.aside[from + i];
                first = c.a.gp[v];
                last = c.a.gp[v + 1];
            }
        }
    }

    // The first neighbours.
    __device__ __forceinline__ void look(const typename P::Context& c) {
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j) {
            const offset_t e = first + (offset_t)(lane_of_group(c) + j * c.a.lanes);
            near[j] = e < last ? c.a.gi[e] : 0;
        }
    }

    // What the row of this thread's receiver comes to: its group's first lane has it.
    template <class Body> __device__ __forceinline__ Gathered reduce(Body& body) {
        const u32 lanes = body.c.a.lanes, me = lane_of_group(body.c);
        typedef typename Body::row_t row_t;
        Gathered total = body.identity(), terms[NEAR];
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j) {
            const offset_t e = first + (offset_t)(me + j * lanes);
            if (e < last) terms[j] = body.term((row_t)v, e, near[j]);
        }
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j)
            if (first + (offset_t)(me + j * lanes) < last) total = body.combine(total, terms[j]);
        for (offset_t e = first + (offset_t)(me + NEAR * lanes); e < last; e += lanes)
            total = body.combine(total, body.term((row_t)v, e));
        const u32 used = (u32)least<offset_t>(last - first, lanes);
        for (u32 step = 1; step < lanes; step <<= 1) {
            const Gathered above = shuffle(total, me + step, lanes);
            if (me + step < used && !(me & (2 * step - 1))) total = body.combine(total, above);
        }
        if (me == 0) body.touched += last - first;
        return total;
    }
};

}  // namespace gasla
