// Reduction over the compressed rows of a matrix, all of them, balanced by the degrees.
//
// `lanes` threads (1 to 32, a power of two) take a row; or, where `lanes` is PACKED, a warp takes 32 rows and puts their
// entries side by side, so that rows of any lengths keep all lanes busy. A row longer than `limit` entries is cut into
// pieces, each for a whole warp. What suits a graph is decided once, on the host (rows.py). All threads of all blocks call
//
//     reduce_rows<lanes>(rows, body);
//     ... a barrier of the grid, or the end of the kernel ...
//     reduce_cut_rows(rows, body);        // only if rows.cut is not 0: the rows of several pieces
//
// and nothing here waits for another block, so that a plain kernel may have as many blocks as find work and a cooperative
// one its few. Which thread takes which row depends on the size of the grid alone. (To hand out rows as warps get to them
// was slower: an atomic an item costs more than what imbalance there is.)
//
// A body has
//     typedef ... value_t;                          any plain struct
//     static constexpr bool ordered;                combine only neighbours, in their stored order
//     static constexpr bool first_only;             any entry will do: the first is taken
//     static constexpr bool has_terminal;           is_terminal is worth asking
//     value_t identity();                           what a row without entries comes to
//     value_t combine(value_t x, value_t y);
//     bool is_terminal(value_t x);                  nothing can change x any more
//     bool wanted(row_t row);                       else the row is left alone
//     value_t term(row_t row, position_t position); no side effects: an entry may be asked for twice
//     typedef ... had_t;                            what `finish` needs to know of the row beforehand
//     had_t load(row_t row);                        asked for before the entries of the row
//     void finish(row_t row, value_t value, had_t had);    once for each wanted row, by one thread
// Each thread has a body of its own, so that `finish` may add something up in it.
//
// What `finish` overwrites it must not read itself: a store to a line whose load is under way costs several times what
// all else does (a PageRank iteration on a grid 1.6 ms instead of 0.25).
//
// The order of the terms is fixed by the graph: the same bits every run.
#pragma once

#include "runtime.cuh"

