// Product of a sparse matrix and a dense matrix X: a reduction over the sparse matrix's compressed rows, whose entries
// are combined with rows of X, for each column of X separately. `lanes` threads (1 to 32, a power of two) process a
// row. Each thread processes `width` adjacent columns of X with one load of up to 16 bytes, and loops if X has more
// columns. Rows longer than `limit` entries are cut into pieces (rows.py). No thread waits for another thread here. [G.
// Huang, G. Dai, Y. Wang, H. Yang: GE-SpMM: General-purpose Sparse Matrix-Matrix Multiplication on GPUs for Graph
// Neural Networks. SC 2020.]
//
// All threads call
//
//     reduce_dense<lanes, width, row_t>(rows, columns, body);
//     ... the end of the kernel ...
//     reduce_dense_cut_rows<lanes, width, row_t>(rows, columns, body);   // only if rows.cut is not 0
//
// The parameter `body` is an object that has value_t, has_terminal, identity, combine and is_terminal as in rows.cuh,
// and
//
//     typedef ... entry_t;                                what is loaded of an entry of the sparse matrix
//     typedef ... x_t;                                    `width` values of X
//     entry_t entry(position_t position);
//     x_t load(entry_t entry, u32 column);                values of X from this column on
//     value_t term(row_t row, entry_t entry, x_t x, u32 i, u32 column);   the term of value i in x, at this column
//     typedef ... had_t;                                  what `finish` reads of the previous results
//     had_t load_old(row_t row, u32 column);
//     bool wanted(row_t row, u32 column);                 the column is skipped if false; if it ever is,
//                                                         `width` is 1
//     void finish(row_t row, u32 column, const value_t (&totals)[width], had_t had);
//
// The order in which terms are combined is fixed by the graph, so results are bit-identical in every run.
#pragma once

#include "rows.cuh"

namespace gasla {

// `width` adjacent values, which one instruction loads or stores. The compiler alone might use several instructions.
template <class T, u32 width> struct alignas(sizeof(T) * width) Pack {
    T item[width];

    // Load adjacent values. The instruction is marked volatile, so that consecutive loads overlap and the compiler does
    // not delay a load until the branch that uses the value.
    __device__ __forceinline__ static Pack load(const T* from) {
#ifndef GASLA_EMULATED
        if constexpr (sizeof(Pack) == 16) {
            u64 words[2];
            asm volatile("ld.global.nc.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(from));
            return *reinterpret_cast<Pack*>(words);
        } else if constexpr (sizeof(Pack) == 8) {
            u64 word;
            asm volatile("ld.global.nc.u64 %0, [%1];" : "=l"(word) : "l"(from));
            return *reinterpret_cast<Pack*>(&word);
        } else if constexpr (sizeof(Pack) == 4) {
            u32 word;
            asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(from));
            return *reinterpret_cast<Pack*>(&word);
        }
#endif
        return *reinterpret_cast<const Pack*>(from);
    }
    __device__ __forceinline__ void store(T* to) const {
#ifndef GASLA_EMULATED
        const u64* words = reinterpret_cast<const u64*>(this);
        if constexpr (sizeof(Pack) % 16 == 0) {
#pragma unroll
            for (u32 i = 0; i < sizeof(Pack) / 8; i += 2)
                asm volatile("st.global.v2.u64 [%0], {%1, %2};"
                             ::"l"(reinterpret_cast<u64*>(to) + i), "l"(words[i]), "l"(words[i + 1]) : "memory");
            return;
        } else if constexpr (sizeof(Pack) == 8) {
            asm volatile("st.global.u64 [%0], %1;" ::"l"(to), "l"(words[0]) : "memory");
            return;
        }
#endif
        *reinterpret_cast<Pack*>(to) = *this;
    }
};

// A row or a piece of a row, which a group of threads reduces next. The range is empty if no row is left.
template <class row_t, class position_t> struct Run {
    row_t row;
    position_t first, last;
    bool wanted, is_part;  // is_part: the result is that of a piece, not of the whole row
};

// Numbers that describe the row or piece after the next one. They are loaded early, so that the loads of its entries
// need not wait for them.
template <class row_t, class offset_t> struct Coming {
    typedef typename Position<offset_t>::type position_t;
    row_t row;
    position_t first, last;
    u32 number;
    bool is_piece, wanted;

    template <class Body>
    __device__ __forceinline__ static Coming read(const Rows<offset_t>& rows, u64 item, u32 column, const Body& body) {
        Coming coming{0, 0, 0, 0, item < rows.pieces, false};
        if (item >= rows.pieces + rows.count) return coming;
        if (coming.is_piece) {
            coming.row = (row_t)rows.long_rows[item];
            coming.number = rows.numbers[item];
        } else {
            coming.row = (row_t)(item - rows.pieces);
        }
        coming.first = rows.offsets[coming.row];
        coming.last = rows.offsets[coming.row + 1];
        coming.wanted = body.wanted(coming.row, column);
        return coming;
    }
    __device__ __forceinline__ Run<row_t, position_t> found(const Rows<offset_t>& rows) const {
        const position_t length = last - first, start = first + (position_t)number * rows.piece;
        if (!wanted || is_piece != (length > rows.limit)) return {row, 0, 0, false, false};
        if (!is_piece) return {row, first, last, true, false};
        return {row, start, least<position_t>(last, start + rows.piece), true, length > rows.piece};
    }
};

// Load the first AT_ONCE entries of a row or piece. Beyond the end of the row or piece, its last entry is loaded again,
// which the caller drops.
template <u32 AT_ONCE, class Body, class position_t>
__device__ __forceinline__ void read_entries(
    const Body& body, position_t first, position_t last, typename Body::entry_t (&entries)[AT_ONCE]
) {
    if (first >= last) return;
#pragma unroll
    for (u32 k = 0; k < AT_ONCE; ++k) entries[k] = body.entry(least<position_t>(first + k, last - 1));
}

// Reduce one row or piece, whose first entries have been loaded before. The first entries of the next row or piece are
// loaded together with the last rows of X that this one needs.
template <u32 AT_ONCE, u32 width, class Run, class Body, class value_t>
__device__ __forceinline__ void reduce_run_of_columns(
    const Body& body, const Run& run, const Run& next, u32 column, typename Body::entry_t (&coming)[AT_ONCE],
    value_t (&totals)[width]
) {
#pragma unroll
    for (u32 i = 0; i < width; ++i) totals[i] = body.identity();
    if (run.first >= run.last) read_entries(body, next.first, next.last, coming);
    for (auto at = run.first; at < run.last; at += AT_ONCE) {
        typename Body::entry_t entries[AT_ONCE];
        typename Body::x_t xs[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) entries[k] = coming[k], xs[k] = body.load(entries[k], column);
        const bool goes_on = run.last - at > AT_ONCE;
        read_entries(body, goes_on ? at + AT_ONCE : next.first, goes_on ? run.last : next.last, coming);
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) {
            // The term is selected without a branch, because loads would have to wait for a branch.
            const bool counts = at + k < run.last;
#pragma unroll
            for (u32 i = 0; i < width; ++i) {
                const value_t total = body.combine(totals[i], body.term(run.row, entries[k], xs[k], i, column + i));
                totals[i] = counts ? total : totals[i];
            }
        }
        if constexpr (Body::has_terminal) {
            bool is_over = goes_on;
#pragma unroll
            for (u32 i = 0; i < width; ++i) is_over = is_over && body.is_terminal(totals[i]);
            if (!is_over) continue;
            read_entries(body, next.first, next.last, coming);
            break;
        }
    }
}

