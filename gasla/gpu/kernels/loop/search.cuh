// Pull iterations where one active in-neighbor is enough to activate a vertex: the bottom-up step of a
// direction-optimizing breadth-first search.
//
// A warp takes 32 words of the bitmap of closed vertices (those that need no more values) and skips the closed ones. It
// tests one neighbor of each open vertex in parallel, or the few neighbors that one 16-byte load returns. A vertex
// without an active neighbor among these is put into a list in shared memory, from which all lanes take work. This
// balances the load, as some vertices need many tests.
//
// Where degrees differ much (HUB_FIRST), the neighbor of highest degree is tested first (hub_first.cuh). These
// neighbors are stored contiguously, whereas rows are far apart in memory, and most of them are active.
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"
#include "send.cuh"

namespace gasla {

constexpr u32 PENDING = 192;  // capacity of a warp's list of vertices that need more loads
constexpr u32 LOADS = 12;  // after this many loads for a row, the whole warp continues the row

template <class P> struct Search {
    static constexpr u32 QUAD = 16 / sizeof(vertex_t);  // neighbors that one 16-byte load returns
    static constexpr u32 SIDE_BY_SIDE = P::HUB_FIRST ? 2 : 1;  // words of 32 vertices whose loads overlap
    static constexpr u32 PLACES = WARP * WARP;

    struct alignas(16) Quad {
        vertex_t u[QUAD];
    };
    struct Lists {  // in shared memory, for each warp
        // The vertices whose row needs more loads. An entry is the position of the vertex among the 32 * 32 vertices
        // that the warp processes, plus PLACES times the number of loads made so far.
        u32 pending[PENDING];
        u32 found[WARP];  // bits of vertices that became active after their word of the bitmap had been processed
        u32 shut[WARP];
    };
    static_assert(sizeof(Lists) * MOST_WARPS <= sizeof(Buffers), "lists don't fit in the buffers");

    typename P::Context c;
    Lists& s;
    const u32* active;
    // The array of neighbors, read as aligned groups of 16 bytes. The first group may begin before the array.
    const Quad* quads;
    const u32 shift;  // number of ids by which the first group of `quads` begins before the array; 0 for compressed ids
    u64 next = 0;
    u32 touched = 0, held = 0;

    __device__ __forceinline__ Search(const typename P::Arguments& a, typename P::Uniform& uniform, Buffers& buffers)
        : c(a, uniform), s(((Lists*)&buffers)[warp_of_block()]), active(c.active()),
          quads((const Quad*)(start(a.gi) & ~(u64)15)), shift((u32)(start(a.gi) & 15) / sizeof(vertex_t)) {}

    __device__ __forceinline__ static u64 start(const vertex_t* ids) { return (u64)ids; }
    __device__ __forceinline__ static u64 start(PackedIds) { return 0; }
    __device__ __forceinline__ Quad load(const vertex_t*, prefix_t place) const { return quads[place]; }
    __device__ __forceinline__ Quad load(PackedIds ids, prefix_t place) const {
        Quad its;
#pragma unroll
        for (u32 j = 0; j < QUAD; ++j) its.u[j] = ids[place * QUAD + j];
        return its;
    }

    __device__ __forceinline__ void run() {
        for (u64 w = this_warp_of_grid(); w < c.a.words; w += WARP * warps_of_grid()) sweep(w);
    }

    // Return which word of the bitmap of closed vertices is the k-th of this warp's words. Warps take words in turn, so
    // that each warp works on all parts of the graph.
    __device__ __forceinline__ u64 word(u64 base, u32 k) const { return base + k * warps_of_grid(); }
    __device__ __forceinline__ vertex_t vertex(u64 base, u32 place) const {
        return (vertex_t)(word(base, place / WARP) * WARP + place % WARP);
    }

    // The neighbors of one vertex that a single load returns, and the test whether one of them is active.
    struct Look {
        offset_t first, last;  // where the vertex's row begins and ends
        offset_t e;  // position of the first neighbor that was loaded, which may lie before the row's first
        Quad its;
        vertex_t u;  // the active neighbor that the test has found
        u32 at;  // index of that neighbor among the loaded ones

        __device__ __forceinline__ void load(const Search& search, u32 k) {
            const prefix_t place = ((prefix_t)first + search.shift) / QUAD + k;
            its = search.load(search.c.a.gi, place);
            e = (offset_t)(place * QUAD - search.shift);
        }
        __device__ __forceinline__ bool goes_on() const { return e + (offset_t)QUAD < last; }
        // Return whether any of the loaded neighbors is active. Two neighbors are tested at a time. Often the first two
        // have an active one, so testing all at once would take longer than sometimes waiting for the next two.
        __device__ __forceinline__ bool test(const u32* active) {
            bool hit = false;
#pragma unroll
            for (int pair = 0; pair < QUAD; pair += 2) {
                if (hit) break;
                u32 word[2];
#pragma unroll
                for (int t = 0; t < 2; ++t) {
                    const offset_t place = e + (offset_t)(pair + t);
                    word[t] = first <= place && place < last ? active[its.u[pair + t] / WARP] : 0;
                }
#pragma unroll
                for (int t = 1; t >= 0; --t) {
                    if (!(word[t] & bit_of(its.u[pair + t]))) continue;
                    hit = true;
                    u = its.u[pair + t];
                    at = pair + t;
                }
            }
            return hit;
        }
        __device__ __forceinline__ u32 looked(bool hit) const {
            return (u32)(least(e + (offset_t)(hit ? at + 1 : QUAD), last) - most(e, first));
        }
    };

    // Gather the value that edge `e` brings from `u` to `v`, and apply it. Returns bits that tell whether v is active
    // next, and whether v stays open, that is, whether the mask still admits v.
    __device__ __forceinline__ u32 receive(vertex_t v, vertex_t u, offset_t e, offset_t first, offset_t last) {
        const auto gathered = P::gather(c, P::load_source(c, u), P::load_target(c, v), P::load_edge_in(c, e));
        const u32 outcome = P::finish(c, v, gathered);
        if (outcome & ACTIVE) {
            const offset_t degree = c.a.sp == c.a.gp ? last - first : c.a.sp[v + 1] - c.a.sp[v];
            next += ((u64)degree << c.a.shift) + 1;
        }
        return outcome;
    }

    // Process up to 32 words of the bitmap of closed vertices, which stand for 32 vertices each.
    __device__ __forceinline__ void sweep(u64 base) {
        constexpr int G = SIDE_BY_SIDE;
        const u64 own = word(base, lane());
        const u32 closed = own < c.a.words ? c.a.closed[own] : ALL;
        u32 found = 0, shut = closed;
        s.found[lane()] = s.shut[lane()] = 0;
        for (u32 rest = __ballot_sync(ALL, closed != ALL); rest;) {
            u32 k[G];
            bool open[G], hit[G];
            Look look[G];
#pragma unroll
            for (int j = 0; j < G; ++j) {
                k[j] = rest ? __ffs(rest) - 1 : WARP;
                open[j] = rest && !(__shfl_sync(ALL, closed, k[j]) >> lane() & 1);
                rest &= rest - 1;
                const vertex_t v = vertex(base, k[j] * WARP + lane());
                look[j].first = look[j].last = 0;
                if (!open[j]) continue;
                if constexpr (P::HUB_FIRST) look[j].u = c.a.hub_neighbors[v];
                look[j].first = c.a.gp[v];
                look[j].last = c.a.gp[v + 1];
            }
            if constexpr (!P::HUB_FIRST) {
#pragma unroll
                for (int j = 0; j < G; ++j)
                    if (look[j].first < look[j].last) look[j].load(*this, 0);
            }
#pragma unroll
            for (int j = 0; j < G; ++j) {
                hit[j] = false;
                if (look[j].first == look[j].last) continue;
                if constexpr (P::HUB_FIRST)
                    hit[j] = has(active, look[j].u);
                else
                    hit[j] = look[j].test(active);
                touched += P::HUB_FIRST ? 1 : look[j].looked(hit[j]);
            }
#pragma unroll
            for (int j = 0; j < G; ++j) {
                const u32 place = k[j] * WARP + lane();
                const bool is = look[j].first < look[j].last;
                u32 outcome = OPEN;
                if (hit[j]) {
                    const offset_t e = P::HUB_FIRST ? 0 : look[j].e + (offset_t)look[j].at;
                    outcome = receive(vertex(base, place), look[j].u, e, look[j].first, look[j].last);
                }
                const u32 nows = __ballot_sync(ALL, outcome & ACTIVE);
                const u32 shuts = __ballot_sync(ALL, open[j] && (!(outcome & OPEN) || !is));
                if (lane() == k[j]) {
                    found |= nows;
                    shut |= shuts;
                }
                keep(is && !hit[j] && (P::HUB_FIRST || look[j].goes_on()), place + (P::HUB_FIRST ? 0 : PLACES));
            }
            while (held > (rest ? PENDING - G * WARP : 0)) go_on(base);
        }
        __syncwarp();
        found |= s.found[lane()];
        shut |= s.shut[lane()];
        if (own < c.a.words) {
            c.next_active()[own] = found;
            if (shut != closed) c.a.closed[own] = shut;
        }
        __syncwarp();
    }

    __device__ __forceinline__ void keep(bool wanted, u32 entry) {
        const u32 ballot = __ballot_sync(ALL, wanted);
        if (wanted) s.pending[held + __popc(ballot & lanes_below())] = entry;
        held += __popc(ballot);
    }

    // Take up to 32 vertices from the warp's list of vertices that are still undecided, and test their next neighbors.
    __device__ __forceinline__ void go_on(u64 base) {
        __syncwarp();
        const bool is = lane() < held;
        const u32 entry = is ? s.pending[held - 1 - lane()] : 0;
        held -= least(held, WARP);
        __syncwarp();
        const u32 place = entry % PLACES, k = entry / PLACES;
        const vertex_t v = vertex(base, place);
        Look look;
        offset_t e = 0;
        bool hit = false, goes_on = false;
        if (is) {
            look.first = c.a.gp[v];
            look.last = c.a.gp[v + 1];
            look.load(*this, k);
            hit = look.test(active);
            touched += look.looked(hit);
            goes_on = !hit && look.goes_on();
            e = look.e + (offset_t)(hit ? look.at : QUAD);
        }
        for (u32 rest = __ballot_sync(ALL, goes_on && k == LOADS); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const offset_t high = shuffle(look.last, owner);
            for (offset_t low = shuffle(e, owner); low < high; low += (offset_t)WARP) {
                const bool has_one = low + (offset_t)lane() < high;
                const vertex_t x = has_one ? c.a.gi[low + (offset_t)lane()] : 0;
                const u32 finders = __ballot_sync(ALL, has_one && has(active, x));
                touched += has_one;
                if (!finders) continue;
                const vertex_t winner = shuffle(x, __ffs(finders) - 1);
                if (lane() == owner) {
                    hit = true;
                    e = low + (offset_t)(__ffs(finders) - 1);
                    look.u = winner;
                }
                break;
            }
            if (lane() == owner) goes_on = false;
        }
        if (hit) {
            const u32 outcome = receive(v, look.u, e, look.first, look.last);
            if (outcome & ACTIVE) atomicOr(s.found + place / WARP, bit_of(place));
            if (!(outcome & OPEN)) atomicOr(s.shut + place / WARP, bit_of(place));
        }
        keep(goes_on, entry + PLACES);
    }
};

// The result of `search`, a function that is not inlined, so that its registers are not taken from the rest of the
// loop.
template <class P> struct SearchResult {
    u64 next, touched;
    typename P::Sums sums;
};
template <class P>
__device__ __noinline__ SearchResult<P> search(const typename P::Arguments& a, typename P::Uniform& uniform, Buffers& buffers) {
    Search<P> search(a, uniform, buffers);
    search.run();
    return SearchResult<P>{search.next, search.touched, search.c.sums};
}

}  // namespace gasla
