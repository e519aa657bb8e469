// Symbolic phase of products of sparse matrices: counts the columns of each row, or, given an array for them, writes
// them in ascending order.
//
// Rows of few columns insert them into a table in shared memory, of 4 threads, of a warp, or of a multiprocessor's quarter
// for one warp, and sort it. Others are cut into windows of columns,
// each a bitmap in shared memory of a warp; where windows would have too few partial products, one warp uses a table in
// global memory, and writes the columns in the order of the table. methods.cuh chooses the method of a row.
#pragma once

#include "methods.cuh"

namespace gasla {

constexpr u32 AT_ONCE = 4;  // pairs per lane that are in flight together

// Arguments of all of these kernels.
struct Structure {
    CSR a, b, left_out;   // entries of `left_out`, if it has offsets, do not count
    const long long* rows;  // the rows to process, or null for all
    u64 count;
    const long long* pairs;    // partial products of each row of A
    u32 width;                 // columns of B
    long long* sizes;          // output: number of columns of each row of A,
    const long long* offsets;  // or, once they are known, row offsets of the product
    int* columns;              // output; null while columns are counted

    __device__ __forceinline__ u64 most(long long row) const { return MaxColumns{pairs, offsets, left_out.offsets, width}(row); }
};

constexpr u32 OUT = 0x80000000u;  // flag bit of a column that is left out

// Insert the columns of a row; returns the number of new ones.
template <u32 lanes>
__device__ __forceinline__ u32 insert_pairs(const Structure& s, const Table& table, bool has_row, long long row) {
    const u64 first = has_row ? s.a.offsets[row] : 0, last = has_row ? s.a.offsets[row + 1] : 0;
    table.clear<lanes>();
    __syncwarp();
    if (s.left_out.offsets && has_row)
        for (u64 at = s.left_out.offsets[row] + lane_of<lanes>(); at < (u64)s.left_out.offsets[row + 1]; at += lanes)
            table.insert((u32)s.left_out.indices[at], OUT);
    __syncwarp();
    u32 found = 0;
    for_each_pair<lanes, AT_ONCE>(first, last, WholeRow{s.a, s.b}, [&](const Pair (&pairs)[AT_ONCE]) {
        u32 columns[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) columns[k] = pairs[k].valid ? (u32)s.b.indices[pairs[k].right] : NONE;
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (columns[k] != NONE) found += table.insert(columns[k]);
    });
    __syncwarp();
    return sum_lanes<lanes>(found);
}

// Move the columns of a table to its front, without those left out; returns their number.
template <u32 lanes> __device__ __forceinline__ u32 compact(const Table& table) {
    u32* keys = table.keys + table.start;
    const u32 first = lane() & ~(lanes - 1), all = ALL >> (WARP - lanes);
    u32 found = 0;
    for (u32 i = lane_of<lanes>(); i < table.size(); i += lanes) {
        const u32 key = keys[i];
        const u32 votes = __ballot_sync(ALL, key < OUT) >> first & all;
        __syncwarp();  // all lanes have read their key; a vote does not guarantee it
        if (key < OUT) keys[found + __popc(votes & ((1u << lane_of<lanes>()) - 1))] = key;
        found += __popc(votes);
    }
    __syncwarp();
    return found;
}

// Batcher's bitonic sort of the first `count` keys of a table.
template <u32 lanes> __device__ __forceinline__ void sort_first(const Table& table, u32 count) {
    u32* keys = table.keys + table.start;
    const u32 longest = most_of_rows<lanes>(count);  // all rows of the warp run the same number of steps
    u32 size = 1;
    while (size < longest) size <<= 1;
    for (u32 i = count + lane_of<lanes>(); i < size; i += lanes) keys[i] = NONE;
    __syncwarp();
    for (u32 run = 2; run <= size; run <<= 1)
        for (u32 distance = run / 2; distance; distance >>= 1) {
            for (u32 i = lane_of<lanes>(); i < size / 2; i += lanes) {
                const u32 here = 2 * i - (i & (distance - 1)), there = here + distance;
                const u32 x = keys[here], y = keys[there];
                if ((x > y) == !(here & run)) keys[here] = y, keys[there] = x;
            }
            __syncwarp();
        }
}

// Rows for which tables of 2^most_bits slots suffice; all tables of a warp have the size that its largest row needs.
template <u32 lanes, u32 most_bits> __device__ __forceinline__ void find_columns_in_tables(const Structure& s, u32* keys) {
    constexpr u32 groups = WARP / lanes;
    const u32 group = lane() / lanes;
    for (u64 base = this_warp_of_grid() * groups; base < s.count; base += warps_of_grid() * groups) {
        const bool has_row = base + group < s.count;
        const long long row = has_row ? row_at(s.rows, base + group) : 0;
        const u32 bits = least(most_bits, most_of_rows<lanes>(bits_for(has_row ? s.most(row) : 0)));
        const Table table{keys, group << most_bits, bits};
        u32 found = insert_pairs<lanes>(s, table, has_row, row);
        if (s.columns) {
            found = compact<lanes>(table);
            sort_first<lanes>(table, found);
            const long long to = has_row ? s.offsets[row] : 0;
            for (u32 i = lane_of<lanes>(); has_row && i < found; i += lanes) s.columns[to + i] = (int)keys[table.start + i];
            __syncwarp();
        } else if (has_row && lane_of<lanes>() == 0) {
            s.sizes[row] = found;
        }
    }
}

// Rows cut into `windows` windows of `width` columns, a multiple of 32; `bits` has room for one window. `counts`
// receives the number of columns of each window, or, once they are known, holds the number of columns in earlier
// windows of the row.
__device__ __forceinline__ void find_columns_in_windows(const Structure& s, u32* bits, u32 width, u32 windows, u32* counts) {
    for (u64 item = this_warp_of_grid(); item < s.count * windows; item += warps_of_grid()) {
        const long long row = s.rows[item / windows], low = (long long)(item % windows) * width;
        for (u32 i = lane(); i < width / WARP; i += WARP) bits[i] = 0;
        __syncwarp();
        const ColumnWindow part{s.a, s.b, low, low + width};
        for_each_pair<WARP, AT_ONCE>(s.a.offsets[row], s.a.offsets[row + 1], part, [&](const Pair (&pairs)[AT_ONCE]) {
            u32 columns[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k) columns[k] = pairs[k].valid ? s.b.indices[pairs[k].right] - (u32)low : NONE;
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; ++k)
                if (columns[k] != NONE) claim(bits, columns[k]);
        });
        __syncwarp();
        if (s.left_out.offsets)
            for (u64 at = s.left_out.offsets[row] + lane(); at < (u64)s.left_out.offsets[row + 1]; at += WARP) {
                const u32 column = (u32)s.left_out.indices[at] - (u32)low;
                if (column < width) atomicAnd(bits + column / WARP, ~bit_of(column));
            }
        __syncwarp();
        if (s.columns) {
            int* to = s.columns + s.offsets[row] + counts[item];
            for (u32 i = 0; i < width / WARP; ++i) {
                const u32 word = bits[i];
                if (word >> lane() & 1) to[__popc(word & lanes_below())] = (int)(low + i * WARP + lane());
                to += __popc(word);
            }
        } else {
            u32 found = 0;
            for (u32 i = lane(); i < width / WARP; i += WARP) found += __popc(bits[i]);
            found = warp_sum(found);
            if (lane() == 0) counts[item] = found;
        }
        __syncwarp();
    }
}

// Rows whose tables are in global memory, each from `places[item]` on.
__device__ __forceinline__ void find_columns_in_memory(const Structure& s, u32* keys, const u64* places) {
    for (u64 item = this_warp_of_grid(); item < s.count; item += warps_of_grid()) {
        const long long row = s.rows[item];
        const Table table{keys + places[item], 0, bits_for(s.most(row))};
        const u32 found = insert_pairs<WARP>(s, table, true, row);
        if (!s.columns) {
            if (lane() == 0) s.sizes[row] = found;
            continue;
        }
        int* to = s.columns + s.offsets[row];
        for (u32 i = 0; i < table.size(); i += WARP) {
            const u32 column = table.keys[i + lane()];
            const u32 votes = __ballot_sync(ALL, column < OUT);
            if (column < OUT) to[__popc(votes & lanes_below())] = (int)column;
            to += __popc(votes);
        }
    }
}

}  // namespace gasla
