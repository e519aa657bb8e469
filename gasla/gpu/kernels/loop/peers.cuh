// Runs one program on several GPUs. After each iteration, every GPU stores what has changed into the memory of its
// peers (the other GPUs), waits for them, and reads what they have stored in its own memory. The hosts take no part in
// this.
//
// Each GPU runs this loop on its part of the graph: the vertices that it owns, with all edges over which they gather,
// and mirrors (copies) of neighbors that other GPUs own. Buffers and notices have two halves, which are used in turn. A
// GPU that is one iteration ahead writes to the other half, so one wait per iteration is enough.
//
// In programs where every vertex reduces its row and applies (`SENDS_AT_ONCE`), values are stored at peers as they are
// computed, while other rows are still read. In other programs `send` stores them afterwards.
#pragma once
#include "loop.cuh"
#include "peer.cuh"

namespace gasla {

// What a GPU reports to each peer once per iteration. `round` is written last, and tells the peer that all other
// members are valid. If few vertices are active, `listed` is the length of a list. It has the positions of active
// vertices among those that the peer mirrors, or ALL for an active vertex that the peer doesn't mirror. Values are in
// the order of this list. Otherwise `listed` is NOT_LISTED, and a bitmap tells which mirrored vertices are active.
constexpr u64 NOT_LISTED = ~(u64)0;
// The counter STOPPED has this value if the notice of some GPU has not come, so that values of mirrors may be out of
// date.
constexpr u64 ALONE = 2;
// In place of a number of active vertices, this tells the host that the run has failed (peers.py).
constexpr u64 UNKNOWN = ~(u64)0;
template <class P> struct Notice {
    u64 round, active, stops, listed;
    typename P::Sums sums;
};

// Exchange values with all other GPUs after an iteration. At the beginning of a launch, only the numbers of active
// vertices and the aggregates are exchanged.
template <class P> __device__ __forceinline__ void Loop<P>::exchange(bool begins) {
    if constexpr (P::PEERS) {
        by_one_thread([&] { ++now.round; });
        if (begins || !P::SENDS_AT_ONCE) {  // otherwise values were stored at peers before the last barrier
            if constexpr (!P::SENDS_AT_ONCE)
                if (!begins) send();
            barrier.wait();
        }
        meet();
        if (!begins && count_now(STOPPED) != ALONE) take_in();
        by_one_thread([&] {
            hear();
            if constexpr (P::SENDS_AT_ONCE) c.u.half = (now.round + 1) & 1;
            if constexpr (P::HAS_STOP)
                if (!begins) {  // `stop` is evaluated with the number of the iteration that has just ended
                    --c.u.self_iteration;
                    now.done = P::stop(c);
                    ++c.u.self_iteration;
                }
            choose();
        });
    }
}

// Make an iteration on a GPU that has no active vertex while other GPUs have some. Only counters advance, so that all
// GPUs stay in the same iteration.
template <class P> __device__ __forceinline__ void Loop<P>::pass() {
    if constexpr (P::PEERS) {
        by_one_thread([&] {
            note(0);
            if constexpr (P::AGGREGATES) {
                s.sums[0] = P::no_sums();
                parts(parity())[blockIdx.x] = P::no_sums();
            }
            now.form = LIST;
            rotate_counters();
            begin_iteration(c.u.self_iteration + 1);
        });
    }
}

// Return whether this GPU sends its active vertices to a peer as a list. Otherwise it sends a bitmap.
template <class P> __device__ __forceinline__ bool Loop<P>::lists_for(const Peer& peer) const {
    return now.form == LIST && (peer.sent == 0 || now.size <= list_room(peer.sent));
}

// Return whether this GPU sends its active vertices to all peers as lists, so that no bitmap of them is needed.
template <class P> __device__ __forceinline__ bool Loop<P>::lists_for_all() const {
    bool all = true;
    for (u32 rank = 0; rank < c.a.ranks; ++rank) all = all && (rank == c.a.rank || lists_for(c.a.peers[rank]));
    return all;
}

// Store at each peer the values of the active vertices that the peer mirrors, and which vertices are active. If all
// vertices are active in every iteration, store all values. Each GPU begins with the peer after itself, so that not all
// GPUs write to the same peer at once.
template <class P> __device__ __forceinline__ void Loop<P>::send() {
    constexpr int AT_ONCE = 8;  // vertices per lane whose loads overlap
    if constexpr (P::KEEPS_ACTIVE)
        if (now.form == LIST && !lists_for_all()) to_bits();
    const u32 half = now.round & 1;
    for (u32 step = 1; step < c.a.ranks; ++step) {
        const Peer& peer = c.a.peers[(c.a.rank + step) % c.a.ranks];
        if (peer.sent == 0) continue;
        if constexpr (P::KEEPS_ACTIVE)
            if (lists_for(peer)) {
                const Entry* active = queue(parity());
                for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) {
                    const vertex_t v = active[i].vertex;
                    const u32 place = place_of(peer.mirrored[v / WARP], v);
                    peer.bits_there[half][i] = place;
                    if (place != ALL) P::send(c, v, peer.values_there[half], i, entries_of(peer.sent));
                }
                continue;
            }
        const vertex_t* sends = peer.sends;
        const u64 count = peer.sent, entries = entries_of(count);
        char* values = peer.values_there[half];
        u32* bits = peer.bits_there[half];
        for (u64 base = this_warp_of_grid() * WARP * AT_ONCE; base < count; base += threads_of_grid() * AT_ONCE) {
            vertex_t v[AT_ONCE];
            bool is[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                is[k] = base + k * WARP + lane() < count;
                v[k] = is[k] ? sends[base + k * WARP + lane()] : 0;
            }
            if constexpr (P::KEEPS_ACTIVE) {
#pragma unroll
                for (int k = 0; k < AT_ONCE; ++k) is[k] = is[k] && has(c.active(), v[k]);
                u32 mine = 0;
#pragma unroll
                for (int k = 0; k < AT_ONCE; ++k) {
                    const u32 word = __ballot_sync(ALL, is[k]);
                    if (lane() == k) mine = word;
                }
                if (lane() < AT_ONCE && base + lane() * WARP < count) bits[base / WARP + lane()] = mine;
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k)
                if (is[k]) P::send(c, v[k], values, base + k * WARP + lane(), entries);
        }
    }
}

