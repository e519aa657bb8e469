// The loop that runs a whole gather-apply-scatter program in one launch: each iteration pushes or pulls, then applies,
// scatters and revises, until no vertex is active.
//
// All blocks make the same decisions, because they read the same counters after each barrier. There are three sets of
// counters, which rotate: one is in use, one was read after the last barrier, and one is being zeroed. Therefore an
// iteration needs only one barrier where the program allows it.
#pragma once
#include "priorities.cuh"
#include "frontier.cuh"
#include "gather.cuh"
#include "peer.cuh"
#include "keyed_rows.cuh"
#include "rows.cuh"
#include "runtime.cuh"
#include "schedule.cuh"
#include "search.cuh"
#include "send.cuh"
#include "state.cuh"
#include "small_frontier.cuh"
#include "turns.cuh"

namespace gasla {

// Shared memory for reducing a long row by a whole block in a gather by key, which combines the values of each key
// separately.
template <class P> struct BlockBest {
    typename P::Gathered of_warps[MOST_WARPS];
    u64 place;  // offset at which this row's hash table begins in global memory
};
struct NoBlockBest {};

// Shared memory in which each warp decodes compressed vertex ids (packed_ids.cuh).
struct NearBuffers {
    NearWords::Quad copies[MOST_WARPS][NearWords::MOST / NearWords::QUAD];
};
struct NoNearBuffers {};

// What a block keeps in shared memory during a run.
template <class P> struct Shared {
    typename Choose<P::ROWS || P::LISTS_ROWS, NoBuffers, Buffers>::type buffers;
    u64 read[READS];  // the counters' values after the last barrier, which one thread has read for the block
    u64 counters[3 * COUNTERS];  // the counters themselves, if the grid is a single block
    Control now;
    typename P::Arguments arguments;  // a copy of the kernel's arguments, for functions called through `out_of_line`
    typename P::Uniform uniform;
    typename P::Sums sums[MOST_WARPS];
    u64 touched_by[MOST_WARPS];
    u64 receivers;  // number of vertices in the list `aside`, which are yet to apply
    u64 size;       // active vertices at the start of the iteration
    u64 touched;  // edges along which this iteration pushes
    u32 way;
    bool is_small;
    bool builds_bitmap;  // whether the next frontier is built as a bitmap: by a pull, or by a push before a pull
    bool ended;  // whether `end_iteration` has run for this iteration
    bool stops;  // whether the host of any GPU has asked to stop
    Looks polls;
    SmallFrontierShared small;
    typename Choose<P::IN_TURNS, Stay, NoStay>::type stay;
    u64 pieces;  // number of pieces of long rows
    typename Choose<P::KEYED, BlockBest<P>, NoBlockBest>::type block_best;
    typename Choose<P::BRINGS_NEAR, NearBuffers, NoNearBuffers>::type near;
};

template <class P> struct Loop {
    typedef P Program;
    typedef typename P::Context Context;
    typedef typename P::Gathered Gathered;
    typedef typename P::Sums Sums;
    typedef gasla::Shared<P> Shared;

    Context c;
    Barrier barrier;
    Shared& s;
    Control& now;  // changed only by thread 0 of the block, between two calls of __syncthreads
    u64* read;

    // Whether odd and even iterations set claims in different bitmaps. A claim is a bit that a thread sets so that no
    // other thread appends the same vertex. In the next iteration, the vertices that are then active clear their own
    // claims.
    static constexpr bool CLAIMS_BY_TURNS = P::ABSORBS || (P::PUSHES_AT_ONCE && !P::CLOSES);

    // ENDS: nothing follows in an iteration once all receiving vertices have applied, so blocks prepare the next
    // iteration while they wait at a barrier. ENDS_AT_ONCE: nothing follows the first pass, so one barrier suffices for
    // an iteration.
    static constexpr bool ENDS = !P::HAS_SCATTER && !P::REVISES && !P::FALLS_BEHIND;
    static constexpr bool ENDS_AT_ONCE = ENDS && !P::AGGREGATES && !P::HAS_STOP && !P::TWO_PHASES;

    // Begin a run with the state in `a.control`. `target` is how often blocks have arrived at the barrier before. It is
    // not 0 if other runs precede this run in the same launch.
    __device__ Loop(const typename P::Arguments& a, Shared& s, u32 target = 0)
        : c(a, s.uniform), barrier(a.barrier, target), s(s), now(s.now), read(s.read) {
        if (threadIdx.x < READS) read[threadIdx.x] = 0;
        if (threadIdx.x < 3 * COUNTERS) s.counters[threadIdx.x] = 0;
        for (u32 i = threadIdx.x; i < sizeof a / sizeof(u32); i += blockDim.x)
            ((u32*)&s.arguments)[i] = ((const u32*)&a)[i];
        if (threadIdx.x == 0) {
            if constexpr (!P::IN_TURNS) {
                now = *a.control;
                s.polls.wait(POLL_INTERVAL);
            }
            s.receivers = 0;
            s.ended = false;
            s.way = SPARSE;
            if constexpr (P::WAKES) P::take_changed(c);
        }
        __syncthreads();
    }

    // Call a method that is rarely executed as a function that is not inlined, so that all callers share one copy.
    // Inlined copies would take registers from the rest of the kernel and prolong compilation. The function reads the
    // arguments from shared memory. Of a reference to the kernel's parameters, the compiler would know neither the
    // address space nor that all lanes read the same.
    template <void (Loop::*part)()> __device__ __forceinline__ void out_of_line() {
        barrier.target = function_of<part>(s, barrier.target);
    }
    template <void (Loop::*part)()>
    static __device__ __noinline__ u32 function_of(Shared& s, u32 target) {
        Loop loop(s, target);
        (loop.*part)();
        return loop.barrier.target;
    }
    __device__ __forceinline__ Loop(Shared& s, u32 target)
        : c(s.arguments, s.uniform), barrier(s.arguments.barrier, target), s(s), now(s.now), read(s.read) {}

    // Call `what` in thread 0 of the block only. The calls of __syncthreads make all threads wait for it.
    template <class Do> __device__ __forceinline__ void by_one_thread(Do what) {
        __syncthreads();
        if (threadIdx.x == 0) what();
        __syncthreads();
    }

    __device__ __forceinline__ u64* counters() const { return P::ONE_BLOCK ? s.counters : c.a.counters; }
    __device__ __forceinline__ u64* counter(u32 which) const { return counters() + (now.slot + which); }
    __device__ __forceinline__ u64 count_now(u32 which) const {
        return P::ONE_BLOCK ? *counter(which) : fresh(counter(which));
    }
    __device__ __forceinline__ Entry* queue(u32 side) const { return (Entry*)c.a.queue + side * c.a.self_n; }
    __device__ __forceinline__ u32 parity() const { return c.u.self_iteration & 1; }
    __device__ __forceinline__ u64 count_of(u64 packed) const { return packed & (((u64)1 << c.a.shift) - 1); }
    __device__ __forceinline__ u64 edges_of(u64 packed) const { return packed >> c.a.shift; }
    __device__ __forceinline__ Sums* parts(u32 side) const { return (Sums*)c.a.parts + side * gridDim.x; }

    // The lists to which warps append vertices. `Queue` is one of the two queues of active vertices, with the counter
    // of its entries. `Aside` is the list of vertices that have received a value and are yet to apply it.
    struct Queue {
        __device__ __forceinline__ static vertex_t* buffers(Shared& s) { return s.buffers.next; }
        __device__ __forceinline__ static QueueSink sink(const Loop& loop, u32 which) {
            return QueueSink{loop.queue(which & 1), loop.counter(which >> 1), loop.c.a.sp, loop.c.a.shift};
        }
    };
    struct Aside {
        __device__ __forceinline__ static vertex_t* buffers(Shared& s) { return s.buffers.aside; }
        __device__ __forceinline__ static ListSink sink(const Loop& loop, u32) {
            return ListSink{loop.c.a.aside, loop.counter(ASIDE)};
        }
    };
    template <class List, class Which> __device__ __forceinline__ auto appender_to(Which which) const {
        return Appender<Loop, List, Which>(s, which);
    }
    __device__ __forceinline__ auto to_queue(u32 side, u32 which = NEXT) const {
        return appender_to<Queue>([=] { return side | which << 1; });
    }
    __device__ __forceinline__ auto to_aside() const {
        return appender_to<Aside>([] { return 0; });
    }
    // Return an object by which a push appends newly active vertices to the queue of the next iteration. If the next
    // iteration of a search pulls, the object sets bits in a bitmap instead, because a pull would not read the queue.
    __device__ __forceinline__ auto to_next() {
        if constexpr (P::SEARCHES)
            return OrBits<Loop, decltype(to_queue(0))>(*this, to_queue(1 - parity()));
        else
            return to_queue(1 - parity());
    }
    __device__ __forceinline__ Far<Loop> far() { return Far<Loop>{*this}; }

    __device__ void run();
    __device__ void iterate();

    // These methods, defined in start.cuh, begin a run.
    __device__ void begin();
    __device__ void start();
    __device__ void list_active();

    // These methods, defined in stay.cuh, serve runs of several programs that take turns in one launch (phases).
    __device__ void list_handed();
    template <class Visit> __device__ void over_handed(Visit visit);
    __device__ void end_stay();
    __device__ Handed left_active() const;

    // These methods, defined in barriers.cuh, wait for all blocks, and exchange counters and aggregates between blocks.
    template <class Then> __device__ void wait_and_read(Then then);
    __device__ __forceinline__ void wait_and_read() {
        wait_and_read([] {});
    }
    __device__ void read_counters();
    template <class Do, class Then> __device__ void wait_meanwhile(Do meanwhile, bool due, Then then);
    __device__ Sums reduce_block(u64 next, u64 touched);
    template <bool ends, class Then> __device__ void finish_pass(u64 next, u64 touched, Then then);
    __device__ void add_to(u32 which, u64 mine);
    __device__ void rotate_counters();
    __device__ void publish_sums(u32 side);
    __device__ Sums sum_of_parts(u32 side) const;
    __device__ void take_sums(u32 side);
    __device__ void take(const Sums& sums);

    // These methods, defined in choose.cuh, decide whether another iteration follows, and whether it pushes or pulls.
    __device__ bool goes_on() const;
    __device__ void begin_iteration(long long iteration);
    __device__ void enter(long long iteration);
    __device__ void choose();
    __device__ u64 most_pushed() const;
    __device__ bool pull_follows(u64 pushed) const;
    __device__ u64 most_edges_of_small(u32 form, u64 pushed) const;

    // These methods, defined in resume.cuh, continue a run in which no vertex is active but some vertices wait.
    __device__ void resume();
    __device__ void wait_all();
    template <class Visit> __device__ void over_waiting(Visit visit);
    __device__ bool open_bucket();
    __device__ void wake();
    __device__ void take_listed();

    // These methods, defined in active.cuh, convert the active set between list, bitmap and segments.
    __device__ void change_form();
    static constexpr u32 SORTED = 1024;  // with at least this many active vertices, sorting their list saves time
    __device__ void to_bits();
    __device__ void sort_list();
    __device__ void to_list(const u32* bits, u32 side);
    __device__ void widen();
    __device__ void clear_claims();
    __device__ void clear_claim(vertex_t v);

    // These methods, defined in pull.cuh, let vertices gather along their incoming edges.
    struct Ahead {  // row offsets and closed bits of the next 32 vertices, loaded while the current 32 are processed
        u32 closed;
        offset_t first, last;
    };
    __device__ Ahead look_ahead(u64 w) const;
    __device__ void reach();
    __device__ void gather_all_narrow();
    __device__ void reduce_all();
    __device__ void gather_list_narrow(const vertex_t* list);
    __device__ void apply_list_narrow(const vertex_t* list);

    // This method, defined in long_rows.cuh, gathers by key over rows that are too long for one warp.
    template <bool RECEIVER, class Then> __device__ void over_put_off(Then then);

    // These methods, defined in loop_wide.cuh, gather wide vectors. A whole warp, instead of a lane, processes a
    // vertex.
    __device__ void fill_wide();
    __device__ void gather_all_wide();
    __device__ void gather_list_wide(vertex_t* list);
    __device__ void apply_list_wide(const vertex_t* list);
    __device__ void revise_wide(const vertex_t* list);
    __device__ __forceinline__ void gather_all() {
        if constexpr (P::WIDE)
            gather_all_wide();
        else
            gather_all_narrow();
    }
    __device__ __forceinline__ void gather_list(vertex_t* list) {
        if constexpr (P::WIDE)
            gather_list_wide(list);
        else
            gather_list_narrow(list);
    }
    __device__ __forceinline__ void apply_list(const vertex_t* list) {
        if constexpr (P::WIDE)
            apply_list_wide(list);
        else
            apply_list_narrow(list);
    }

    // These methods, defined in push.cuh, push along outgoing edges, and run the stages that follow apply.
    typedef typename Choose<P::PRIORITISED, Range, u64>::type Pushed;
    __device__ void sparse();
    __device__ void near_first();
    template <class ToAside> __device__ Pushed push(ToAside aside);
    __device__ void end_push();
    __device__ void release_open();
    __device__ void release();
    __device__ void scatter();
    __device__ void revise(const vertex_t* list);
    __device__ void catch_up(const vertex_t* list);
    __device__ void clear_deposits();

    // These methods, defined in peers.cuh, exchange values with other GPUs after each iteration.
    __device__ void exchange(bool begins);
    __device__ void pass();
    __device__ bool lists_for(const Peer& peer) const;
    __device__ bool lists_for_all() const;
    __device__ void send();
    __device__ void meet();
    __device__ u64 listed_by(u32 rank) const;
    __device__ void take_in();
    __device__ void append_mirrors();
    __device__ void count_roused(u32 form);
    __device__ void hear();

    // These methods, defined in end_iteration.cuh, update counts and the log at the end of an iteration, and poll the
    // host.
    __device__ void end_iteration();
    __device__ void note(u64 touched);
    __device__ void lower_remaining();
    __device__ bool poll_host();

    // These methods, defined in scheduled.cuh, run a program whose receiving vertices are known in advance (a
    // schedule).
    static constexpr long long LOOKS = 32;  // iterations between two polls of the host, with complete bookkeeping
    __device__ __forceinline__ bool looks_now() const { return c.u.self_iteration % LOOKS == 0; }
    __device__ void run_schedule();
    __device__ void count_iteration();
    __device__ void follow_schedule();
};

template <class P> __device__ __forceinline__ void Loop<P>::run() {
    out_of_line<&Loop::begin>();
    if constexpr (P::LISTS_ROWS)
        run_schedule();
    else if constexpr (P::RESUMES) {
        if (c.a.fresh) wait_all();
        for (resume(); goes_on(); resume()) iterate();
    } else if constexpr (P::PEERS) {
        for (exchange(true); goes_on(); exchange(false))
            if (P::EVERYONE || now.size + now.far > 0)
                iterate();
            else
                pass();
    } else
        while (goes_on()) iterate();
    if constexpr (P::SMALL_FRONTIERS)
        if (now.form == SEGMENTS && now.size > 0) {
            out_of_line<&Loop::widen>();
            by_one_thread([&] { rotate_counters(); });
        }
    if constexpr (P::IN_TURNS) return end_stay();
    if (thread_of_grid() == 0) {
        now.iteration = c.u.self_iteration;
        *c.a.control = now;
        c.a.page->control = now;
        if constexpr (P::AGGREGATES) *(Sums*)c.a.shown = s.sums[0];
        if constexpr (P::WAKES) P::leave_changed(c);
        __threadfence_system();
    }
    if (barrier.leave()) publish_end(c.a);
}

template <class P> __device__ __forceinline__ void Loop<P>::iterate() {
    clear_deposits();
    if constexpr (P::SCHEDULED) {
        follow_schedule();
    } else if constexpr (P::ROWS) {
        reduce_all();
    } else if constexpr (P::EVERYONE) {
        if constexpr (P::ACTIVE_ONLY)
            if (now.form == LIST) to_bits();
        gather_all();
    } else {
        change_form();
        if constexpr (P::ONLY_PULLS) {
            gather_all();
        } else if constexpr (P::PRIORITISED) {
            near_first();
        } else if constexpr (P::SEARCHES) {
            reach();
        } else if (s.builds_bitmap) {
            gather_all();
        } else {
            sparse();
        }
        if constexpr (P::TWO_PHASES) apply_list(c.a.aside);
    }
    if constexpr (P::HAS_SCATTER) scatter();
    if constexpr (P::REVISES || P::FALLS_BEHIND) {
        const vertex_t* list = c.a.aside + (P::SCHEDULED ? Schedule<P>::range_of(c, c.u.self_iteration).first : 0);
        revise(list);
        catch_up(list);
    }
    if (s.ended || (ENDS && !P::ABSORBS && !P::PUSHES_AT_ONCE)) return;
    if (ENDS_AT_ONCE && (P::APPLIES_ONCE || P::PRIORITISED)) return;
    take_sums(parity());
    by_one_thread([&] {
        if constexpr (ENDS_AT_ONCE)
            out_of_line<&Loop::end_iteration>();
        else
            end_iteration();
    });
}

template <class P> __device__ __forceinline__ void run_program(const typename P::Arguments& a, Shared<P>& shared) {
    Loop<P>(a, shared).run();
}

}  // namespace gasla

#include "end_iteration.cuh"
#include "active.cuh"
#include "choose.cuh"
#include "long_rows.cuh"
#include "loop_wide.cuh"
#include "peers.cuh"
#include "pull.cuh"
#include "push.cuh"
#include "resume.cuh"
#include "scheduled.cuh"
#include "start.cuh"
#include "stay.cuh"
#include "barriers.cuh"
