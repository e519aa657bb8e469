// Gathers by key over long rows, which were postponed. A block processes one row after another, with a hash table in
// its whole shared memory or, if that is too small, in global memory.
#pragma once
#include "loop.cuh"

namespace gasla {

#ifndef GASLA_EMULATED
template <class P> __device__ __forceinline__ char* tables_of_block() {
    extern __shared__ double tables[];
    return (char*)tables;
}
#endif

// Reduce the row of vertex v by a whole block. All threads get the result.
template <class P, bool TEST>
__device__ __forceinline__ Row<P> row_of_block(const typename P::Context& c, BlockBest<P>& s, vertex_t v) {
    constexpr u32 SLOTS_OF_BLOCK = P::TABLE_SLOTS * (THREADS / WARP);
    const offset_t first = c.a.gp[v];
    const u64 length = (u64)(c.a.gp[v + 1] - first);
    KeyTable<P> table;
    bool is_near = false;
    if constexpr (P::TABLE_SLOTS > 0) {
        is_near = length <= most_for(SLOTS_OF_BLOCK);
        if (is_near) table = table_in_block<P>(0, SLOTS_OF_BLOCK, length);
    }
    if (!is_near) {
        if (threadIdx.x == 0) s.place = take_slots<P>(c, length);
        __syncthreads();
        table = table_in_memory<P>(c, s.place, length);
    }
    table.clear(threadIdx.x, blockDim.x);
    __syncthreads();
    const bool found = fill_table<P, TEST, true>(c, table, v, first, WARP * this_warp(), blockDim.x, length);
    const bool receives = __syncthreads_or(found);
    const typename P::Gathered mine = best_of_lanes<P, WARP>(table.best(c, v, threadIdx.x, blockDim.x));
    if (lane() == 0) s.of_warps[warp_of_block()] = mine;
    __syncthreads();
    const typename P::Gathered own = lane() < warps_of_block() ? s.of_warps[lane()] : P::identity();
    return Row<P>{best_of_lanes<P, WARP>(own), receives, false};
}

// Reduce all postponed rows. The first warp of a block calls `then(v, row)` for each row that the block has reduced.
// All threads of the grid must call this.
template <class P> template <bool RECEIVER, class Then> __device__ __forceinline__ void Loop<P>::over_put_off(Then then) {
    if constexpr (P::KEYED) {
        if (P::SHARES_KEYS && c.a.put_off) {
            constexpr bool test = Tests<P, RECEIVER>::value;
            barrier.wait();
            const u64 count = fresh(keys_used<P>(c, PUT_OFF));
            for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
                const vertex_t v = c.a.put_off[i];
                Row<P> row = row_of_block<P, test>(c, s.block_best, v);
                row.found |= RECEIVER || P::EVERYONE;
                if (this_warp() == 0) then(v, row);
            }
        }
        forget_keys_used<P>(c);
    }
}

}  // namespace gasla
