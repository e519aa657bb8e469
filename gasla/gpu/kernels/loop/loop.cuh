// The loop that runs a whole program in one launch: push or pull, apply, scatter, post_apply, until nothing is active.
//
// All blocks take the same decisions from the same counters: three rows of them take turns, one in use, one that was
// read after the last barrier, one being zeroed. An iteration costs one barrier where the program allows it.
#pragma once
#include "far.cuh"
#include "frontier.cuh"
#include "gather.cuh"
#include "send.cuh"
#include "rows.cuh"
#include "runtime.cuh"
#include "schedule.cuh"
#include "search.cuh"
#include "state.cuh"
#include "thin.cuh"

namespace gasla {

constexpr long long LOOK_EVERY = 30000000;  // cycles between looks at the host's page

// By one thread, once all others have written what they had to: for the host, which waits for it.
template <class A> __device__ __forceinline__ void tell_end(const A& a) {
    __threadfence_system();
    *(volatile u32*)&a.page->ended = a.launch;
}

#ifndef GASLA_EMULATED
__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#endif

// Fill an array in shared memory, with several values under way at once.
template <class T, class Value> __device__ __forceinline__ void stage(T* to, u32 count, Value value) {
    constexpr u32 AT_ONCE = 8;
    for (u32 base = threadIdx.x; base < count; base += AT_ONCE * blockDim.x) {
        T x[AT_ONCE];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k) x[k] = value(least(base + k * blockDim.x, count - 1));
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; ++k)
            if (base + k * blockDim.x < count) to[base + k * blockDim.x] = x[k];
    }
}

