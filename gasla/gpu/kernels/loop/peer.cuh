// What a kernel knows about the other GPUs (its peers), and where it stores a vertex's value for the peers that mirror
// (keep a copy of) the vertex.
#pragma once
#include "runtime.cuh"

namespace gasla {

// For a group of 32 vertices, the bits of those that a peer mirrors (keeps a copy of), and the number of vertices
// before this group that the peer mirrors. Both give the position of a vertex among all vertices that the peer mirrors.
struct Mirrored {
    u32 bits, before;
};

// What this GPU knows about another GPU, the peer (`PEER` in peers.py). Members whose names end with `there` point to
// the peer's memory, and those whose names end with `here` to memory of this GPU.
struct Peer {
    const vertex_t* sends;  // this GPU's vertices that the peer mirrors, ascending
    const Mirrored* mirrored;  // the same vertices as bitmaps, one for each 32 vertices of this GPU
    const vertex_t* receives;  // this GPU's mirrors of the peer's vertices, in the order of the peer's `sends`
    // From position `plain` on, the mirror at position i has the id `first` + i, so `receives` is only read before
    // `plain`.
    u64 plain, first;
    u64 sent, received;  // lengths of `sends` and of `receives`
    void *notice_there[2], *notice_here[2];
    u32 *bits_there[2], *bits_here[2];  // which of these vertices are active, as a bitmap or a list
    char *values_there[2], *values_here[2];  // the values of these vertices, one field after another
};

// Return the number of entries that each field takes in a buffer of values for `count` vertices. It is rounded up, so
// that every field is aligned and there is an entry for each vertex in a list of active vertices (see `list_room`).
__device__ __forceinline__ u64 entries_of(u64 count) { return (count + 63) / 64 * 64; }

// Return how many vertices a list can hold that is stored in the memory of a bitmap of `count` vertices.
__device__ __forceinline__ u64 list_room(u64 count) { return ((count + WARP - 1) / WARP + 63) / 64 * 64; }

// Return the position of a vertex among those that a peer mirrors (keeps a copy of), or ALL if the peer doesn't mirror
// it.
__device__ __forceinline__ u32 place_of(Mirrored mirrored, u64 v) {
    const u32 bit = 1u << (v % WARP);
    return mirrored.bits & bit ? mirrored.before + __popc(mirrored.bits & (bit - 1)) : ALL;
}

// The addresses to which a kernel stores the value of a vertex at its peers as soon as the value is computed (`STORES`
// in peers.py). The struct is part of the kernel's arguments, which are fast to read. The first entry is for the GPU
// after this one, and so on.
struct Stores {
    static constexpr u32 MOST_PEERS = 31;
    struct {
        const Mirrored* mirrored;
        char* values[2];
        u64 entries;
    } peers[MOST_PEERS];

    // Return which vertices the first peer mirrors, for the group of 32 vertices that contains v. The caller loads this
    // before it reads a row and uses it afterwards, so that the load takes no time.
    __device__ __forceinline__ Mirrored load(u64 v) const {
        return peers[0].mirrored ? peers[0].mirrored[v / WARP] : Mirrored{0, 0};
    }

    // Call `store(values, i, entries)` for each peer that mirrors vertex v, with the peer's buffer of values, the
    // position i of v in this buffer, and the number of entries per field.
    template <class Store>
    __device__ __forceinline__ void at_mirrors(u32 ranks, u32 half, u64 v, Mirrored first, Store store) const {
        for (u32 i = 0; i + 1 < ranks; ++i) {
            const u32 place = place_of(i == 0 ? first : peers[i].mirrored[v / WARP], v);
            if (place != ALL) store(peers[i].values[half], (u64)place, peers[i].entries);
        }
    }
};

}  // namespace gasla
