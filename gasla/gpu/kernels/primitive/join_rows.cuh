// Writes the matches of a join. A warp processes a range of edges alone, because rows of the result are in the order of
// edges.
#pragma once
#include "joins.cuh"

namespace gasla {

// Write the matches that begin with the edges at positions `first` to `end`. A warp processes `grain` edges at a time.
// `wanted` has three numbers for each `grain` edges: how many matches to skip, how many to write, and the row of the
// first match. `written` gets the number of matches that were written.
extern "C" __global__ void __launch_bounds__(MOST_THREADS) write_matches(
    u64 n, const offset_t* indptr, const vertex_t* indices, const unsigned char* kinds, u64 first, u64 end, u64 grain,
    u64 units, const u64* wanted, vertex_t* found, u64* written, u64* tickets, volatile Page* page
) {
    Search search{Graph{n, indptr, indices, kinds}};
    search.found = found, search.page = page, search.stopped = false;
    search.looks.wait(WARP_INTERVAL);
    const u64 base = FIRST_SLOT * n;
    for (u64 unit = take_tickets(tickets, 1); unit < units; unit = take_tickets(tickets, 1)) {
        search.skip = wanted[3 * unit], search.left = wanted[3 * unit + 1], search.place = wanted[3 * unit + 2];
        const u64 left = search.left, start = first + unit * grain, stop = least(start + grain, end);
        u64 owner = search.graph.owner_of(start);
        bool has_root = false;
        for (u64 e = start; e < stop && search.left && !search.stopped; ++e) {
            const u64 before = owner;
            while ((u64)indptr[owner + 1] <= e) ++owner;
            if (e == start || owner != before) {
                has_root = search.may_be_first((vertex_t)(owner - base));
                if (has_root) search.match(0, (vertex_t)(owner - base));
            }
            const vertex_t w = indices[e];
            if (has_root && search.may_follow(w)) search.begin(w);
        }
        if (lane() == 0) written[unit] = left - search.left;
        if (search.stopped) return;
    }
}

}  // namespace gasla
