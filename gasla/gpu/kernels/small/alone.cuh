// A whole run by one block, for small graphs: every iteration pulls, and one or two __syncthreads are all that it waits for.
// Or by the blocks of a cluster, to which that block's threads are dealt, where all that they gather is in shared memory:
// what they tell each other is in rounds.cuh.
//
// Few instructions matter most: code that runs for the first time comes from the L2 cache, line by line, which takes longer
// than a thousand vertices do. So what the loop for large graphs (loop.cuh) keeps in counters and bitmaps, each thread knows
// for itself here, and bytes in shared memory say who is active.
#pragma once
#include "gather.cuh"
#include "loop.cuh"
#include "rounds.cuh"

namespace gasla {

constexpr u32 MOST_ALONE = 8192;  // vertices: `SMALL` in space.py
constexpr u32 LONG_ALONE = 32;    // edges of a lane; of a vertex with more, the whole warp takes some

#ifndef GASLA_EMULATED
// Where something is in shared memory: hidden from the compiler, lest it be worked out at every access.
__device__ __forceinline__ u32 hide(u32 at) {
    asm volatile("" : "+r"(at));
    return at;
}
template <class T> __device__ __forceinline__ T* near(u32 at) { return (T*)__cvta_shared_to_generic(at); }
// The memory that a launch adds to that of a block's variables.
__device__ __forceinline__ u32 start_of_near() {
    extern __shared__ double start[];
    return hide((u32)__cvta_generic_to_shared(start));
}
// A variable: where a block of a cluster has it takes long to ask.
template <class T> __device__ __forceinline__ T& hidden(T& shared) {
    return *near<T>(hide((u32)__cvta_generic_to_shared(&shared)));
}
#endif

template <class P> struct AloneShared {
    bool active[2][P::KEEPS_ACTIVE ? MOST_ALONE : 1];
    Told<P> told[2][MOST_WARPS];
    typename P::Sums total;
    u64 arrivals[P::CLUSTERED ? 4 : 1];
    long long next_look, touched;  // the first thread's, which need no register of the others
};

template <class P> struct Alone {
    typedef typename P::Gathered Gathered;
    typedef typename P::Sums Sums;
    static constexpr u32 TOUCHED_AT = 16, STOP = 1u << 31;  // a count: active vertices, edges looked at, whether to stop
    static constexpr bool CLUSTERED = P::CLUSTERED && CLUSTER > 1;
    static constexpr u32 HELD = CLUSTERED ? 16 : 8;  // edges that a lane keeps from one iteration to the next

    const typename P::Arguments& a;
    AloneShared<P>& s;
    typename P::Uniform& uniform;  // a thread's own; not a member, lest all of this object stay in memory
    typename P::Context c;
    long long iteration;
    u32 size;           // active vertices
    const u32 at_once;  // vertices that all threads take at a time
    bool stopped = false;

    // Of the first vertex of a lane: where its row is, and the first of the lane's edges. To read them again in every
    // iteration would take most of it.
    offset_t first, last;
    vertex_t neighbours[HELD];
    typename P::Edge edges[HELD];
    u32 own;                // that vertex
    bool hold_all = false;  // whether each lane of the warp holds all edges of a vertex

    Rounds<P> rounds;  // of the blocks of a cluster
    Sums total;

    __device__ __forceinline__ Alone(const typename P::Arguments& a, AloneShared<P>& s, typename P::Uniform& uniform)
        : a(a), s(s), uniform(uniform), c(a, uniform), at_once(threads() >> (__ffs(a.lanes) - 1)), rounds(s.told, s.arrivals) {
        if constexpr (P::HAS_NEAR) uniform.near_at = start_of_near();
    }

    // Threads of all blocks, where there are several.
    __device__ __forceinline__ static u32 thread() { return CLUSTERED ? (u32)thread_of_grid() : threadIdx.x; }
    __device__ __forceinline__ static u32 threads() { return CLUSTERED ? THREADS : blockDim.x; }

    __device__ __forceinline__ void run() {
        size = a.fresh ? (u32)a.active_count : (u32)a.control->size;
        if (thread() == 0) {
            s.next_look = clock64() + LOOK_EVERY;
            s.touched = a.fresh ? 0 : a.control->total;
        }
        enter(a.fresh ? 0 : a.control->iteration);
        if constexpr (CLUSTERED) rounds.begin((u32)a.self_n);
        hold();
        begin();
        if constexpr (CLUSTERED) {
            iterate_in_cluster();
        } else {
            if constexpr (P::AGGREGATES) publish(0);  // at first, or after the last launch
            while (goes_on()) {
                const u32 counts = publish(pull()), active = size, touched = receive(counts);
                if (threadIdx.x == 0) note(iteration, active, touched);
                enter(iteration + 1);
            }
        }
        end();
    }

    // What the counts of all threads say of the next iteration; returns how many edges were looked at in the last.
    __device__ __forceinline__ u32 receive(u32 counts) {
        size = counts & ((1u << TOUCHED_AT) - 1);
        stopped = counts & STOP;
        return (counts & ~STOP) >> TOUCHED_AT;
    }

    // What is the same all through an iteration.
    __device__ __forceinline__ void enter(long long number) {
        uniform.self_iteration = iteration = number;
        uniform.old_at = side() * a.self_n;
        uniform.new_at = (1 - side()) * a.self_n;
        uniform.active_at = side() * a.words;
        if constexpr (P::HAS_NEAR) P::enter_near(c);
    }
    __device__ __forceinline__ u32 side() const { return iteration & 1; }

    // Whether there is another iteration, once it is known what the aggregates came to.
    __device__ __forceinline__ bool goes_on() {
        if constexpr (P::AGGREGATES && !CLUSTERED) {
            if (warp_of_block() == warps_of_block() - 1)  // the one with the fewest vertices
                put_total<P>(s.total, lane() < warps_of_block() ? s.told[0][lane()].sums : P::no_sums());
            __syncthreads();
            P::take_sums(c, s.total);
        }
        return (size != 0) & !stopped & !is_done() & (iteration < a.limit);  // no branch: it would take as long as all of them
    }

    // Whether the program stops after the iteration that has ended, whose number it sees.
    __device__ __forceinline__ bool is_done() {
        bool result = false;
        if constexpr (P::HAS_STOP) {
            uniform.self_iteration = iteration - 1;
            result = (iteration != 0) & P::stop(c);
            uniform.self_iteration = iteration;
        }
        return result;
    }

    __device__ __forceinline__ void hold() {
        const u32 v = own = thread() >> (__ffs(a.lanes) - 1);
        first = last = 0;
        if constexpr (CLUSTERED)
#pragma unroll
            for (u32 j = 0; j < HELD; ++j) neighbours[j] = 0;  // to be read without asking
        if (v < a.self_n) {
            first = a.gp[v];
            last = a.gp[v + 1];
        }
        if constexpr (CLUSTERED) hold_all = a.lanes == 1 && __ballot_sync(ALL, last - first <= (offset_t)HELD) == ALL;
        const Run run = run_of(first, last, a.lanes);
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if (run.from + (offset_t)j < run.to) {
                neighbours[j] = a.gi[run.from + j];
                edges[j] = P::load_edge_in(c, run.from + (offset_t)j);
            }
    }

    // What one of `width` lanes takes of a row: neighbours that follow each other, so that the order can stay.
    struct Run {
        offset_t from, to;
    };
    __device__ __forceinline__ static Run run_of(offset_t first, offset_t last, u32 width) {
        const u32 me = lane() & (width - 1);
        const offset_t length = (last - first + (offset_t)width - 1) >> (__ffs(width) - 1);
        const offset_t from = least(first + length * (offset_t)me, last);
        return Run{from, least(from + length, last)};
    }

    // Fields as they start, or as the last launch left them; who is active; and what the aggregates came to.
    __device__ __forceinline__ void begin() {
        if constexpr (CLUSTERED) {
            uniform.arrival = rounds.fields();
            wait_until_all_began();
            rounds.expect_all();
        }
#pragma unroll 1
        for (u32 v = thread(); v < a.self_n; v += threads()) {
            if (a.fresh) P::fill(c, (vertex_t)v);
            if constexpr (P::HAS_NEAR) P::bring_near(c, (vertex_t)v);
            if (a.fresh && !CLUSTERED) P::aggregate_start(c, (vertex_t)v);
            if constexpr (P::KEEPS_ACTIVE)
                s.active[side()][v] = a.fresh ? !a.active_ids && v - a.first_active < (u64)a.active_count : has(c.active(), v);
        }
        if constexpr (!CLUSTERED)
            __syncthreads();
        else if (P::GATHERS_FILLED || a.lanes > 1)  // else threads read what is sent, and what they fill themselves
            wait_for_all_blocks();
        if constexpr (P::KEEPS_ACTIVE)
            if (a.fresh && a.active_ids) {
                for (u32 i = threadIdx.x; i < a.active_count; i += blockDim.x) s.active[0][a.active_ids[i]] = true;
                __syncthreads();
            }
        if constexpr (P::AGGREGATES)
            if (!a.fresh && thread() == 0) c.sums = *(const Sums*)a.parts;
    }

    // A vertex of a lane in an iteration, and what its row came to; `lanes` threads share one.
    struct Turn {
        u32 v;
        bool open, applies;
        typename P::Had had;
        Row<P> row;
    };
    __device__ __forceinline__ Turn look(u32 base, bool is_first, u32& counts) {
        Turn turn;
        const u32 n = (u32)a.self_n, v = turn.v = base + own, me = lane() & (a.lanes - 1);
        turn.open = v < n && P::admits(c, (vertex_t)v);
        turn.applies = v < n && me == 0;
        offset_t first = this->first, last = this->last;
        if (turn.open) {
            if (!is_first) {
                first = a.gp[v];
                last = a.gp[v + 1];
            }
            turn.had = P::load_had(c, (vertex_t)v);
        }
        turn.row = gather(turn.open, (vertex_t)v, first, turn.open ? last : first, is_first, counts);
        return turn;
    }
    // It applies, if it may; whether it is active then.
    __device__ __forceinline__ bool finish(const Turn& turn) {
        bool active = false;
        if (turn.applies) {
            if ((P::EVERYONE && !P::HAS_MASK) || (turn.open && turn.row.found))
                active = P::finish(c, (vertex_t)turn.v, turn.row.gathered, turn.had) & ACTIVE;
            else if constexpr (P::DOUBLED)
                P::carry_over(c, (vertex_t)turn.v);
            if constexpr (P::KEEPS_ACTIVE) s.active[1 - side()][turn.v] = active;
        }
        return active;
    }

    // All vertices; returns a thread's counts.
    __device__ __forceinline__ u32 pull() {
        u32 counts = 0, base = 0;
#pragma unroll 1
        do {  // all warps alike: they shuffle in there
            counts += finish(look(base, base == 0, counts));
            base += at_once;
        } while (base < (u32)a.self_n);
        return counts;
    }

    // Reduce the rows of a warp's vertices, by `lanes` each: then what is left of long rows one after the other, by the
    // whole warp. The first lane of each vertex has the result.
    __device__ __forceinline__ Row<P> gather(
        bool open, vertex_t v, offset_t first, offset_t last, bool holds, u32& counts) {
        if constexpr (CLUSTERED)
            if (holds && hold_all) return gather_held(open ? v : 0, last - first, counts);
        u32 width = a.lanes, owner = 0;
        const bool is_long = open && last - first > (offset_t)(LONG_ALONE * width);
        u32 rest = __ballot_sync(ALL, is_long && (lane() & (width - 1)) == 0);
        Row<P> result;
        vertex_t its = v;
        offset_t low = first, high = is_long ? first : last;
        for (bool whole = false;; whole = true) {
            const u32 me = lane() & (width - 1);
            Row<P> row{P::identity(), false, false};
            if ((P::GATHERS || !P::EVERYONE) && low < high) {
                const typename P::Target target = P::load_target(c, its);
                Run run = run_of(low, high, width);
                if constexpr (!P::LEAVES_EARLY) counts += (u32)(run.to - run.from) << TOUCHED_AT;
                if (holds && !whole) walk_held(row, target, run, counts);
                walk(row, target, run, counts);
            }
#pragma unroll 1
            for (u32 step = 1; step < width; step <<= 1) {  // neighbours first, so that the order stays
                const Gathered other = shuffle(row.gathered, me + step, width);
                const bool found = shuffle((u32)row.found, me + step, width);
                if constexpr (P::GATHERS && !P::TAKES_FIRST) row.gathered = P::combine(row.gathered, other);
                if constexpr (P::TAKES_FIRST)
                    if (!row.found) row.gathered = other;
                row.found |= found;
            }
            if (whole) row.gathered = shuffle(row.gathered, 0);
            if (!whole || lane() == owner) result = row;
            if (!rest) break;
            owner = __ffs(rest) - 1;
            rest &= rest - 1;
            width = WARP;
            its = shuffle(v, owner);
            low = shuffle(first, owner);
            high = shuffle(last, owner);
        }
        result.found |= P::EVERYONE;
        return result;
    }

    // A row that the lane holds: what its neighbours came to is read before it is known how many there are.
    __device__ __forceinline__ Row<P> gather_held(vertex_t v, offset_t length, u32& counts) {
        Row<P> row{P::identity(), true, false};
        const typename P::Target target = P::load_target(c, v);
        typename P::Source sources[HELD];
#pragma unroll
        for (u32 j = 0; j < HELD; ++j) sources[j] = P::load_source(c, neighbours[j]);
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if ((offset_t)j < length && !row.over) {
                take<P>(c, row, target, edges[j], sources[j], true);
                if constexpr (P::LEAVES_EARLY) counts += 1u << TOUCHED_AT;
            }
        if constexpr (!P::LEAVES_EARLY) counts += (u32)length << TOUCHED_AT;
        return row;
    }

    // The edges of a run that the lane holds; the run is what is left of it.
    __device__ __forceinline__ void walk_held(Row<P>& row, const typename P::Target& target, Run& run, u32& counts) {
        const offset_t count = run.to - run.from;
        bool awake[HELD];
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if ((offset_t)j < count) awake[j] = !TESTS || s.active[side()][neighbours[j]];
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if ((offset_t)j < count && !row.over) {
                if (!P::ACTIVE_ONLY || awake[j])
                    take<P>(c, row, target, edges[j], P::load_source(c, neighbours[j]), awake[j]);
                if constexpr (P::LEAVES_EARLY) counts += 1u << TOUCHED_AT;
            }
        run.from = least(run.from + (offset_t)HELD, run.to);
    }

    // The edges of a run, some at once.
    __device__ __forceinline__ void walk(Row<P>& row, const typename P::Target& target, const Run& run, u32& counts) {
        constexpr int AT_ONCE = 4;
        const offset_t last = run.to;
#pragma unroll 1
        for (offset_t e = run.from; e < last && !row.over; e += AT_ONCE) {
            vertex_t u[AT_ONCE];
            bool awake[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last) u[j] = a.gi[e + j];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last) awake[j] = !TESTS || s.active[side()][u[j]];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last && !row.over) {
                    step<P>(c, row, target, e + j, u[j], awake[j]);
                    if constexpr (P::LEAVES_EARLY) counts += 1u << TOUCHED_AT;
                }
        }
    }
    static constexpr bool TESTS = P::KEEPS_ACTIVE && (P::ACTIVE_ONLY || !P::EVERYONE);

    // What the counts of all threads come to; the aggregates of each warp wait in shared memory.
    __device__ __forceinline__ u32 publish(u32 counts) {
        if (threadIdx.x == 0 && looks_and_stops()) counts |= STOP;
        counts = warp_sum(counts);
        if (lane() == 0) s.told[side()][warp_of_block()].counts = counts;
        if constexpr (P::AGGREGATES) {
            put_total<P>(s.told[0][warp_of_block()].sums, c.sums);
            c.sums = P::no_sums();
        }
        __syncthreads();
        return warp_sum(lane() < warps_of_block() ? (u32)s.told[side()][lane()].counts : 0u);
    }

    // The same by several blocks: what neighbours came to is known sooner than what all warps added up.
    __device__ __forceinline__ void iterate_in_cluster() {
        const long long before = iteration;
        u32 active = 0, touched = 0;  // of the last iteration
        bool stops = false;
        rounds.wait_for_fields();
        if (a.fresh)
#pragma unroll 1
            for (u32 v = thread(); v < a.self_n; v += threads()) P::aggregate_start(c, (vertex_t)v);
        rounds.tell(c.sums, thread() == 0 ? size : 0);
        while (true) {
            c.sums = P::no_sums();
            u32 counts = 0;
            rounds.wait_for_fields();
            const Turn turn = look(0, true, counts);
            active = size;
            touched = receive(rounds.hear(total));
            rounds.enter(rounds.number + 1);
            uniform.arrival = rounds.fields();
            if constexpr (P::AGGREGATES) P::take_sums(c, total);
            if (!goes_on()) break;
            counts += finish(turn);
#pragma unroll 1
            for (u32 base = at_once; base < (u32)a.self_n; base += at_once) counts += finish(look(base, false, counts));
            rounds.tell(c.sums, stops ? counts | STOP : counts);
            rounds.expect_all();  // while what others tell is under way
            if (thread() == 0) {
                if (iteration != before) note(iteration - 1, active, touched);
                stops = iteration % 16 == 0 && looks_and_stops();
            }
            enter(iteration + 1);
        }
        if (thread() != 0) return;
        if (iteration != before) note(iteration - 1, active, touched);
        s.total = total;
    }

    __device__ __forceinline__ bool looks_and_stops() {
        if (clock64() < s.next_look) return false;
        s.next_look = clock64() + LOOK_EVERY;
        volatile Page* page = a.page;
        page->progress = iteration;
        return page->stop == a.launch;
    }

    __device__ __forceinline__ void note(long long iteration, u32 size, u32 touched) {
        s.touched += touched;
        const long long line = iteration - a.log_from;
        if (line < a.log_rows) {
            const long long entry[4] = {size, touched, DENSE, (long long)nanoseconds()};
            for (u32 i = 0; i < 4; ++i) a.log[4 * line + i] = entry[i];
        }
    }

    // For the host, and for the next launch.
    __device__ __forceinline__ void end() {
        if constexpr (P::HAS_NEAR)
#pragma unroll 1
            for (u32 v = thread(); v < a.self_n; v += threads()) P::put_back(c, (vertex_t)v);
        if constexpr (P::KEEPS_ACTIVE)
            if (size)
#pragma unroll 1
                for (u32 base = warp_of_block() * WARP; base < a.self_n; base += blockDim.x) {
                    const u32 word = __ballot_sync(ALL, base + lane() < a.self_n && s.active[side()][base + lane()]);
                    if (lane() == 0) a.bits[uniform.active_at + base / WARP] = word;
                }
        if constexpr (CLUSTERED)
            wait_for_all_blocks();
        else
            __syncthreads();
        if (thread() != 0) return;
        tell(*a.control);
        tell(a.page->control);
        if constexpr (P::AGGREGATES) {
            *(Sums*)a.parts = s.total;
            *(Sums*)a.shown = s.total;
        }
        tell_end(a);
    }
    __device__ __forceinline__ void tell(Control& now) {
        now.iteration = iteration;
        now.total = s.touched;
        now.size = size;
        now.far = 0;
        now.form = BITS;
        now.done = is_done();
    }
};

template <class P> using AllShared = typename Choose<P::ALONE, AloneShared<P>, Shared<P>>::type;

template <class P> __device__ __forceinline__ void run_program(const typename P::Arguments& a, AllShared<P>& shared) {
    if constexpr (P::ALONE) {
        typename P::Uniform uniform;
        Alone<P>(a, hidden(shared), uniform).run();
    } else {
        Loop<P>(a, shared).run();
    }
}

}  // namespace gasla
