// The loop's passes over vertices for programs with wide vectors (of more than eight numbers). A whole warp processes a
// vertex, where the loop for other programs uses one lane.
//
// Such programs never push values. Active vertices only append the vertices that they might reach to a list. These then
// gather, and find out whether they receive a value.
#pragma once
#include "gather_wide.cuh"
#include "loop.cuh"

namespace gasla {

constexpr vertex_t NOBODY = (vertex_t)-1;  // marks a vertex in a list that does not receive a value

template <class P> __device__ __forceinline__ void Loop<P>::fill_wide() {
    by_warps(c.a.self_n, [&](u64 v) {
        P::fill(c, (vertex_t)v);
        __syncwarp();
        if constexpr (!P::SUMS_LOOK_UP) P::aggregate_start(c, (vertex_t)v);
    });
}

// Let vertices gather and apply as in `gather_all_narrow` or `reduce_all`, but with a warp per vertex. The pieces of
// long rows are reduced first, and their results are combined at the end.
template <class P> __device__ __forceinline__ void Loop<P>::gather_all_wide() {
    auto listed = to_aside();
    u64 next = 0, touched = 0;
    u32 received = 0, active = 0;  // bitmaps of a group of 32 vertices
    const auto count = [&](u64 v) {
        next += 1;
        if constexpr (P::SENDS) next += (u64)(c.a.sp[v + 1] - c.a.sp[v]) << c.a.shift;
    };
    // Reduce a vertex's row, and apply or store the result. Returns bits that tell whether the vertex becomes active
    // and whether the mask still admits it, or 0 if the vertex receives no value.
    const auto settle = [&](vertex_t v, auto reduce) -> u32 {
        // If every vertex applies, its fields are loaded early, before the row is reduced.
        constexpr bool asks = P::EVERYONE && !P::TWO_PHASES;
        if (!P::admits(c, v)) {
            if constexpr (P::DOUBLED) P::carry_over(c, v);
            return 0;
        }
        typename P::Had had;
        if constexpr (asks) had = P::load_had(c, v);
        const Row<P> row = reduce();
        if (!row.found) return 0;
        if constexpr (P::TWO_PHASES) {
            P::put_aside(c, v, row.gathered);
            return OPEN;
        } else if constexpr (asks) {
            return P::finish(c, v, row.gathered, had);
        } else {
            return P::finish(c, v, row.gathered);
        }
    };
    const auto visit = [&](vertex_t v, u32 j, offset_t first, offset_t last, vertex_t neighbor) {
        const u32 outcome = settle(v, [&] { return gather_row<P, false>(c, v, first, last, neighbor, touched); });
        if (outcome) received |= 1u << j;
        if (outcome & ACTIVE) active |= 1u << j;
    };
    const auto then = [&](u64 group, u64 own, u32 together) {
        if (lane() == 0) {
            if constexpr (P::SUMS_IN_ORDER) put_bits(c.a.received, group, together, received);
            if constexpr (!P::TWO_PHASES && P::KEEPS_ACTIVE) put_bits(c.next_active(), group, together, active);
        }
        if (active >> lane() & 1) count(own);
        if constexpr (P::KEEPS_RECEIVERS) listed.add(received >> lane() & 1, (vertex_t)own);
        received = active = 0;
    };
    if constexpr (P::PARTITIONS_ROWS) {
        typedef typename P::Whole Whole;
        const auto& rows = c.a.rows;
        Whole* partials = reinterpret_cast<Whole*>(rows.partials);
        bool* found = reinterpret_cast<bool*>(partials + rows.pieces);
        u64 item = this_warp_of_grid();
        for (; item < rows.pieces; item += warps_of_grid()) {
            const vertex_t v = (vertex_t)rows.long_rows[item];
            if (!P::admits(c, v)) continue;
            const offset_t end = c.a.gp[v + 1], first = c.a.gp[v] + (offset_t)rows.numbers[item] * (offset_t)rows.piece;
            const offset_t last = end - first > (offset_t)rows.piece ? first + (offset_t)rows.piece : end;
            const auto row = gather_row<P, false>(c, v, first, last, own_neighbor(c.a.gi, first, last), touched);
            if constexpr (P::GATHERS) P::put_whole(partials + item, row.gathered);
            if (lane() == 0) found[item] = row.found;
        }
        const auto is_short = [&](offset_t first, offset_t last) { return last - first <= (offset_t)rows.limit; };
        over_lists<P>(c, item - rows.pieces, is_short, visit, then);
        if (rows.cut) {
            barrier.wait();
            by_warps(rows.cut, [&](u64 i) {
                const vertex_t v = (vertex_t)rows.cut_rows[i];
                const u64 length = (u64)(c.a.gp[v + 1] - c.a.gp[v]);
                const u32 first = rows.cut_pieces[i], last = first + (u32)((length + rows.piece - 1) / rows.piece);
                const u32 outcome = settle(v, [&] {
                    Row<P> row{P::identity(), P::EVERYONE, false};
                    for (u32 at = first; at < last; ++at) {
                        if constexpr (!P::EVERYONE) row.found |= fresh(found + at);
                        if constexpr (P::GATHERS) row.gathered = P::combine(row.gathered, P::get_whole(partials + at));
                    }
                    return row;
                });
                if (lane() == 0 && outcome) {
                    if constexpr (P::SUMS_IN_ORDER) atomicOr(c.a.received + v / WARP, bit_of(v));
                    if constexpr (!P::TWO_PHASES && P::KEEPS_ACTIVE)
                        if (outcome & ACTIVE) atomicOr(c.next_active() + v / WARP, bit_of(v));
                    if (!P::TWO_PHASES && outcome & ACTIVE) count(v);
                }
                if constexpr (P::KEEPS_RECEIVERS) listed.add(lane() == 0 && outcome, v);
            });
        }
    } else {
        over_lists<P>(c, this_warp_of_grid(), [](offset_t, offset_t) { return true; }, visit, then);
    }
    if constexpr (P::KEEPS_RECEIVERS) listed.flush_block();
    finish_pass<ENDS && !P::TWO_PHASES>(next, touched, [&] {
        s.receivers = read[ASIDE];
        now.form = P::TWO_PHASES ? LIST : BITS;
    });
}

// Let the vertices in a list gather as in `gather_list_narrow`, but with a warp per vertex. Vertices of a schedule
// always receive a value. Vertices that active neighbors have appended to the list may find that they receive none.
template <class P> __device__ __forceinline__ void Loop<P>::gather_list_wide(vertex_t* list) {
    constexpr bool lists_next = !P::TWO_PHASES && P::KEEPS_ACTIVE;
    auto next = to_queue(1 - parity());
    u64 touched = 0;
    by_warps(s.receivers, [&](u64 i) {
        const vertex_t v = list[i];
        bool receives = P::SCHEDULED || P::admits(c, v), active = false;
        if (receives) {
            const Row<P> row = gather_row<P, P::SCHEDULED>(c, v, touched);
            receives = row.found;
            if constexpr (P::TWO_PHASES) {
                if (receives) P::put_aside(c, v, row.gathered);
            } else if (receives) {
                active = P::finish(c, v, row.gathered) & ACTIVE;
            }
        }
        __syncwarp();
        if constexpr (P::CLAIMS)
            if (lane() == 0) c.claimed()[v / WARP] = 0;
        if constexpr (!P::SCHEDULED && P::KEEPS_RECEIVERS)
            if (lane() == 0 && !receives) list[i] = NOBODY;
        if constexpr (lists_next) next.add(active && lane() == 0, v);
    });
    if constexpr (lists_next) next.flush_block();
    finish_pass<ENDS && !P::TWO_PHASES>(0, touched, [] {});
}

// Let each receiver apply the value that is stored for it, as in `apply_list_narrow`, but with a warp per vertex.
template <class P> __device__ __forceinline__ void Loop<P>::apply_list_wide(const vertex_t* list) {
    auto next = to_queue(1 - parity());
    const auto apply = [&](vertex_t v) {
        const bool active = P::finish(c, v, P::take_back(c, v)) & ACTIVE;
        if constexpr (P::KEEPS_ACTIVE) next.add(active && lane() == 0, v);
    };
    if constexpr (P::SUMS_IN_ORDER) {
        by_warps(c.a.words, [&](u64 w) {
            for (u32 rest = c.a.received[w]; rest; rest &= rest - 1) apply((vertex_t)(w * WARP + __ffs(rest) - 1));
        });
    } else {
        by_warps(s.receivers, [&](u64 i) {
            if (list[i] != NOBODY) apply(list[i]);
        });
    }
    if constexpr (P::KEEPS_ACTIVE) next.flush_block();
    finish_pass<ENDS>(0, 0, [] {});
}

template <class P> __device__ __forceinline__ void Loop<P>::revise_wide(const vertex_t* list) {
    if constexpr (P::REVISES)
        by_warps(s.receivers, [&](u64 i) {
            if (list[i] != NOBODY) P::revise(c, list[i]);
        });
}

}  // namespace gasla
