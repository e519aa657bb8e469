// What the loop does for programs over wide vectors: a warp takes a vertex wherever else a lane does.
//
// They have one way each to gather over all vertices, over listed ones, and over all rows. None pushes: active vertices
// wake whom they might reach, and those see for themselves whether they receive.
#pragma once
#include "gather_wide.cuh"
#include "loop.cuh"

namespace gasla {

constexpr vertex_t NOBODY = (vertex_t)-1;  // in the place of a vertex that was woken and doesn't receive

template <class P> __device__ __forceinline__ void Loop<P>::fill_wide() {
    by_warps(c.a.self_n, [&](u64 v) {
        P::fill(c, (vertex_t)v);
        __syncwarp();
        P::aggregate_start(c, (vertex_t)v);
    });
}

// As `dense`.
template <class P> __device__ __forceinline__ void Loop<P>::dense_wide() {
    auto listed = to_aside();
    u64 next = 0, touched = 0;
    u32 received = 0, active = 0;  // of 32 vertices
    const auto visit = [&](vertex_t v, u32 j, offset_t first, offset_t last, vertex_t neighbour) {
        if (!P::admits(c, v)) {
            if constexpr (P::DOUBLED) {
                __syncwarp();
                P::carry_over(c, v);
            }
            return;
        }
        const Row<P> row = gather_row<P, false>(c, v, first, last, neighbour, touched);
        if (!row.found) return;
        received |= 1u << j;
        if constexpr (P::TWO_PHASES)
            P::keep(c, v, row.gathered);
        else if (P::finish(c, v, row.gathered) & ACTIVE)
            active |= 1u << j;
    };
    const auto then = [&](u64 w, u64 own) {
        if (lane() == 0) {
            if constexpr (P::SUMS_IN_ORDER) c.a.received[w] = received;
            if constexpr (!P::TWO_PHASES && P::KEEPS_ACTIVE) c.next_active()[w] = active;
        }
        if (active >> lane() & 1) {
            next += 1;
            if constexpr (P::SENDS) next += (u64)(c.a.sp[own + 1] - c.a.sp[own]) << c.a.shift;
        }
        if constexpr (P::KEEPS_RECEIVERS) listed.add(received >> lane() & 1, (vertex_t)own);
        received = active = 0;
    };
    over_lists<P>(c, this_warp_of_grid(), [](offset_t, offset_t) { return true; }, visit, then);
    if constexpr (P::KEEPS_RECEIVERS) listed.flush_block();
    conclude<ENDS && !P::TWO_PHASES>(next, touched, [&] {
        s.receivers = read[ASIDE];
        now.form = P::TWO_PHASES ? LIST : BITS;
    });
}

// As `reduce_all`. Long rows come first, in pieces.
template <class P> __device__ __forceinline__ void Loop<P>::reduce_all_wide() {
    if constexpr (P::ROWS) {
        typedef typename P::Whole Whole;
        const auto& rows = c.a.rows;
        Whole* partials = reinterpret_cast<Whole*>(rows.partials);
        u64 active = 0, touched = 0;
        const auto admitted = [&](vertex_t v) {
            if (P::admits(c, v)) return true;
            __syncwarp();
            P::carry_over(c, v);
            return false;
        };
        const auto finish = [&](vertex_t v, const Gathered& gathered, const typename P::Had& had) {
            if (P::finish(c, v, gathered, had) & ACTIVE && lane() == 0) ++active;
        };
        u64 item = this_warp_of_grid();
        for (; item < rows.pieces; item += warps_of_grid()) {
            const vertex_t v = (vertex_t)rows.long_rows[item];
            if (!admitted(v)) continue;
            const typename P::Had had = P::load_had(c, v);
            const offset_t begin = c.a.gp[v], end = c.a.gp[v + 1];
            const offset_t first = begin + (offset_t)rows.numbers[item] * (offset_t)rows.piece;
            const offset_t last = end - first > (offset_t)rows.piece ? first + (offset_t)rows.piece : end;
            const auto row = gather_row<P, true>(c, v, first, last, own_neighbour(c.a.gi, first, last), touched);
            if (end - begin <= (offset_t)rows.piece)
                finish(v, row.gathered, had);
            else
                P::put_whole(partials + item, row.gathered);
        }
        const auto visit = [&](vertex_t v, u32, offset_t first, offset_t last, vertex_t neighbour) {
            if (!admitted(v)) return;
            const typename P::Had had = P::load_had(c, v);
            finish(v, gather_row<P, true>(c, v, first, last, neighbour, touched).gathered, had);
        };
        const offset_t limit = (offset_t)rows.limit;
        over_lists<P>(
            c, item - rows.pieces, [=](offset_t first, offset_t last) { return last - first <= limit; }, visit,
            [](u64, u64) {});
        if (rows.cut) {
            barrier.wait();
            by_warps(rows.cut, [&](u64 i) {
                const vertex_t v = (vertex_t)rows.cut_rows[i];
                if (!admitted(v)) return;
                const typename P::Had had = P::load_had(c, v);
                const u64 length = (u64)(c.a.gp[v + 1] - c.a.gp[v]);
                const u32 first = rows.cut_pieces[i], last = first + (u32)((length + rows.piece - 1) / rows.piece);
                Gathered total = P::get_whole(partials + first);
                for (u32 at = first + 1; at < last; ++at) total = P::combine(total, P::get_whole(partials + at));
                finish(v, total, had);
            });
        }
        conclude<ENDS>(active, 0, [] {});
    }
}

// As `gather_list`; but those of a schedule receive in any case, and others as it comes out.
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
                if (receives) P::keep(c, v, row.gathered);
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
    conclude<ENDS && !P::TWO_PHASES>(0, touched, [] {});
}

// As `apply_list`.
template <class P> __device__ __forceinline__ void Loop<P>::apply_list_wide(const vertex_t* list) {
    auto next = to_queue(1 - parity());
    const auto apply = [&](vertex_t v) {
        const bool active = P::finish(c, v, P::kept(c, v)) & ACTIVE;
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
    conclude<ENDS>(0, 0, [] {});
}

template <class P> __device__ __forceinline__ void Loop<P>::post_apply_wide(const vertex_t* list) {
    if constexpr (P::HAS_POST_APPLY)
        by_warps(s.receivers, [&](u64 i) {
            if (list[i] != NOBODY) P::post_apply(c, list[i]);
        });
}

}  // namespace gasla
