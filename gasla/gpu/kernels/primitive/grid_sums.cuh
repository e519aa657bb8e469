// Prefix sums by all threads of a cooperative grid, with one barrier.
#pragma once
#include "runtime.cuh"

namespace gasla {

// The range of items, of n in all, that a block processes. Each thread visits item begin + threadIdx.x and every
// blockDim.x-th item after it.
struct BlockShare {
    u64 begin, end;

    __device__ __forceinline__ explicit BlockShare(u64 n) {
        const u64 tiles = (n + blockDim.x - 1) / blockDim.x, each = (tiles + gridDim.x - 1) / gridDim.x * blockDim.x;
        begin = least(n, blockIdx.x * each);
        end = least(n, begin + each);
    }
    template <class Visit> __device__ __forceinline__ void each(Visit visit) const {
        for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) visit(i);
    }
};

// For each thread of a block, the sum of x over all threads up to this one (`upto`), and over all threads (`all`).
struct BlockSums {
    u64 upto, all;

    __device__ __forceinline__ explicit BlockSums(u64 x) {
        __shared__ u64 of_warps[WARP];
        upto = scan_inclusive(x);
        __syncthreads();  // wait, because the previous sums may still be read
        if (lane() == WARP - 1) of_warps[warp_of_block()] = upto;
        __syncthreads();
        all = 0;
        for (u32 w = 0; w < warps_of_block(); ++w) {
            if (w == warp_of_block()) upto += all;
            all += of_warps[w];
        }
    }
};

// Call store(i, sum of value(j) over all j < i) for each of n items, and return the sum over all items. Each thread
// visits the same items in both passes, those of its `BlockShare`. `sums` is memory for one word per block.
template <class Value, class Store>
__device__ u64 sum_over_grid(u64 n, u64* sums, Barrier& barrier, Value value, Store store) {
    const BlockShare own(n);
    u64 mine = 0;
    own.each([&](u64 i) { mine += value(i); });
    const u64 of_block = BlockSums(mine).all;
    if (threadIdx.x == 0) sums[blockIdx.x] = of_block;
    barrier.wait();
    u64 before = 0, total = 0;
    for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x) {
        const u64 other = fresh(sums + b);
        total += other;
        if (b < blockIdx.x) before += other;
    }
    before = BlockSums(before).all;
    total = BlockSums(total).all;
    for (u64 first = own.begin; first < own.end; first += blockDim.x) {
        const u64 i = first + threadIdx.x, x = i < own.end ? value(i) : 0;
        const BlockSums tile(x);
        if (i < own.end) store(i, before + tile.upto - x);
        before += tile.all;
    }
    return total;
}

}  // namespace gasla
