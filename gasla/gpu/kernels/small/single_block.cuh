// A whole run of a program by a single block, for small graphs. Every iteration pulls, and its threads wait only at one
// or two calls of __syncthreads.
//
// The number of distinct instructions matters most: code that runs for the first time is fetched from the L2 cache line
// by line, which takes longer than processing a thousand vertices. So each thread keeps in registers what the loop for
// large graphs (loop.cuh) keeps in counters and bitmaps, and active vertices are marked by bytes in shared memory.
#pragma once
#include "frontier.cuh"
#include "gather.cuh"
#include "state.cuh"

namespace gasla {

constexpr u32 MOST_VERTICES = 8192;  // the same as `SMALL` in workspace.py
constexpr u32 HELD = 8;  // edges of a lane's first vertex that stay in registers from one iteration to the next
constexpr u32 LONG_FOR_LANE = 32;  // edges per lane; if a vertex has more, the whole warp walks its edges

#ifndef GASLA_EMULATED
// Return a shared-memory address as a value whose origin the compiler cannot see, so that it keeps the value and does
// not compute the address again at every access.
__device__ __forceinline__ u32 opaque(u32 at) {
    asm volatile("" : "+r"(at));
    return at;
}
template <class T> __device__ __forceinline__ T* shared_pointer(u32 at) { return (T*)__cvta_shared_to_generic(at); }
// Return a reference to a shared variable whose address is hidden from the compiler (see `opaque`). This saves 3 to 8%
// of the instructions, because the compiler does not compute the address again at every access.
template <class T> __device__ __forceinline__ T& by_opaque_address(T& shared) {
    return *shared_pointer<T>(opaque((u32)__cvta_generic_to_shared(&shared)));
}
#endif

// What the block keeps in shared memory during the run.
template <class P> struct Shared {
    bool active[2][P::KEEPS_ACTIVE ? MOST_VERTICES : 1];
    u32 counts[2][MOST_WARPS];
    typename P::Sums sums[MOST_WARPS], total;
    // These are used by thread 0 only. In shared memory they take no registers of the other threads.
    Looks polls;
    long long touched;
};

template <class P> struct SingleBlock {
    typedef typename P::Gathered Gathered;
    typedef typename P::Sums Sums;
    // In a thread's counts, packed in one word: bits 0 to 15 are the number of active vertices, the bits from 16 on the
    // number of edges visited, and bit 31 tells whether to stop.
    static constexpr u32 TOUCHED_AT = 16, STOP = 1u << 31;

    const typename P::Arguments& a;
    Shared<P>& s;
    // Each thread has an object of its own. It is held by reference, because an object with such a member would stay in
    // local memory as a whole.
    typename P::Uniform& uniform;
    typename P::Context c;
    long long iteration;
    u32 size;           // active vertices
    const u32 at_once;  // vertices that the block processes at the same time
    bool stopped = false;

    // The row (incoming edges) of the lane's first vertex, and the first HELD edges of this row that the lane
    // processes. They stay in registers, because reading them in every iteration would take most of its time.
    offset_t first, last;
    vertex_t neighbors[HELD];
    typename P::Edge edges[HELD];
    u32 own;  // the lane's first vertex, which has this row

    __device__ __forceinline__ SingleBlock(const typename P::Arguments& a, Shared<P>& s, typename P::Uniform& uniform)
        : a(a), s(s), uniform(uniform), c(a, uniform), at_once(blockDim.x >> (__ffs(a.lanes) - 1)) {}

    __device__ __forceinline__ void run() {
        size = a.fresh ? (u32)a.active_count : (u32)a.control->size;
        if (threadIdx.x == 0) {
            s.polls.wait(POLL_INTERVAL);
            s.touched = a.fresh ? 0 : a.control->total;
        }
        enter(a.fresh ? 0 : a.control->iteration);
        // The program's aggregates may read aggregates. For the initial state, these are zero.
        if constexpr (P::AGGREGATES) P::take_sums(c, typename P::Sums{});
        hold();
        begin();
        // Sum the aggregates of the initial state, or those that the previous launch has stored.
        if constexpr (P::AGGREGATES) publish(0);
        while (goes_on()) {
            if constexpr (P::DEPOSITS)
#pragma unroll 1
                for (u32 v = threadIdx.x; v < a.self_n; v += blockDim.x) P::clear_deposits(c, v);
            const u32 counts = publish(pull()), active = size, touched = receive(counts);
            if (threadIdx.x == 0) note(iteration, active, touched);
            enter(iteration + 1);
        }
        end();
    }

    // Unpack the sum of all threads' counts into the number of active vertices of the next iteration and whether to
    // stop. Returns the number of edges visited in the last iteration.
    __device__ __forceinline__ u32 receive(u32 counts) {
        size = counts & ((1u << TOUCHED_AT) - 1);
        stopped = counts & STOP;
        return (counts & ~STOP) >> TOUCHED_AT;
    }

    // Set the values that stay constant during iteration `number`.
    __device__ __forceinline__ void enter(long long number) {
        uniform.self_iteration = iteration = number;
        uniform.old_at = side() * a.self_n;
        uniform.new_at = (1 - side()) * a.self_n;
        uniform.active_at = side() * a.words;
    }
    __device__ __forceinline__ u32 side() const { return iteration & 1; }

    // Return whether another iteration follows. Before that, sum the aggregates of all warps, because the program's
    // `stop` may read them.
    __device__ __forceinline__ bool goes_on() {
        if constexpr (P::AGGREGATES) {
            if (warp_of_block() == warps_of_block() - 1)  // the last warp, as it has the fewest vertices
                put_total(s.total, lane() < warps_of_block() ? s.sums[lane()] : P::no_sums());
            __syncthreads();
            P::take_sums(c, s.total);
        }
        const bool done = is_done();
        // The program's `stop` has read the fields, so wait until all threads have done this before any thread writes
        // the fields.
        if constexpr (P::STOP_SEES_FIELDS) __syncthreads();
        const bool more = P::ENDS_WHEN_STILL ? size != 0 : a.self_n != 0;
        return more & !stopped & !done & (iteration < a.limit);  // evaluated without branches, which would take longer
    }

    // Return whether the program's `stop` asks to end after the last iteration. `stop` sees the number of that
    // iteration.
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
        const u32 v = own = threadIdx.x >> (__ffs(a.lanes) - 1);
        first = last = 0;
        if (v < a.self_n) {
            first = a.gp[v];
            last = a.gp[v + 1];
        }
        const Run run = run_of(first, last, a.lanes);
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if (run.from + (offset_t)j < run.to) {
                neighbors[j] = a.gi[run.from + j];
                edges[j] = P::load_edge_in(c, run.from + (offset_t)j);
            }
    }

