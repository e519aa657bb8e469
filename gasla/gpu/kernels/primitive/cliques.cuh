// Counts cliques of k >= 4 vertices in a simple graph. Vertices are ordered by degree, and each clique is counted at
// its first vertex.
//
// The code that includes this file first defines the types vertex_t and offset_t.
//
// The forward list of a vertex v holds its d neighbors that come later in the order. They are numbered 0 to d - 1. Row
// i is a bitmap of those among them that are in the forward list of the i-th. For k = 4, the cliques with v and the
// i-th are the edges within row i, which are counted by a bitwise `and` of rows. For larger k, cliques are counted by a
// search with pivots, as on the CPU, where the search is explained (gasla/cpu/primitive/cliques.py). The first choices
// of the search at a vertex are divided among the warps of a block.
//
// Lower bound of the time for k = 4: each edge's two adjacency lists are read, and d / 32 words for each triangle.
#pragma once
#include "hash_table.cuh"
#include "page.cuh"
#include "runtime.cuh"

namespace gasla {

constexpr u32 MOST_THREADS = 256, BLOCK_WARPS = MOST_THREADS / WARP;
constexpr u32 SHORT = WARP;  // the longest forward list that a single warp processes: each row is then one word
constexpr u32 SHORT_SLOTS = 128;  // slots of a warp's hash table
constexpr u32 PART = WARP * WARP;  // vertices in a block's hash table at a time, so that a row has one word per lane
constexpr u32 SLOTS = 16384 / sizeof(vertex_t);  // slots of a block's hash table
constexpr u32 LACK = 3;  // a search stops when a clique lacks this many vertices, as the rest can be counted directly

// The forward lists of all vertices: the neighbors that come later in the order of degrees. The list of v is the
// lengths[v] entries of `forward` from indptr[v] on.
struct Forward {
    u64 n;
    const offset_t* indptr;
    const vertex_t* forward;
    const u32* lengths;

    __device__ __forceinline__ const vertex_t* of(vertex_t v) const { return forward + indptr[v]; }
};

// Call visit(place) for each vertex of `list` that is in the hash table, where `place` is the number that `places`
// stores for the vertex. A whole warp calls this, and each vertex is visited by one lane.
template <class Visit>
__device__ __forceinline__ void for_common(
    const Table& table, const unsigned short* places, const vertex_t* list, u32 length, Visit visit
) {
    for (u32 at = lane(); at < length; at += WARP) {
        const u32 slot = table.find(list[at]);
        if (slot != NOWHERE) visit((u32)places[slot]);
    }
    __syncwarp();
}

// Write the vertices with more than `above` later neighbors (in the order of degrees) to `vertices`. Their number goes
// to control[0], and the largest number of later neighbors of any vertex to control[1].
extern "C" __global__ void list_long(u64 n, const u32* lengths, u32 above, vertex_t* vertices, u64* control) {
    u32 longest = 0;
    for (u64 v = thread_of_grid(); v < n; v += threads_of_grid()) {
        longest = most(longest, lengths[v]);
        if (lengths[v] > above) vertices[atomicAdd(control, 1ull)] = (vertex_t)v;
    }
    if (longest > fresh(control + 1)) atomicMax(control + 1, (u64)longest);
}

// Count the cliques of four vertices whose first vertex has a short forward list (few later neighbors). A warp
// processes such a vertex.
extern "C" __global__ void __launch_bounds__(MOST_THREADS) count_cliques_of_short(
    u64 n, const offset_t* indptr, const vertex_t* forward, const u32* lengths, u64* tickets, u64* total
) {
    __shared__ vertex_t all_slots[BLOCK_WARPS][SHORT_SLOTS];
    __shared__ unsigned short all_places[BLOCK_WARPS][SHORT_SLOTS];
    __shared__ u32 all_rows[BLOCK_WARPS][WARP];
    vertex_t* const slots = all_slots[warp_of_block()];
    unsigned short* const places = all_places[warp_of_block()];
    u32* const rows = all_rows[warp_of_block()];
    const Forward lists{n, indptr, forward, lengths};
    for (u32 slot = lane(); slot < SHORT_SLOTS; slot += WARP) slots[slot] = FREE;
    u64 found = 0;
    for (u64 start = take_tickets(tickets, WARP); start < n; start = take_tickets(tickets, WARP)) {
        const u64 v = start + lane();
        const u32 length = v < n ? lengths[v] : 0;
        for (u32 left = __ballot_sync(ALL, length >= LACK && length <= SHORT); left; left &= left - 1) {
            const u32 which = __ffs(left) - 1, count = shuffle(length, which);
            const bool has_member = lane() < count;
            const vertex_t member = has_member ? lists.of((vertex_t)(start + which))[lane()] : 0;
            const offset_t first = has_member ? indptr[member] : 0;
            const u32 size = has_member ? lengths[member] : 0;
            const Table table(slots, count, SHORT_SLOTS);
            const u32 slot = has_member ? table.insert(member) : 0;
            if (has_member) places[slot] = (unsigned short)lane();
            rows[lane()] = 0;
            __syncwarp();
            for (u32 i = 0; i < count; ++i)
                for_common(table, places, forward + shuffle(first, i), shuffle(size, i),
                           [&](u32 place) { atomicOr(rows + i, 1u << place); });
            const u32 row = rows[lane()];
            for (u32 bits = row; bits; bits &= bits - 1) found += __popc(row & rows[__ffs(bits) - 1]);
            __syncwarp();
            if (has_member) slots[slot] = FREE;
            __syncwarp();
        }
    }
    found = warp_sum(found);
    if (lane() == 0 && found) atomicAdd(total, found);
}

// Operations on sets of vertices, which are stored as bitmaps over the later neighbors of one vertex. A whole warp
// calls every method.
struct Neighborhood {
    // For each vertex, `rows` has a bitmap of its later neighbors, and `near` a bitmap of all its neighbors, by which
    // pivots are chosen.
    const u32 *rows, *near;
    u64 words;  // words of a row
    unsigned short* listed;  // memory of this warp for the numbers of a set's members, which `edges_within` lists

