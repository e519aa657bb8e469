// Random walk programs, with one thread per walker. Results are bit-identical to those of the CPU.
//
// The code that includes this file first defines the types vertex_t and offset_t, and the boolean `weighted`, which
// says whether edges are drawn with probabilities proportional to weights. The template parameter Program holds what
// the program's functions read, and says which functions the program has.
#pragma once

#include "random.cuh"

namespace gasla {

// In place of numbers of draws, these give the random numbers that decide whether a walker stops or restarts.
constexpr u64 TO_STOP = ~0ull, TO_RESTART = ~1ull;
constexpr u64 NOWHERE = ~0ull;
// codes that tell which function of the program has returned a value out of range
constexpr u64 OF_STOP = 0, OF_RESTART = 1, OF_ACCEPT = 2;

// The out-edges of one vertex, at positions `first` to `last` of all edges. For weighted edges, the struct also has the
// arrays of all edges' cumulative weights.
struct List {
    const double* sums;
    const u32* guides;
    u64 first, last;

    __device__ __forceinline__ Weights weights() const { return {sums + first, guides + first, last - first}; }

    // Draw the position of an edge. Returns NOWHERE if there are no edges or all their weights are zero.
    __device__ __forceinline__ u64 choice(u64 bits) const {
        if (first == last) return NOWHERE;
        if constexpr (!weighted) return first + share(bits, last - first);
        return weights().total() == 0 ? NOWHERE : first + weights().draw(fraction(bits));
    }
    // Return the weight with which `choice` draws the position k.
    __device__ __forceinline__ double weight(u64 k) const {
        if constexpr (!weighted) return 1;
        return weights().of(k - first);
    }
};

// The state of a walker, which the program's functions may read.
struct Walker {
    u64 number, step;
    vertex_t start, previous, v;
};

// The first value out of range that a program's function has returned, in four words: the walker's number plus one, the
// step, the function's code, and the bits of the value.
struct FirstError {
    u64* words;

    __device__ __forceinline__ void note(const Walker& walker, u64 function, double value) const {
        if (atomicCAS(words, 0ull, walker.number + 1) != 0) return;
        words[1] = walker.step;
        words[2] = function;
        words[3] = *reinterpret_cast<const u64*>(&value);
    }
};

// The graph's adjacency lists in ascending order, in which edges are looked up by binary search.
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

// Decides by rejection sampling whether the program's function `accept` admits a drawn edge.
template <class Program> struct Acceptance {
    const Program& program;
    const SortedLists& sorted;
    const Walker& walker;
    const FirstError& error;
    double bound;

    // Return the value of `accept` for an edge. Edges that `accept` asks about are looked up in the graph.
    __device__ __forceinline__ double accepted(u64 place) const {
        const double found = program.accept(walker, place, sorted);
        if (!(0 <= found && found <= bound)) error.note(walker, OF_ACCEPT, found);
        return found;
    }
    // Return whether a random number, `mark`, accepts an edge. The edges that `accept` asks about are looked up in the
    // graph only if the result depends on them.
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
    // Draw edges until one is accepted. After many rejections, compute the weights of all edges and draw by these
    // weights, so that the loop ends.
    __device__ __forceinline__ u64 first_to_pass(const List& list, u64 state, u64 place) const {
        const u64 tries = TRIES + list.last - list.first;
        u64 draw = 1;
        for (u64 i = 0; i < tries; ++i, draw += 2) {
            if (passes(place, fraction(mixed(state, draw)) * bound)) return place;
            place = list.choice(mixed(state, draw + 1));
        }
        return weighed(list, fraction(mixed(state, draw)));
    }
    // Draw an edge with probability proportional to its weight times its acceptance. Returns NOWHERE if this is 0 for
    // all edges.
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

// A row of the output, the path of one walker. It is written from left to right, 16 bytes at a time. The rows of a warp
// are far apart in memory, so writing a single entry would cost the L2 cache as much as writing a sector of 32 bytes.
struct Row {
    static constexpr u32 WIDE = 16 / sizeof(vertex_t);
    struct alignas(16) Pack {
        vertex_t item[WIDE];
    };
    vertex_t* walks;
    u64 first, place;  // positions of the row and of its next entry
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
    // Write the entries of the path that are still in registers.
    __device__ __forceinline__ void write() const {
        const u64 from = (place - 1) / WIDE * WIDE;
#pragma unroll
        for (u32 k = 0; k < WIDE; ++k)
            if (from + k >= first && from + k < place) walks[from + k] = held.item[k];
    }
};

// Return true with the probability `chance`, which a function of the program, such as `stop`, has returned.
__device__ __forceinline__ bool happens(
    double chance, u64 bits, u64 function, const Walker& walker, const FirstError& error
) {
    if (!(0 <= chance && chance <= 1)) error.note(walker, function, chance);
    return fraction(bits) < chance;
}

// Walk all walkers of a launch, with one thread per walker. Each step needs two dependent reads at distant addresses,
// which take most of the time.
template <class Program> __device__ __forceinline__ void walk_all(
    const Program& program, u64 walkers, u64 steps, const double* sums, const u32* guides, const SortedLists& sorted,
    const vertex_t* starts, u64 first, u64 key, double bound, const FirstError& error, vertex_t* walks
) {
    for (u64 w = thread_of_grid(); w < walkers; w += threads_of_grid()) {
        Row row = {walks, w * (steps + 1), w * (steps + 1)};
        const u64 number = first + w, mine = mixed(key, number);
        Walker walker = {number, 0, starts[w], (vertex_t)-1, starts[w]};
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
