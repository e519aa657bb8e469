// What a kernel knows of the other GPUs, and where it stores a value of a vertex that they mirror.
#pragma once
#include "runtime.cuh"

namespace gasla {

// Which of 32 vertices a peer mirrors, and how many of those before them: with these a vertex finds its place.
struct Mirrored {
    u32 bits, before;
};

// One of the GPUs, as another sees it: `PEER` in peers.py. `there` is in its memory, `here` in the memory of the GPU
// that has this struct.
struct Peer {
    const vertex_t* sends;      // own vertices that it mirrors, ascending
    const Mirrored* mirrored;   // the same, for each 32 vertices here
    const vertex_t* receives;   // mirrors of its vertices here, in the order in which it has them
    u64 plain, first;           // from the one at `plain` on, their numbers are `first` + place, and are not read
    u64 sent, received;         // how many there are of both
    void *notice_there[2], *notice_here[2];
    u32 *bits_there[2], *bits_here[2];       // which of these vertices are active: a bitmap, or a list
    char *values_there[2], *values_here[2];  // their values, one field after the other
};

// Entries of each field in a buffer of values: such that every field is aligned, and a list (`list_room`) has room.
__device__ __forceinline__ u64 entries_of(u64 count) { return (count + 63) / 64 * 64; }

// Entries of a list in the memory of a bitmap.
__device__ __forceinline__ u64 list_room(u64 count) { return ((count + WARP - 1) / WARP + 63) / 64 * 64; }

// The place of an own vertex among those that a peer mirrors, or ALL.
__device__ __forceinline__ u32 place_of(Mirrored mirrored, u64 v) {
    const u32 bit = 1u << (v % WARP);
    return mirrored.bits & bit ? mirrored.before + __popc(mirrored.bits & (bit - 1)) : ALL;
}

// What a kernel that sends at once reads of its peers for each vertex: among its arguments, where reading takes no time.
// The first is the peer after itself, and so on. `STORES` in peers.py.
struct Stores {
    static constexpr u32 MOST_PEERS = 31;
    struct {
        const Mirrored* mirrored;
        char* values[2];
        u64 entries;
    } peers[MOST_PEERS];

    // Which vertices the first peer mirrors: loaded before a row is read, and used after it.
    __device__ __forceinline__ Mirrored load(u64 v) const {
        return peers[0].mirrored ? peers[0].mirrored[v / WARP] : Mirrored{0, 0};
    }

    // Call `store(values, i, entries)` for each peer that mirrors a vertex: with its buffer, and the place of the vertex.
    template <class Store>
    __device__ __forceinline__ void at_mirrors(u32 ranks, u32 half, u64 v, Mirrored first, Store store) const {
        for (u32 i = 0; i + 1 < ranks; ++i) {
            const u32 place = place_of(i == 0 ? first : peers[i].mirrored[v / WARP], v);
            if (place != ALL) store(peers[i].values[half], (u64)place, peers[i].entries);
        }
    }
};

}  // namespace gasla