// What the threads of a block share.
template <class P> struct Shared {
    typename Choose<P::ROWS || P::LISTS_ROWS, NoBuffers, Buffers>::type buffers;
    u64 read[READS];  // what one thread read for the block after the last barrier
    u64 counters[3 * COUNTERS];  // of a block that is alone
    Control now;
    typename P::Arguments arguments;  // for functions of their own
    typename P::Uniform uniform;
    typename P::Sums sums[MOST_WARPS];
    u64 touched_by[MOST_WARPS];
    u64 receivers;  // how many there are in the list `aside`
    u64 size;       // active vertices before the iteration
    u64 touched;    // edges that it pushes along
    u32 way;
    u32 easy_pulls;
    bool is_thin;
    bool reaches;  // whether it makes bits: a pull, or a push before one
    bool ended;  // whether the iteration's accounts are done
    long long next_look;
    ThinShared thin;
    u64 pieces;  // of long rows
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
    Control& now;  // changed by one thread, between two __syncthreads
    u64* read;

    // Claims of one iteration that the next one's active vertices clear, in two bitmaps that take turns.
    static constexpr bool CLAIMS_BY_TURNS = P::ABSORBS || (P::PUSHES_AT_ONCE && !P::CLOSES);

    __device__ Loop(const typename P::Arguments& a, Shared& s)
        : c(a, s.uniform), barrier(a.barrier), s(s), now(s.now), read(s.read) {
        if (threadIdx.x < READS) read[threadIdx.x] = 0;
        if (threadIdx.x < 3 * COUNTERS) s.counters[threadIdx.x] = 0;
        for (u32 i = threadIdx.x; i < sizeof a / sizeof(u32); i += blockDim.x)
            ((u32*)&s.arguments)[i] = ((const u32*)&a)[i];
        if (threadIdx.x == 0) {
            now = *a.control;
            s.next_look = clock64() + LOOK_EVERY;
            s.receivers = 0;
            s.ended = false;
            s.way = SPARSE;
            s.easy_pulls = 0;
        }
        __syncthreads();
    }

    // A part that is rarely come to, as a function of its own, of which there is one however many call it: in place it
    // would take registers from the rest, and time to compile. It finds the arguments in shared memory: of a reference to
    // those of the kernel it would not know where they are, nor that all lanes read the same.
    template <void (Loop::*part)()> __device__ __forceinline__ void apart() {
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

    // Let one thread do what is the same for all of the block.
    template <class Do> __device__ __forceinline__ void alone(Do what) {
        __syncthreads();
        if (threadIdx.x == 0) what();
        __syncthreads();
    }

    __device__ __forceinline__ u64* counters() const { return P::SMALL ? s.counters : c.a.counters; }
    __device__ __forceinline__ u64* counter(u32 which) const { return counters() + (now.slot + which); }
    __device__ __forceinline__ Entry* queue(u32 side) const { return (Entry*)c.a.queue + side * c.a.self_n; }
    __device__ __forceinline__ u32 parity() const { return c.u.self_iteration & 1; }
    __device__ __forceinline__ u64 count_of(u64 packed) const { return packed & (((u64)1 << c.a.shift) - 1); }
    __device__ __forceinline__ u64 edges_of(u64 packed) const { return packed >> c.a.shift; }

    // The lists that warps append to.
    struct Queue {  // of a side, and the counter that counts it
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
    template <class List, class Which> __device__ __forceinline__ auto to_list(Which which) const {
        return Appender<Loop, List, Which>(s, which);
    }
    __device__ __forceinline__ auto to_queue(u32 side, u32 which = NEXT) const {
        return to_list<Queue>([=] { return side | which << 1; });
    }
    __device__ __forceinline__ auto to_aside() const {
        return to_list<Aside>([] { return 0; });
    }
    // Newly active vertices of a push: in a search, bits for a pull that follows, as nobody would walk a list.
    __device__ __forceinline__ auto to_next() {
        if constexpr (P::SEARCHES)
            return OrBits<Loop, decltype(to_queue(0))>(*this, to_queue(1 - parity()));
        else
            return to_queue(1 - parity());
    }
    __device__ __forceinline__ Far<Loop> far() { return Far<Loop>{*this}; }

    // Wait for all; then every thread has the counters as they are now, and one has done something with them.
    template <class Then> __device__ __forceinline__ void wait_and_read(Then then) {
        __syncthreads();
        if (threadIdx.x == 0) {
            barrier.arrive_and_wait();
            read_counters();
            s.ended = false;
            then();
        }
        __syncthreads();
    }
    __device__ __forceinline__ void wait_and_read() {
        wait_and_read([] {});
    }
    __device__ __forceinline__ void read_counters() {
        u64 values[READS] = {};
        const u64* from = counter(0);
#pragma unroll
        for (u32 i = 0; i < 4; ++i) values[i] = P::SMALL ? from[i] : fresh(from + i);
        if constexpr (P::PRIORITISED) {
            values[FAR] = fresh(far().count(0));
            values[LOW] = fresh(far().low(0));
            if constexpr (!P::ADDS_UP) values[HIGH] = fresh(far().high(0));
        }
#pragma unroll
        for (u32 i = 0; i < READS; ++i) read[i] = values[i];
    }

    // Wait for all while doing something; then one thread does something more. Counters are read if that is due.
    template <class Do, class Then> __device__ __forceinline__ void wait_while(Do meanwhile, bool due, Then then) {
        __syncthreads();
        if (threadIdx.x == 0) barrier.arrive();
        meanwhile();
        if (threadIdx.x == 0) {
            barrier.wait_for_all();
            if (due) read_counters();
            s.ended = false;
            then();
        }
        __syncthreads();
    }

    // Put together what the threads of a block have of two counters and of every aggregate; the first warp has the latter.
    __device__ __forceinline__ Sums pool(u64 next, u64 touched) {
        next = warp_sum(next);
        if constexpr (!P::ROWS) touched = warp_sum(touched);
        Sums sums = warp_total(c.sums);
        c.sums = P::no_sums();
        if (lane() == 0) {
            s.buffers.sums[warp_of_block()] = next;
            s.touched_by[warp_of_block()] = touched;
            s.sums[warp_of_block()] = sums;
        }
        __syncthreads();
        if (this_warp() == 0) {
            const bool is = lane() < warps_of_block();
            next = warp_sum(is ? s.buffers.sums[lane()] : 0);
            if constexpr (!P::ROWS) touched = warp_sum(is ? s.touched_by[lane()] : 0);
            sums = warp_total(is ? s.sums[lane()] : P::no_sums());
            if (lane() == 0) {
                if (next) atomicAdd(counter(NEXT), next);
                if (touched) atomicAdd(counter(TOUCHED), touched);
                if constexpr (P::AGGREGATES) parts(parity())[blockIdx.x] = sums;
            }
        }
        return sums;
    }

    // The same, and wait for all. Then every thread knows the counters, and where the iteration `ends` here also the
    // aggregates, and is done with its accounts.
    template <bool ends, class Then> __device__ __forceinline__ void conclude(u64 next, u64 touched, Then then) {
        const Sums sums = pool(next, touched);
        if (this_warp() == 0) {
            if (lane() == 0) {
                barrier.arrive_and_wait();
                read_counters();
                s.ended = false;
                then();
            }
            __syncwarp();
            if constexpr (ends) {
                take(gridDim.x == 1 ? sums : sum_of_parts(parity()));
                if (lane() == 0) account();
            }
        }
        __syncthreads();
    }

    // Add what the threads of a block have to a counter, with one atomic.
    __device__ __forceinline__ void add_to(u32 which, u64 mine) {
        mine = warp_sum(mine);
        if (lane() == 0) s.buffers.sums[warp_of_block()] = mine;
        __syncthreads();
        if (warp_of_block() == 0) {
            const u64 sum = warp_sum(lane() < warps_of_block() ? s.buffers.sums[lane()] : 0);
            if (lane() == 0 && sum) atomicAdd(counter(which), sum);
        }
        __syncthreads();
    }

    // --- start and end -----------------------------------------------------------------------------------------------

    __device__ __forceinline__ void run() {
        apart<&Loop::begin>();
        if constexpr (P::LISTS_ROWS)
            run_schedule();
        else
            while (goes_on()) iterate();
        if constexpr (P::THIN)
            if (now.form == SEGMENTS && now.size > 0) {
                apart<&Loop::widen>();
                alone([&] { turn(); });
            }
        if (thread_of_grid() == 0) {
            now.iteration = c.u.self_iteration;
            *c.a.control = now;
            c.a.page->control = now;
            if constexpr (P::AGGREGATES) *(Sums*)c.a.shown = s.sums[0];
            __threadfence_system();
        }
        if (barrier.leave()) tell_end(c.a);
    }

    // From the start, or where the last launch ended.
    __device__ __forceinline__ void begin() {
        if (c.a.fresh)
            start();
        else
            alone([&] {
                read_counters();
                enter(now.iteration);
            });
        take_sums(1 - parity());
        alone([&] {
            if (c.a.fresh) {
                if constexpr (P::KEEPS_ACTIVE) now.edges = edges_of(read[NEXT]);
                turn();
            }
            if constexpr (P::THIN) {  // there is a function of it
                enter(now.iteration);
                apart<&Loop::choose>();
            } else {
                begin_iteration(now.iteration);
            }
        });
    }

    // Fields that start alike everywhere are filled here; aggregates see the initial state.
    __device__ __forceinline__ void start() {
        u32 stamp = now.stamp;
        if constexpr (P::THIN)
            if (stamp >> 31) stamp = Thin<Loop>::renew((Slot*)c.a.segments, stamp);
        alone([&] {
            const u32 slot = now.slot;
            now = Control{0, 0, (u64)c.a.active_count, (u64)c.a.m, (u64)c.a.m, 0, -infinity(), -infinity(), LIST, 0, 0, slot, stamp};
            enter(0);
        });
        const u64 n = c.a.self_n;
        for (u64 base = this_warp_of_grid() * WARP; base < n; base += threads_of_grid()) {
            const u64 v = base + lane();
            bool closed = true;
            if (v < n) {
                P::fill(c, (vertex_t)v);
                P::aggregate_start(c, (vertex_t)v);
                if constexpr (P::CLOSES) closed = !P::admits_at_start(c, (vertex_t)v);
            }
            if constexpr (P::CLOSES) {
                const u32 word = __ballot_sync(ALL, closed);
                if (lane() == 0) c.a.closed[base / WARP] = word;
            }
        }
        clear_claims();
        if constexpr (P::PRIORITISED) far().clear();
        if constexpr (P::ACCUMULATES)
            for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) c.a.acc[v] = P::identity();
        publish_sums(1);
        if constexpr (P::KEEPS_ACTIVE) list_active();
        wait_and_read();
    }

    // The vertices that are active at first: an array of ids, or a range.
    __device__ __forceinline__ void list_active() {
        auto next = to_queue(0);
        const u64 count = c.a.active_count;
        for (u64 base = this_warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
            const u64 i = base + lane();
            const bool is = i < count;
            next.add(is, is ? c.a.active_ids ? c.a.active_ids[i] : (vertex_t)(c.a.first_active + i) : 0);
        }
        next.flush_block();
    }

    // The next iteration's counters; the one after's are zeroed, which nobody reads any more.
    __device__ __forceinline__ void turn() {
        const auto after = [](u32 slot) { return slot == 2 * COUNTERS ? 0 : slot + COUNTERS; };
        const u32 slot = now.slot = after(now.slot);
        u64* zeroed = counters() + after(slot);
        if (blockIdx.x == 0)
            for (u32 i = 0; i < COUNTED; ++i) zeroed[i] = 0;
    }

    // --- aggregates ----------------------------------------------------------------------------------------------------

    __device__ __forceinline__ static Sums warp_total(Sums sums) {
        if constexpr (P::AGGREGATES) {
#pragma unroll
            for (u32 step = 1; step < WARP; step <<= 1)  // lane 0 has them all, in order
                sums = P::add_sums(sums, shuffle(sums, (lane() + step) % WARP));
        }
        return sums;
    }

    // A block's part of every aggregate, always put together in the same order.
    __device__ __forceinline__ void publish_sums(u32 side) {
        if constexpr (P::AGGREGATES) {
            __syncthreads();
            Sums sums = warp_total(c.sums);
            if (lane() == 0) s.sums[warp_of_block()] = sums;
            __syncthreads();
            if (warp_of_block() == 0) {
                sums = P::no_sums();
                if (lane() < warps_of_block()) sums = s.sums[lane()];
                sums = warp_total(sums);
                if (lane() == 0) parts(side)[blockIdx.x] = sums;
            }
            c.sums = P::no_sums();
        }
    }

    // What all blocks' parts come to: a warp of each block puts them together for itself.
    __device__ __forceinline__ Sums sum_of_parts(u32 side) const {
        Sums sums = P::no_sums();
        if constexpr (P::AGGREGATES)
            for (u32 i = lane(); i < gridDim.x; i += WARP) sums = P::add_sums(sums, parts(side)[i]);
        return warp_total(sums);
    }
    __device__ __forceinline__ void take_sums(u32 side) {
        if constexpr (P::AGGREGATES) {
            if (warp_of_block() == 0) take(sum_of_parts(side));
            __syncthreads();
        }
    }
    __device__ __forceinline__ void take(const Sums& sums) {
        if (lane() != 0) return;
        P::take_sums(c, sums);
        s.sums[0] = sums;
    }
    __device__ __forceinline__ Sums* parts(u32 side) const { return (Sums*)c.a.parts + side * gridDim.x; }

    // --- forms of the active set ---------------------------------------------------------------------------------------

    __device__ __forceinline__ void clear_claims() {
        if constexpr (P::CLAIMS) {
            const u64 words = c.a.words * (CLAIMS_BY_TURNS ? 2 : 1);
            for (u64 w = thread_of_grid(); w < words; w += threads_of_grid()) c.a.claimed[w] = 0;
        }
    }

    // Set exactly the bits of the listed vertices. Claims are over with that.
    __device__ __forceinline__ void to_bits() {
        for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.active()[w] = 0;
        clear_claims();
        barrier.wait();
        const Entry* entries = queue(parity());
        for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) {
            const vertex_t v = entries[i].vertex;
            atomicOr(c.active() + v / WARP, bit_of(v));
        }
        barrier.wait();
    }

    // List the vertices whose bits are set. How many they are is known.
    __device__ __forceinline__ void list_bits(const u32* bits, u32 side) {
        auto listed = to_queue(side, LISTED);
        for (u64 base = this_warp_of_grid(); base < c.a.words; base += WARP * warps_of_grid()) {
            const u64 own = base + lane() * warps_of_grid();
            const u32 mine = own < c.a.words ? bits[own] : 0;
            for (u32 rest = __ballot_sync(ALL, mine); rest; rest &= rest - 1) {
                const u32 k = __ffs(rest) - 1;
                const vertex_t v = (vertex_t)((base + k * warps_of_grid()) * WARP + lane());
                listed.add(__shfl_sync(ALL, mine, k) >> lane() & 1, v);
            }
        }
        listed.flush_block();
        barrier.wait();
    }

    // --- an iteration --------------------------------------------------------------------------------------------------

    __device__ __forceinline__ bool goes_on() const {
        const bool more = now.size > 0 || (P::PRIORITISED && now.far > 0);
        return more && !now.done && c.u.self_iteration < c.a.limit && !read[STOPPED];
    }

    __device__ __forceinline__ void begin_iteration(long long iteration) {
        enter(iteration);
        if constexpr (P::THIN)
            apart<&Loop::choose>();
        else
            choose();
        if (blockIdx.x == 0 && (!P::LISTS_ROWS || iteration % LOOKS == 1)) look_at_host();
    }

    // What is the same all through an iteration.
    __device__ __forceinline__ void enter(long long iteration) {
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
    }

    // In which way it is done.
    __device__ __forceinline__ void choose() {
        const u64 size = now.size, edges = now.edges, pushed = most_pushed();
        const bool pulls = c.a.way ? c.a.way == DENSE : edges > pushed || goes_on_pulling();
        const bool dense = P::ONLY_PULLS || (!P::PRIORITISED && pulls);
        const bool thin = P::THIN && !dense && size > 0 && edges <= most_thin(now.form, pushed);
        s.size = size;
        s.way = dense ? DENSE : SPARSE;
        s.is_thin = thin;
        s.reaches = dense || (P::SEARCHES && ENDS && !c.a.way && !thin && pull_follows(pushed));
        s.touched = P::ROWS ? c.a.m : P::SCHEDULED || P::EVERYONE || dense || size == 0 ? 0 : edges;
    }

    __device__ __forceinline__ void iterate() {
        if constexpr (P::SCHEDULED) {
            scheduled();
        } else if constexpr (P::ROWS) {
            reduce_all();
        } else if constexpr (P::EVERYONE) {
            if constexpr (P::ACTIVE_ONLY)
                if (now.form == LIST) to_bits();
            dense();
        } else {
            change_form();
            if constexpr (P::ONLY_PULLS) {
                dense();
            } else if constexpr (P::PRIORITISED) {
                near_first();
            } else if constexpr (P::SEARCHES) {
                reach();
            } else if (s.reaches) {
                dense();
            } else {
                sparse();
            }
            if constexpr (P::TWO_PHASES) apply_list(c.a.aside);
        }
        if constexpr (P::HAS_SCATTER) scatter();
        if constexpr (P::HAS_POST_APPLY)
            post_apply(c.a.aside + (P::SCHEDULED ? Schedule<P>::range_of(c, c.u.self_iteration).first : 0));
        if (s.ended || (ENDS && !P::ABSORBS && !P::PUSHES_AT_ONCE)) return;
        if (ENDS_AT_ONCE && (P::SHUTS || P::PRIORITISED)) return;
        take_sums(parity());
        alone([&] {
            if constexpr (ENDS_AT_ONCE)
                apart<&Loop::account>();
            else
                account();
        });
    }

    // Whether an iteration is over once all have applied, so that its accounts can be done on the way; and whether it is
    // with its first pass.
    static constexpr bool ENDS = !P::HAS_SCATTER && !P::HAS_POST_APPLY;
    static constexpr bool ENDS_AT_ONCE = ENDS && !P::AGGREGATES && !P::HAS_STOP && !P::TWO_PHASES;

    // Bring the active set into the form that the iteration wants.
    __device__ __forceinline__ void change_form() {
        if constexpr (P::THIN)
            if (now.form == SEGMENTS && !s.is_thin && now.size > 0) apart<&Loop::widen>();
        if constexpr (P::PRIORITISED && !P::ONLY_PULLS) return;  // it is a list always
        const bool dense = P::ONLY_PULLS || s.way == DENSE;  // only now: all edges have been counted
        if (dense && now.form == LIST) to_bits();
        if (!dense && now.form == BITS) {
            list_bits(c.active(), parity());
            alone([&] {
                now.form = LIST;
                s.touched = now.edges = edges_of(fresh(counter(LISTED)));  // after a push to bits they were a guess
            });
        }
    }

    // A frontier that was thin, in the form that all others can read.
    __device__ __forceinline__ void widen() {
        if constexpr (P::THIN) Thin<Loop>(*this, 1).to_queue();
    }

    // What one thread does for its block at the end of an iteration.
    __device__ __forceinline__ void account() {
        note(s.touched + read[TOUCHED]);
        if (now.form != SEGMENTS) {
            now.size = P::SCHEDULED ? c.a.active_count - 1 - c.u.self_iteration : count_of(read[NEXT]);
            now.edges = edges_of(read[NEXT]);
        }
        if constexpr (P::PRIORITISED) now.far = read[FAR];
        lower_remaining();
        if constexpr (P::HAS_STOP) now.done = P::stop(c);
        turn();
        begin_iteration(c.u.self_iteration + 1);
        s.ended = true;
    }

    __device__ __forceinline__ void note(u64 touched) {
        const long long line = c.u.self_iteration - c.a.log_from;
        if (blockIdx.x == 0 && line < c.a.log_rows) {
            long long* entry = c.a.log + 4 * line;
            entry[0] = s.size;
            entry[1] = touched;
            entry[2] = P::SCHEDULED || P::EVERYONE ? DENSE : s.way;
            entry[3] = nanoseconds();
        }
        now.total += touched;
    }

    __device__ __forceinline__ void lower_remaining() {
        if constexpr (P::HAS_MASK && !P::EVERYONE)
            now.remaining -= least(now.remaining, now.edges);
    }

    // How many edges a push may have, and be cheaper than a pull: that looks at few edges for one that a push follows
    // where it may stop at the first hit.
    __device__ __forceinline__ u64 most_pushed() const {
        constexpr u64 ratio = P::LEAVES_EARLY ? 14 : 2;
        return now.remaining / ratio + c.a.self_n / 16;
    }

    // Whether little is left to look at: a pull looks at no more than the one before, and a push would first make a list,
    // which takes as long as some pulls.
    __device__ __forceinline__ bool goes_on_pulling() const {
        constexpr u32 OFTEN = 8;
        const bool pulled = P::SEARCHES && now.form == BITS && s.way == DENSE;
        return pulled && read[TOUCHED] <= c.a.self_n / 16 && s.easy_pulls++ < OFTEN;
    }

    // Whether the next iteration is likely to pull: if those who are reached have as many edges as others.
    __device__ __forceinline__ bool pull_follows(u64 pushed) const {
        return (float)now.edges * (float)now.remaining > 1.5f * (float)pushed * (float)c.a.self_n;
    }

    // How many edges a frontier may have to be, or to stay, thin.
    __device__ __forceinline__ u64 most_thin(u32 form, u64 pushed) const {
        const u64 most = form == SEGMENTS ? WIDE_EDGES - 2 : THIN_EDGES;
        return P::PRIORITISED || c.a.way ? most : least(most, pushed);
    }

    __device__ __forceinline__ bool look_at_host() {
        const long long time = clock64();
        if (time < s.next_look) return false;
        s.next_look = time + LOOK_EVERY;
        volatile Page* page = c.a.page;
        page->progress = c.u.self_iteration;
        const bool stops = page->stop == c.a.launch;
        if (stops) *counter(STOPPED) = 1;
        return stops;
    }

    // --- pulling (pull.cuh) --------------------------------------------------------------------------------------------

    // What a pull reads of 32 vertices before it looks at their neighbours: asked for while it is at the ones before.
    struct Ahead {
        u32 closed;
        offset_t first, last;
    };
    __device__ Ahead look_ahead(u64 w) const;
    __device__ void reach();
    __device__ void dense();
    __device__ void reduce_all();
    __device__ void gather_list(const vertex_t* list);
    __device__ void apply_list(const vertex_t* list);

    // --- receivers known ahead (scheduled.cuh) -------------------------------------------------------------------------

    // A schedule is interrupted only now and then.
    static constexpr long long LOOKS = 32;
    __device__ __forceinline__ bool looks_now() const { return c.u.self_iteration % LOOKS == 0; }

    __device__ void run_schedule();
    __device__ void count_iteration();
    __device__ void scheduled();

    // --- pushing -------------------------------------------------------------------------------------------------------

    __device__ __forceinline__ void sparse() {
        if constexpr (P::ABSORBS) {
            push(to_aside());
        } else if constexpr (P::PUSHES_AT_ONCE) {
            push(to_aside());
            let_go();
        } else {
            if constexpr (!P::PUSHES && P::ACTIVE_ONLY) to_bits();
            push(to_aside());
            if constexpr (!P::PUSHES)
                gather_list(c.a.aside);
            else if constexpr (!P::TWO_PHASES)
                apply_list(c.a.aside);
        }
    }

    // What is near; and when nothing is any more, what was put off and is near by then.
    __device__ __forceinline__ void near_first() {
        const bool is_thin = s.is_thin;
        const Range put_off = now.size == 0 ? far().split() : push(far().appender(0));
        if (is_thin) return;
        far().note(put_off);
        end_pass();
    }

    // Walk the out-edges of the active vertices. Returns what those count for who are marked in bits and not listed; or,
    // where there is a priority, between which this thread has put off.
    typedef typename Choose<P::PRIORITISED, Range, u64>::type Pushed;
    template <class Aside> __device__ __forceinline__ Pushed push(Aside aside) {
        constexpr bool lists_next = P::ABSORBS || P::PUSHES_AT_ONCE;
        const Context& context = c;
        const auto load = [&](vertex_t u) { return P::load_source(context, u); };
        if constexpr (P::THIN)
            if (s.is_thin) {
                Thin<Loop>(*this, c.a.lanes).run(aside);
                return {};
            }
        if constexpr (P::SEARCHES)
            if (s.reaches) {
                for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.next_active()[w] = 0;
                barrier.wait();
            }
        auto next = to_next();
        const Entry* entries = queue(parity());
        if constexpr (CLAIMS_BY_TURNS)
            for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) forget_claim(entries[i].vertex);
        Push<P, decltype(next), Aside, true> visit{c, next, aside};
        advance<P::AT_ONCE, P::SOURCE_IS_EMPTY, typename P::Source>(
            entries, now.size, now.edges, c.a.sp, load, visit);
        if (__syncthreads_or(next.held || aside.held)) {
            if constexpr (lists_next) next.flush_block();
            if constexpr (!P::SHUTS) aside.flush_block();
        }
        if constexpr (P::PRIORITISED) {
            return visit.waiting;
        } else if constexpr (P::SEARCHES) {
            if (s.reaches) return next.count * (((u64)((prefix_t)c.a.m / (prefix_t)c.a.self_n + 1) << c.a.shift) + 1);
            publish_sums(parity());
        } else {
            if constexpr (P::PUSHES_AT_ONCE) publish_sums(parity());
            end_pass();
        }
        return {};
    }

    // Wait for all, once they have pushed or looked for who is reached. Where that is all that the iteration does, its
    // accounts are done.
    __device__ __forceinline__ void end_pass() {
        wait_and_read([&] {
            s.receivers = read[ASIDE];
            if (P::SEARCHES && s.reaches) now.form = BITS;
            if constexpr (ENDS_AT_ONCE && (P::ABSORBS || P::PUSHES_AT_ONCE))
                if (P::ABSORBS || P::SHUTS || s.receivers == 0) account();
        });
    }

    // A claim of the last iteration: all who made one are active now, or were let go.
    __device__ __forceinline__ void forget_claim(vertex_t v) {
        if constexpr (CLAIMS_BY_TURNS) c.a.claimed[(1 - parity()) * c.a.words + v / WARP] = 0;
    }

    // Those that stay open, if any, are as if nobody had come.
    __device__ __forceinline__ void let_go() {
        if constexpr (!P::SHUTS)
            if (s.receivers) apart<&Loop::release>();
    }

    // Forget that some vertices were taken.
    __device__ __forceinline__ void release() {
        u32* taken = P::CLOSES ? c.a.closed : c.claimed();
        for (u64 i = thread_of_grid(); i < s.receivers; i += threads_of_grid())
            atomicAnd(taken + c.a.aside[i] / WARP, ~bit_of(c.a.aside[i]));
        barrier.wait();
    }

    // --- after all have applied ----------------------------------------------------------------------------------------

    __device__ __forceinline__ void scatter() {
        if constexpr (P::HAS_SCATTER) {
            const u32 side = 1 - parity();
            if (now.form == BITS) list_bits(c.next_active(), side);
            if constexpr (!P::EVERYONE) alone([&] { now.form = LIST; });
            Scatter<P> visit{c};
            const Context& context = c;
            advance<P::AT_ONCE, false, typename P::ScatterSource>(
                queue(side), count_of(read[NEXT]), edges_of(read[NEXT]), c.a.sp,
                [&](vertex_t u) { return P::load_scatter_source(context, u); }, visit);
            barrier.wait();
        }
    }

    __device__ __forceinline__ void post_apply(const vertex_t* list) {
        if constexpr (P::HAS_POST_APPLY) {
            for (u64 i = thread_of_grid(); i < s.receivers; i += threads_of_grid()) P::post_apply(c, list[i]);
            barrier.wait();
        }
    }
};

}  // namespace gasla

#include "pull.cuh"
#include "scheduled.cuh"
