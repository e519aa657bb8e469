// The loop that runs a whole program in one launch: push or pull, apply, scatter, post_apply, until nothing is active.
//
// All blocks take the same decisions from the same counters: three rows of them take turns, one in use, one that was
// read after the last barrier, one being zeroed. An iteration costs one barrier where the program allows it.
#pragma once
#include "frontier.cuh"
#include "gather.cuh"
#include "runtime.cuh"

namespace gasla {

enum Counter { NEXT, TOUCHED, ASIDE, STOPPED, LISTED, COUNTERS = 8 };
enum Read { FAR = 4, LOW, READS };  // what a block reads after a barrier, beside the first four counters
enum Way { CHOOSE, SPARSE, DENSE };
enum Form { LIST, BITS };
constexpr u64 LOOK_EVERY = 20000000;  // nanoseconds between looks at the host's page

// Where a run stands between launches.
struct Control {
    long long iteration, total;
    u64 size, edges, remaining, far;
    double threshold, last_threshold;
    u32 form, done, splits, slot;
};

// What the host reads and writes while a kernel runs.
struct Page {
    Control control;
    long long progress;
    u32 stop;
};

__device__ __forceinline__ u64 nanoseconds() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Doubles in an order that unsigned integers have too.
__device__ __forceinline__ u64 ordered(double x) {
    const long long bits = __double_as_longlong(x);
    return (u64)(bits < 0 ? ~bits : bits | (1ll << 63));
}
__device__ __forceinline__ double from_ordered(u64 x) {
    return __longlong_as_double(x >> 63 ? (long long)(x & ~(1ull << 63)) : ~(long long)x);
}

// What active vertices send along their out-edges. `aside` takes receivers, those put off, or those to be let go.
template <class P> struct Push {
    typedef typename P::Context Context;
    typedef typename P::Source Source;
    typedef typename P::Target Target;
    typedef typename P::Gathered Gathered;
    Context& c;
    Appender<QueueSink>& next;
    Appender<ListSink>& aside;
    double low = __longlong_as_double(0x7ff0000000000000ll);  // the least priority put off

    template <int N>
    __device__ __forceinline__ void batch(
        const offset_t (&at)[N], const Source (&source)[N], const bool (&valid)[N]) {
        vertex_t v[N];
#pragma unroll
        for (int j = 0; j < N; ++j) v[j] = valid[j] ? c.a.si[at[j]] : 0;
        if constexpr (P::ABSORBS)
            into_field<N>(at, source, valid, v);
        else if constexpr (P::PUSHES_AT_ONCE)
            first_comes<N>(at, source, valid, v);
        else
            into_accumulators<N>(at, source, valid, v);
    }

    // Reduce straight into the field that absorbs; whoever improves it lists the vertex.
    template <int N>
    __device__ __forceinline__ void into_field(const offset_t (&at)[N], const Source (&source)[N],
                                               const bool (&valid)[N], const vertex_t (&v)[N]) {
        if constexpr (P::ABSORBS) {
            Gathered value[N];
            bool better[N], put_off[N];
#pragma unroll
            for (int j = 0; j < N; ++j) {
                better[j] = put_off[j] = false;
                if (!valid[j] || !P::admits(c, v[j])) continue;
                const typename P::Edge edge = P::load_edge_out(c, at[j]);
                const Target target = P::load_target(c, v[j]);
                if constexpr (P::HAS_EDGE_MASK)
                    if (!P::edge_mask(c, source[j], target, edge)) continue;
                value[j] = P::gather(c, source[j], target, edge);
                better[j] = P::improves(c, v[j], value[j]);  // a stale value costs an atomic, never an answer
            }
#pragma unroll
            for (int j = 0; j < N; ++j)
                if (better[j]) better[j] = P::improve(c, v[j], value[j]);
#pragma unroll
            for (int j = 0; j < N; ++j) {
                if (!better[j]) continue;
                if constexpr (P::PRIORITISED) {
                    const double priority = P::priority(c, v[j], value[j]);
                    put_off[j] = priority >= c.threshold;
                    if (put_off[j]) low = least(low, priority);
                }
                better[j] = !put_off[j] && claim(c.claimed, v[j]);
                if constexpr (P::PRIORITISED) put_off[j] = put_off[j] && claim(c.a.far_bits, v[j]);
            }
            next.add(better, v);
            if constexpr (P::PRIORITISED) aside.add(put_off, v);
        }
    }

    // The first to reach a vertex applies to it. One that stays open is let go after the barrier.
    template <int N>
    __device__ __forceinline__ void first_comes(const offset_t (&at)[N], const Source (&source)[N],
                                                const bool (&valid)[N], const vertex_t (&v)[N]) {
        u32* taken = P::CLOSES ? c.a.closed : c.claimed;
        bool won[N];
        u32 word[N];
#pragma unroll
        for (int j = 0; j < N; ++j) word[j] = valid[j] ? taken[v[j] / WARP] : ALL;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            won[j] = !(word[j] & bit_of(v[j]));
            if (!won[j]) continue;
            if constexpr (!P::CLOSES) won[j] = P::admits(c, v[j]);
            if constexpr (P::HAS_EDGE_MASK)
                won[j] = won[j] && P::edge_mask(c, source[j], P::load_target(c, v[j]),
                                                      P::load_edge_out(c, at[j]));
            if (won[j]) won[j] = !(atomicOr(taken + v[j] / WARP, bit_of(v[j])) & bit_of(v[j]));
        }
        bool active[N], open[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            active[j] = open[j] = false;
            if (!won[j]) continue;
            const Target target = P::load_target(c, v[j]);
            active[j] = P::finish(c, v[j], P::gather(c, source[j], target, P::load_edge_out(c, at[j])));
            open[j] = P::CLOSES ? P::admits(c, v[j]) : !active[j];
        }
        next.add(active, v);
        aside.add(open, v);
    }

