// Joins of adjacency lists, for matching small patterns in a graph: a warp extends a partial match by one vertex at a
// time, depth-first.
//
// The code that includes this file first defines the types vertex_t and offset_t, includes join_plan.cuh, and defines a
// plan: SIZE, the number of pattern vertices that are matched one by one; FREE, the number of further pattern vertices
// whose candidates are only counted; JOINS, the conditions of the SIZE vertices followed by those of the FREE vertices;
// FREES; and what is to be done with matches.
//
// To extend a match, the lanes of a warp read the shortest adjacency list that must contain the new vertex, and search
// its entries in the other lists. The warp then goes on with each entry that fits. A match takes only a few registers
// for each vertex. The last vertices are processed by all lanes at once, if what is counted after them is a table
// look-up.
//
// For counting, a block takes one first vertex after another, and its warps share a bitmap of that vertex's neighbors,
// and tables with the number of paths of two edges from it to each vertex. For writing, each warp takes some edges
// alone, as rows of the result are ordered.
#pragma once
#include "page.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u64 NO_LIMIT = ~0ull;
constexpr long long WARP_INTERVAL = 1 << 26;  // clock ticks between two reads of host memory by a warp
// A warp reads an adjacency list longer than this by itself. Lists up to this length are read several at a time.
constexpr u32 LONG = 3 * WARP / 2;
// If an adjacency list has more than this many entries per lane, a binary search first skips the entries whose ids are
// too small for a match.
constexpr u32 FAR = 4;

typedef Choose<sizeof(vertex_t) == 8, u64, u32>::type length_t;  // can hold the length of any adjacency list

// A sorted adjacency list, or a part of one.
struct List {
    const vertex_t* of;
    length_t length;

