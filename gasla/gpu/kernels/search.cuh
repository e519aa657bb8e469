// A pull where one active in-neighbour is enough, as in a breadth-first search.
//
// Most vertices are closed already, or find an active neighbour among the first few; the rest take long, and each takes
// another time. So a warp looks at the first neighbours of all open vertices side by side, in the order of memory, and puts
// those that go on into a list of its own, from which all its lanes are kept busy.
#pragma once
#include "gather.cuh"
#include "runtime.cuh"
#include "state.cuh"

namespace gasla {

constexpr u32 SIDE_BY_SIDE = 2;  // words of 32 vertices whose loads overlap
constexpr u32 FIRST_TRIES = 2;   // neighbours looked at there
constexpr u32 TRIES = 4;         // and each time later on
constexpr u32 LONG = 12;         // times, until the whole warp helps
constexpr u32 PENDING = 192;     // vertices in a warp's list

template <class Loop> struct Search {
    typedef typename Loop::Program P;
    struct Shared {  // of a warp
        u32 pending[PENDING];  // place in the sweep | times looked << 10
        u32 found[WARP];       // bits of those that were found to receive, later than their word was looked at
        u32 shut[WARP];
    };
    static_assert(sizeof(Shared) * MOST_WARPS <= sizeof(Buffers), "lists don't fit in the buffers");

    Loop& loop;
    typename P::Context& c;
    Shared& s;
    const u32* active;
    u64 next = 0;
    u32 touched = 0, held = 0;

    __device__ __forceinline__ explicit Search(Loop& loop)
        : loop(loop), c(loop.c), s(((Shared*)&loop.s.buffers)[warp_of_block()]), active(loop.c.active()) {}

    __device__ __forceinline__ void run() {
        u32 chunk = WARP;
        while (chunk > 1 && c.a.words < chunk * warps_of_grid()) chunk /= 2;
        for (u64 w = warp_of_grid() * chunk; w < c.a.words; w += warps_of_grid() * chunk) sweep(w, chunk);
    }

    // The neighbours `e`, e + 1, ... of a row: which of them are active.
    template <int N> struct Look {
        vertex_t u[N];
        u32 word[N];
        __device__ __forceinline__ void load(const vertex_t* indices, offset_t e, offset_t last) {
#pragma unroll
            for (int t = 0; t < N; ++t) u[t] = indices[least(e + (offset_t)t, last - 1)];
        }
        __device__ __forceinline__ void test(const u32* active) {
#pragma unroll
            for (int t = 0; t < N; ++t) word[t] = active[(u32)((u64)u[t] / WARP)];
        }
        __device__ __forceinline__ u32 hits() const {
            u32 result = 0;
#pragma unroll
            for (int t = 0; t < N; ++t) result |= (word[t] >> ((u32)u[t] & (WARP - 1)) & 1) << t;
            return result;
        }
        __device__ __forceinline__ vertex_t pick(u32 at) const {
            vertex_t result = u[0];
#pragma unroll
            for (int t = 1; t < N; ++t)
                if (at == t) result = u[t];
            return result;
        }
    };

    // Apply what edge `e` from `u` brings.
    __device__ __forceinline__ u32 receive(vertex_t v, offset_t e, vertex_t u, offset_t first, offset_t last) {
        Row<P> row{P::identity(), false, false};
        step<P>(c, row, P::load_target(c, v), e, u, true);
        const u32 outcome = P::finish(c, v, row.gathered);
        if (outcome & ACTIVE) {
            const offset_t degree = c.a.sp == c.a.gp ? last - first : c.a.sp[v + 1] - c.a.sp[v];
            next += ((u64)degree << c.a.shift) + 1;
        }
        return outcome;
    }

    // 32 words of vertices, or fewer.
    __device__ __forceinline__ void sweep(u64 base, u32 chunk) {
        constexpr int G = SIDE_BY_SIDE, N = FIRST_TRIES;
        const bool mine = lane() < chunk && base + lane() < c.a.words;
        const u32 closed = mine ? c.a.closed[base + lane()] : ALL;
        const vertex_t first_v = (vertex_t)(base * WARP);
        u32 found = 0, shut = closed;
        s.found[lane()] = s.shut[lane()] = 0;
        for (u32 rest = __ballot_sync(ALL, closed != ALL); rest;) {
            u32 k[G];
            bool open[G];
            offset_t first[G], last[G];
            Look<N> look[G];
#pragma unroll
            for (int j = 0; j < G; ++j) {
                k[j] = rest ? __ffs(rest) - 1 : 0;
                open[j] = rest && !(__shfl_sync(ALL, closed, k[j]) >> lane() & 1);
                if (!rest) k[j] = WARP;
                rest &= rest - 1;
                const vertex_t v = first_v + (vertex_t)(k[j] * WARP + lane());
                first[j] = last[j] = 0;
                if (open[j]) {
                    first[j] = c.a.gp[v];
                    last[j] = c.a.gp[v + 1];
                }
            }
#pragma unroll
            for (int j = 0; j < G; ++j)
                if (first[j] < last[j]) look[j].load(c.a.gi, first[j], last[j]);
#pragma unroll
            for (int j = 0; j < G; ++j)
                if (first[j] < last[j]) look[j].test(active);
#pragma unroll
            for (int j = 0; j < G; ++j) {
                const u32 place = k[j] * WARP + lane();
                const vertex_t v = first_v + (vertex_t)place;
                const u32 hits = first[j] < last[j] ? look[j].hits() : 0;
                u32 outcome = OPEN;
                if (hits) {
                    const u32 at = __ffs(hits) - 1;
                    outcome = receive(v, first[j] + (offset_t)at, look[j].pick(at), first[j], last[j]);
                    touched += at + 1;
                } else {
                    touched += (u32)least(last[j] - first[j], (offset_t)N);
                }
                const u32 nows = __ballot_sync(ALL, outcome & ACTIVE);
                const u32 shuts = __ballot_sync(ALL, open[j] && (!(outcome & OPEN) || first[j] == last[j]));
                if (lane() == k[j]) {
                    found |= nows;
                    shut |= shuts;
                }
                keep(!hits && last[j] - first[j] > (offset_t)N, place);
            }
            while (held > PENDING - G * WARP) go_on(first_v);
        }
        while (held) go_on(first_v);
        __syncwarp();
        found |= s.found[lane()];
        shut |= s.shut[lane()];
        if (mine) {
            c.next_active()[base + lane()] = found;
            if (shut != closed) c.a.closed[base + lane()] = shut;
        }
        __syncwarp();
    }

    __device__ __forceinline__ void keep(bool wanted, u32 entry) {
        const u32 ballot = __ballot_sync(ALL, wanted);
        if (wanted) s.pending[held + __popc(ballot & lanes_below())] = entry;
        held += __popc(ballot);
    }

    // Look at some more neighbours of up to 32 vertices of the list.
    __device__ __forceinline__ void go_on(vertex_t first_v) {
        constexpr int N = TRIES;
        __syncwarp();
        const bool is = lane() < held;
        const u32 entry = is ? s.pending[held - 1 - lane()] : 0;
        held -= least(held, WARP);
        __syncwarp();
        const u32 place = entry & (WARP * WARP - 1), times = entry / (WARP * WARP);
        const vertex_t v = first_v + (vertex_t)place;
        offset_t first = 0, last = 0, e = 0;
        u32 hits = 0, at = 0;
        vertex_t u = 0;
        if (is) {
            first = c.a.gp[v];
            last = c.a.gp[v + 1];
            e = first + (offset_t)(FIRST_TRIES + times * N);
            Look<N> look;
            look.load(c.a.gi, e, last);
            look.test(active);
            hits = look.hits();
            at = __ffs(hits) - 1;
            u = look.pick(at);
            touched += hits ? at + 1 : (u32)least(last - e, (offset_t)N);
        }
        bool goes_on = is && !hits && last - e > (offset_t)N;
        for (u32 rest = __ballot_sync(ALL, goes_on && times == LONG); rest; rest &= rest - 1) {
            const u32 owner = __ffs(rest) - 1;
            const offset_t high = shuffle(last, owner);
            for (offset_t low = shuffle(e, owner) + (offset_t)N; low < high; low += (offset_t)WARP) {
                const bool has_one = low + (offset_t)lane() < high;
                const vertex_t x = has_one ? c.a.gi[low + (offset_t)lane()] : 0;
                const u32 finders = __ballot_sync(ALL, has_one && has(active, x));
                touched += has_one;
                if (!finders) continue;
                const vertex_t winner = shuffle(x, __ffs(finders) - 1);
                if (lane() == owner) {
                    hits = 1;
                    at = 0;
                    e = low + (offset_t)(__ffs(finders) - 1);
                    u = winner;
                }
                break;
            }
            if (lane() == owner) goes_on = false;
        }
        if (hits) {
            const u32 outcome = receive(v, e + (offset_t)at, u, first, last);
            if (outcome & ACTIVE) atomicOr(s.found + place / WARP, bit_of(place));
            if (!(outcome & OPEN)) atomicOr(s.shut + place / WARP, bit_of(place));
        }
        keep(goes_on, entry + WARP * WARP);
    }
};

}  // namespace gasla