    // Reduce into accumulators that hold the identity between iterations; the first to come lists the receiver.
    template <int N>
    __device__ __forceinline__ void into_accumulators(const offset_t (&at)[N], const Source (&source)[N],
                                                      const bool (&valid)[N], const vertex_t (&v)[N]) {
        bool first[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            first[j] = false;
            if (valid[j] && P::admits(c, v[j])) {
                const typename P::Edge edge = P::load_edge_out(c, at[j]);
                const Target target = P::load_target(c, v[j]);
                if (P::edge_mask(c, source[j], target, edge)) {
                    if constexpr (P::PUSHES) {
                        if constexpr (P::ANY) {
                            first[j] = claim(c.claimed, v[j]);
                            if (first[j]) c.a.acc[v[j]] = P::gather(c, source[j], target, edge);
                        } else {
                            P::accumulate(c, v[j], P::gather(c, source[j], target, edge));
                            first[j] = claim(c.claimed, v[j]);
                        }
                    } else {  // only wake
                        first[j] = claim(c.claimed, v[j]);
                    }
                }
            }
        }
        aside.add(first, v);
    }
};

// Newly active vertices write to their out-edges.
template <class P> struct Scatter {
    typedef typename P::ScatterSource ScatterSource;
    const typename P::Context& c;

    template <int N>
    __device__ __forceinline__ void batch(
        const offset_t (&at)[N], const ScatterSource (&source)[N], const bool (&valid)[N]) {
#pragma unroll
        for (int j = 0; j < N; ++j)
            if (valid[j]) P::scatter(c, source[j], c.a.si[at[j]], at[j]);
    }
};

