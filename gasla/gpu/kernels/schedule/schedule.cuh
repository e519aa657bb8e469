// Iterations whose receivers (the vertices that gather in an iteration) are known in advance, as in a level-by-level
// traversal. As this schedule is known, receivers, their row offsets and their neighbors are loaded while blocks wait
// at a barrier.
//
// If no vertex has very many edges, a group of lanes processes a receiver, and an iteration with few receivers costs
// little more than its barriers. Otherwise, or if there are many receivers, a warp packs the entries of 32 receivers'
// rows side by side. Long rows are first cut into pieces, which are distributed over all warps. A single block always
// uses the same one of the two methods.
//
// Receivers of one iteration must not see each other's new values. If gathered fields are also written by apply
// (READS_BY_LEVEL), the level of a neighbor decides: until the schedule has passed the neighbor's level, the neighbor's
// fields are taken to have their initial values, which are known. If there are many receivers, the levels are first
// condensed into a bitmap, most of which fits the L1 cache.
#pragma once
#include "frontier.cuh"
#include "rows.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u32 UNCUT = 256;  // length of the longest row that is not cut
constexpr u32 PIECE = 1024;  // entries of a row in one piece
constexpr u32 MARKED = 256;  // a bitmap saves time if there is at least one receiver per this many vertices

// A part of a long row, which one warp reduces.
struct Piece {
    vertex_t row;
    u32 of;  // number of pieces of the row if this is its first piece, otherwise 0
    offset_t first, last;
};

