// Compressed vertex ids, whose lowest bits are in pinned host memory and whose other bits are on the GPU. The format is
// described in gasla/graph/packed.py. `ids[k]` decodes entry k alone, so kernels read such an array as they would read
// a pointer to ids.
#pragma once
#include "runtime.cuh"

namespace gasla {

// Return the position of the nth set bit of `bits`, counted from 0. There must be more than n set bits.
__device__ __forceinline__ u32 place_of_bit(u64 bits, u32 n) {
    const u32 low = __popc((u32)bits);
    const bool above = n >= low;
    const u32 half = above ? (u32)(bits >> 32) : (u32)bits, nth = above ? n - low : n;
    u32 place = 0;
#pragma unroll
    for (u32 step = 16; step; step >>= 1)
        if (__popc(half & ((1u << (place + step)) - 1)) <= nth) place += step;
    return place + (above ? 32 : 0);
}

struct PackedIds {
    static constexpr u32 ENTRIES = 32, BLOCKS = 8, OF_GROUP = ENTRIES * BLOCKS;
    static constexpr u32 ADDRESS_BITS = 48, SIZE_BITS = 5, SHIFT_BITS = 5, FROM_ZERO = (1 << SHIFT_BITS) - 1;

    struct Group {  // BLOCKS blocks of ENTRIES ids, in GPU memory
        // The address of the group's lowest bits in host memory. Above ADDRESS_BITS bits, it has the window, that is,
        // the range of numbers in which the group's ids lie.
        u64 place;
        u64 ends;  // for each block, in one byte: the number of words of lowest bits up to the end of the block
        u32 bases[BLOCKS];
        u64 uppers[BLOCKS];
    };
    const Group* groups;

    // The place at which the lowest bits of one id are stored in host memory.
    struct Place {
        const u32* words;  // the words of the id's block
        u32 width;
        u32 bit;  // position of the id's first bit in these words

        __device__ __forceinline__ const u32* word() const { return words + bit / 32; }
        template <class Read> __device__ __forceinline__ u32 load(Read read) const {
            if (width == 0) return 0;
            const u32 shift = bit % 32, low = read(word()) >> shift;
            const u32 high = shift + width > 32 ? read(word() + 1) << (32 - shift) : 0;
            return (low | high) & ((1u << width) - 1);
        }
    };
    __device__ __forceinline__ static Place place_of(const Group& group, u64 place, u64 k) {
        const u64 ends = __ldg(&group.ends);
        const u32 at = 8 * (u32)(k / ENTRIES % BLOCKS), before = (u32)((ends << 8) >> at) & 255;
        const u32 width = ((u32)(ends >> at) & 255) - before;
        const u32* words = (const u32*)(place & (((u64)1 << ADDRESS_BITS) - 1)) + before;
        return Place{words, width, (u32)k % ENTRIES * width};
    }

    template <class position_t> __device__ __forceinline__ Place place_of(position_t k) const {
        const Group& group = groups[(u64)k / OF_GROUP];
        return place_of(group, __ldg(&group.place), (u64)k);
    }

    template <class position_t> __device__ __forceinline__ int operator[](position_t k) const {
        return get(k, [](const u32* word) { return __ldg(word); });
    }
    // Decode entry k. Its lowest bits are in one or two words of host memory, which `read` loads.
    template <class position_t, class Read> __device__ __forceinline__ int get(position_t k, Read read) const {
        const Group& group = groups[(u64)k / OF_GROUP];
        const u32 block = (u32)k / ENTRIES % BLOCKS, nth = (u32)k % ENTRIES;
        const u64 place = __ldg(&group.place);
        const Place its = place_of(group, place, (u64)k);
        const u32 low = its.load(read);  // issued first, as this read crosses the link to the host and takes longest
        const u32 high = place_of_bit(__ldg(group.uppers + block), nth) - nth;
        const u32 window = (u32)(place >> ADDRESS_BITS), bits = window % (1 << SIZE_BITS);
        const u32 shift = (window >> SIZE_BITS) % (1 << SHIFT_BITS), steps = window >> (SIZE_BITS + SHIFT_BITS);
        const u32 start = shift == FROM_ZERO ? 0 : __ldg(group.bases) - (steps << shift);
        const u32 key = __ldg(group.bases + block) - start + (high << its.width) + low;
        return (int)(start + (key & ((1u << bits) - 1)));
    }
};

// Return the address that a kernel reads first to get entry k, so that the kernel can prefetch it.
template <class T, class position_t> __device__ __forceinline__ const void* address_of(const T* ids, position_t k) {
    return ids + k;
}
template <class position_t> __device__ __forceinline__ const void* address_of(PackedIds ids, position_t k) {
    return ids.groups + (u64)k / PackedIds::OF_GROUP;
}

// A warp's copy, in shared memory, of the words with the lowest bits of the ids that it is about to decode. The copy is
// made by long reads, so each word crosses the link from the host once. In the L1 cache, words would be evicted before
// all their ids are decoded, and cross the link again.
struct NearWords {
    static constexpr u32 MOST = 192, QUAD = 4;
    struct alignas(16) Quad {
        u32 words[QUAD];
    };
    Quad* copies;  // the warp's buffer in shared memory, of MOST words
    const u32* first = nullptr;
    u32 count = 0;

    // Copy the words with the lowest bits of the entries k of all lanes: from the word of the first lane's entry to
    // that of the last lane's entry. All lanes of the warp must call this. If there are too many words for the buffer,
    // none is copied.
    template <class position_t> __device__ __forceinline__ void copy(PackedIds ids, position_t k) {
        const PackedIds::Place its = ids.place_of(k);
        const u64 from = shuffle((u64)its.word(), 0) & ~(u64)31, upto = shuffle((u64)its.word(), WARP - 1) + 8;
        __syncwarp();  // wait until all lanes have read the previous copies
        first = (const u32*)from;
        count = upto - from <= MOST * sizeof(u32) ? (u32)(upto - from) / sizeof(u32) : 0;
        for (u32 quad = lane(); quad * QUAD < count; quad += WARP) copies[quad] = ((const Quad*)from)[quad];
        __syncwarp();
    }
    __device__ __forceinline__ u32 operator()(const u32* word) const {
        const u64 at = (u64)(word - first);
        return at < count ? ((const u32*)copies)[at] : __ldg(word);
    }
};

template <class position_t> __device__ __forceinline__ int read_once(PackedIds ids, position_t k) { return ids[k]; }

}  // namespace gasla