    // Return the number of entries that are less than w, by binary search.
    __device__ __forceinline__ length_t less(vertex_t w) const {
        length_t low = 0, high = length;
        while (low < high) {
            const length_t middle = (low + high) / 2;
            if (of[middle] < w)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    __device__ __forceinline__ bool has(vertex_t w) const {
        const length_t at = less(w);
        return at < length && of[at] == w;
    }
    // Return the number of entries that are at most w. A whole warp searches: in each step its lanes compare w with
    // entries at equal distances.
    __device__ __forceinline__ length_t upto(vertex_t w) const {
        length_t low = 0, count = length;
        while (count) {
            const length_t step = (count + WARP - 1) / WARP, at = lane() * step;
            const u32 below = __popc(__ballot_sync(ALL, at < count && of[low + at] <= w));
            if (below == 0) break;
            const length_t passed = (below - 1) * step + 1;
            low += passed;
            count = least<length_t>(step - 1, count - passed);
        }
        return low;
    }
};

// The graph as sorted adjacency lists. Each vertex has SLOTS lists (for example out- and in-neighbors). List number v +
// slot * n belongs to vertex v.
struct Graph {
    u64 n;
    const offset_t* indptr;
    const vertex_t* indices;
    const unsigned char* kinds;

    __device__ __forceinline__ List of(vertex_t v, u32 slot) const {
        const u64 at = v + slot * n;
        return List{indices + indptr[at], (length_t)(indptr[at + 1] - indptr[at])};
    }

    // Return the number of the adjacency list that contains position `at` of `indices`, by binary search. Only lists of
    // slot FIRST_SLOT are searched, which lead from the first to the second vertices of matches. The list of vertex v
    // has the number v + FIRST_SLOT * n.
    __device__ u64 owner_of(u64 at) const {
        u64 low = FIRST_SLOT * n, high = low + n;
        while (high - low > 1) {
            const u64 middle = (low + high) / 2;
            if ((u64)indptr[middle] <= at)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
};

// Whether the lanes of a warp can process different vertices in the last place of a match. This requires that the
// number of candidates for each vertex that is counted afterwards is looked up, in a table or as a degree.
__device__ constexpr bool is_looked_up(const Free& free) { return free.is_tabled || free.is_degree; }
__device__ constexpr bool ends_at_once() {
    for (u32 f = 0; f < FREE; ++f)
        if (FREES[f].ready == SIZE && !is_looked_up(FREES[f])) return false;
    return SIZE > 2;
}
// Whether the last matched vertex may be any neighbor of the vertex before it. Then the lanes of a warp may also
// process different vertices in the place before the last.
__device__ constexpr bool ends_with_path() {
    const Join& last = JOINS[SIZE - 1];
    for (u32 f = 0; f < FREE; ++f)
        if (FREES[f].ready == SIZE - 1 && !is_looked_up(FREES[f])) return false;
    return ends_at_once() && !WRITES && !TALLIES && last.within.count == 1 && last.within.of[0].place == SIZE - 2 &&
           last.outside.count == 0;
}
constexpr bool SPREADS = ends_with_path();
// In the places of a match from this number on, each lane of a warp has a vertex of its own.
constexpr u32 ALONE = SPREADS ? SIZE - 2 : ends_at_once() ? SIZE - 1 : SIZE;

__device__ constexpr bool is_late(u32 join, const Met& met) {
    if (met.place >= ALONE) return true;
    for (u32 i = 0; i < met.tests.count; ++i)
        if (met.tests.of[i].place >= ALONE || met.tests.of[i].reach.place >= ALONE) return true;
    for (u32 i = 0; i < JOINS[join].above.count; ++i)
        if (JOINS[join].above.of[i] >= ALONE) return true;
    return false;
}

// A depth-first search for matches by one warp. All lanes call every method together. Values are the same in all lanes
// unless a comment says otherwise.
struct Search {
    Graph graph;
    const u32* marks;  // bitmaps of the first vertex's neighbors, which all warps of the block share
    // For each vertex, the number of paths of two edges from the match's first vertex to it. All warps of the block
    // share this.
    const u32* tables;
    u64* tally;  // for each vertex, the number of matches that contain it
    vertex_t* found;  // rows of the result, of SIZE vertices each
    u64 skip, left, place;  // matches still to skip, matches still to write at most, and number of the next row
    u64 most;  // the search may end when it has this many matches
    const volatile Page* page;
    Looks looks;
    // whether the host has interrupted the kernel, and whether the search has found as many matches as are wanted
    bool stopped, enough;
    vertex_t row[SIZE];
    List lists[SIZE][SLOTS];
    u64 sizes[FREE + 1];
    u32 coincide[FREE + 1];
    u64 matches;  // matches so far, if they are counted per vertex
    u64 low, high;  // the number of matches that this lane has counted, in two words

    // Return whether the search should end early, because the host has interrupted it or there are enough matches.
    __device__ __forceinline__ bool ends() {
        const bool is_due = lane() == 0 && looks.are_due(WARP_INTERVAL);
        if (shuffle((u32)(is_due && page->stop), 0)) stopped = true;
        if (WRITES ? left == 0 : most != NO_LIMIT && warp_sum(low) >= most) enough = true;
        return stopped || enough;
    }
    __device__ __forceinline__ void match(u32 k, vertex_t v) {
        row[k] = v;
#pragma unroll
        for (u32 slot = 0; slot < SLOTS; ++slot) lists[k][slot] = graph.of(v, slot);
    }
    __device__ __forceinline__ List list(Reach reach) const {
        if (SPREADS && reach.place == ALONE) return graph.of(row[ALONE], reach.slot);
        return lists[reach.place][reach.slot];
    }
    __device__ __forceinline__ vertex_t at(u32 k, vertex_t last) const {
        return ALONE < SIZE && k == SIZE - 1 ? last : row[k];
    }

    // Return whether vertex w, of which each lane has its own, is in an adjacency list of a matched vertex.
    __device__ __forceinline__ bool is_in(Reach reach, vertex_t w) const {
        if (MARKS && reach.place == 0) return has(marks + reach.slot * mark_words(graph.n), w);
        return list(reach).has(w);
    }
    static __device__ __forceinline__ u64 mark_words(u64 n) { return (n + WARP - 1) / WARP; }

    // Call visit(w, fits) by all lanes for each entry w of the shortest adjacency list that must have the next vertex
    // of the match (the vertex of join j). `fits` says whether w extends the match of `count` vertices.
    template <class Visit> __device__ __forceinline__ void scan(const u32 j, const u32 count, Visit visit) {
        List list = this->list(JOINS[j].within.of[0]);
        u32 read = 0;
#pragma unroll
        for (u32 i = 1; i < JOINS[j].within.count; ++i) {
            const List other = this->list(JOINS[j].within.of[i]);
            if (other.length < list.length) list = other, read = i;
        }
        if (JOINS[j].above.count && list.length > FAR * WARP) {
            vertex_t bound = row[JOINS[j].above.of[0]];
#pragma unroll
            for (u32 i = 1; i < JOINS[j].above.count; ++i) bound = gasla::most(bound, row[JOINS[j].above.of[i]]);
            const length_t passed = list.upto(bound);
            list.of += passed, list.length -= passed;
        }
        for (length_t first = 0; first < list.length; first += WARP) {
            const length_t place = first + lane();
            const bool is_there = place < list.length;
            const vertex_t w = is_there ? list.of[place] : 0;
            bool fits = is_there && fits_besides(j, count, w);
#pragma unroll
            for (u32 i = 0; i < JOINS[j].within.count; ++i)
                if (JOINS[j].within.count > 1 && i != read && fits) fits = is_in(JOINS[j].within.of[i], w);
#pragma unroll
            for (u32 i = 0; i < JOINS[j].outside.count; ++i)
                if (fits) fits = !is_in(JOINS[j].outside.of[i], w);
            visit(w, fits);
        }
    }

    // Return the number of candidates for pattern vertex f, which is only counted, from a table or the length of an
    // adjacency list. The result differs by lane if it depends on `last`, the lane's last vertex of the match.
    __device__ __forceinline__ u64 looked_up(const u32 f, vertex_t last) const {
        u64 size;
        if (FREES[f].is_tabled) {
            size = tables[FREES[f].table * graph.n + at(FREES[f].ready - 1, last)];
        } else {
            const Reach reach = JOINS[SIZE + f].within.of[0];
            const List list =
                reach.place >= ALONE ? graph.of(at(reach.place, last), reach.slot) : this->list(reach);
            size = list.length;
            if (JOINS[SIZE + f].above.count) {
                vertex_t bound = at(JOINS[SIZE + f].above.of[0], last);
#pragma unroll
                for (u32 i = 1; i < JOINS[SIZE + f].above.count; ++i)
                    bound = gasla::most(bound, at(JOINS[SIZE + f].above.of[i], last));
                size -= list.less(bound + 1);
            }
        }
        return size - least<u64>(size, FREES[f].certain);
    }
    __device__ __forceinline__ u64 size_of(const u32 f) {
        if (is_looked_up(FREES[f])) return looked_up(f, 0);
        u32 count = 0;
        scan(SIZE + f, FREES[f].ready, [&](vertex_t, bool fits) { count += fits; });
        const u64 size = warp_sum((u64)count);
        return size - least<u64>(size, FREES[f].certain);
    }
    // Return how many matched vertices are themselves candidates for pattern vertex f, which is only counted. They must
    // be subtracted from the candidates. With `late`, those are counted that depend on the last vertex, otherwise all
    // others.
    __device__ __forceinline__ u32 coinciding(const u32 f, bool late, vertex_t last) const {
        u32 count = 0;
#pragma unroll
        for (u32 i = 0; i < FREES[f].met.count; ++i) {
            if (is_late(SIZE + f, FREES[f].met.of[i]) != late) continue;
            const vertex_t v = at(FREES[f].met.of[i].place, last);
            bool fits = true;
#pragma unroll
            for (u32 k = 0; k < JOINS[SIZE + f].above.count; ++k) fits &= v > at(JOINS[SIZE + f].above.of[k], last);
            if (JOINS[SIZE + f].label && fits) fits = graph.kinds[v] & JOINS[SIZE + f].label;
#pragma unroll
            for (u32 k = 0; k < FREES[f].met.of[i].tests.count; ++k)
                if (fits) fits = is_in(FREES[f].met.of[i].tests.of[k].reach, at(FREES[f].met.of[i].tests.of[k].place, last));
            count += fits;
        }
        return count;
    }

    __device__ __forceinline__ void count_coinciding() {
#pragma unroll
        for (u32 f = 0; f < FREE; ++f) coincide[f] = coinciding(f, false, 0);
    }

    // Count or write the matches that end with vertex `last`, in each lane for which `fits` is true.
    __device__ __forceinline__ void take(vertex_t last, bool fits) {
        if constexpr (WRITES) {
            write(last, fits);
        } else if constexpr (TALLIES) {
            matches += __popc(__ballot_sync(ALL, fits));
            if (fits && SIZE > 2) atomicAdd(tally + last, 1ull);
        } else {
            u64 of[FREE + 1];
#pragma unroll
            for (u32 f = 0; f < FREE; ++f) {
                of[f] = sizes[f] - coincide[f];
                if (FREES[f].ready > ALONE) of[f] = fits ? looked_up(f, last) : 0;
                if (FREES[f].ready > ALONE) of[f] -= least<u64>(of[f], coincide[f]);
                if (fits && of[f]) of[f] -= coinciding(f, true, last);
            }
            if (fits) add(FREE > 0 ? of[0] : 1, FREE > 1 ? of[1] : 1, FREE > 2 ? of[2] : 1, FREE > 3 ? of[3] : 1);
        }
    }
    // Add the product of four numbers below 2^31 to this lane's total.
    __device__ __forceinline__ void add(u64 a, u64 b, u64 c, u64 d) {
        const u64 first = a * b, second = c * d, product = first * second;
        low += product;
        high += low < product;
        if (FREE > 2) high += __umul64hi(first, second);
    }
    __device__ __forceinline__ void write(vertex_t last, bool fits) {
        const u32 all = __ballot_sync(ALL, fits), count = __popc(all);
        const u64 number = __popc(all & lanes_below());
        if (fits && number >= skip && number - skip < left) {
            vertex_t* const to = found + (place + number - skip) * SIZE;
#pragma unroll
            for (u32 i = 0; i + 1 < SIZE; ++i) to[i] = row[i];
            to[SIZE - 1] = last;
        }
        const u64 written = least<u64>(count - least<u64>(count, skip), left);
        skip -= least<u64>(count, skip);
        place += written;
        left -= written;
    }

    // Count the candidates of pattern vertices that are only counted, as far as they depend on the first `count`
    // matched vertices alone. Returns false if a pattern vertex has no candidate, because then there is no match.
    __device__ __forceinline__ bool count_ready(const u32 count) {
        bool any = true;
#pragma unroll
        for (u32 f = 0; f < FREE; ++f)
            if (any && FREES[f].ready == count && count <= ALONE) any = (sizes[f] = size_of(f)) > 0;
        return any;
    }
    // Visit all matches that extend the K vertices matched so far.
    template <u32 K> __device__ __forceinline__ void extend() {
        if (!count_ready(K)) return;
        if (K == ALONE) count_coinciding();
        if constexpr (K == SIZE) {
            take(row[SIZE - 1], lane() == 0);
        } else if constexpr (SPREADS && K == SIZE - 2) {
            scan(K, K, [&](vertex_t w, bool fits) {
                if (!ends()) spread(w, fits);
            });
        } else {
            scan(K, K, [&](vertex_t w, bool fits) {
                if (stopped || enough) return;
                if constexpr (K + 1 == SIZE && ALONE < SIZE) {
                    take(w, fits);
                } else {
                    for (u32 all = __ballot_sync(ALL, fits); all && !ends(); all &= all - 1) {
                        const u64 before = matches;
                        match(K, shuffle(w, __ffs(all) - 1));
                        extend<K + 1>();
                        if (TALLIES) add_matches(row[K], before);
                    }
                }
            });
        }
    }
    // Extend a match by its last two vertices: w, of which each lane has its own, and then each neighbor of w. A long
    // adjacency list is read by the whole warp. The entries of all short lists are distributed over the lanes.
    __device__ __forceinline__ void spread(vertex_t w, bool fits) {
        constexpr Reach reach = JOINS[SIZE - 1].within.of[0];
        const List mine = fits ? graph.of(w, reach.slot) : List{graph.indices, 0};
        const bool is_long = mine.length > LONG;
        for (u32 all = __ballot_sync(ALL, is_long); all && !stopped; all &= all - 1) {
            match(SIZE - 2, shuffle(w, __ffs(all) - 1));
            scan(SIZE - 1, SIZE - 1, [&](vertex_t last, bool fits) { take(last, fits); });
        }
        const u32 length = is_long ? 0 : (u32)mine.length, end = scan_inclusive(length), total = shuffle(end, WARP - 1);
        const vertex_t* const from = mine.of - (end - length);
        for (u32 first = 0; first < total; first += WARP) {
            const u32 place = first + lane();
            u32 owner = 0;  // the first lane whose entries end after this place
#pragma unroll
            for (u32 step = WARP / 2; step; step /= 2)
                if (shuffle(end, owner + step - 1) <= place) owner += step;
            row[SIZE - 2] = shuffle(w, owner);
            const vertex_t* const list = shuffle(from, owner);
            const bool is_there = place < total;
            const vertex_t last = is_there ? list[place] : 0;
            take(last, is_there && fits_besides(SIZE - 1, SIZE - 1, last));
        }
    }
    // Return whether vertex w, of which each lane has its own, meets the conditions of join j on order, distinctness
    // and kind. The conditions on adjacency lists are tested elsewhere.
    __device__ __forceinline__ bool fits_besides(const u32 j, const u32 count, vertex_t w) const {
        bool fits = true;
#pragma unroll
        for (u32 i = 0; i < JOINS[j].above.count; ++i) fits &= w > row[JOINS[j].above.of[i]];
#pragma unroll
        for (u32 i = 0; i < JOINS[j].apart.count; ++i)
            if (JOINS[j].apart.of[i] < count) fits &= w != row[JOINS[j].apart.of[i]];
        if (JOINS[j].kind && fits) fits = graph.kinds[w] & JOINS[j].kind;
        return fits;
    }
    __device__ __forceinline__ void add_matches(vertex_t v, u64 before) const {
        if (lane() == 0 && matches != before) atomicAdd(tally + v, matches - before);
    }

    // Return whether a vertex may be the first vertex of a match. `may_follow` returns whether w may be the second.
    __device__ __forceinline__ bool may_be_first(vertex_t v) const { return graph.kinds[v] & FIRST; }
    __device__ __forceinline__ bool may_follow(vertex_t w) const {
        if (!(graph.kinds[w] & SECOND) || (JOINS[1].above.count && w < row[0])) return false;
        bool fits = true;
#pragma unroll
        for (u32 i = 1; i < JOINS[1].within.count; ++i)
            if (fits) fits = is_in(JOINS[1].within.of[i], w);
#pragma unroll
        for (u32 i = 0; i < JOINS[1].outside.count; ++i)
            if (fits) fits = !is_in(JOINS[1].outside.of[i], w);
        return fits;
    }
    __device__ __forceinline__ void begin(vertex_t w) {
        const u64 before = matches;
        enough = false;
        match(1, w);
        if constexpr (ALONE > 1) extend<2>();
        if (TALLIES) {
            add_matches(row[0], before);
            add_matches(row[1], before);
        }
    }
    // Add the totals of all lanes to a number in global memory, which has two words, and reset the totals to 0.
    __device__ __forceinline__ void tell(u64* total) {
        constexpr u64 HALF = 0xffffffff;
        const u64 lows = warp_sum(low & HALF), middle = warp_sum(low >> WARP), highs = warp_sum(high);
        if (lane() == 0 && (lows | middle | highs)) {
            const u64 sum = lows + (middle << WARP);
            u64 over = highs + (middle >> WARP) + (sum < lows);
            if (atomicAdd(total, sum) + sum < sum) ++over;
            if (over) atomicAdd(total + 1, over);
        }
        low = high = 0;
    }
};

}  // namespace gasla
