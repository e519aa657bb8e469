// Numeric phase of a product of sparse matrices, A times B. It computes values at given entries: those of a mask, or
// those of the product's structure, which the symbolic phase has found. A partial product whose column is not among the
// given entries of its row is dropped. An entry without partial products gets the identity.
//
// For a row with few entries, their columns are inserted into a hash table in shared memory with a value for each slot.
// Other rows are cut into windows of columns with one value per column in shared memory, or have a hash table in global
// memory, as in symbolic.cuh.
//
// The parameter `product` is an object with these members:
//
//     typedef ... value_t;                          any trivial struct
//     value_t identity();
//     value_t combine(value_t x, value_t y);
//     value_t term(long long row, u64 left, u64 right, int column);   of an entry of A and one of B
//     void finish(u64 at, const value_t& total);                      stores the value of an entry
#pragma once

#include "partial_products.cuh"

namespace gasla {

struct Entries {
    CSR a, b, given;  // `given`: the entries whose values are computed
    const long long* rows;  // the rows to process, or null for all rows
    u64 count;
    bool are_apart;  // whether no row of B has duplicate columns
};

// Combine each lane's term into the value of the lane's slot (an index of a value), or drop the term if the slot is
// NONE. Lanes with the same slot do so one after another, in the order of lanes.
template <class Product, class value_t = typename Product::value_t>
__device__ __forceinline__ void combine_in_turn(
    const Product& product, value_t* values, u32 slot, const value_t& term, bool may_meet
) {
    const bool has_term = slot != NONE;
    if (!__any_sync(ALL, may_meet)) {
        if (has_term) values[slot] = product.combine(values[slot], term);
        __syncwarp();
        return;
    }
    const u32 alike = __match_any_sync(ALL, has_term ? slot : 0x80000000u | lane());
    const u32 before = __popc(alike & lanes_below());
    for (u32 turn = 0;; ++turn) {
        if (has_term && before == turn) values[slot] = product.combine(values[slot], term);
        __syncwarp();
        if (!__any_sync(ALL, before > turn)) break;
    }
}

// Combine all partial products of a row into values. `slot_of(column)` returns the index of the value for a column, or
// NONE if the partial product is to be dropped.
template <u32 lanes, class Product, class Part, class Slot, class value_t = typename Product::value_t>
__device__ __forceinline__ void combine_pairs(
    const Product& product, const Entries& e, long long row, u64 first, u64 last, Part part, Slot slot_of, value_t* values
) {
    constexpr u32 AT_ONCE = sizeof(value_t) <= 8 ? 4 : 2;
    for_each_pair<lanes, AT_ONCE>(first, last, part, [&](const Pair (&pairs)[AT_ONCE]) {
        int columns[AT_ONCE];
        u32 slots[AT_ONCE];
        value_t terms[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (pairs[k].valid) columns[k] = e.b.indices[pairs[k].right];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) slots[k] = pairs[k].valid ? slot_of(columns[k]) : NONE;
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (slots[k] != NONE) terms[k] = product.term(row, pairs[k].left, pairs[k].right, columns[k]);
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            combine_in_turn(product, values, slots[k], terms[k], !e.are_apart || pairs[k].mixed);
    });
}

// Compute one row of the product by `lanes` threads with a hash table of their own. At the same time, the other lanes
// of the warp compute other rows, or none.
template <u32 lanes, class Product, class value_t = typename Product::value_t>
__device__ __forceinline__ void multiply_row(
    const Product& product, const Entries& e, bool has_row, long long row, const Table& table, value_t* values
) {
    const u64 first = has_row ? e.given.offsets[row] : 0, last = has_row ? e.given.offsets[row + 1] : 0;
    table.clear<lanes>();
    for (u32 i = lane_of<lanes>(); i < table.size(); i += lanes) values[table.start + i] = product.identity();
    __syncwarp();
    for (u64 at = first + lane_of<lanes>(); at < last; at += lanes) table.insert((u32)e.given.indices[at]);
    __syncwarp();
    const u64 begin = has_row ? e.a.offsets[row] : 0, end = has_row ? e.a.offsets[row + 1] : 0;
    const auto slot_of = [&](int column) { return table.find((u32)column); };
    combine_pairs<lanes>(product, e, row, begin, end, WholeRow{e.a, e.b}, slot_of, values);
    for (u64 at = first + lane_of<lanes>(); at < last; at += lanes)
        product.finish(at, values[table.find((u32)e.given.indices[at])]);
    __syncwarp();
}

// Compute rows of the product for which hash tables of 2^most_bits slots suffice. All tables of a warp have the size
// that the largest of the warp's rows needs.
template <u32 lanes, u32 most_bits, class Product, class value_t = typename Product::value_t>
__device__ __forceinline__ void multiply_in_tables(const Product& product, const Entries& e, u32* keys, value_t* values) {
    constexpr u32 groups = WARP / lanes;
    const u32 group = lane() / lanes;
    for (u64 base = this_warp_of_grid() * groups; base < e.count; base += warps_of_grid() * groups) {
        const bool has_row = base + group < e.count;
        const long long row = has_row ? row_at(e.rows, base + group) : 0;
        const u64 wanted = has_row ? e.given.offsets[row + 1] - e.given.offsets[row] : 0;
        const u32 bits = least(most_bits, most_of_rows<lanes>(bits_for(wanted)));
        multiply_row<lanes>(product, e, has_row, row, Table{keys, group << most_bits, bits}, values);
    }
}

// Compute rows of the product in `windows` windows, ranges of `width` columns. `values` is memory for one window. If
// the columns of given entries ascend in each row, the entries in a window are found by binary search. Otherwise all
// entries of the row are scanned for each window.
template <class Product, class value_t = typename Product::value_t>
__device__ __forceinline__ void multiply_in_windows(
    const Product& product, const Entries& e, value_t* values, u32 width, u32 windows, bool ascends
) {
    for (u64 item = this_warp_of_grid(); item < e.count * windows; item += warps_of_grid()) {
        const long long row = e.rows[item / windows], low = (long long)(item % windows) * width;
        for (u32 i = lane(); i < width; i += WARP) values[i] = product.identity();
        __syncwarp();
        const auto slot_of = [&](int column) { return (u32)column - (u32)low; };
        const ColumnWindow part{e.a, e.b, low, low + width};
        combine_pairs<WARP>(product, e, row, e.a.offsets[row], e.a.offsets[row + 1], part, slot_of, values);
        long long first = e.given.offsets[row], last = e.given.offsets[row + 1];
        if (ascends) {
            first = first_not_less(e.given.indices, first, last, low);
            last = first_not_less(e.given.indices, first, last, low + width);
        }
        for (u64 at = first + lane(); at < (u64)last; at += WARP) {
            const u32 slot = slot_of(e.given.indices[at]);
            if (slot < width) product.finish(at, values[slot]);
        }
        __syncwarp();
    }
}

// Compute rows of the product whose hash tables are in global memory. The table of the i-th row begins at slot
// places[i].
template <class Product, class value_t = typename Product::value_t>
__device__ __forceinline__ void multiply_in_memory(
    const Product& product, const Entries& e, u32* keys, value_t* values, const u64* places
) {
    for (u64 item = this_warp_of_grid(); item < e.count; item += warps_of_grid()) {
        const long long row = e.rows[item];
        const u32 bits = bits_for(e.given.offsets[row + 1] - e.given.offsets[row]);
        multiply_row<WARP>(product, e, true, row, Table{keys + places[item], 0, bits}, values + places[item]);
    }
}

}  // namespace gasla
