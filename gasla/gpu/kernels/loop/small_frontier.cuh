// SmallFrontier frontiers: thousands of iterations with a few thousand vertices each, where only latency counts.
//
// Each block lists what it finds in segments of its own, beside where its edges begin and end, and deals it out in turn
// to WAYS blocks. These read on until a slot is not of this iteration: no block needs to know how much there is, or where.
// What all have to know, how many vertices and edges there are, stands in the word at which blocks wait for each other.
// So an iteration is a barrier and four reads that depend on each other. A few lanes share a vertex, so no vertex may
// have very many edges.
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"
#include "send.cuh"
#include "state.cuh"

namespace gasla {

constexpr u32 SEGMENT = 2048;  // vertices a block may list; what does not fit goes to the queue, and the frontier is wide
constexpr u32 WAYS = 8;
constexpr u32 SLOTS_PER_WAY = SEGMENT / WAYS;
constexpr u64 SMALL_EDGES = 1 << 16;  // edges of a frontier below which it becomes thin
constexpr u64 LARGE_EDGES = 1 << 18;  // and from which on it is so no longer

constexpr bool SMALL_SLOTS = sizeof(offset_t) == 4 && sizeof(vertex_t) == 4;
struct alignas(SMALL_SLOTS ? 16 : 32) Slot {
    offset_t begin, end;
    vertex_t vertex;
    u32 stamp;  // of the iteration that lists it
};

// What blocks add up at a barrier: how many have come, how many of those need all to see to something, vertices, edges.
// There is room for 256 blocks. One with too many edges for its bits tells as many as make any frontier wide.
struct Tally {
    static constexpr u32 UNUSUAL = 9, VERTICES = 18, EDGES = 38;
    u64 bits;