template <u32 lanes, u32 width, class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_dense(const Rows<offset_t>& rows, u32 columns, Body& body) {
    typedef typename Body::value_t value_t;
    typedef Coming<row_t, offset_t> Part;
    constexpr u32 AT_ONCE = sizeof(value_t) * width <= 32 ? 4 : 2;
    value_t* partials = reinterpret_cast<value_t*>(rows.partials);
    const u64 groups = threads_of_grid() / lanes;
    for (u32 column = (threadIdx.x & (lanes - 1)) * width; column < columns; column += lanes * width) {
        u64 item = thread_of_grid() / lanes;
        auto run = Part::read(rows, item, column, body).found(rows);
        auto next = Part::read(rows, item + groups, column, body).found(rows);
        typename Body::entry_t coming[AT_ONCE];
        read_entries(body, run.first, run.last, coming);
        for (; item < rows.pieces + rows.count; item += groups) {
            const Part after = Part::read(rows, item + 2 * groups, column, body);
            typename Body::had_t had;
            if (run.wanted && !run.is_part) had = body.load_old(run.row, column);
            value_t totals[width];
            reduce_run_of_columns(body, run, next, column, coming, totals);
            if (run.is_part) {
#pragma unroll
                for (u32 i = 0; i < width; ++i) partials[item * columns + column + i] = totals[i];
            } else if (run.wanted) {
                body.finish(run.row, column, totals, had);
            }
            run = next, next = after.found(rows);
        }
    }
}

// Combine the results of the pieces of each row that was cut into pieces, in the order of pieces.
template <u32 lanes, u32 width, class row_t, class offset_t, class Body>
__device__ __forceinline__ void reduce_dense_cut_rows(const Rows<offset_t>& rows, u32 columns, Body& body) {
    typedef typename Body::value_t value_t;
    const value_t* partials = reinterpret_cast<const value_t*>(rows.partials);
    const u64 groups = threads_of_grid() / lanes;
    for (u32 column = (threadIdx.x & (lanes - 1)) * width; column < columns; column += lanes * width)
        for (u64 item = thread_of_grid() / lanes; item < rows.cut; item += groups) {
            const row_t row = (row_t)rows.cut_rows[item];
            if (!body.wanted(row, column)) continue;
            const typename Body::had_t had = body.load_old(row, column);
            const u64 length = rows.offsets[row + 1] - rows.offsets[row];
            const u64 first = rows.cut_pieces[item], last = first + (length + rows.piece - 1) / rows.piece;
            value_t totals[width];
#pragma unroll
            for (u32 i = 0; i < width; ++i) totals[i] = partials[first * columns + column + i];
            for (u64 piece = first + 1; piece < last; ++piece)
#pragma unroll
                for (u32 i = 0; i < width; ++i)
                    totals[i] = body.combine(totals[i], partials[piece * columns + column + i]);
            body.finish(row, column, totals, had);
        }
}

}  // namespace gasla
