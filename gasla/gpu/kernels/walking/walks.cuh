// Walkers that go as a walk program says: a thread a walker. The same bits as on the CPU.
//
// Before this file come vertex_t and offset_t (types of ids and offsets) and weighted (a bool): whether edges are drawn by
// sums of weights. A program has what its functions read, and says which functions it has.
#pragma once

#include "random.cuh"

namespace gasla {

constexpr u64 TRIES = 32;  // draws that may be refused, beside one an edge, before all of a list are weighed
constexpr u64 TO_STOP = ~0ull, TO_RESTART = ~1ull;  // the draws by which a walker ends, or begins anew
constexpr u64 NOWHERE = ~0ull;
constexpr u64 OF_STOP = 0, OF_RESTART = 1, OF_ACCEPT = 2;  // functions that may give what they may not

// A list of out-edges: positions first to last, the sums of weights, and where in those to look for a part of the total.
struct List {
    const double* sums;
    const u32* guides;
    u64 first, last;

    // A position, by lot; nowhere if the list is empty or weighs nothing.
    __device__ __forceinline__ u64 choice(u64 bits) const {
        if (first == last) return NOWHERE;
        if constexpr (!weighted) return first + share(bits, last - first);
        const double total = sums[last - 1], part = fraction(bits);
        if (total == 0) return NOWHERE;
        double mark = part * total;
        if (mark >= total) mark = 0;  // by rounding, where the total is hardly more than 0
        const u64 size = last - first;
        u64 k = first + guides[first + least((u64)(part * (double)size), size - 1)];
        while (k > first && sums[k - 1] > mark) --k;
        while (sums[k] <= mark) ++k;
        return k;
    }
    // What `choice` takes a position for.
    __device__ __forceinline__ double weight(u64 k) const {
        if constexpr (!weighted) return 1;
        return sums[k] - (k > first ? sums[k - 1] : 0);
    }
};

// Where a walker is, and what its functions may read of that.
struct Walker {
    u64 number, step;
    vertex_t start, previous, v;
};

// The first time that a function gave what it may not: the walker and one, the step, the function, the bits of the value.
struct FirstError {
    u64* words;

    __device__ __forceinline__ void note(const Walker& walker, u64 function, double value) const {
        if (atomicCAS(words, 0ull, walker.number + 1) != 0) return;
        words[1] = walker.step;
        words[2] = function;
        words[3] = *reinterpret_cast<const u64*>(&value);
    }
};

// Lists of neighbours that ascend, to look edges up in.
struct SortedLists {
    const offset_t* indptr;
    const vertex_t* indices;
    u64 n;

    __device__ __forceinline__ bool has(u64 u, u64 to) const {
        if (u >= n) return false;
        u64 low = indptr[u];
        const u64 last = indptr[u + 1];
        u64 high = last;
        while (low < high) {
            const u64 middle = (low + high) >> 1;
            if ((u64)indices[middle] < to)
                low = middle + 1;
            else
                high = middle;
        }
        return low < last && (u64)indices[low] == to;
    }
};

// A position that was drawn, and whether accept lets it pass.
template <class Program> struct Acceptance {
    const Program& program;
    const SortedLists& sorted;
    const Walker& walker;
    const FirstError& error;
    double bound;

    // What accept gives, whatever is to be looked up for that.
    __device__ __forceinline__ double accepted(u64 place) const {
        const double found = program.accept(walker, place, sorted);
        if (!(0 <= found && found <= bound)) error.note(walker, OF_ACCEPT, found);
        return found;
    }
    // Edges are looked up only where a mark's fate depends on it.
    __device__ __forceinline__ bool passes(u64 place, double mark) const {
        if constexpr (Program::looks_up) {
            const auto range = program.range(walker, place);
            if (0 <= range.item0 && range.item1 <= bound) {
                if (mark < range.item0) return true;
                if (mark >= range.item1) return false;
            }
        }
        return mark < accepted(place);
    }
    // The first position drawn that passes. After many tries all are weighed, so that there is an end.
    __device__ __forceinline__ u64 first_to_pass(const List& list, u64 state, u64 place) const {
        const u64 tries = TRIES + list.last - list.first;
        u64 draw = 1;
        for (u64 i = 0; i < tries; ++i, draw += 2) {
            if (passes(place, fraction(mixed(state, draw)) * bound)) return place;
            place = list.choice(mixed(state, draw + 1));
        }
        return weighed(list, fraction(mixed(state, draw)));
    }
    // A position by the weights of all that accept lets pass; nowhere if there is none.
    __device__ __forceinline__ u64 weighed(const List& list, double part) const {
        double total = 0;
        for (u64 k = list.first; k < list.last; ++k) {
            const double found = accepted(k);
            if (!(0 <= found && found <= bound)) return NOWHERE;
            total += list.weight(k) * (found / bound);
        }
        const double mark = part * total;
        u64 place = NOWHERE;
        total = 0;
        for (u64 k = list.first; k < list.last; ++k) {
            const double more = list.weight(k) * (accepted(k) / bound);
            if (more > 0) {
                place = k;
                total += more;
                if (total > mark) break;
            }
        }
        return place;
    }
};

// A row that is written from left to right, 16 bytes at a time: rows of a warp lie apart, so that the write of one entry
// takes as much of the L2 as that of a sector.
struct Row {
    static constexpr u32 WIDE = 16 / sizeof(vertex_t);
    struct alignas(16) Pack {
        vertex_t item[WIDE];
    };
    vertex_t* walks;
    u64 first, place;  // of the row, and of the next entry
    Pack held = {};