    // The part of a row that one of `width` lanes walks. The edges are consecutive, so combining the lanes' results in
    // the order of lanes combines values in the order of the row.
    struct Run {
        offset_t from, to;
    };
    __device__ __forceinline__ static Run run_of(offset_t first, offset_t last, u32 width) {
        const u32 me = lane() & (width - 1);
        const offset_t length = (last - first + (offset_t)width - 1) >> (__ffs(width) - 1);
        const offset_t from = least(first + length * (offset_t)me, last);
        return Run{from, least(from + length, last)};
    }

    // Initialize fields, active vertices and aggregates. If the run continues an earlier launch, load the active
    // vertices and aggregates that it has stored.
    __device__ __forceinline__ void begin() {
#pragma unroll 1
        for (u32 v = threadIdx.x; v < a.self_n; v += blockDim.x) {
            if (a.fresh) P::fill(c, (vertex_t)v);
            if (!P::SUMS_LOOK_UP && a.fresh) P::aggregate_start(c, (vertex_t)v);
            if constexpr (P::KEEPS_ACTIVE)
                s.active[side()][v] = a.fresh ? !a.active_ids && v - a.first_active < (u64)a.active_count : has(c.active(), v);
        }
        __syncthreads();
        if (P::SUMS_LOOK_UP && a.fresh)
#pragma unroll 1
            for (u32 v = threadIdx.x; v < a.self_n; v += blockDim.x) P::aggregate_start(c, (vertex_t)v);
        if constexpr (P::KEEPS_ACTIVE)
            if (a.fresh && a.active_ids) {
                for (u32 i = threadIdx.x; i < a.active_count; i += blockDim.x) s.active[0][a.active_ids[i]] = true;
                __syncthreads();
            }
        if constexpr (P::AGGREGATES)
            if (!a.fresh && threadIdx.x == 0) c.sums = *(const Sums*)a.parts;
    }

