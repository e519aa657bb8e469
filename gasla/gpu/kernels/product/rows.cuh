// Reduction of every row of a compressed sparse matrix, with work balanced over threads although rows differ in length.
//
// `lanes` threads (1 to 32, a power of two) reduce a row. With PACKED, a warp takes 32 rows and packs their entries
// side by side, so that rows of any length keep all lanes busy. A row longer than `limit` entries is cut into pieces,
// each of which a whole warp reduces. The host chooses the method once per graph (rows.py). All threads of all blocks
// call
//
//     reduce_rows<lanes>(rows, body);
//     ... a barrier of the grid, or the end of the kernel ...
//     reduce_cut_rows(rows, body);        // only if rows.cut is not 0: combines the pieces of rows
//
// No block waits for another block here. So an ordinary grid may have as many blocks as there is work for, and a
// cooperative grid the few that fit the device. Which thread reduces which row depends only on the size of the grid.
// (Handing out rows dynamically was slower: an atomic per item costs more than the imbalance.)
//
// The parameter `body` is an object with these members:
//
//     typedef ... value_t;                          any trivial struct
//     static constexpr bool ordered;                combine only adjacent values, in stored order
//     static constexpr bool first_only;             any entry will do, and the first is taken
//     static constexpr bool has_terminal;           whether is_terminal is worth calling
//     static constexpr bool brings_near;            if true, a warp calls bring_near before it reads the next few terms
//     void bring_near(position_t position);         of each lane: the first lane with the position of the first of all
//                                                   these terms, the last lane with that of the last
//     value_t identity();                           the value of a row without entries
//     value_t combine(value_t x, value_t y);
//     bool is_terminal(value_t x);                  no further entry can change x
//     bool wanted(row_t row);                       the row is skipped if this is false
//     value_t term(row_t row, position_t position); no side effects: may be called twice for an entry
//     typedef ... had_t;                            what `finish` reads of the row
//     had_t load(row_t row);                        called before the entries of the row are read
//     void finish(row_t row, value_t value, had_t had);    once per wanted row, by one thread
//
// Each thread has its own `body`, so `finish` may accumulate values in it. `finish` must not read what it overwrites: a
// store to a cache line whose load is in flight costs several times as much as everything else (an iteration of
// PageRank on a grid graph took 1.6 ms instead of 0.25 ms).
//
// The order in which terms are combined is fixed by the graph, so results are bit-identical in every run.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 PACKED = 0;

// The rows of a matrix, and how they are divided among threads. The host fills this in (rows.py). Offsets are int or
// long long.
template <class offset_t> struct Rows {
    const offset_t* offsets;
    const long long* cut_rows;  // rows that are cut into several pieces
    const u32* cut_pieces;  // for each of these rows, the number of its first piece
    const long long* long_rows;  // for each piece of a long row, the row that it belongs to
    const u32* numbers;  // for each piece, its number within the row
    void* partials;  // results of pieces, one value each
    u64 count;                   // number of rows
    u32 pieces;
    u32 cut;
    u32 limit;  // the most entries that a row may have without being cut
    u32 piece;  // entries in a piece of a row
};

template <class offset_t> struct Position {
    typedef typename Choose<sizeof(offset_t) == 8, u64, u32>::type type;
};

// Load a value that only this warp needs, and only once. Its cache line is marked to be evicted first, so that other
// data stays in the L1 cache longer.
template <class T> __device__ __forceinline__ T read_once(const T* address) {
#ifdef GASLA_EMULATED
    return *address;
#else
    if constexpr (sizeof(T) == 1) {
        unsigned short bits;
        asm("ld.global.nc.L1::evict_first.u8 %0, [%1];" : "=h"(bits) : "l"(address));
        const unsigned char byte = (unsigned char)bits;
        return *reinterpret_cast<const T*>(&byte);
    } else if constexpr (sizeof(T) == 2) {
        unsigned short bits;
        asm("ld.global.nc.L1::evict_first.u16 %0, [%1];" : "=h"(bits) : "l"(address));
        return *reinterpret_cast<T*>(&bits);
    } else if constexpr (sizeof(T) == 4) {
        u32 bits;
        asm("ld.global.nc.L1::evict_first.u32 %0, [%1];" : "=r"(bits) : "l"(address));
        return *reinterpret_cast<T*>(&bits);
    } else {
        static_assert(sizeof(T) == 8, "a scalar");
        u64 bits;
        asm("ld.global.nc.L1::evict_first.u64 %0, [%1];" : "=l"(bits) : "l"(address));
        return *reinterpret_cast<T*>(&bits);
    }
#endif
}