template <class P> struct Loop {
    typedef typename P::Context Context;
    typedef typename P::Gathered Gathered;
    typedef typename P::Sums Sums;

    Context c;
    Barrier barrier;
    Buffers& shared;
    u64* read;  // what one thread read for the block after the last barrier
    Control now;
    u64 receivers = 0;  // how many there are in the list `aside`
    u64 next_look;

    // Claims of one iteration that the next one's active vertices clear, in two bitmaps that take turns.
    static constexpr bool CLAIMS_BY_TURNS = P::ABSORBS || (P::PUSHES_AT_ONCE && !P::CLOSES);

    __device__ Loop(const typename P::Arguments& a, Buffers& shared, u64* read)
        : c(a), barrier(a.barrier), shared(shared), read(read), now(*a.control), next_look(nanoseconds() + LOOK_EVERY) {
        if (threadIdx.x < READS) read[threadIdx.x] = 0;
        __syncthreads();
    }

    __device__ __forceinline__ u64* row(u32 ahead) const { return c.a.counters + (now.slot + ahead) % 3 * COUNTERS; }
    __device__ __forceinline__ u64* counter(u32 which) const { return row(0) + which; }
    __device__ __forceinline__ Entry* queue(u32 side) const { return (Entry*)c.a.queue + side * c.a.self_n; }
    __device__ __forceinline__ u32 parity() const { return c.self_iteration & 1; }
    __device__ __forceinline__ u64 count_of(u64 packed) const { return packed & (((u64)1 << c.a.shift) - 1); }
    __device__ __forceinline__ u64 edges_of(u64 packed) const { return packed >> c.a.shift; }

    __device__ __forceinline__ Appender<QueueSink> to_queue(u32 side, u32 which = NEXT) const {
        return {shared.next, QueueSink{queue(side), counter(which), c.a.sp, c.a.shift}};
    }
    __device__ __forceinline__ Appender<ListSink> to_list(vertex_t* list, u64* counter) const {
        return {shared.aside, ListSink{list, counter}};
    }

    // Wait for all; then every thread has the counters as they are now.
    __device__ __forceinline__ void wait_and_read() {
        __syncthreads();
        if (threadIdx.x == 0) {
            barrier.arrive_and_wait();
            for (u32 i = 0; i < 4; ++i) read[i] = fresh(counter(i));
            if constexpr (P::PRIORITISED) {
                read[FAR] = fresh(far_count(0));
                read[LOW] = fresh(far_low(0));
            }
        }
        __syncthreads();
    }

    // Add what the threads of a block have to a counter, with one atomic.
    __device__ __forceinline__ void add_to(u32 which, u64 mine) {
        mine = warp_sum(mine);
        if (lane() == 0) shared.sums[warp_of_block()] = mine;
        __syncthreads();
        if (warp_of_block() == 0) {
            const u64 sum = warp_sum(lane() < warps_of_block() ? shared.sums[lane()] : 0);
            if (lane() == 0 && sum) atomicAdd(counter(which), sum);
        }
        __syncthreads();
    }

    // --- start and end -----------------------------------------------------------------------------------------------

    __device__ __forceinline__ void run() {
        if (c.a.fresh)
            start();
        else
            resume();
        while (goes_on()) iterate();
        if (thread_of_grid() == 0) {
            now.iteration = c.self_iteration;
            *c.a.control = now;
            c.a.page->control = now;
            __threadfence_system();
        }
        barrier.leave();
    }

    // Fields that start alike everywhere are filled here; aggregates see the initial state.
    __device__ __forceinline__ void start() {
        c.self_iteration = 0;
        const u64 n = c.a.self_n;
        P::set_parity(c, 0);
        for (u64 base = warp_of_grid() * WARP; base < n; base += threads_of_grid()) {
            const u64 v = base + lane();
            bool closed = true;
            if (v < n) {
                P::fill(c, (vertex_t)v);
                P::aggregate_start(c, (vertex_t)v);
                if constexpr (P::CLOSES) closed = !P::admits(c, (vertex_t)v);
            }
            if constexpr (P::CLOSES) {
                const u32 word = __ballot_sync(ALL, closed);
                if (lane() == 0) c.a.closed[base / WARP] = word;
            }
        }
        clear_claims();
        if constexpr (P::PRIORITISED)
            for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.a.far_bits[w] = 0;
        if constexpr (P::ACCUMULATES)
            for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) c.a.acc[v] = P::identity();
        publish_sums(1);
        const u32 slot = now.slot;
        now = Control{0, 0, c.a.active_count, c.a.m, c.a.m, 0, -infinity(), -infinity(), LIST, 0, 0, slot};
        if constexpr (P::KEEPS_ACTIVE) list_active();
        if constexpr (P::PRIORITISED) {
            if (thread_of_grid() < 3) {
                c.a.far[threadIdx.x] = 0;
                c.a.far[3 + threadIdx.x] = ordered(infinity());
            }
            c.threshold = now.threshold;
        }
        wait_and_read();
        if constexpr (P::KEEPS_ACTIVE) now.edges = edges_of(read[NEXT]);
        take_sums(1);
        turn();
    }

    __device__ __forceinline__ void resume() {
        c.self_iteration = now.iteration;
        if constexpr (P::PRIORITISED) c.threshold = now.threshold;
        P::set_parity(c, parity());
        take_sums(1 - parity());
    }

    // The vertices that are active at first: an array of ids, or a range.
    __device__ __forceinline__ void list_active() {
        auto next = to_queue(0);
        const u64 count = c.a.active_count;
        for (u64 base = warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
            const u64 i = base + lane();
            const bool is = i < count;
            next.add(is, is ? c.a.active_ids ? c.a.active_ids[i] : (vertex_t)(c.a.first_active + i) : 0);
        }
        next.flush_block(shared.sums);
    }

    // The next iteration's counters; the one after's are zeroed, which nobody reads any more.
    __device__ __forceinline__ void turn() {
        now.slot = (now.slot + 1) % 3;
        if (thread_of_grid() < COUNTERS) row(1)[threadIdx.x] = 0;
    }

    __device__ __forceinline__ static double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

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
            __shared__ Sums parts[MOST_WARPS];
            __syncthreads();
            Sums sums = warp_total(c.sums);
            if (lane() == 0) parts[warp_of_block()] = sums;
            __syncthreads();
            if (warp_of_block() == 0) {
                sums = P::no_sums();
                if (lane() < warps_of_block()) sums = parts[lane()];
                sums = warp_total(sums);
                if (lane() == 0) ((Sums*)c.a.parts)[side * gridDim.x + blockIdx.x] = sums;
            }
            c.sums = P::no_sums();
        }
    }

    // What all blocks' parts come to: each block puts them together for itself.
    __device__ __forceinline__ void take_sums(u32 side) {
        if constexpr (P::AGGREGATES) {
            __shared__ Sums total;
            if (warp_of_block() == 0) {
                Sums sums = P::no_sums();
                for (u32 i = lane(); i < gridDim.x; i += WARP)
                    sums = P::add_sums(sums, ((const Sums*)c.a.parts)[side * gridDim.x + i]);
                sums = warp_total(sums);
                if (lane() == 0) total = sums;
            }
            __syncthreads();
            P::take_sums(c, total);
            if (thread_of_grid() == 0) *(Sums*)c.a.shown = total;
            __syncthreads();
        }
    }

    // --- forms of the active set ---------------------------------------------------------------------------------------

    __device__ __forceinline__ void clear_claims() {
        if constexpr (P::CLAIMS) {
            const u64 words = c.a.words * (CLAIMS_BY_TURNS ? 2 : 1);
            for (u64 w = thread_of_grid(); w < words; w += threads_of_grid()) c.a.claimed[w] = 0;
        }
    }

    // Set exactly the bits of the listed vertices. Claims are over with that.
    __device__ __forceinline__ void to_bits() {
        for (u64 w = thread_of_grid(); w < c.a.words; w += threads_of_grid()) c.active[w] = 0;
        clear_claims();
        barrier.wait();
        const Entry* entries = queue(parity());
        for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) {
            const vertex_t v = entries[i].vertex;
            atomicOr(c.active + v / WARP, bit_of(v));
        }
        barrier.wait();
    }

    // List the vertices whose bits are set. How many they are is known.
    __device__ __forceinline__ void list_bits(const u32* bits, u32 side) {
        auto listed = to_queue(side, LISTED);
        for (u64 w = warp_of_grid(); w < c.a.words; w += warps_of_grid()) {
            const u32 word = bits[w];
            if (word) listed.add(word >> lane() & 1, (vertex_t)(w * WARP + lane()));
        }
        listed.flush_block(shared.sums);
        barrier.wait();
    }

    // --- an iteration --------------------------------------------------------------------------------------------------

    __device__ __forceinline__ bool goes_on() const {
        const bool more = now.size > 0 || (P::PRIORITISED && now.far > 0);
        return more && !now.done && c.self_iteration < c.a.limit && !read[STOPPED];
    }

    __device__ __forceinline__ void iterate() {
        P::set_parity(c, parity());
        if constexpr (P::KEEPS_ACTIVE) {
            c.active = c.a.bits + parity() * c.a.words;
            c.next_active = c.a.bits + (1 - parity()) * c.a.words;
        }
        if constexpr (P::CLAIMS) c.claimed = c.a.claimed + (CLAIMS_BY_TURNS ? parity() : 0) * c.a.words;
        look_at_host();
        const u64 size = now.size;
        u64 touched = 0;
        u32 way = DENSE;
        if constexpr (P::SCHEDULED) {
            scheduled();
        } else if constexpr (P::EVERYONE) {
            if constexpr (P::ACTIVE_ONLY)
                if (now.form == LIST) to_bits();
            dense();
        } else if constexpr (P::PRIORITISED) {
            way = SPARSE;
            touched = size ? now.edges : 0;
            near_or_next();
        } else {
            way = c.a.way ? c.a.way : dense_is_cheaper() ? DENSE : SPARSE;
            if (way == DENSE) {
                if (now.form == LIST) to_bits();
                dense();
            } else {
                if (now.form == BITS) list_bits(c.active, parity());
                now.form = LIST;
                touched = now.edges;
                sparse();
            }
        }
        if constexpr (P::HAS_SCATTER) scatter();
        if constexpr (P::HAS_POST_APPLY) post_apply();
        end_iteration(size, touched + read[TOUCHED], way);
    }

    __device__ __forceinline__ void end_iteration(u64 size, u64 touched, u32 way) {
        const long long line = c.self_iteration - c.a.log_from;
        if (thread_of_grid() == 0 && line < c.a.log_rows) {
            c.a.log[3 * line] = size;
            c.a.log[3 * line + 1] = touched;
            c.a.log[3 * line + 2] = way;
        }
        now.total += touched;
        now.size = P::SCHEDULED ? c.a.active_count - 1 - c.self_iteration : count_of(read[NEXT]);
        now.edges = edges_of(read[NEXT]);
        if constexpr (P::HAS_MASK && !P::EVERYONE)
            now.remaining = now.remaining > now.edges ? now.remaining - now.edges : 0;
        take_sums(parity());
        if constexpr (P::HAS_STOP) now.done = P::stop(c);
        ++c.self_iteration;
        turn();
    }

    // A pull looks at few edges for one that a push follows where it may stop at the first hit.
    __device__ __forceinline__ bool dense_is_cheaper() const {
        constexpr u64 ratio = P::LEAVES_EARLY ? 14 : 2;
        return now.edges * ratio > now.remaining + c.a.self_n * ratio / 16;
    }

    __device__ __forceinline__ void look_at_host() {
        if (thread_of_grid() != 0) return;
        const u64 time = nanoseconds();
        if (time < next_look) return;
        next_look = time + LOOK_EVERY;
        volatile Page* page = c.a.page;
        page->progress = c.self_iteration;
        if (page->stop) *counter(STOPPED) = 1;
    }

    // --- pulling -------------------------------------------------------------------------------------------------------

    // Gather over all vertices that the mask admits, and apply at once or list the receivers.
    __device__ __forceinline__ void dense() {
        auto listed = to_list(c.a.aside, counter(ASIDE));
        u64 next = 0, touched = 0;
        for (u64 w = warp_of_grid(); w < c.a.words; w += warps_of_grid()) {
            const u64 v = w * WARP + lane();
            u32 closed = 0;
            if constexpr (P::CLOSES) closed = c.a.closed[w];
            bool open = v < c.a.self_n && !(closed >> lane() & 1);
            if constexpr (!P::CLOSES) open = open && P::admits(c, (vertex_t)v);
            const Row<P> result = gather_rows<P, false>(c, open, (vertex_t)v, touched);
            const bool receives = open && result.found;
            if constexpr (P::TWO_PHASES) {
                if (receives) P::keep(c, (vertex_t)v, result.gathered);
            } else {
                bool active = false;
                if (receives) active = P::finish(c, (vertex_t)v, result.gathered);
                if constexpr (P::DOUBLED)
                    if (!open && v < c.a.self_n) P::carry_over(c, (vertex_t)v);
                if constexpr (P::KEEPS_ACTIVE) {
                    const u32 word = __ballot_sync(ALL, active);
                    if (lane() == 0) c.next_active[w] = word;
                }
                if constexpr (P::CLOSES) {
                    const u32 shut = closed | __ballot_sync(ALL, receives && !P::admits(c, (vertex_t)v));
                    if (lane() == 0 && shut != closed) c.a.closed[w] = shut;
                }
                if (active) next += 1;
                if constexpr (P::SENDS)
                    if (active) next += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
            }
            if constexpr (P::KEEPS_RECEIVERS) listed.add(receives, (vertex_t)v);
        }
        if constexpr (P::KEEPS_RECEIVERS) listed.flush_block(shared.sums);
        add_to(TOUCHED, touched);
        if constexpr (!P::TWO_PHASES) {
            add_to(NEXT, next);
            publish_sums(parity());
        }
        wait_and_read();
        receivers = read[ASIDE];
        now.form = BITS;
        if constexpr (P::TWO_PHASES) {
            apply_list();
            now.form = LIST;
        }
    }

    // Every listed receiver reduces over its in-edges, and applies or puts the result aside.
    __device__ __forceinline__ void gather_list(const vertex_t* list) {
        constexpr bool lists_next = !P::TWO_PHASES && P::KEEPS_ACTIVE;
        auto next = to_queue(1 - parity());
        u64 touched = 0;
        for (u64 base = warp_of_grid() * WARP; base < receivers; base += threads_of_grid()) {
            const bool is = base + lane() < receivers;
            const vertex_t v = is ? list[base + lane()] : 0;
            const Row<P> result = gather_rows<P, true>(c, is, v, touched);
            bool active = false;
            if (is) {
                if constexpr (P::TWO_PHASES) {
                    P::keep(c, v, result.gathered);
                } else {
                    active = P::finish(c, v, result.gathered);
                    if constexpr (P::CLAIMS) c.claimed[v / WARP] = 0;
                }
            }
            if constexpr (lists_next) next.add(active, v);
        }
        if constexpr (lists_next) next.flush_block(shared.sums);
        if constexpr (!P::TWO_PHASES) publish_sums(parity());
        add_to(TOUCHED, touched);
        wait_and_read();
        if constexpr (P::TWO_PHASES) apply_list(list);
    }

    // Receivers apply what was put aside for them, or what pushes brought together.
    __device__ __forceinline__ void apply_list() { apply_list(c.a.aside); }
    __device__ __forceinline__ void apply_list(const vertex_t* list) {
        auto next = to_queue(1 - parity());
        for (u64 base = warp_of_grid() * WARP; base < receivers; base += threads_of_grid()) {
            const bool is = base + lane() < receivers;
            const vertex_t v = is ? list[base + lane()] : 0;
            bool active = false;
            if (is) {
                const Gathered gathered = P::kept(c, v);
                if constexpr (P::ACCUMULATES) c.a.acc[v] = P::identity();
                active = P::finish(c, v, gathered);
                if constexpr (P::CLAIMS) c.claimed[v / WARP] = 0;
            }
            if constexpr (P::KEEPS_ACTIVE) next.add(active, v);
        }
        if constexpr (P::KEEPS_ACTIVE) next.flush_block(shared.sums);
        publish_sums(parity());
        wait_and_read();
    }

    // The receivers of a schedule are known ahead.
    __device__ __forceinline__ void scheduled() {
        if constexpr (P::SCHEDULED) {
            const long long first = c.a.starts[c.self_iteration];
            receivers = c.a.starts[c.self_iteration + 1] - first;
            gather_list(c.a.aside + first);
        }
    }

    // --- pushing -------------------------------------------------------------------------------------------------------

    __device__ __forceinline__ void sparse() {
        if constexpr (P::ABSORBS) {
            push(c.a.aside, counter(ASIDE));
        } else if constexpr (P::PUSHES_AT_ONCE) {
            push(c.a.aside, counter(ASIDE));
            if (receivers) release();
        } else {
            if constexpr (!P::PUSHES && P::ACTIVE_ONLY) to_bits();
            push(c.a.aside, counter(ASIDE));
            if constexpr (P::PUSHES)
                apply_list();
            else
                gather_list(c.a.aside);
        }
    }

    // Walk the out-edges of the active vertices.
    __device__ __forceinline__ void push(vertex_t* list, u64* list_counter) {
        const Entry* entries = queue(parity());
        if constexpr (CLAIMS_BY_TURNS) {  // all who made claims in the last iteration are active now, or were let go
            u32* last = c.a.claimed + (1 - parity()) * c.a.words;
            for (u64 i = thread_of_grid(); i < now.size; i += threads_of_grid()) last[entries[i].vertex / WARP] = 0;
        }
        auto next = to_queue(1 - parity());
        auto aside = to_list(list, list_counter);
        Push<P> visit{c, next, aside};
        const Context& context = c;
        advance<P::AT_ONCE, P::SOURCE_IS_EMPTY, typename P::Source>(
            entries, now.size, now.edges, c.a.sp, [&](vertex_t u) { return P::load_source(context, u); }, visit);
        if constexpr (!P::SCHEDULED && (P::ABSORBS || P::PUSHES_AT_ONCE)) next.flush_block(shared.sums);
        aside.flush_block(shared.sums);
        if constexpr (P::PRIORITISED) note_low(far_low(0), visit.low);
        if constexpr (P::PUSHES_AT_ONCE) publish_sums(parity());
        wait_and_read();
        receivers = read[ASIDE];
    }

    // Forget that some vertices were taken.
    __device__ __forceinline__ void release() {
        u32* taken = P::CLOSES ? c.a.closed : c.claimed;
        for (u64 i = thread_of_grid(); i < receivers; i += threads_of_grid())
            atomicAnd(taken + c.a.aside[i] / WARP, ~bit_of(c.a.aside[i]));
        barrier.wait();
    }

    // --- near and far --------------------------------------------------------------------------------------------------

    // `far` holds three counts and three least priorities, which take turns from split to split; two lists do likewise.
    __device__ __forceinline__ u64* far_count(u32 ahead) const { return c.a.far + (now.splits + ahead) % 3; }
    __device__ __forceinline__ u64* far_low(u32 ahead) const { return far_count(ahead) + 3; }
    __device__ __forceinline__ vertex_t* far_list(u32 ahead) const {
        return c.a.far_lists + (now.splits + ahead) % 2 * c.a.self_n;
    }

    __device__ __forceinline__ void note_low(u64* where, double low) {
#pragma unroll
        for (u32 step = WARP / 2; step; step >>= 1) low = least(low, __shfl_xor_sync(ALL, low, step));
        if (lane() == 0 && low < infinity()) atomicMin(where, ordered(low));
    }

    // Near vertices until none is left, then the next bucket of those put off.
    __device__ __forceinline__ void near_or_next() {
        if constexpr (P::PRIORITISED) {
            if (now.size > 0) {
                push(far_list(0), far_count(0));
            } else {
                now.last_threshold = now.threshold;
                now.threshold = beyond(from_ordered(fresh(far_low(0))), c.a.delta);
                c.threshold = now.threshold;
                split();
            }
            now.far = read[FAR];
        }
    }

    __device__ __forceinline__ static double beyond(double low, double delta) {
        const double end = (floor(low / delta) + 1.0) * delta;
        return end > low ? end : infinity();
    }

    // What was put off and is near now becomes active. What came nearer meanwhile has been done already.
    __device__ __forceinline__ void split() {
        if constexpr (P::PRIORITISED) {
            const vertex_t* from = far_list(0);
            const u64 count = now.far;
            auto next = to_queue(1 - parity());
            auto kept = to_list(far_list(1), far_count(1));
            double low = infinity();
            for (u64 base = warp_of_grid() * WARP; base < count; base += threads_of_grid()) {
                const bool is = base + lane() < count;
                const vertex_t v = is ? from[base + lane()] : 0;
                const double priority = is ? P::priority_of(c, v) : 0;
                const bool keep = is && priority >= now.threshold;
                const bool near = is && !keep && priority >= now.last_threshold;
                if (keep) low = least(low, priority);
                if (is && !keep) atomicAnd(c.a.far_bits + v / WARP, ~bit_of(v));
                next.add(near, v);
                kept.add(keep, v);
            }
            next.flush_block(shared.sums);
            kept.flush_block(shared.sums);
            note_low(far_low(1), low);
            if (thread_of_grid() == 0) {
                *far_count(2) = 0;
                *far_low(2) = ordered(infinity());
            }
            ++now.splits;
            wait_and_read();
        }
    }

    // --- after all have applied ----------------------------------------------------------------------------------------

    __device__ __forceinline__ void scatter() {
        if constexpr (P::HAS_SCATTER) {
            const u32 side = 1 - parity();
            if (now.form == BITS) list_bits(c.next_active, side);
            if constexpr (!P::EVERYONE) now.form = LIST;
            Scatter<P> visit{c};
            const Context& context = c;
            advance<P::AT_ONCE, false, typename P::ScatterSource>(
                queue(side), count_of(read[NEXT]), edges_of(read[NEXT]), c.a.sp,
                [&](vertex_t u) { return P::load_scatter_source(context, u); }, visit);
            barrier.wait();
        }
    }

    __device__ __forceinline__ void post_apply() {
        if constexpr (P::HAS_POST_APPLY) {
            const vertex_t* list = c.a.aside + (P::SCHEDULED ? c.a.starts[c.self_iteration] : 0);
            for (u64 i = thread_of_grid(); i < receivers; i += threads_of_grid()) P::post_apply(c, list[i]);
            barrier.wait();
        }
    }
};

}  // namespace gasla
