// Decides whether another iteration follows, and whether it pushes or pulls.
#pragma once
#include "loop.cuh"

namespace gasla {

template <class P> __device__ __forceinline__ bool Loop<P>::goes_on() const {
    if constexpr (P::PEERS)
        return (!P::ENDS_WHEN_STILL || now.everywhere > 0) && !now.done && c.u.self_iteration < c.a.limit && !s.stops;
    const bool more = P::ENDS_WHEN_STILL ? now.size > 0 || (P::PRIORITISED && now.far > 0) : c.a.self_n > 0;
    return more && !now.done && c.u.self_iteration < c.a.limit && !read[STOPPED];
}

template <class P> __device__ __forceinline__ void Loop<P>::begin_iteration(long long iteration) {
    enter(iteration);
    if constexpr (P::SMALL_FRONTIERS)
        out_of_line<&Loop::choose>();
    else
        choose();
    if (blockIdx.x == 0 && (!P::LISTS_ROWS || iteration % LOOKS == 1)) poll_host();
}

// Set the values that stay constant during an iteration.
template <class P> __device__ __forceinline__ void Loop<P>::enter(long long iteration) {
    c.u.self_iteration = iteration;
    const u32 side = iteration & 1;
    if constexpr (P::DOUBLED) {
        c.u.old_at = side * c.a.self_n;
        c.u.new_at = (1 - side) * c.a.self_n;
    }
    if constexpr (P::KEEPS_ACTIVE) {
        c.u.active_at = side * c.a.words;
        c.u.next_at = (1 - side) * c.a.words;
    }
    if constexpr (P::CLAIMS) c.u.claimed_at = (CLAIMS_BY_TURNS ? side : 0) * c.a.words;
    c.u.threshold = now.threshold;
    if constexpr (P::BUCKETS) c.u.self_bucket = now.bucket;
}

// Choose whether the next iteration pushes or pulls, and whether it appends newly active vertices to a queue or builds
// a bitmap of them.
template <class P> __device__ __forceinline__ void Loop<P>::choose() {
    const u64 size = now.size, edges = now.edges, pushed = most_pushed();
    const bool pulls = c.a.way ? c.a.way == DENSE : edges > pushed;
    const bool dense = P::ONLY_PULLS || (!P::PRIORITISED && pulls);
    const bool small = P::SMALL_FRONTIERS && !dense && size > 0 && edges <= most_edges_of_small(now.form, pushed);
    s.size = size;
    s.way = dense ? DENSE : SPARSE;
    s.is_small = small;
    s.builds_bitmap = dense || (P::SEARCHES && ENDS && !c.a.way && !small && pull_follows(pushed));
    s.touched = P::ROWS ? c.a.m : P::SCHEDULED || P::EVERYONE || dense || size == 0 ? 0 : edges;
}

// Return the largest number of edges of active vertices for which a push is cheaper than a pull. If a pull may stop at
// a vertex's first active neighbor, it visits few edges, so the limit is lower.
template <class P> __device__ __forceinline__ u64 Loop<P>::most_pushed() const {
    constexpr u64 ratio = P::LEAVES_EARLY ? 14 : 2;
    return now.remaining / ratio + c.a.self_n / 16;
}

// Guess whether the iteration after this one will pull. The guess assumes that the vertices reached in this iteration
// have average degree.
template <class P> __device__ __forceinline__ bool Loop<P>::pull_follows(u64 pushed) const {
    return (float)now.edges * (float)now.remaining > 1.5f * (float)pushed * (float)c.a.self_n;
}

// Return the largest number of edges of active vertices for which the loop for few active vertices is used. The limit
// is higher if that loop runs already.
template <class P> __device__ __forceinline__ u64 Loop<P>::most_edges_of_small(u32 form, u64 pushed) const {
    const u64 most = form == SEGMENTS ? LARGE_EDGES - 2 : SMALL_EDGES;
    return P::PRIORITISED || c.a.way ? most : least(most, pushed);
}

}  // namespace gasla
