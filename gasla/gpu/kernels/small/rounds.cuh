// What the blocks of a cluster tell each other in each iteration of a small graph: see alone.cuh.
//
// In every round each vertex sends to all blocks what it came to, and then each warp what its vertices added up and counted.
// Both arrive in one of two places, by turns: who has heard of all warps knows that they have read what came in the round
// before, and sends what takes its place.
#pragma once
#include "cluster.cuh"
#include "loop.cuh"

namespace gasla {

template <class P> struct Told {  // by a warp
    typename P::Sums sums;
    u64 counts;
};

// Of two aggregates alike each half of a warp adds up one: shuffles take most of the time.
constexpr u32 HALF = WARP / 2;
template <class P, u32 step, class Sum> __device__ __forceinline__ Sum add_up(Sum sum) {
    sum = P::add_sum(sum, shuffle_xor(sum, step));
    if constexpr (step > 1) return add_up<P, step / 2>(sum);
    return sum;
}
template <class P> __device__ __forceinline__ auto half_total(const typename P::Sums& sums) {
    typedef typename P::Sum Sum;
    const Sum first = reinterpret_cast<const Sum*>(&sums)[0], second = reinterpret_cast<const Sum*>(&sums)[1];
    const bool has_first = lane() < HALF;
    return add_up<P, HALF / 2>(P::add_sum(has_first ? first : second, shuffle_xor(has_first ? second : first, HALF)));
}

// What a warp's aggregates come to.
template <class P> __device__ __forceinline__ void put_total(typename P::Sums& place, const typename P::Sums& sums) {
    if constexpr (P::PAIRED) {
        const auto sum = half_total<P>(sums);
        if (lane() % HALF == 0) reinterpret_cast<typename P::Sum*>(&place)[lane() / HALF] = sum;
    } else {
        const typename P::Sums total = Loop<P>::warp_total(sums);
        if (lane() == 0) place = total;
    }
}

template <class P> struct Rounds {
    typedef typename P::Sums Sums;
    static constexpr u32 BYTES = MOST_WARPS * (sizeof(u64) + (P::AGGREGATES ? sizeof(Sums) : 0));  // told in a round
    static constexpr bool BY_HALVES = P::PAIRED && sizeof(Sums) == 2 * sizeof(u64);

    Told<P> (*told)[MOST_WARPS];
    u64* arrivals;
    u32 number, arrival, field_bytes;

    __device__ __forceinline__ Rounds(Told<P> (*told)[MOST_WARPS], u64* arrivals) : told(told), arrivals(arrivals) {}

    // Before all blocks wait until all began.
    __device__ __forceinline__ void begin(u32 vertices) {
        field_bytes = vertices * P::NEAR_BYTES;
        if (threadIdx.x == 0)
            for (u32 i = 0; i < 4; ++i) make_arrival(shared_address(arrivals + i));
        enter(0);
        say_begun();
    }
    __device__ __forceinline__ void enter(u32 next) {
        number = next;
        arrival = shared_address(arrivals + 2 * (number & 1));
    }
    // May come later than what is expected.
    __device__ __forceinline__ void expect_all() const {
        if (threadIdx.x != 0) return;
        expect(fields(), field_bytes);
        expect(sums(), BYTES);
    }
    __device__ __forceinline__ u32 fields() const { return arrival; }
    __device__ __forceinline__ u32 sums() const { return arrival + sizeof(u64); }
    __device__ __forceinline__ u32 is_odd_time() const { return number >> 1 & 1; }

    __device__ __forceinline__ void wait_for_fields() const { wait_for(fields(), is_odd_time()); }

    // What the sums and counts of the warp come to, to all blocks.
    __device__ __forceinline__ void tell(const Sums& mine, u32 counts) const {
        Told<P>& place = told[number & 1][(u32)warp_of_grid()];
        const u64 counted = warp_sum(counts);
        if constexpr (BY_HALVES) {  // 8 lanes send the first sum, 8 the counts, and 8 the second sum
            static_assert(CLUSTER == 1 || HALF == 2 * CLUSTER);
            const auto sum = half_total<P>(mine);
            const bool counts_here = lane() / CLUSTER == 1;
            u64* words = reinterpret_cast<u64*>(&place) + (counts_here ? 2 : lane() / HALF);
            if (lane() < HALF + CLUSTER)
                send(lane() % CLUSTER, words, counts_here ? counted : reinterpret_cast<const u64&>(sum), sums());
        } else {
            const Sums total = Loop<P>::warp_total(mine);
            if (lane() != 0) return;
            if constexpr (P::AGGREGATES) send_to_all(&place.sums, total, sums());
            send_to_all(&place.counts, counted, sums());
        }
    }

    // What all warps' come to: the counts, and in `total` the sums.
    __device__ __forceinline__ u32 hear(Sums& total) const {
        const Told<P>* here = told[number & 1];
        wait_for(sums(), is_odd_time());
        if constexpr (BY_HALVES) {
            typedef typename P::Sum Sum;
            const auto of = [&](u32 warp) { return reinterpret_cast<const Sum*>(here + warp + lane() % 8)[lane() / HALF]; };
            const Sum sum = add_up<P, 4>(P::add_sum(P::add_sum(of(0), of(16)), P::add_sum(of(8), of(24))));
            const Sum other = shuffle_xor(sum, HALF);
            reinterpret_cast<Sum*>(&total)[0] = lane() < HALF ? sum : other;
            reinterpret_cast<Sum*>(&total)[1] = lane() < HALF ? other : sum;
        } else if constexpr (P::AGGREGATES) {
            total = shuffle(Loop<P>::warp_total(here[lane()].sums), 0);
        }
        return warp_sum((u32)here[lane()].counts);
    }
};

}  // namespace gasla