template <class T, class position_t> __device__ __forceinline__ T read_once(const T* array, position_t at) {
    return read_once(array + at);
}

struct Nothing {
    template <class position_t> __device__ __forceinline__ void operator()(position_t, position_t, u32) const {}
};

// Combine the terms at positions first, first + step, ... below last, in this order. Several loads overlap. Beyond the
// end, the last term is loaded again and dropped, so that loads need not wait for a branch. `ahead` is called before
// each group of loads.
template <class Body, class position_t, class Term, class Ahead = Nothing>
__device__ __forceinline__ auto reduce_run(
    Body& body, position_t first, position_t last, u32 step, Term term, Ahead ahead = Nothing()) {
    typedef typename Body::value_t value_t;
    constexpr u32 AT_ONCE = (sizeof(value_t) <= 8 ? 4 : sizeof(value_t) <= 16 ? 2 : 1) << Body::brings_near;
    value_t total = body.identity();
    for (position_t at = first; at < last; at += AT_ONCE * step) {
        ahead(at, last, AT_ONCE);
        value_t terms[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) terms[k] = term(least<position_t>(at + k * step, last - 1));
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (at + k * step < last) total = body.combine(total, terms[k]);
        if constexpr (Body::has_terminal) {
            if (body.is_terminal(total)) break;
        }
    }
    return total;
}

// Combine all terms from position `first` up to `last` by a group of `lanes` threads. Only the first thread of the
// group has the result. All threads of the warp call this together.
template <u32 lanes, class Body, class position_t, class Term, class Ahead = Nothing>
__device__ __forceinline__ auto reduce_by_lanes(
    Body& body, position_t first, position_t last, Term term, Ahead ahead = Nothing()) {
    typedef typename Body::value_t value_t;
    const position_t length = last - first;
    if constexpr (lanes == 1) return reduce_run(body, first, last, 1, term);
    const u32 me = threadIdx.x & (lanes - 1);
    u32 used;  // number of threads that have a term
    value_t total;
    if constexpr (Body::ordered) {
        const position_t share = (length + lanes - 1) / lanes, start = least<position_t>(me * share, length);
        used = share ? (u32)((length + share - 1) / share) : 0;
        total = reduce_run(body, first + start, first + least<position_t>(start + share, length), 1, term);
    } else {
        used = (u32)least<position_t>(length, lanes);
        total = reduce_run(body, first + me, last, lanes, term, ahead);
    }
#pragma unroll
    for (u32 step = 1; step < lanes; step <<= 1) {
        const value_t above = shuffle(total, me + step, lanes);
        if (me + step < used && !(me & (2 * step - 1))) total = body.combine(total, above);
    }
    return total;
}

// Reduce one piece of a long row by a warp. If it is the only piece of the row, the row is finished at once.
template <class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_piece(const Rows<offset_t>& rows, Body& body, u32 piece) {
    typedef typename Position<offset_t>::type position_t;
    const row_t row = (row_t)rows.long_rows[piece];
    if (!body.wanted(row)) return;
    const typename Body::had_t had = body.load(row);
    const position_t begin = rows.offsets[row], end = rows.offsets[row + 1];
    const position_t first = begin + (position_t)rows.numbers[piece] * rows.piece;
    const position_t last = least<position_t>(first + rows.piece, end);
    const auto term = [&](position_t at) { return body.term(row, at); };
    const auto ahead = [&](position_t at, position_t last, u32 terms) {
        if constexpr (Body::brings_near && !Body::has_terminal) {
            const position_t first = at - lane(), upto = least<position_t>(first + WARP * terms, last) - 1;
            // In the last group of loads, some lanes have no term and do not get here. As all lanes must call
            // `bring_near`, it is not called for that group.
            if (last - first >= WARP) body.bring_near(lane() == WARP - 1 ? upto : first);
        }
    };
    const auto total = reduce_by_lanes<WARP>(body, first, last, term, ahead);
    if (lane() != 0) return;
    if (end - begin <= rows.piece)
        body.finish(row, total, had);
    else
        reinterpret_cast<typename Body::value_t*>(rows.partials)[piece] = total;
}

