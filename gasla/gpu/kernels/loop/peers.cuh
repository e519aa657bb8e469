// Supersteps over several GPUs: after each iteration a GPU stores what has changed into the memory of its peers, waits
// for them, and reads what they have stored here. No host takes part.
//
// Each GPU runs this loop on its own part of the graph: its own vertices, with all edges over which they gather, and
// mirrors of the neighbors that other GPUs own. Buffers and notices have two halves, used in turn: a GPU that is a
// superstep ahead writes to the other half, so one meeting per superstep suffices.
#pragma once
#include "loop.cuh"

namespace gasla {

// One of the GPUs, as another sees it: `PEER` in peers.py. `there` is in its memory, `here` in the memory of the GPU
// that has this struct.
struct Peer {
    const vertex_t* sends;      // vertices that it mirrors, in the order in which it takes them
    const vertex_t* receives;   // mirrors of its own vertices here; null if they are consecutive, from `first` on
    u64 sent, first, received;  // the numbers of both, and that first mirror
    void *notice_there[2], *notice_here[2];
    u32 *bits_there[2], *bits_here[2];       // which of these vertices are active
    char *values_there[2], *values_here[2];  // their values, one field after the other
};

// What a GPU reports to each peer once per superstep. `round` is written last.
template <class P> struct Notice {
    u64 round, active, stops;
    typename P::Sums sums;
};

// Entries of each field in a buffer of values: such that every field is aligned.
__device__ __forceinline__ u64 entries_of(u64 count) { return (count + 15) / 16 * 16; }

// Exchange values after an iteration; at the begin of a launch only the numbers of active vertices and aggregates.
template <class P> __device__ __forceinline__ void Loop<P>::exchange(bool begins) {
    if constexpr (P::PEERS) {
        by_one_thread([&] { ++now.round; });
        if (!begins) send();
        meet();
        if (!begins) take_in();
        by_one_thread([&] {
            hear();
            if constexpr (P::HAS_STOP)
                if (!begins) {  // evaluated as at the end of the iteration
                    --c.u.self_iteration;
                    now.done = P::stop(c);
                    ++c.u.self_iteration;
                }
            choose();
        });
    }
}

// An iteration of a GPU that has no active vertex, while others have.
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

// Store the values of active vertices, and which are active, at the peers that mirror them; if every vertex takes part,
// all values. Each GPU begins with the one after itself, so that they do not all store into the same at once.
template <class P> __device__ __forceinline__ void Loop<P>::send() {
    constexpr int AT_ONCE = 8;  // vertices per lane whose loads overlap
    if constexpr (P::KEEPS_ACTIVE)
        if (now.form == LIST) to_bits();
    const u32 half = now.round & 1;
    for (u32 step = 1; step < c.a.ranks; ++step) {
        const Peer& peer = c.a.peers[(c.a.rank + step) % c.a.ranks];
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

// Tell all peers that this GPU has ended the superstep, and wait until they have. The first warp does so, a lane for
// each peer. If a peer fails, its notice never comes: then the host, which learns of the failure, asks this kernel to
// stop. If a peer's kernel cannot start, this one gives up after WAIT.
template <class P> __device__ __forceinline__ void Loop<P>::meet() {
    constexpr u32 POLLS = 1 << 10;  // polls between looks at the host's page
    constexpr u64 WAIT = 60000000000;  // nanoseconds, as in peers.py
    const u32 half = now.round & 1;
    barrier.wait();
    if (blockIdx.x == 0 && threadIdx.x < c.a.ranks) {
        const Peer& peer = c.a.peers[threadIdx.x];
        Notice<P>* there = (Notice<P>*)peer.notice_there[half];
        const Notice<P>* here = (const Notice<P>*)peer.notice_here[half];
        there->active = now.size + now.far;
        there->stops = count_now(STOPPED);
        there->sums = s.sums[0];
        store_release_to_peer(&there->round, now.round);
        const u64 began = nanoseconds();
        for (u32 i = 1; load_acquire_of_peer(&here->round) < now.round; ++i) {
            if (i % POLLS) continue;
            if (((volatile Page*)c.a.page)->stop != c.a.launch && nanoseconds() - began < WAIT) continue;
            *counter(STOPPED) = 1;
            break;
        }
    }
    barrier.wait();
}

// Update the mirrors, and make those that are active part of the active set.
template <class P> __device__ __forceinline__ void Loop<P>::take_in() {
    const u32 half = now.round & 1;
    u64 taken = 0;
    for (u32 rank = 0; rank < c.a.ranks; ++rank) {
        const Peer& peer = c.a.peers[rank];
        const u64 first = peer.first, count = peer.received, entries = entries_of(count);
        const char* values = peer.values_here[half];
        if constexpr (!P::KEEPS_ACTIVE) {
#pragma unroll 4
            for (u64 i = thread_of_grid(); i < count; i += threads_of_grid())
                P::receive(c, peer.receives ? peer.receives[i] : (vertex_t)(first + i), values, i, entries);
        } else {
            const u64 words = (count + WARP - 1) / WARP;
            for (u64 base = this_warp_of_grid(); base < words; base += WARP * warps_of_grid()) {
                const u64 own = base + lane() * warps_of_grid();
                const u32 mine = own < words ? peer.bits_here[half][own] : 0;
                for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
                    const u32 k = __ffs(rest) - 1, word = __shfl_sync(ALL, mine, k);
                    const u64 i = (base + k * warps_of_grid()) * WARP + lane();
                    if (!(word >> lane() & 1)) continue;
                    const vertex_t v = (vertex_t)(first + i);
                    P::receive(c, v, values, i, entries);
                    atomicOr(c.active() + v / WARP, bit_of(v));
                    taken += 1;
                    if constexpr (P::SENDS) taken += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
                }
            }
        }
    }
    if constexpr (P::KEEPS_ACTIVE) add_to(ROUSED, taken);
    barrier.wait();
    if constexpr (P::KEEPS_ACTIVE) {
        by_one_thread([&] {
            const u64 more = count_now(ROUSED);
            now.size += count_of(more);
            now.edges += edges_of(more);
            now.form = BITS;
        });
        if constexpr (P::PRIORITISED && !P::ONLY_PULLS) {  // with priorities the active set is always a list
            to_list(c.active(), parity());
            by_one_thread([&] {
                now.form = LIST;
                now.edges = edges_of(fresh(counter(LISTED)));
            });
        }
    }
}

// Sum the counts of all GPUs. One thread of each block calls this, so that all blocks take the same decisions.
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
    if constexpr (P::AGGREGATES) {
        P::take_sums(c, sums);
        s.sums[0] = sums;
    }
}

}  // namespace gasla