    static __device__ __forceinline__ u64 of_block(bool unusual, u32 vertices, u32 edges) {
        return 1 | (u64)unusual << UNUSUAL | (u64)vertices << VERTICES | (u64)least(edges, (u32)LARGE_EDGES - 1) << EDGES;
    }
    __device__ __forceinline__ u32 part(u32 from, u32 to) const { return (u32)(bits >> from) & ((1u << (to - from)) - 1); }
    __device__ __forceinline__ u32 blocks() const { return part(0, UNUSUAL); }
    __device__ __forceinline__ bool unusual() const { return part(UNUSUAL, VERTICES); }
    __device__ __forceinline__ u32 vertices() const { return part(VERTICES, EDGES); }
    __device__ __forceinline__ u32 edges() const { return part(EDGES, 64); }
};

struct SmallFrontierShared {
    u32 listed, edges;  // vertices that this block has listed in this iteration, and edges of those
    bool unusual;       // whether it met with something that all have to see to
    bool goes_on;
    Tally all;  // of the last iteration
};

// A warp's way to append to the segments of its block.
template <class Overflow> struct SegmentAppender {
    SmallFrontierShared& s;
    const offset_t* offsets;
    const vertex_t* indices;
    Overflow& overflow;
    Slot* own;  // of the side that is written
    u32 stamp;
    offset_t begin, end;

    // Where the edges of a vertex lie is read while it is not yet known whether it will be listed.
    __device__ __forceinline__ void prepare(const bool (&valid)[1], const vertex_t (&v)[1]) {
        if (!valid[0]) return;
        begin = offsets[v[0]];
        end = offsets[v[0] + 1];
    }
    __device__ __forceinline__ void add(const bool (&wanted)[1], const vertex_t (&v)[1]) {
        const u32 ballot = __ballot_sync(ALL, wanted[0]), count = __popc(ballot);
        if (!count) return;
        u32 place = 0;
        if (lane() == 0) place = add_in_block(&s.listed, count);
        place = __shfl_sync(ALL, place, 0);
        if (place + count > SEGMENT) {
            overflow.add(wanted, v);
        } else if (wanted[0]) {
            const u32 at = place + __popc(ballot & lanes_below());
            own[at % WAYS * SLOTS_PER_WAY + at / WAYS] = Slot{begin, end, v[0], stamp};
            prefetch(indices + begin);
            atomicAdd(&s.edges, (u32)(end - begin));
        }
    }
};

// Pushes from thin frontiers.
template <class Loop> struct SmallFrontier {
    typedef typename Loop::Program P;

    Loop& loop;
    const typename P::Context& c;
    SmallFrontierShared& s;
    Control& now;
    const u64 whole;     // slots of a side
    const u32 lanes;     // that share a vertex: a power of two
    const u32 group;     // of so many lanes in which a thread is
    const u32 groups;    // of so many lanes in a block
    const u32 first;     // slot of its way that a group reads first
    const Slot* shares;  // where that way begins
    u32 side, stamp;

    __device__ __forceinline__ SmallFrontier(Loop& loop, u32 lanes)
        : loop(loop), c(loop.c), s(loop.s.small), now(loop.now), whole(gridDim.x * (u64)SEGMENT), lanes(lanes),
          group(threadIdx.x >> (__ffs(lanes) - 1)), groups(blockDim.x >> (__ffs(lanes) - 1)), first(group / WAYS),
          side(loop.parity()), stamp(loop.now.stamp) {
        const u32 way = group % WAYS, from = (blockIdx.x + (1u << way) - 1) % gridDim.x;
        shares = (const Slot*)c.a.segments + (from * WAYS + way) * (u64)SLOTS_PER_WAY;
    }

    __device__ __forceinline__ Slot nothing() const { return Slot{0, 0, 0, stamp - 1}; }
    __device__ __forceinline__ Slot take(u32 k) const { return k < SLOTS_PER_WAY ? shares[side * whole + k] : nothing(); }
    __device__ __forceinline__ Slot take_queued(u32 k) const {
        const u64 i = (group + (k - first) * WAYS) * (u64)gridDim.x + blockIdx.x;
        if (i >= now.size) return nothing();
        const vertex_t v = loop.queue(side)[i].vertex;
        return Slot{c.a.sp[v], c.a.sp[v + 1], v, stamp};
    }

    // Before stamps come round again: no slot has one any more.
    __device__ __forceinline__ static u32 renew(Slot* slots, u32 stamp) {
        for (u64 i = thread_of_grid(); i < 2 * gridDim.x * (u64)SEGMENT; i += threads_of_grid()) slots[i].stamp = 0;
        return stamp % 4 + 4;  // words at barriers go on in turn
    }

    // Iterations until the frontier is no longer thin, or something else is due. The first may find it in the queue.
    template <class Aside> __device__ __forceinline__ void run(Aside aside) {
        bool queued = now.form == LIST;
        loop.by_one_thread([&] {
            loop.s.receivers = 0;
            s.unusual = false;
            s.listed = s.edges = 0;
            s.all = Tally{Tally::of_block(false, 0, 0)};
        });
        auto overflow = loop.template to_list<typename Loop::Queue>([&] { return 1 - side | NEXT << 1; });
        SegmentAppender<decltype(overflow)> listed{s, c.a.sp, c.a.si, overflow};
        Push<P, decltype(listed), Aside, false> visit{loop.c, listed, aside};
        Slot slot = queued ? take_queued(first) : take(first);
        bool learnt = true;  // whether what the last barrier told is in its place
        while (true) {
            listed.own = (Slot*)c.a.segments + (1 - side) * whole + blockIdx.x * (u64)SEGMENT;
            listed.stamp = stamp + 1;
            walk(slot, queued, visit);
            if (lane() == 0 && (overflow.held || (P::PUSHES_AT_ONCE && aside.held))) s.unusual = true;
            if constexpr (P::PUSHES_AT_ONCE) loop.publish_sums(loop.parity());
            meet(learnt);
            side = 1 - side;
            ++stamp;
            queued = learnt = false;
            slot = take(first);  // before it is known whether it is wanted
            if (!s.goes_on) break;
        }
        const bool settles = s.all.unusual();
        loop.by_one_thread([&] {
            learn();
            if constexpr (Loop::ENDS_AT_ONCE) {
                if (!P::PRIORITISED && !settles) {
                    loop.rotate_counters();
                    if (s.unusual) *loop.counter(STOPPED) = 1;  // looked up while waiting for the others
                }
                loop.template out_of_line<&Loop::choose>();
                loop.s.ended = true;
            }
        });
        if (P::PRIORITISED || settles) {
            side = 1 - side;
            if (__syncthreads_or(overflow.held || aside.held)) {
                overflow.flush_block();
                if constexpr (!P::APPLIES_ONCE) aside.flush_block();
            }
            side = 1 - side;
            if constexpr (P::PRIORITISED) loop.far().note(visit.waiting);
            settle();
        }
    }

    // Some lanes for each vertex. The next one's slot is asked for before the one at hand is looked at.
    template <class Visit> __device__ __forceinline__ void walk(Slot slot, bool queued, Visit& visit) {
        const u32 mine = threadIdx.x & (lanes - 1);
        u32 k = first;
        while (__any_sync(ALL, slot.stamp == stamp)) {
            const bool is = slot.stamp == stamp;
            k += groups / WAYS;
            const Slot later = queued ? take_queued(k) : take(k);
            offset_t at = is ? slot.begin + (offset_t)mine : 0;
            const offset_t end = is ? slot.end : 0;
            typename P::Source source;
            if (is) {
                source = P::load_source(c, slot.vertex);
                if (mine == 0) loop.forget_claim(slot.vertex);
            }
            for (; __any_sync(ALL, at < end); at += (offset_t)lanes) {
                const offset_t places[1] = {at};
                const typename P::Source sources[1] = {source};
                const bool valid[1] = {at < end};
                visit.template batch<1>(places, sources, valid);
            }
            slot = later;
        }
    }

    // Wait for all, and learn from the same word what all have listed. Words take turns: in use, being read, being zeroed.
    // What can be done while waiting is: all wait for the last.
    __device__ __forceinline__ void meet(bool learnt) {
        __syncthreads();
        if (threadIdx.x == 0) {
            u64* words = c.a.counters + 3 * COUNTERS;
            add_release(words + stamp % 4, Tally::of_block(s.unusual, least(s.listed, SEGMENT), s.edges));
            s.unusual = false;
            s.listed = s.edges = 0;
            if (!learnt) learn();
            if (blockIdx.x == 0) words[(stamp + 2) % 4] = 0;
            int most = -1;
            if constexpr (Loop::ENDS_AT_ONCE) {
                loop.note(now.edges);
                loop.enter(c.u.self_iteration + 1);
                if (blockIdx.x == 0 && loop.poll_host()) s.unusual = true;
                if (c.u.self_iteration < c.a.limit) most = (int)loop.most_edges_of_small(SEGMENTS, loop.most_pushed());
            }
            Tally all;
            do {
                all.bits = load_acquire(words + stamp % 4);
            } while (all.blocks() != gridDim.x);
            s.all = all;
            s.goes_on = !all.unusual() && all.vertices() > 0 && (int)all.edges() <= most;
        }
        __syncthreads();
    }

    // What the last barrier told.
    __device__ __forceinline__ void learn() {
        now.form = SEGMENTS;
        now.size = s.all.vertices();
        now.edges = s.all.edges();
        ++now.stamp;
        if constexpr (Loop::ENDS_AT_ONCE) {
            loop.s.size = now.size;
            if (!s.all.unusual()) loop.lower_remaining();
        } else {
            loop.read_counters();
            loop.s.ended = false;
        }
    }

    // After a barrier at which some block had more to tell: what found no room joins the rest in the queue, and vertices
    // that stay open are let go.
    __device__ __forceinline__ void settle() {
        loop.wait_and_read([&] { loop.s.receivers = loop.read[ASIDE]; });
        if (loop.count_of(loop.read[NEXT]) > 0) {
            list(NEXT);
            loop.wait_and_read([&] {
                now.form = LIST;
                now.size = loop.count_of(loop.read[NEXT]);
                now.edges = loop.edges_of(loop.read[NEXT]);
            });
        }
        if constexpr (P::PUSHES_AT_ONCE) loop.release_open();
        if constexpr (Loop::ENDS_AT_ONCE)
            loop.by_one_thread([&] {
                if constexpr (P::PRIORITISED) now.far = loop.read[FAR];
                if (s.all.unusual()) loop.lower_remaining();
                loop.rotate_counters();
                loop.template out_of_line<&Loop::choose>();
                loop.s.ended = true;
            });
    }

    // Put this block's share of the segments into a queue.
    __device__ __forceinline__ void list(u32 counter) {
        auto listed = loop.to_queue(side, counter);
        for (u32 k = first;; k += groups / WAYS) {
            const Slot slot = take(k);
            const bool is = slot.stamp == stamp && (threadIdx.x & (lanes - 1)) == 0;
            if (!__any_sync(ALL, is)) break;
            listed.add(is, slot.vertex);
        }
        listed.flush_block();
    }

    // The whole frontier goes back to the queue. Now all its edges are counted.
    __device__ __forceinline__ void to_queue() {
        list(LISTED);
        loop.barrier.wait();
        loop.by_one_thread([&] {
            const u64 edges = loop.edges_of(fresh(loop.counter(LISTED)));
            now.remaining -= least(now.remaining, edges - now.edges);
            now.edges = edges;
            now.form = LIST;
            loop.template out_of_line<&Loop::choose>();
        });
    }
};

}  // namespace gasla