// The row of a thread, and where the row's entries begin and end. A warp takes a group of rows, one row for each
// `lanes` of its threads.
template <class offset_t> struct Extent {
    typedef typename Position<offset_t>::type position_t;
    u64 row;
    position_t first, last;

    template <u32 lanes> __device__ __forceinline__ static Extent find(const Rows<offset_t>& rows, u64 group) {
        const u64 row = group * (WARP / lanes) + lane() / lanes;
        return row < rows.count ? Extent{row, (position_t)rows.offsets[row], (position_t)rows.offsets[row + 1]}
                                : Extent{row, 0, 0};
    }
};

// Reduce a group of rows by one warp, each row by `lanes` threads.
template <u32 lanes, class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_group(const Rows<offset_t>& rows, Body& body, const Extent<offset_t>& extent) {
    typedef typename Position<offset_t>::type position_t;
    const row_t row = (row_t)extent.row;
    const position_t first = extent.first;
    bool wanted = extent.row < rows.count;
    if constexpr (!Body::first_only) wanted = wanted && extent.last - first <= rows.limit;
    wanted = wanted && body.wanted(row);
    const position_t last = wanted ? extent.last : first;
    const bool finishes = wanted && (lane() & (lanes - 1)) == 0;
    typename Body::had_t had;
    if (finishes) had = body.load(row);
    if constexpr (Body::first_only) {
        if (finishes) body.finish(row, first < last ? body.term(row, first) : body.identity(), had);
    } else {
        const auto total = reduce_by_lanes<lanes>(body, first, last, [&](position_t at) { return body.term(row, at); });
        if (finishes) body.finish(row, total, had);
    }
}

// Return the position of the nth set bit of `bits`, counted from 0.
__device__ __forceinline__ u32 lane_of_bit(u32 bits, u32 n) {
    u32 place = 0;
#pragma unroll
    for (u32 step = WARP / 2; step; step >>= 1)
        if (__popc(bits & ((1u << (place + step)) - 1)) <= n) place += step;
    return place;
}

// Reduce up to 32 rows with their entries packed side by side. Each lane has one row of `length` entries from position
// `begin` on, and gets the combination of its terms in `total`. The rows of a warp may be any rows if `listed`, and are
// consecutive otherwise. The packed entries are processed in chunks of 32. In `row_starts`, the bits of those entries
// are set at which a row starts, and a segmented scan combines the terms of each row. The first chunk is shifted so
// that chunks of adjacent rows coincide with cache lines. (Testing a few entries of all rows first made reductions that
// stop early twice as fast, and all other reductions slower by a fifth.)
template <bool listed, class row_t, class position_t, class Body, class value_t>
__device__ __forceinline__ void add_packed(Body& body, row_t row, position_t begin, u32 length, value_t& total) {
    constexpr u32 AT_ONCE = sizeof(value_t) <= 4 ? 8 : sizeof(value_t) <= 8 ? 4 : 2;
    const u32 holder = lane_of_bit(__ballot_sync(ALL, length != 0), lane());  // the lane that has the nth nonempty row
    const u32 gap = (u32)shuffle(begin, __shfl_sync(ALL, holder, 0)) & (WARP - 1);
    const u32 upto = gap + scan_inclusive(length), before = upto - length, all = __shfl_sync(ALL, upto, WARP - 1);
    const position_t shift = shuffle<position_t>(begin - before, holder);
    const u32 lanes_to_here = 2 * lanes_below() + 1;
    u32 begins;  // position of the nth nonempty row's first term among all packed terms
    if constexpr (Body::brings_near) {
        begins = __shfl_sync(ALL, before, holder);
        if (lane() >= __popc(__ballot_sync(ALL, length != 0))) begins = ALL;
    }
    u32 started = 0;  // number of nonempty rows that have started so far
    for (u32 base = 0; all > gap && base < all; base += WARP * AT_ONCE) {
        value_t terms[AT_ONCE];
        u32 row_starts[AT_ONCE], over = 0;  // over: the lanes whose rows need no further term
        if constexpr (Body::has_terminal) over = __ballot_sync(ALL, body.is_terminal(total));
        if constexpr (Body::brings_near) {
            const u32 place = least(lane() == WARP - 1 ? base + WARP * AT_ONCE - 1 : most(base, gap), all - 1);
            u32 nth = 0;
#pragma unroll
            for (u32 step = WARP / 2; step; step >>= 1)
                if (__shfl_sync(ALL, begins, nth + step) <= place) nth += step;
            body.bring_near(place + shuffle(shift, nth));
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 start = base + k * WARP;
            row_starts[k] = __reduce_or_sync(ALL, length && before - start < WARP ? 1u << (before - start) : 0);
            const u32 nth = most(started + __popc(row_starts[k] & lanes_to_here), 1u) - 1;
            started += __popc(row_starts[k]);
            const u32 owner = __shfl_sync(ALL, holder, nth), rank = least(most(start + lane(), gap), all - 1);
            const row_t its = listed ? shuffle(row, owner) : (row_t)(row - lane() + owner);
            const position_t at = rank + shuffle(shift, nth);
            if constexpr (Body::has_terminal) terms[k] = body.identity();
            if (!Body::has_terminal || !(over >> owner & 1)) terms[k] = body.term(its, at);
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 start = base + k * WARP, mine = row_starts[k] & lanes_to_here;
            if (start >= all) break;
            const u32 head = mine ? WARP - 1 - __clz(mine) : 0;
#pragma unroll
            for (u32 step = 1; step < WARP; step <<= 1) {
                const value_t below = shuffle(terms[k], lane() - step);
                if (lane() >= head + step) terms[k] = body.combine(below, terms[k]);
            }
            // position of the last entry in the chunk that belongs to this lane's row, if the chunk has such entries
            const u32 last = least(upto, start + WARP) - 1;
            const value_t found = shuffle(terms[k], last - start);
            if (most(before, start) <= last && last >= start && length) total = body.combine(total, found);
        }
    }
}

