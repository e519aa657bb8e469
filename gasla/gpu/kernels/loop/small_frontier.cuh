// Push iterations with small frontiers (sets of active vertices). Some programs need thousands of iterations with a few
// thousand active vertices each, in which only latency counts.
//
// Each block appends the vertices that it activates to its own segments in global memory, together with the begin and
// end of their edges. A block distributes its vertices round-robin over SEGMENTS_PER_BLOCK segments, each of which
// another block reads. Each slot has the stamp (number) of the iteration that it was written for, and a reader stops at
// the first slot with another stamp, so no block needs to know how many vertices other blocks have appended. The total
// numbers of vertices and edges are added up in the same word on which blocks wait at the barrier. Therefore an
// iteration needs only one barrier and four dependent reads. A group of lanes walks the edges of one vertex, so this is
// used only if degrees are bounded.
#pragma once
#include "frontier.cuh"
#include "runtime.cuh"
#include "send.cuh"
#include "state.cuh"

namespace gasla {

// The largest number of vertices that a block can append to its segments in an iteration. Further vertices are appended
// to the queue of all blocks, and the general loop takes over.
constexpr u32 SEGMENT = 2048;
constexpr u32 SEGMENTS_PER_BLOCK = 8;
constexpr u32 SLOTS_PER_SEGMENT = SEGMENT / SEGMENTS_PER_BLOCK;
constexpr u64 SMALL_EDGES = 1 << 16;  // a large frontier becomes small when it has at most this many edges
constexpr u64 LARGE_EDGES = 1 << 18;  // a small frontier becomes large when it has this many edges

constexpr bool SMALL_SLOTS = sizeof(offset_t) == 4 && sizeof(vertex_t) == 4;
struct alignas(SMALL_SLOTS ? 16 : 32) Slot {
    offset_t begin, end;
    vertex_t vertex;
    u32 stamp;  // number of the iteration in which the vertex is active, by which readers know that the slot is current
};

// A word to which each block adds when it arrives at a barrier. Its fields are the number of blocks that have arrived,
// the number of these with work that all blocks must share, the number of active vertices, and the number of their
// edges. The word has room for 256 blocks. A block with more edges than fit adds a smaller number, which still ends the
// loop for small frontiers.
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
    u32 listed, edges;  // vertices that this block has appended in this iteration, and the number of their edges
    bool unusual;  // whether this block has work that all blocks must take part in
    bool goes_on;
    Tally all;  // totals of all blocks in the last iteration
};

// Appends newly active vertices to the segments (lists in global memory) of this block. If the segments are full, it
// appends vertices to `overflow`, the queue of all blocks.
template <class Overflow> struct SegmentAppender {
    SmallFrontierShared& s;
    const offset_t* offsets;
    ids_t indices;
    Overflow& overflow;
    Slot* own;  // the segments of this block for the next iteration
    u32 stamp;
    offset_t begin, end;

    // Load the offsets of a vertex's edges before it is known whether the vertex will be appended, so that the load
    // takes no time.
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
            own[at % SEGMENTS_PER_BLOCK * SLOTS_PER_SEGMENT + at / SEGMENTS_PER_BLOCK] = Slot{begin, end, v[0], stamp};
            prefetch(address_of(indices, begin));
            atomicAdd(&s.edges, (u32)(end - begin));
        }
    }
};