    __device__ __forceinline__ void push(vertex_t v) {
        const u32 slot = (u32)(place++ % WIDE);
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k) held.item[k] = k == slot ? v : held.item[k];
        if (slot != WIDE - 1) return;
        if (place >= first + WIDE)
            *reinterpret_cast<Pack*>(walks + place - WIDE) = held;
        else
            write();
    }
    // What of the row is held.
    __device__ __forceinline__ void write() const {
        const u64 from = (place - 1) / WIDE * WIDE;
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k)
            if (from + k >= first && from + k < place) walks[from + k] = held.item[k];
    }
};

// Whether a walker happens what a function gives the probability of.
__device__ __forceinline__ bool happens(
    double chance, u64 bits, u64 function, const Walker& walker, const FirstError& error
) {
    if (!(0 <= chance && chance <= 1)) error.note(walker, function, chance);
    return fraction(bits) < chance;
}

// Two dependent reads a step, far apart.
template <class Program> __device__ __forceinline__ void walk_all(
    const Program& program, u64 walkers, u64 steps, const double* sums, const u32* guides, const SortedLists& sorted,
    const vertex_t* starts, u64 key, double bound, const FirstError& error, vertex_t* walks
) {
    for (u64 w = thread_of_grid(); w < walkers; w += threads_of_grid()) {
        Row row = {walks, w * (steps + 1), w * (steps + 1)};
        const u64 mine = mixed(key, w);
        Walker walker = {w, 0, starts[w], (vertex_t)-1, starts[w]};
        row.push(walker.v);
        for (; walker.step < steps; ++walker.step) {
            vertex_t to = -1, previous = walker.v;
            bool goes = walker.v >= 0;
            const u64 state = mixed(mine, walker.step);
            if constexpr (Program::stops)
                if (goes) goes = !happens(program.stop(walker), mixed(state, TO_STOP), OF_STOP, walker, error);
            if constexpr (Program::restarts) {
                if (goes && happens(program.restart(walker), mixed(state, TO_RESTART), OF_RESTART, walker, error)) {
                    goes = false;
                    to = walker.start;
                    previous = -1;
                }
            }
            if (goes) {
                const List list = {sums, guides, (u64)program.indptr[walker.v], (u64)program.indptr[walker.v + 1]};
                u64 place = list.choice(mixed(state, 0));
                if constexpr (Program::accepts) {
                    const Acceptance<Program> acceptance = {program, sorted, walker, error, bound};
                    if (place != NOWHERE) place = acceptance.first_to_pass(list, state, place);
                }
                if (place != NOWHERE) to = program.indices[place];
            }
            row.push(to);
            walker.previous = previous;
            walker.v = to;
        }
        if (row.place % Row::WIDE) row.write();
    }
}

}  // namespace gasla