// Tell all peers that this GPU has ended the iteration, and wait until all peers have ended it, too. The first warp
// does this after all blocks have met at a barrier, with one lane for each peer. If a peer fails, its notice never
// comes. The host then learns of the failure and asks this kernel to stop. If a peer's kernel cannot start, this kernel
// gives up after WAIT nanoseconds.
template <class P> __device__ __forceinline__ void Loop<P>::meet() {
    constexpr u32 POLLS = 1 << 10;  // polls of a notice between two reads of the host's page
    constexpr u64 WAIT = 60000000000;  // 60 s in nanoseconds, the same as in peers.py
    const u32 half = now.round & 1;
    if (thread_of_grid() == 0) *counter(ROUSED) = (u64)now.edges << c.a.shift | now.size;
    if (blockIdx.x == 0 && threadIdx.x < c.a.ranks) {
        const Peer& peer = c.a.peers[threadIdx.x];
        Notice<P>* there = (Notice<P>*)peer.notice_there[half];
        const Notice<P>* here = (const Notice<P>*)peer.notice_here[half];
        there->active = now.size + now.far;
        there->stops = count_now(STOPPED);
        there->listed = !P::KEEPS_ACTIVE || !lists_for(peer) ? NOT_LISTED : peer.sent ? now.size : 0;
        there->sums = s.sums[0];
        store_release_to_peer(&there->round, now.round);
        const u64 began = nanoseconds();
        for (u32 i = 1; load_acquire_of_peer(&here->round) < now.round; ++i) {
            if (i % POLLS) continue;
            if (((volatile Page*)c.a.page)->stop != c.a.launch && nanoseconds() - began < WAIT) continue;
            *counter(STOPPED) = ALONE;
            break;
        }
    }
    barrier.wait();
}

