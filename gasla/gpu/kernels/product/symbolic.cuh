// Symbolic phase of a product of sparse matrices, A times B. It counts the columns of each row of the product or, given
// an array for them, writes these columns.
//
// Columns of a short row are inserted into a hash table in shared memory and sorted. Such a table belongs to 4 threads,
// to a warp, or to a warp that uses a quarter of a multiprocessor's shared memory. Longer rows are cut into windows of
// columns, each of which is a bitmap in the shared memory of a warp. If windows would have too few partial products, a
// warp uses a hash table in global memory, and writes the columns in the order of the table. methods.cuh chooses the
// method for each row.
#pragma once

#include "methods.cuh"

namespace gasla {

constexpr u32 AT_ONCE = 4;  // pairs of entries per lane whose loads overlap

// The arguments of all kernels of the symbolic phase, which find the columns of a product's rows.
struct Structure {
    CSR a, b, left_out;  // entries of `left_out`, if it has offsets, are left out of the product
    const long long* rows;  // the rows to process, or null for all rows
    u64 count;
    const long long* pairs;  // for each row of A, the number of partial products
    u32 width;  // number of columns of B
    long long* sizes;  // output: the number of columns of each row of the product
    const long long* offsets;  // row offsets of the product, once the sizes are known
    int* columns;  // output: the columns; null while they are only counted

    __device__ __forceinline__ u64 most(long long row) const { return MaxColumns{pairs, offsets, left_out.offsets, width}(row); }
};

constexpr u32 OUT = 0x80000000u;  // flag in the table's key of a column that is left out of the product

// Insert the columns of a row of the product into a hash table. Returns the number of columns, not counting those that
// a mask leaves out.
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

// Move the columns in a hash table to its first slots, except those that a mask leaves out. Returns their number.
template <u32 lanes> __device__ __forceinline__ u32 compact(const Table& table) {
    u32* keys = table.keys + table.start;
    const u32 first = lane() & ~(lanes - 1), all = ALL >> (WARP - lanes);
    u32 found = 0;
    for (u32 i = lane_of<lanes>(); i < table.size(); i += lanes) {
        const u32 key = keys[i];
        const u32 votes = __ballot_sync(ALL, key < OUT) >> first & all;
        __syncwarp();  // wait until all lanes have read their key, which a vote does not guarantee
        if (key < OUT) keys[found + __popc(votes & ((1u << lane_of<lanes>()) - 1))] = key;
        found += __popc(votes);
    }
    __syncwarp();
    return found;
}

// Sort the first `count` columns of a hash table by Batcher's bitonic sort.
template <u32 lanes> __device__ __forceinline__ void sort_first(const Table& table, u32 count) {
    u32* keys = table.keys + table.start;
    const u32 longest = most_of_rows<lanes>(count);  // so that all rows of the warp take the same number of steps
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

// Find the columns of rows for which hash tables of 2^most_bits slots suffice. All tables of a warp have the size that
// the largest of the warp's rows needs.
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

// Find the columns of rows in `windows` windows, ranges of `width` columns, a multiple of 32. `bits` is memory for the
// bitmap of one window. While columns are counted, counts[i] receives the number of columns in window i. While columns
// are written, counts[i] is the number of columns in earlier windows of the same row.
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

// Find the columns of rows whose hash tables are in global memory. The table of the i-th row begins at slot places[i].
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