// Runs consecutive iterations whose frontier (the set of active vertices) is small.
template <class Loop> struct SmallFrontier {
    typedef typename Loop::Program P;

    Loop& loop;
    const typename P::Context& c;
    SmallFrontierShared& s;
    Control& now;
    const u64 whole;  // number of slots that all blocks together have for one iteration
    const u32 lanes;  // lanes that process one vertex together, a power of two
    const u32 group;  // number of this thread's group of lanes within its block
    const u32 groups;  // number of groups of lanes in a block
    const u32 first;  // the first slot of `segment` that this group reads
    const Slot* segment;  // the segment that this group reads, written by another block
    u32 side, stamp;

    __device__ __forceinline__ SmallFrontier(Loop& loop, u32 lanes)
        : loop(loop), c(loop.c), s(loop.s.small), now(loop.now), whole(gridDim.x * (u64)SEGMENT), lanes(lanes),
          group(threadIdx.x >> (__ffs(lanes) - 1)), groups(blockDim.x >> (__ffs(lanes) - 1)), first(group / SEGMENTS_PER_BLOCK),
          side(loop.parity()), stamp(loop.now.stamp) {
        const u32 which = group % SEGMENTS_PER_BLOCK, from = (blockIdx.x + (1u << which) - 1) % gridDim.x;
        segment = (const Slot*)c.a.segments + (from * SEGMENTS_PER_BLOCK + which) * (u64)SLOTS_PER_SEGMENT;
    }

    __device__ __forceinline__ Slot nothing() const { return Slot{0, 0, 0, stamp - 1}; }
    __device__ __forceinline__ Slot take(u32 k) const { return k < SLOTS_PER_SEGMENT ? segment[side * whole + k] : nothing(); }
    __device__ __forceinline__ Slot take_queued(u32 k) const {
        const u64 i = (group + (k - first) * SEGMENTS_PER_BLOCK) * (u64)gridDim.x + blockIdx.x;
        if (i >= now.size) return nothing();
        const vertex_t v = loop.queue(side)[i].vertex;
        return Slot{c.a.sp[v], c.a.sp[v + 1], v, stamp};
    }

    // Clear the stamps (iteration numbers) of all slots, and return a new stamp. This is needed before stamps wrap
    // around, when an old slot could be taken for a current one.
    __device__ __forceinline__ static u32 renew(Slot* slots, u32 stamp) {
        for (u64 i = thread_of_grid(); i < 2 * gridDim.x * (u64)SEGMENT; i += threads_of_grid()) slots[i].stamp = 0;
        return stamp % 4 + 4;  // equal to the old stamp modulo 4, as four words of barriers rotate with it
    }

    // Iterate while the frontier (the set of active vertices) is small and not empty. The loop also stops at the
    // iteration limit, when the host asks to stop, and when a block has work in which all blocks must take part
    // (`unusual`). If `now.form` is LIST, the first frontier is read from the queue, otherwise from segments.
    template <class Aside> __device__ __forceinline__ void run(Aside aside) {
        bool queued = now.form == LIST;
        loop.by_one_thread([&] {
            loop.s.receivers = 0;
            s.unusual = false;
            s.listed = s.edges = 0;
            s.all = Tally{Tally::of_block(false, 0, 0)};
        });
        auto overflow = loop.template appender_to<typename Loop::Queue>([&] { return 1 - side | NEXT << 1; });
        SegmentAppender<decltype(overflow)> listed{s, c.a.sp, c.a.si, overflow};
        Push<P, decltype(listed), Aside, false> visit{loop.c, listed, aside};
        Slot slot = queued ? take_queued(first) : take(first);
        bool are_taken = true;  // whether `take_totals` has stored the totals of the last barrier
        while (true) {
            listed.own = (Slot*)c.a.segments + (1 - side) * whole + blockIdx.x * (u64)SEGMENT;
            listed.stamp = stamp + 1;
            walk(slot, queued, visit);
            if (lane() == 0 && (overflow.held || (P::PUSHES_AT_ONCE && aside.held))) s.unusual = true;
            if constexpr (P::PUSHES_AT_ONCE) loop.publish_sums(loop.parity());
            wait_for_totals(are_taken);
            side = 1 - side;
            ++stamp;
            queued = are_taken = false;
            slot = take(first);  // loaded before it is known whether another iteration follows, to save time
            if (!s.goes_on) break;
        }
        const bool is_unusual = s.all.unusual();
        loop.by_one_thread([&] {
            take_totals();
            if constexpr (Loop::ENDS_AT_ONCE) {
                if (!P::PRIORITISED && !is_unusual) {
                    loop.rotate_counters();
                    // This block has been asked to stop. Other blocks learn of this when they read the counters after a
                    // barrier.
                    if (s.unusual) *loop.counter(STOPPED) = 1;
                }
                loop.template out_of_line<&Loop::choose>();
                loop.s.ended = true;
            }
        });
        if (P::PRIORITISED || is_unusual) {
            side = 1 - side;
            if (__syncthreads_or(overflow.held || aside.held)) {
                overflow.flush_block();
                if constexpr (!P::APPLIES_ONCE) aside.flush_block();
            }
            side = 1 - side;
            if constexpr (P::PRIORITISED) loop.far().note(visit.waiting);
            finish_unusual();
        }
    }

    // Push along the edges of the active vertices that are assigned to this group of lanes (threads that share a
    // vertex's edges). A slot has an active vertex and the range of its edges. `slot` is the first one of this group.
    // Each further slot is loaded before the edges of the slot before it are visited, so that the load takes no time.
    template <class Visit> __device__ __forceinline__ void walk(Slot slot, bool queued, Visit& visit) {
        const u32 mine = threadIdx.x & (lanes - 1);
        u32 k = first;
        while (__any_sync(ALL, slot.stamp == stamp)) {
            const bool is = slot.stamp == stamp;
            k += groups / SEGMENTS_PER_BLOCK;
            const Slot later = queued ? take_queued(k) : take(k);
            offset_t at = is ? slot.begin + (offset_t)mine : 0;
            const offset_t end = is ? slot.end : 0;
            typename P::Source source;
            if (is) {
                source = P::load_source(c, slot.vertex);
                if (mine == 0) loop.clear_claim(slot.vertex);
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

    // Wait for all blocks, and read the total numbers of active vertices and edges from the same word on which blocks
    // wait. Successive barriers use four words in turn: one is in use, one may still be read, and one is being zeroed.
    // The next iteration is prepared between arriving and waiting, which costs no time unless this block is the last.
    __device__ __forceinline__ void wait_for_totals(bool are_taken) {
        __syncthreads();
        if (threadIdx.x == 0) {
            u64* words = c.a.counters + 3 * COUNTERS;
            add_release(words + stamp % 4, Tally::of_block(s.unusual, least(s.listed, SEGMENT), s.edges));
            s.unusual = false;
            s.listed = s.edges = 0;
            if (!are_taken) take_totals();
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

    // Store the totals that the last barrier gave as the size of the active set and the number of its edges.
    __device__ __forceinline__ void take_totals() {
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

    // Finish an iteration in which some block had work that all blocks must share. If the segments were too small for
    // some vertices, all active vertices are moved to the queue. Vertices that were reached but that the mask still
    // admits are released, so that values can reach them again.
    __device__ __forceinline__ void finish_unusual() {
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

    // Append the vertices of the segments that this block reads to the queue of all blocks, and add their number to
    // `counter`.
    __device__ __forceinline__ void list(u32 counter) {
        auto listed = loop.to_queue(side, counter);
        for (u32 k = first;; k += groups / SEGMENTS_PER_BLOCK) {
            const Slot slot = take(k);
            const bool is = slot.stamp == stamp && (threadIdx.x & (lanes - 1)) == 0;
            if (!__any_sync(ALL, is)) break;
            listed.add(is, slot.vertex);
        }
        listed.flush_block();
    }

    // Move all active vertices from the segments (lists of each block) to the queue, and count their edges exactly.
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