namespace gasla {

constexpr u32 PACKED = 0;

// Where the rows are and how they are shared out, for offsets of type int or long long. The host fills it (rows.py).
template <class offset_t> struct Rows {
    const offset_t* offsets;
    const long long* cut_rows;   // rows of several pieces,
    const u32* cut_pieces;       // and their first pieces;
    const long long* long_rows;  // the row of each piece,
    const u32* numbers;          // and which of the row's pieces it is
    void* partials;              // one value a piece
    u64 count;                   // of rows
    u32 pieces;
    u32 cut;
    u32 limit;  // entries of the longest row that stays whole
    u32 piece;  // entries of a piece
};

template <class offset_t> struct Position {
    typedef typename Choose<sizeof(offset_t) == 8, u64, u32>::type type;
};

// A read that its warp alone needs, soon to be done with: first to leave the L1 cache, which is then free for others.
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

// The terms from `first` up to `last`, `step` apart, in that order. Some are under way at a time: past the end the last
// one is read again and dropped, so that loads needn't wait for a branch.
template <class Body, class position_t, class Term>
__device__ __forceinline__ auto reduce_run(Body& body, position_t first, position_t last, u32 step, Term term) {
    typedef typename Body::value_t value_t;
    constexpr u32 AT_ONCE = sizeof(value_t) <= 8 ? 4 : sizeof(value_t) <= 16 ? 2 : 1;
    value_t total = body.identity();
    for (position_t at = first; at < last; at += AT_ONCE * step) {
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

// All terms from `first` up to `last`, by the `lanes` threads around this one; the first of them gets the value. All
// threads of the warp come here together.
template <u32 lanes, class Body, class position_t, class Term>
__device__ __forceinline__ auto reduce_by_lanes(Body& body, position_t first, position_t last, Term term) {
    typedef typename Body::value_t value_t;
    const position_t length = last - first;
    if constexpr (lanes == 1) return reduce_run(body, first, last, 1, term);
    const u32 me = threadIdx.x & (lanes - 1);
    u32 used;  // threads with a term
    value_t total;
    if constexpr (Body::ordered) {
        const position_t share = (length + lanes - 1) / lanes, start = least<position_t>(me * share, length);
        used = share ? (u32)((length + share - 1) / share) : 0;
        total = reduce_run(body, first + start, first + least<position_t>(start + share, length), 1, term);
    } else {
        used = (u32)least<position_t>(length, lanes);
        total = reduce_run(body, first + me, last, lanes, term);
    }
#pragma unroll
    for (u32 step = 1; step < lanes; step <<= 1) {
        const value_t above = shuffle(total, me + step, lanes);
        if (me + step < used && !(me & (2 * step - 1))) total = body.combine(total, above);
    }
    return total;
}

// One piece of a long row; a row of one piece is finished at once.
template <class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_piece(const Rows<offset_t>& rows, Body& body, u32 piece) {
    typedef typename Position<offset_t>::type position_t;
    const row_t row = (row_t)rows.long_rows[piece];
    if (!body.wanted(row)) return;
    const typename Body::had_t had = body.load(row);
    const position_t begin = rows.offsets[row], end = rows.offsets[row + 1];
    const position_t first = begin + (position_t)rows.numbers[piece] * rows.piece;
    const position_t last = least<position_t>(first + rows.piece, end);
    const auto total = reduce_by_lanes<WARP>(body, first, last, [&](position_t at) { return body.term(row, at); });
    if (lane() != 0) return;
    if (end - begin <= rows.piece)
        body.finish(row, total, had);
    else
        reinterpret_cast<typename Body::value_t*>(rows.partials)[piece] = total;
}

// A thread's row in a group of rows, one for each `lanes` threads of a warp, and where its entries are.
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

// A group of rows.
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

// The lane of the nth bit that is set.
__device__ __forceinline__ u32 lane_of_bit(u32 bits, u32 n) {
    u32 place = 0;
#pragma unroll
    for (u32 step = WARP / 2; step; step >>= 1)
        if (__popc(bits & ((1u << (place + step)) - 1)) <= n) place += step;
    return place;
}

// Each lane holds a row (any, if `listed`, else one after the other) of `length` entries from `begin` on; the terms of all
// of them are combined into `total`. Entry by entry side by side, 32 make a chunk; a bit of `heads` says that a row
// starts there. The first chunk starts before the first entry, such that a chunk of neighbouring rows is a line of the
// cache and not parts of two. (To look at a few entries of all rows first, as some may need no more, made reductions
// that end early twice as fast, and all others by a fifth slower.)
template <bool listed, class row_t, class position_t, class Body, class value_t>
__device__ __forceinline__ void add_packed(Body& body, row_t row, position_t begin, u32 length, value_t& total) {
    constexpr u32 AT_ONCE = sizeof(value_t) <= 4 ? 8 : sizeof(value_t) <= 8 ? 4 : 2;
    const u32 holder = lane_of_bit(__ballot_sync(ALL, length != 0), lane());  // of the nth row that isn't empty
    const u32 gap = (u32)shuffle(begin, __shfl_sync(ALL, holder, 0)) & (WARP - 1);
    const u32 upto = gap + scan_inclusive(length), before = upto - length, all = __shfl_sync(ALL, upto, WARP - 1);
    const position_t shift = shuffle<position_t>(begin - before, holder);
    const u32 lanes_to_here = 2 * lanes_below() + 1;
    u32 started = 0;  // rows that aren't empty
    for (u32 base = 0; all > gap && base < all; base += WARP * AT_ONCE) {
        value_t terms[AT_ONCE];
        u32 heads[AT_ONCE], over = 0;  // rows of which nothing more needs to be seen
        if constexpr (Body::has_terminal) over = __ballot_sync(ALL, body.is_terminal(total));
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 start = base + k * WARP;
            heads[k] = __reduce_or_sync(ALL, length && before - start < WARP ? 1u << (before - start) : 0);
            const u32 nth = most(started + __popc(heads[k] & lanes_to_here), 1u) - 1;
            started += __popc(heads[k]);
            const u32 owner = __shfl_sync(ALL, holder, nth), rank = least(most(start + lane(), gap), all - 1);
            const row_t its = listed ? shuffle(row, owner) : (row_t)(row - lane() + owner);
            const position_t at = rank + shuffle(shift, nth);
            if constexpr (Body::has_terminal) terms[k] = body.identity();
            if (!Body::has_terminal || !(over >> owner & 1)) terms[k] = body.term(its, at);
        }
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            const u32 start = base + k * WARP, mine = heads[k] & lanes_to_here;
            if (start >= all) break;
            const u32 head = mine ? WARP - 1 - __clz(mine) : 0;
#pragma unroll
            for (u32 step = 1; step < WARP; step <<= 1) {
                const value_t below = shuffle(terms[k], lane() - step);
                if (lane() >= head + step) terms[k] = body.combine(below, terms[k]);
            }
            const u32 last = least(upto, start + WARP) - 1;  // my row's last entry in this chunk, if it has any
            const value_t found = shuffle(terms[k], last - start);
            if (most(before, start) <= last && last >= start && length) total = body.combine(total, found);
        }
    }
}

// 32 rows, side by side.
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
        coming = Extent<offset_t>::template find<width>(rows, group + warps_of_grid());  // while this one is under way
        if constexpr (lanes == PACKED && !Body::first_only)
            reduce_packed<row_t>(rows, body, extent);
        else
            reduce_group<width, row_t>(rows, body, extent);
    }
}

// The rows that were cut: their pieces' values, in order, by a warp. A barrier after `reduce_rows`.
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
