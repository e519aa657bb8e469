// Continues a run in which no vertex is active. In programs with buckets (ranges of priorities), the vertices of the
// lowest nonempty bucket become active. In programs with `wake`, that function tells for every vertex whether it
// becomes active. The next iteration then begins as if the last one had activated these vertices.
#pragma once
#include "loop.cuh"

namespace gasla {

// Evaluate a function for the vertex of each lane, and return the lane's result. In programs with wide vectors, all
// lanes evaluate the function together, for the vertex of one lane after another.
template <class P, class Ask> __device__ __forceinline__ auto of_each(bool is, vertex_t v, Ask ask) {
    decltype(ask(v)) mine = {};
    if constexpr (!P::WIDE) {
        if (is) mine = ask(v);
    } else {
        for (u32 rest = __ballot_sync(ALL, is); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const auto its = ask(shuffle(v, owner));
            if (lane() == owner) mine = its;
        }
    }
    return mine;
}

template <class P> __device__ __forceinline__ void Loop<P>::resume() {
    if (now.size > 0 || (P::PRIORITISED && now.far > 0) || now.done || read[STOPPED]) return;
    if constexpr (P::BUCKETS)
        if (open_bucket()) return;
    if constexpr (P::WAKES) {
        wake();
        if constexpr (P::BUCKETS)
            open_bucket();
        else
            take_listed();
    }
}

// Let the initially active vertices wait until their bucket (range of priorities) opens, the lowest bucket first.
template <class P> __device__ __forceinline__ void Loop<P>::wait_all() {
    if constexpr (P::BUCKETS) {
        const Entry* entries = queue(parity());
        const u64 n = c.a.self_n;
        // If all vertices are active, whole words are written, because an atomic per vertex would take longer than all
        // that follows.
        if (now.size == n)
            for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid())
                c.a.waiting[w] = n - w * WARP >= WARP ? ALL : bit_of((vertex_t)(n % WARP)) - 1;
        else
            for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid())
                atomicOr(c.a.waiting + entries[i].vertex / WARP, bit_of(entries[i].vertex));
        barrier.wait();
        by_one_thread([&] { now.size = now.edges = 0; });
    }
}

// Call `visit(w, v, waits)` for each word w of the bitmap of waiting vertices that is not zero, with the vertex v of
// each lane and whether v waits. Each lane loads a word. The warp then visits the vertices of one word at a time.
template <class P> template <class Visit> __device__ __forceinline__ void Loop<P>::over_waiting(Visit visit) {
    for (u64 base = this_warp_of_grid(); base < c.a.words; base += WARP * warps_of_grid()) {
        const u64 own = base + lane() * warps_of_grid();
        const u32 mine = own < c.a.words ? c.a.waiting[own] : 0;
        for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
            const u32 k = __ffs(rest) - 1;
            const u64 w = base + k * warps_of_grid();
            visit(w, (vertex_t)(w * WARP + lane()), __shfl_sync(ALL, mine, k) >> lane() & 1);
        }
    }
}

// Open the lowest bucket (range of priorities): its vertices become active. Returns false if no vertex waits. The
// lowest bucket is found as the maximum of bitwise complements, so that 0 can mean that there is none.
template <class P> __device__ __forceinline__ bool Loop<P>::open_bucket() {
    const auto ask = [&](vertex_t v) { return P::bucket(c, v); };
    u64 found = 0;
    over_waiting([&](u64 w, vertex_t v, bool is) {
        const long long bucket = of_each<P>(is, v, ask);
        const u32 none = __ballot_sync(ALL, is && bucket < 0);
        if (lane() == 0 && none) c.a.waiting[w] &= ~none;
        if (is && bucket >= 0 && ~(u64)bucket > found) found = ~(u64)bucket;
    });
#pragma unroll 1
    for (u32 step = WARP / 2; step; step >>= 1) {
        const u64 other = __shfl_xor_sync(ALL, found, step);
        if (other > found) found = other;
    }
    if (lane() == 0 && found > count_now(LOWEST)) atomicMax(counter(LOWEST), found);
    barrier.wait();
    const u64 lowest = count_now(LOWEST);
    if (!lowest) return false;
    by_one_thread([&] { now.bucket = c.u.self_bucket = (long long)~lowest; });
    auto next = to_queue(parity(), ROUSED);
    over_waiting([&](u64 w, vertex_t v, bool is) {
        const long long bucket = of_each<P>(is, v, ask);
        const bool opens = is && bucket == now.bucket;
        const u32 word = __ballot_sync(ALL, opens);
        if (lane() == 0 && word) c.a.waiting[w] &= ~word;
        next.add(opens, v);
    });
    next.flush_block();
    take_listed();
    return true;
}

// Evaluate the program's function `wake` for all vertices. Vertices for which it returns true become active. If the
// program has buckets (ranges of priorities), these vertices wait for their bucket.
template <class P> __device__ __forceinline__ void Loop<P>::wake() {
    by_one_thread([&] {
        P::idle(c);
        now.remaining = c.a.m;
    });
    auto next = to_queue(parity(), ROUSED);
    for (u64 base = this_warp_of_grid() * WARP; base < c.a.self_n; base += threads_of_grid()) {
        const vertex_t v = (vertex_t)(base + lane());
        const bool wakes = of_each<P>(base + lane() < c.a.self_n, v, [&](vertex_t u) { return P::wake(c, u); });
        if constexpr (P::BUCKETS) {
            const u32 word = __ballot_sync(ALL, wakes);
            if (lane() == 0 && word) c.a.waiting[base / WARP] |= word;
        } else {
            next.add(wakes, v);
        }
    }
    if constexpr (P::BUCKETS)
        barrier.wait();
    else
        next.flush_block();
}

// Wait for all blocks, and let the vertices that have been appended to the queue be the active set.
template <class P> __device__ __forceinline__ void Loop<P>::take_listed() {
    barrier.wait();
    by_one_thread([&] {
        const u64 listed = count_now(ROUSED);
        now.size = count_of(listed);
        now.edges = edges_of(listed);
        now.form = LIST;
        begin_iteration(c.u.self_iteration);
    });
}

}  // namespace gasla