    __device__ __forceinline__ u32 word_of(const u32* set, u64 at) const { return at < words ? set[at] : 0; }

    // Call visit(i) for each member i of a set. All lanes call visit together.
    template <class Visit> __device__ __forceinline__ void each(const u32* set, Visit visit) const {
        for (u64 first = 0; first < words; first += WARP) {
            const u32 word = word_of(set, first + lane());
            for (u32 left = __ballot_sync(ALL, word != 0); left; left &= left - 1) {
                const u32 which = __ffs(left) - 1;
                for (u32 bits = shuffle(word, which); bits; bits &= bits - 1)
                    visit((first + which) * WARP + __ffs(bits) - 1);
            }
        }
    }
    // Return the smallest member of a set, or NOWHERE if the set is empty.
    __device__ __forceinline__ u32 first_of(const u32* set) const {
        for (u64 first = 0; first < words; first += WARP) {
            const u32 word = word_of(set, first + lane()), any = __ballot_sync(ALL, word != 0);
            if (!any) continue;
            const u32 which = __ffs(any) - 1;
            return (u32)(first + which) * WARP + __ffs(shuffle(word, which)) - 1;
        }
        return NOWHERE;
    }
    __device__ __forceinline__ u32 size_of(const u32* set) const {
        u32 size = 0;
        for (u64 at = lane(); at < words; at += WARP) size += __popc(set[at]);
        return warp_sum(size);
    }
    // Write the intersection of a set and a row (the bitmap of a vertex's neighbors) to `to`, and return its size.
    __device__ __forceinline__ u32 meet(u32* to, const u32* set, const u32* row) const {
        u32 size = 0;
        for (u64 at = lane(); at < words; at += WARP) size += __popc(to[at] = set[at] & row[at]);
        __syncwarp();
        return warp_sum(size);
    }
    // Return this lane's part of the number of edges between members of a set. An edge counts at the end that comes
    // first. A few lanes process a row (the bitmap of a vertex's later neighbors) together, because rows are short.
    __device__ __forceinline__ u64 edges_within(const u32* set) const {
        const u32 lanes = words >= WARP ? WARP : words <= 1 ? 1 : 1u << (WARP - __clz((u32)words - 1));
        u64 edges = 0;
        for (u64 first = 0; first < words; first += WARP) {
            const u32 word = word_of(set, first + lane()), upto = scan_inclusive((u32)__popc(word));
            u32 at = upto - __popc(word);
            for (u32 bits = word; bits; bits &= bits - 1) listed[at++] = lane() * WARP + __ffs(bits) - 1;
            const u32 count = shuffle(upto, WARP - 1);
            __syncwarp();
            for (u32 member = lane() / lanes; member < count; member += WARP / lanes) {
                const u32* row = rows + (first * WARP + listed[member]) * words;
                for (u64 w = lane() & (lanes - 1); w < words; w += lanes) edges += __popc(set[w] & row[w]);
            }
            __syncwarp();
        }
        return edges;
    }
};

// Counters for the ends of branches of a search. A branch ends where the cliques can be counted by a formula: they lack
// some vertices, which may be any of the pivots on the branch. There is a counter for each number of lacking vertices
// and of pivots.
struct Leaves {
    u64* counts;
    u64 pivots;  // one more than the largest number of pivots on a path of the search