// Read the values that peers have stored in this GPU's memory into its mirrors (copies of the peers' vertices), and add
// the mirrors that are active to the active set.
template <class P> __device__ __forceinline__ void Loop<P>::take_in() {
    const u32 half = now.round & 1;
    if constexpr (P::KEEPS_ACTIVE) {
        bool lists = now.form == LIST;  // whether all GPUs have sent lists, so that the active set stays a list
        for (u32 rank = 0; rank < c.a.ranks; ++rank) lists = lists && (rank == c.a.rank || listed_by(rank) != NOT_LISTED);
        if (lists) return append_mirrors();
        if (now.form == LIST && lists_for_all()) to_bits();  // if any peer got a bitmap, `send` has built it already
    }
    u64 taken = 0;
    for (u32 rank = 0; rank < c.a.ranks; ++rank) {
        if (rank == c.a.rank) continue;
        const Peer& peer = c.a.peers[rank];
        const u64 first = peer.first, plain = peer.plain, count = peer.received, entries = entries_of(count);
        const char* values = peer.values_here[half];
        if constexpr (!P::KEEPS_ACTIVE) {
#pragma unroll 8
            for (u64 i = thread_of_grid(); i < count; i += threads_of_grid())
                P::receive(c, i < plain ? peer.receives[i] : (vertex_t)(first + i), values, i, entries);
        } else {
            const auto take = [&](u64 place, u64 at) {
                const vertex_t v = (vertex_t)(first + place);
                P::receive(c, v, values, at, entries);
                atomicOr(c.active() + v / WARP, bit_of(v));
                taken += 1;
                if constexpr (P::SENDS) taken += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
            };
            const u32* bits = peer.bits_here[half];
            if (const u64 listed = listed_by(rank); listed != NOT_LISTED) {
                for (u64 i = thread_of_grid(); i < listed; i += threads_of_grid())
                    if (bits[i] != ALL) take(bits[i], i);
                continue;
            }
            const u64 words = (count + WARP - 1) / WARP;
            for (u64 base = this_warp_of_grid(); base < words; base += WARP * warps_of_grid()) {
                const u64 own = base + lane() * warps_of_grid();
                const u32 mine = own < words ? bits[own] : 0;
                for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
                    const u32 k = __ffs(rest) - 1, word = __shfl_sync(ALL, mine, k);
                    const u64 i = (base + k * warps_of_grid()) * WARP + lane();
                    if (word >> lane() & 1) take(i, i);
                }
            }
        }
    }
    if constexpr (P::KEEPS_ACTIVE) add_to(ROUSED, taken);
    barrier.wait();
    if constexpr (P::KEEPS_ACTIVE) {
        count_roused(BITS);
        if constexpr (P::PRIORITISED && !P::ONLY_PULLS) {  // with priorities, the active set is always a list
            to_list(c.active(), parity());
            by_one_thread([&] {
                now.form = LIST;
                now.edges = edges_of(fresh(counter(LISTED)));
            });
        }
    }
}

// Return the length of the list of active vertices that the GPU `rank` has stored in this GPU's memory. Return
// NOT_LISTED if that GPU has sent a bitmap instead.
template <class P> __device__ __forceinline__ u64 Loop<P>::listed_by(u32 rank) const {
    return fresh(&((const Notice<P>*)c.a.peers[rank].notice_here[now.round & 1])->listed);
}

// Update the mirrors (copies of other GPUs' vertices) that are active, and append them to the list of active vertices.
template <class P> __device__ __forceinline__ void Loop<P>::append_mirrors() {
    if constexpr (P::KEEPS_ACTIVE) {
        const u32 half = now.round & 1;
        auto active = to_queue(parity(), ROUSED);
        for (u32 rank = 0; rank < c.a.ranks; ++rank) {
            if (rank == c.a.rank) continue;
            const Peer& peer = c.a.peers[rank];
            const u64 listed = listed_by(rank), entries = entries_of(peer.received);
            for (u64 base = this_warp_of_grid() * WARP; base < listed; base += threads_of_grid()) {
                const u64 i = base + lane();
                const u32 place = i < listed ? peer.bits_here[half][i] : ALL;
                const vertex_t v = place != ALL ? (vertex_t)(peer.first + place) : 0;
                if (place != ALL) P::receive(c, v, peer.values_here[half], i, entries);
                active.add(place != ALL, v);
            }
        }
        active.flush_block();
        barrier.wait();
        count_roused(LIST);
    }
}

// Set the size of the active set, mirrors included, and the number of its edges, to the values that all threads have
// added up in the counter ROUSED.
template <class P> __device__ __forceinline__ void Loop<P>::count_roused(u32 form) {
    by_one_thread([&] {
        const u64 all = count_now(ROUSED);
        now.size = count_of(all);
        now.edges = edges_of(all);
        now.form = form;
    });
}

// Sum the numbers of active vertices and the aggregates that all GPUs have reported. One thread of each block calls
// this, and all blocks get the same sums, so they make the same decisions.
template <class P> __device__ __forceinline__ void Loop<P>::hear() {
    typename P::Sums sums = P::no_sums();
    bool stops = count_now(STOPPED);
    now.everywhere = 0;
    for (u32 rank = 0; rank < c.a.ranks; ++rank) {
        const Notice<P>* here = (const Notice<P>*)c.a.peers[rank].notice_here[now.round & 1];
        now.everywhere += fresh(&here->active);
        stops = stops || fresh(&here->stops);
        if constexpr (P::AGGREGATES) sums = P::add_sums(sums, fresh(&here->sums));
    }
    s.stops = stops;
    if (count_now(STOPPED) == ALONE) now.everywhere = UNKNOWN;
    if constexpr (P::AGGREGATES) {
        P::take_sums(c, sums);
        s.sums[0] = sums;
    }
}

}  // namespace gasla