    // Let each vertex that the mask admits gather and apply, with `a.lanes` threads per vertex. Returns the thread's
    // numbers of newly active vertices and of visited edges, packed in one word.
    __device__ __forceinline__ u32 pull() {
        const u32 n = (u32)a.self_n, me = lane() & (a.lanes - 1);
        u32 counts = 0, base = 0;
#pragma unroll 1
        do {  // all lanes of a warp make the same number of iterations, because `gather` shuffles between them
            const u32 v = base + own;
            const bool open = v < n && P::admits(c, (vertex_t)v), applies = v < n && me == 0;
            offset_t first = this->first, last = this->last;
            typename P::Had had;
            if (open) {
                if (base) {
                    first = a.gp[v];
                    last = a.gp[v + 1];
                }
                had = P::load_had(c, (vertex_t)v);
            }
            const Row<P> row = gather(open, (vertex_t)v, first, open ? last : first, base == 0, counts);
            bool active = false;
            if (applies) {
                if ((P::EVERYONE && !P::HAS_MASK) || (open && row.found))
                    active = P::finish(c, (vertex_t)v, row.gathered, had) & ACTIVE;
                else if constexpr (P::DOUBLED)
                    P::carry_over(c, (vertex_t)v);
                if constexpr (P::KEEPS_ACTIVE) s.active[1 - side()][v] = active;
            }
            counts += active;
            base += at_once;
        } while (base < n);
        return counts;
    }