    __device__ __forceinline__ void add(u32 lack, u32 pivot, u64 count) const {
        if (lane() == 0 && count) atomicAdd(counts + lack * pivots + pivot, count);
    }
};

// A search for cliques among the members of a set. A whole warp makes the search, with an explicit stack instead of
// recursion.
struct Search {
    struct Level {
        u32 lack, pivots, pivot;
    };
    Neighborhood all;
    Leaves leaves;
    u32* sets;  // two sets for each level, the members and those still to be tried, and one set that `tell` uses
    Level* levels;
    const volatile Page* page;
    Looks looks;

    __device__ __forceinline__ u32* members(u32 depth) const { return sets + (2 * (u64)depth + 1) * all.words; }
    __device__ __forceinline__ u32* untried(u32 depth) const { return sets + (2 * (u64)depth + 2) * all.words; }

    __device__ bool stops() {
        const bool is_due = lane() == 0 && looks.are_due(LOOK_INTERVAL);
        return shuffle(is_due ? page->stop : 0, 0);
    }
    // Count the cliques of up to three members in a set directly. Of the three vertices that are missing, a clique of i
    // members still lacks 3 - i, which may be pivots.
    __device__ void tell(const u32* set, u32 pivots) const {
        u64 edges = 0, triangles = 0;
        all.each(set, [&](u64 i) {
            edges += all.meet(sets, set, all.rows + i * all.words);
            triangles += all.edges_within(sets);
        });
        leaves.add(3, pivots, 1);
        leaves.add(2, pivots, all.size_of(set));
        leaves.add(1, pivots, edges);
        leaves.add(0, pivots, warp_sum(triangles));
    }
    // Start a level of the search. Its pivot is the member with the most neighbors among the members. The vertices to
    // try are the pivot and all members that are not adjacent to it.
    __device__ void enter(u32 depth, u32 lack, u32 pivots) const {
        u32 best = 0, most_near = 0;
        all.each(members(depth), [&](u64 i) {
            u32 near = 0;
            for (u64 at = lane(); at < all.words; at += WARP)
                near += __popc(members(depth)[at] & all.near[i * all.words + at]);
            near = warp_sum(near) + 1;
            if (near > most_near) best = (u32)i, most_near = near;
        });
        for (u64 at = lane(); at < all.words; at += WARP)
            untried(depth)[at] = members(depth)[at] & ~all.near[best * all.words + at];
        if (lane() == 0) levels[depth] = Level{lack, pivots, best};
        __syncwarp();
    }
    // Remove the next vertex to be tried from a level, and return it. The pivot is tried first. Returns NOWHERE if no
    // vertex is left.
    __device__ u32 take(u32 depth, Level& level) const {
        const u32 i = level.pivot != NOWHERE ? level.pivot : all.first_of(untried(depth));
        if (i == NOWHERE) return i;
        if (lane() == 0) {
            untried(depth)[i / WARP] &= ~bit_of(i);
            members(depth)[i / WARP] &= ~bit_of(i);
            levels[depth].pivot = NOWHERE;
        }
        __syncwarp();
        return i;
    }
    // Try to count the cliques of `lack` vertices among members(depth) and the pivots on the branch at once.
    // members(depth) has `size` vertices, and any pivots may be added to a clique. Returns true if a level of the
    // search is needed for this.
    __device__ bool goes_on(u32 depth, u32 size, u32 lack, u32 pivots) const {
        if (size + pivots < lack) return false;
        if (size == 0)
            leaves.add(lack, pivots, 1);
        else if (lack == LACK)
            tell(members(depth), pivots);
        else
            return true;
        return false;
    }
    // Count the cliques that still lack `lack` vertices, to be chosen from the set members(0) and the pivots of the
    // search, by a search over all levels.
    __device__ void run(u32 size, u32 lack, u32 pivots) {
        if (!goes_on(0, size, lack, pivots)) return;
        enter(0, lack, pivots);
        for (u32 depth = 0; !stops();) {
            Level level = levels[depth];
            __syncwarp();
            const u32 i = take(depth, level);
            if (i == NOWHERE) {
                if (depth-- == 0) return;
                continue;
            }
            level.lack -= i != level.pivot;
            level.pivots += i == level.pivot;
            const u32 size = all.meet(members(depth + 1), members(depth), all.near + i * all.words);
            if (goes_on(depth + 1, size, level.lack, level.pivots)) enter(++depth, level.lack, level.pivots);
        }
    }
    // Count the cliques of `lack` later neighbors that contain neighbor number i, which is the pivot or not adjacent to
    // the pivot. To count each clique once, the pivot and those neighbors before i that are not adjacent to the pivot
    // are left out.
    __device__ void run_from(u32 i, u32 pivot, u32 lack) {
        const u32 *near = all.near + i * all.words, *of_pivot = all.near + pivot * all.words;
        if (i != pivot && (of_pivot[i / WARP] & bit_of(i))) return;
        u32 size = 0;
        for (u64 at = lane(); at < all.words; at += WARP) {
            const u32 before = at < i / WARP ? ALL : at == i / WARP ? bit_of(i) - 1 : 0;
            const u32 tried = i == pivot ? 0 : (before & ~of_pivot[at]) | (at == pivot / WARP ? bit_of(pivot) : 0);
            size += __popc(members(0)[at] = near[at] & ~tried);
        }
        __syncwarp();
        run(warp_sum(size), lack - (i != pivot), i == pivot);
    }
};

// Count the cliques at each of the given vertices, which have long forward lists (many later neighbors). A block
// processes a vertex. `memory` has `words` words for each block: bitmaps of later neighbors, for k > 4 also of all
// neighbors, and the sets and levels of each warp. `longest` is the length of the longest forward list.
extern "C" __global__ void __launch_bounds__(MOST_THREADS) count_cliques_of_long(
    u64 n, const offset_t* indptr, const vertex_t* forward, const u32* lengths, const vertex_t* vertices, u64 count,
    u32 k, u32 longest, u32* memory, u64 words, u64* tickets, u64* counts, volatile Page* page
) {
    __shared__ vertex_t slots[SLOTS];
    __shared__ unsigned short places[SLOTS], listed[BLOCK_WARPS][WARP * WARP];
    __shared__ u32 parts[BLOCK_WARPS][WARP];
    __shared__ u64 ticket, best;
    const Forward lists{n, indptr, forward, lengths};
    const u64 most_words = (longest + WARP - 1) / WARP, all_rows = longest * most_words;
    u32 *const rows = memory + blockIdx.x * words, *const near = rows + all_rows, warp = warp_of_block();
    u32* const part = parts[warp];
    const u64 of_warp = (words - (k > 4 ? 2 : 1) * all_rows) / warps_of_block();
    u32* const own = rows + (k > 4 ? 2 : 1) * all_rows + warp * of_warp;
    const Leaves leaves{counts, longest + 2};
    u64 found = 0;
    Looks looks;
    looks.wait(LOOK_INTERVAL);
    for (u32 slot = threadIdx.x; slot < SLOTS; slot += blockDim.x) slots[slot] = FREE;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) {
            ticket = atomicAdd(tickets, 1ull);
            if (looks.are_due(LOOK_INTERVAL)) {
                page->taken = ticket;
                if (page->stop) ticket = count;
            }
        }
        __syncthreads();
        if (ticket >= count) break;
        const vertex_t v = vertices[ticket];
        const vertex_t* const members = lists.of(v);
        const u32 degree = lengths[v];
        const u64 width = (degree + WARP - 1) / WARP;
        for (u32 from = 0; from < degree; from += PART) {
            const u32 size = least(PART, degree - from);
            const Table table(slots, size, SLOTS);
            for (u32 i = threadIdx.x; i < size; i += blockDim.x)
                places[table.insert(members[from + i])] = (unsigned short)i;
            __syncthreads();
            for (u32 i = warp; i < degree; i += warps_of_block()) {
                part[lane()] = 0;
                __syncwarp();
                for_common(table, places, lists.of(members[i]), lengths[members[i]],
                           [&](u32 place) { atomicOr(part + place / WARP, bit_of(place)); });
                const u64 at = from / WARP + lane();
                if (at < width) rows[i * width + at] = part[lane()];
                __syncwarp();
            }
            __syncthreads();
            for (u32 slot = threadIdx.x; slot < SLOTS; slot += blockDim.x) slots[slot] = FREE;
            __syncthreads();
        }
        const Neighborhood all{rows, near, width, listed[warp]};
        if (k > 4) {
            for (u64 at = threadIdx.x; at < degree * width; at += blockDim.x) near[at] = rows[at];
            __syncthreads();
            for (u32 i = warp; i < degree; i += warps_of_block())
                all.each(rows + i * width, [&](u64 j) {
                    if (lane() == 0) atomicOr(near + j * width + i / WARP, bit_of(i));
                });
            if (threadIdx.x == 0) best = 0;
            __syncthreads();
            // The vertex with the most neighbors becomes the pivot, or of several such vertices the one with the
            // smallest number.
            for (u32 i = warp; i < degree; i += warps_of_block()) {
                const u64 size = all.size_of(near + i * width);
                if (lane() == 0) atomicMax(&best, size << WARP | (ALL - i));
            }
            __syncthreads();
        }
        Search search{all, leaves, own, (Search::Level*)(own + (2 * (u64)longest + 3) * most_words), page};
        search.looks.wait(LOOK_INTERVAL);
        for (u32 i = warp; i < degree; i += warps_of_block()) {
            if (k == 4)
                found += all.edges_within(rows + i * width);
            else
                search.run_from(i, ALL - (u32)best, k - 1);
        }
    }
    found = warp_sum(found);
    if (lane() == 0 && found) atomicAdd(counts, found);
}

}  // namespace gasla