// Reduces the rows of receivers, the vertices that gather in an iteration. `finish` applies the result to the vertex,
// or stores it.
template <class P> struct Receiver : P::Body {
    typedef typename P::Gathered value_t;
    typedef typename P::Body::row_t row_t;
    typedef typename Position<offset_t>::type position_t;

    // Rows of consecutive receivers are not adjacent in memory, so they are not copied to shared memory by long reads.
    static constexpr bool brings_near = false;

    using P::Body::c;
    u64 touched = 0;  // number of row entries visited
    // If `shift` is 0, the level of each vertex. If it is 5, a bitmap of the vertices whose level the schedule has
    // passed.
    const u32* passed;
    u32 shift;
    int limit;  // levels below this one have passed or, if the schedule runs backward, this level and those above

    __device__ __forceinline__ explicit Receiver(typename P::Context& c) : P::Body(c) { use_levels(0); }

    // Prepare for an iteration in which the level of each neighbor is read from the array of levels, instead of a
    // bitmap.
    __device__ __forceinline__ void use_levels(long long iteration) {
        passed = reinterpret_cast<const u32*>(c.a.levels);
        shift = 0;
        limit = (int)(c.a.first_level + (c.a.backward ? c.a.active_count - iteration : iteration));
    }
    // Build the bitmap of the vertices whose level the schedule has passed. After the next barrier, it is used in place
    // of the array of levels.
    __device__ __forceinline__ void use_bitmap() {
        constexpr u32 AT_ONCE = 8;
        // `base` counts words of the bitmap, of which there are `c.a.words`.
        for (u64 base = warp_of_grid() * WARP; base < c.a.words; base += threads_of_grid()) {
            u32 mine = 0;
            for (u32 word = 0; word < WARP; word += AT_ONCE) {
                int level[AT_ONCE];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k)
                    level[k] = c.a.levels[least<u64>((base + word + k) * WARP + lane(), c.a.self_n - 1)];
#pragma unroll
                for (u32 k = 0; k < AT_ONCE; ++k) {
                    const u32 word_of_passed = __ballot_sync(ALL, has_passed(level[k]));
                    if (lane() == word + k) mine = word_of_passed;
                }
            }
            if (base + lane() < c.a.words) c.a.bits[base + lane()] = mine;
        }
        passed = c.a.bits;
        shift = 5;
    }
    // Return whether the schedule has passed a level. For vertices that never receive, either answer is right, because
    // they keep their initial values.
    __device__ __forceinline__ bool has_passed(int level) const { return (level < limit) != (bool)c.a.backward; }

    __device__ __forceinline__ typename P::Source source(vertex_t u) const {
        if constexpr (P::READS_BY_LEVEL) {
            const u32 found = passed[u >> shift];
            return source(u, shift ? found >> ((u32)u & (WARP - 1)) & 1 : has_passed((int)found));
        } else {
            return P::load_source(c, u);
        }
    }
    __device__ __forceinline__ typename P::Source source(vertex_t u, bool has_passed) const {
        if constexpr (P::READS_BY_LEVEL)
            return P::load_by_level(c, u, has_passed);
        else
            return P::load_source(c, u);
    }
    __device__ __forceinline__ value_t term(row_t v, position_t e) {
        return this->term_of(v, e, source(read_once(c.a.gi, e)));
    }

    __device__ __forceinline__ void finish(row_t v, const value_t& value) { P::finish(c, (vertex_t)v, value); }

    // Cut the rows of more than UNCUT entries into pieces, and append the pieces to an array. All blocks must wait for
    // each other before they reduce pieces.
    __device__ __forceinline__ void cut(const vertex_t* list, u64 count, u64* pieces) {
        for (u64 base = 0; base < count; base += threads_of_grid()) {
            const u64 place = base + thread_of_grid();
            const bool is = place < count;
            const vertex_t row = is ? list[place] : 0;
            const offset_t first = is ? c.a.gp[row] : 0, last = is ? c.a.gp[row + 1] : 0;
            const u32 mine = last - first > (offset_t)UNCUT ? (u32)((last - first + (offset_t)(PIECE - 1)) / (offset_t)PIECE) : 0;
            const u32 upto = scan_inclusive(mine), all = __shfl_sync(ALL, upto, WARP - 1);
            if (all == 0) continue;
            u64 at = lane() == 0 ? atomicAdd(pieces, (u64)all) : 0;
            at = shuffle(at, 0) + upto - mine;
            for (u32 i = 0; i < mine; ++i) {
                const offset_t from = first + (offset_t)(i * PIECE);
                this->pieces()[at + i] = Piece{row, i ? 0 : mine, from, least<offset_t>(from + (offset_t)PIECE, last)};
            }
        }
    }

    // Reduce all pieces of long rows, which take longest, and then all rows that are not cut.
    __device__ __forceinline__ void reduce(const vertex_t* list, u64 count, u64 cut) {
        Piece coming = piece(warp_of_grid(), cut);
        for (u64 i = warp_of_grid(); i < cut; i += warps_of_grid()) {
            const Piece here = coming;
            coming = piece(i + warps_of_grid(), cut);
            const auto term = [&](position_t at) { return this->term((row_t)here.row, at); };
            const value_t total = reduce_by_lanes<WARP>(*this, (position_t)here.first, (position_t)here.last, term);
            if (lane() == 0) {
                if (here.of == 1)
                    finish((row_t)here.row, total);
                else
                    values()[i] = total;
            }
        }
        for (u64 base = 0; base < count; base += threads_of_grid()) {
            const u64 place = base + thread_of_grid();
            const bool is = place < count;
            const row_t row = is ? list[place] : 0;
            const position_t begin = is ? c.a.gp[row] : 0, length = is ? c.a.gp[row + 1] - begin : 0;
            touched += P::Body::first_only ? length > 0 : length;
            if constexpr (P::Body::first_only) {
                if (is) finish(row, length ? this->term(row, begin) : this->identity());
            } else {
                const bool is_short = is && (!P::CUTS_ROWS || length <= UNCUT);
                value_t total = this->identity();
                add_packed<true>(*this, row, begin, is_short ? (u32)length : 0u, total);
                if (is_short) finish(row, total);
            }
        }
    }

    // Combine the results of the pieces of each row that has several pieces. All blocks must wait for each other
    // between `reduce` and this.
    __device__ __forceinline__ void join(u64 cut) {
        for (u64 base = warp_of_grid() * WARP; base < cut; base += threads_of_grid()) {
            const Piece mine = piece(base + lane(), cut);
            for (u32 rest = __ballot_sync(ALL, mine.of > 1); rest; rest &= rest - 1) {
                const u32 owner = __ffs(rest) - 1, of = __shfl_sync(ALL, mine.of, owner);
                const vertex_t row = shuffle(mine.row, owner);
                const auto value = [&](u64 at) { return values()[at]; };
                const value_t total = reduce_by_lanes<WARP>(*this, base + owner, base + owner + of, value);
                if (lane() == 0) finish((row_t)row, total);
            }
        }
    }

    __device__ __forceinline__ Piece* pieces() const { return (Piece*)c.a.pieces; }
    __device__ __forceinline__ value_t* values() const { return (value_t*)c.a.piece_values; }
    __device__ __forceinline__ Piece piece(u64 i, u64 count) const { return i < count ? pieces()[i] : Piece{}; }
};