    // Reduce the rows of a warp's vertices. First, `a.lanes` lanes reduce each short row. Then the whole warp reduces
    // the long rows, one after another. The first lane of each vertex has the result.
    __device__ __forceinline__ Row<P> gather(
        bool open, vertex_t v, offset_t first, offset_t last, bool holds, u32& counts) {
        u32 width = a.lanes, owner = 0;
        const bool is_long = open && last - first > (offset_t)(LONG_FOR_LANE * width);
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
            // The results of adjacent lanes are combined first, so that values are combined in the order of the row.
            for (u32 step = 1; step < width; step <<= 1) {
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

    // Walk those edges of a run (a part of a row) that the lane keeps in registers, and shorten `run` to the other
    // edges.
    __device__ __forceinline__ void walk_held(Row<P>& row, const typename P::Target& target, Run& run, u32& counts) {
        const offset_t count = run.to - run.from;
        bool from_active[HELD];
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if ((offset_t)j < count) from_active[j] = !TESTS || s.active[side()][neighbors[j]];
#pragma unroll
        for (u32 j = 0; j < HELD; ++j)
            if ((offset_t)j < count && !row.over) {
                if (!P::ACTIVE_ONLY || from_active[j])
                    take<P>(c, row, target, edges[j], P::load_source(c, neighbors[j]), from_active[j]);
                if constexpr (P::LEAVES_EARLY) counts += 1u << TOUCHED_AT;
            }
        run.from = least(run.from + (offset_t)HELD, run.to);
    }

    // Walk the edges of a run, a part of a row. The loads of four edges overlap.
    __device__ __forceinline__ void walk(Row<P>& row, const typename P::Target& target, const Run& run, u32& counts) {
        constexpr int AT_ONCE = 4;
        const offset_t last = run.to;
#pragma unroll 1
        for (offset_t e = run.from; e < last && !row.over; e += AT_ONCE) {
            vertex_t u[AT_ONCE];
            bool from_active[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last) u[j] = a.gi[e + j];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last) from_active[j] = !TESTS || s.active[side()][u[j]];
#pragma unroll
            for (int j = 0; j < AT_ONCE; ++j)
                if (e + j < last && !row.over) {
                    step<P>(c, row, target, e + j, u[j], from_active[j]);
                    if constexpr (P::LEAVES_EARLY) counts += 1u << TOUCHED_AT;
                }
        }
    }
    static constexpr bool TESTS = P::KEEPS_ACTIVE && (P::ACTIVE_ONLY || !P::EVERYONE);

    // Sum the packed counts of all threads of the block, and return the sum. The aggregates of each warp are summed and
    // stored in shared memory.
    __device__ __forceinline__ u32 publish(u32 counts) {
        if (threadIdx.x == 0 && polls_and_stops()) counts |= STOP;
        counts = warp_sum(counts);
        if (lane() == 0) s.counts[side()][warp_of_block()] = counts;
        if constexpr (P::AGGREGATES) {
            put_total(s.sums[warp_of_block()], c.sums);
            c.sums = P::no_sums();
        }
        __syncthreads();
        return warp_sum(lane() < warps_of_block() ? s.counts[side()][lane()] : 0u);
    }

    // Sum the aggregates of a warp's lanes and store the total in `place`. Shuffles take most of the time. So if a
    // program has exactly two aggregates, of the same type (PAIRED), each half of the warp sums one of them.
    __device__ __forceinline__ static void put_total(Sums& place, const Sums& sums) {
        if constexpr (P::PAIRED) {
            typedef typename P::Sum Sum;
            constexpr u32 HALF = WARP / 2;
            const Sum first = reinterpret_cast<const Sum*>(&sums)[0], second = reinterpret_cast<const Sum*>(&sums)[1];
            const bool has_first = lane() < HALF;
            Sum sum = P::add_sum(has_first ? first : second, shuffle_xor(has_first ? second : first, HALF));
#pragma unroll
            for (u32 step = HALF / 2; step; step >>= 1) sum = P::add_sum(sum, shuffle_xor(sum, step));
            if (lane() % HALF == 0) reinterpret_cast<Sum*>(&place)[lane() / HALF] = sum;
        } else {
            const Sums total = warp_total<P>(sums);
            if (lane() == 0) place = total;
        }
    }

    __device__ __forceinline__ bool polls_and_stops() {
        if (!s.polls.are_due(POLL_INTERVAL)) return false;
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

    // Write the final state to memory, for the host and for a launch that continues this run.
    __device__ __forceinline__ void end() {
        if constexpr (P::KEEPS_ACTIVE)
            if (size || !P::ENDS_WHEN_STILL)
#pragma unroll 1
                for (u32 base = warp_of_block() * WARP; base < a.self_n; base += blockDim.x) {
                    const u32 word = __ballot_sync(ALL, base + lane() < a.self_n && s.active[side()][base + lane()]);
                    if (lane() == 0) a.bits[uniform.active_at + base / WARP] = word;
                }
        __syncthreads();
        if (threadIdx.x != 0) return;
        tell(*a.control);
        tell(a.page->control);
        if constexpr (P::AGGREGATES) {
            *(Sums*)a.parts = s.total;
            *(Sums*)a.shown = s.total;
        }
        publish_end(a);
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

template <class P> __device__ __forceinline__ void run_program(const typename P::Arguments& a, Shared<P>& shared) {
    typename P::Uniform uniform;
    SingleBlock<P>(a, by_opaque_address(shared), uniform).run();
}

}  // namespace gasla