// Reduce 32 consecutive rows by a warp, with their entries packed side by side.
template <class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_packed(const Rows<offset_t>& rows, Body& body, const Extent<offset_t>& extent) {
    const row_t row = (row_t)extent.row;
    const auto length = extent.last - extent.first;
    const bool wanted = extent.row < rows.count && length <= rows.limit && body.wanted(row);
    typename Body::had_t had;
    if (wanted) had = body.load(row);
    typename Body::value_t total = body.identity();
    add_packed<false>(body, row, extent.first, wanted ? (u32)length : 0, total);
    if (wanted) body.finish(row, total, had);
}

template <u32 lanes, class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_rows(const Rows<offset_t>& rows, Body& body) {
    constexpr u32 width = lanes == PACKED ? 1 : lanes;
    const u32 pieces = Body::first_only ? 0 : rows.pieces;
    u64 item = warp_of_grid();
    for (; item < pieces; item += warps_of_grid()) reduce_piece<row_t>(rows, body, (u32)item);
    const u64 groups = (rows.count * width + WARP - 1) / WARP;
    u64 group = item - pieces;
    auto coming = Extent<offset_t>::template find<width>(rows, group);
    for (; group < groups; group += warps_of_grid()) {
        const auto extent = coming;
        // The next group of rows is loaded early, while the current group is processed.
        coming = Extent<offset_t>::template find<width>(rows, group + warps_of_grid());
        if constexpr (lanes == PACKED && !Body::first_only)
            reduce_packed<row_t>(rows, body, extent);
        else
            reduce_group<width, row_t>(rows, body, extent);
    }
}

// Combine the results of the pieces of each row that was cut into pieces, in the order of pieces. A warp processes a
// row. All blocks must wait for each other between `reduce_rows` and this.
template <class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_cut_rows(const Rows<offset_t>& rows, Body& body) {
    typedef typename Body::value_t value_t;
    if constexpr (Body::first_only) return;
    const value_t* partials = reinterpret_cast<const value_t*>(rows.partials);
    for (u64 i = warp_of_grid(); i < rows.cut; i += warps_of_grid()) {
        const row_t row = (row_t)rows.cut_rows[i];
        if (!body.wanted(row)) continue;
        const typename Body::had_t had = body.load(row);
        const u64 length = rows.offsets[row + 1] - rows.offsets[row];
        const u32 first = rows.cut_pieces[i], last = first + (u32)((length + rows.piece - 1) / rows.piece);
        const value_t total = reduce_by_lanes<WARP>(body, first, last, [&](u32 at) { return fresh(partials + at); });
        if (lane() == 0) body.finish(row, total, had);
    }
}

}  // namespace gasla