// The position of a run in its schedule, and what a thread has loaded ahead. For the next iteration, all is loaded but
// the values of neighbors. For the iteration after it, the receiver (the vertex that gathers) and its row offsets are
// loaded. So at most two dependent reads remain when all blocks have arrived at the barrier.
template <class P> struct Schedule {
    typedef typename P::Gathered Gathered;
    typedef typename Choose<sizeof(vertex_t) == 8, u64, u32>::type index_t;  // position in the list of receivers
    static constexpr u32 NEAR = 2;  // neighbors that each lane loads ahead

    // The receiver (the vertex that gathers) of a thread's group of lanes, and the range of its edges. `is` is false if
    // the group has no receiver.
    struct Place {
        vertex_t v = 0;
        bool is = false;
        offset_t first = 0, last = 0;
    };

    // A range of consecutive positions in the list of receivers, which are the vertices that gather. The list has the
    // receivers of all iterations, those of one iteration after those of another.
    struct Range {
        index_t first, count;
    };

    long long coming = 0;  // the iteration that `here`, `from` and `to` describe
    index_t from = 0, to = 0;  // where this iteration's receivers begin and end in the list of all receivers
    index_t then = 0, later = 0;  // where the receivers of the next two iterations end in the list
    Place here, next;
    index_t done = 0;  // in a single block: receivers of this iteration that have been processed
    vertex_t near[NEAR];
    int level[NEAR];

    // Return the position in the list of receivers at which those of an iteration begin or, if the schedule runs
    // backward, end.
    __device__ __forceinline__ static index_t bound(const typename P::Context& c, long long iteration) {
        const long long depth = c.a.active_count, i = least(iteration, depth);
        return (index_t)c.a.starts[c.a.backward ? depth - i : i];
    }
    __device__ __forceinline__ static Range between(index_t a, index_t b) { return Range{least(a, b), a < b ? b - a : a - b}; }
    __device__ __forceinline__ static Range range_of(const typename P::Context& c, long long iteration) {
        return between(bound(c, iteration), bound(c, iteration + 1));
    }
    __device__ __forceinline__ void begin(const typename P::Context& c, long long iteration) {
        coming = iteration - 1;
        to = bound(c, iteration);
        then = bound(c, iteration + 1);
        later = bound(c, iteration + 2);
        find(c, next, between(to, then));
        if (next.is) measure(c, next);
        advance(c);
    }
    __device__ __forceinline__ Range receivers() const { return between(from, to); }

    // Return whether there are enough groups of lanes for all receivers of an iteration. In a single block this is
    // always so, because a group may process several receivers one after another.
    __device__ __forceinline__ static bool is_light(const typename P::Context& c, index_t receivers) {
        return P::LANE_GROUPS && (P::ONE_BLOCK || receivers <= threads_of_grid() / c.a.lanes);
    }
    __device__ __forceinline__ bool is_light(const typename P::Context& c) const { return is_light(c, receivers().count); }
    __device__ __forceinline__ u32 lane_of_group(const typename P::Context& c) const { return lane() & (c.a.lanes - 1); }

    // Find the receiver (the vertex that gathers) of this thread's group of lanes, if the group has one. Consecutive
    // receivers go to different blocks.
    __device__ __forceinline__ static void find(const typename P::Context& c, Place& place, Range receivers) {
        place = Place();
        if (!is_light(c, receivers.count)) return;
        const index_t warp = warp_of_block() * (index_t)gridDim.x + blockIdx.x;
        const index_t i = (warp * WARP + lane()) / c.a.lanes;
        place.is = i < receivers.count;
        if (place.is) place.v = c.a.aside[receivers.first + i];
    }
    __device__ __forceinline__ static void measure(const typename P::Context& c, Place& place) {
        place.first = c.a.gp[place.v];
        place.last = c.a.gp[place.v + 1];
    }

    __device__ __forceinline__ void load_near(const typename P::Context& c) {
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j) {
            const offset_t e = here.first + (offset_t)(lane_of_group(c) + j * c.a.lanes);
            near[j] = e < here.last ? c.a.gi[e] : here.v;
        }
    }
    __device__ __forceinline__ void load_levels(const typename P::Context& c) {
        if constexpr (P::READS_BY_LEVEL)
            if (here.is)
#pragma unroll
                for (u32 j = 0; j < NEAR; ++j) level[j] = c.a.levels[near[j]];
    }

    // Find the next receiver of this group of lanes in the same iteration, in a run by a single block. Returns false if
    // all receivers have been processed.
    __device__ __forceinline__ bool take_more(const typename P::Context& c) {
        if constexpr (P::ONE_BLOCK) {
            done += threads_of_grid() / c.a.lanes;
            const Range all = receivers();
            if (done >= all.count) return false;
            find(c, here, Range{all.first + done, all.count - done});
            if (here.is) measure(c, here);
            load_near(c);
            load_levels(c);
            return true;
        }
        return false;
    }

    // Advance to the next iteration, and load ahead what the two iterations after it need.
    __device__ __forceinline__ void advance(const typename P::Context& c) {
        ++coming;
        from = to;
        to = then;
        then = later;
        here = next;
        done = 0;
        load_near(c);
        find(c, next, between(to, then));
        later = bound(c, coming + 3);
        load_levels(c);
        if (next.is) {
            measure(c, next);
            P::ask_for(c, next.v);
        }
    }

    // Reduce the row of the receiver (the vertex that gathers) of this group of lanes. Only the first lane of the group
    // has the result.
    template <class Body> __device__ __forceinline__ Gathered reduce(Body& body) const {
        const u32 lanes = body.c.a.lanes, me = lane_of_group(body.c);
        typedef typename Body::row_t row_t;
        typedef typename Body::position_t position_t;
        const offset_t first = here.first, last = here.last;
        const row_t v = (row_t)here.v;
        Gathered total = body.identity(), terms[NEAR];
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j) {
            const offset_t e = first + (offset_t)(me + j * lanes);
            if (e < last) terms[j] = body.term_of(v, e, body.source(near[j], body.has_passed(level[j])));
        }
#pragma unroll
        for (u32 j = 0; j < NEAR; ++j)
            if (first + (offset_t)(me + j * lanes) < last) total = body.combine(total, terms[j]);
        for (offset_t e = first + (offset_t)(me + NEAR * lanes); e < last; e += lanes)
            total = body.combine(total, body.term(v, (position_t)e));
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
