// Reductions over random rows by kernels/product/rows.cuh, on an emulated warp, against one row after the other.
// Compiled with OFFSET, VALUE and BODY: 0 is a sum, 1 takes the last entry (not commutative), 2 stops early.
#include "warp.hpp"

#include <cstdio>
#include <random>
#include <vector>

#include "rows.cuh"

using namespace gasla;
typedef Position<OFFSET>::type position_t;

struct Body {
    typedef VALUE value_t;
    static constexpr bool ordered = BODY == 1, first_only = false, has_terminal = BODY == 2;
    static constexpr bool brings_near = BRINGS_NEAR;
    const int* values;
    const char* mask;
    long long* results;
    int* times;
    char* near;                    // whether an entry was in what its warp had brought near
    position_t first = 1, last = 0;  // that

    void bring_near(position_t at) { first = shuffle(at, 0), last = shuffle(at, WARP - 1); }
    value_t identity() const { return 0; }
    value_t combine(value_t a, value_t b) const { return BODY == 0 ? a + b : BODY == 1 ? b : a | b; }
    bool is_terminal(value_t a) const { return a == 1; }
    bool wanted(u32 row) const { return mask[row]; }
    value_t term(u32 row, position_t at) const {
        if (first <= at && at <= last) near[at] = true;
        return BODY == 2 ? values[at] > 95 : values[at] * (row + 1);
    }
    typedef u32 had_t;
    had_t load(u32 row) { return row; }
    void finish(u32 row, value_t value, had_t had) { results[had] = value, atomicAdd(times + row, 1); }
};

struct Matrix {
    std::vector<OFFSET> offsets{0};
    std::vector<int> values;
    std::vector<char> mask;
    std::vector<long long> cut_rows, long_rows;
    std::vector<u32> cut_pieces, numbers;
    std::vector<VALUE> partials;

    static constexpr u32 limit = 40, piece = 64;

    explicit Matrix(u32 seed) {
        std::mt19937 random(seed);
        const u32 lengths[] = {0, 1, 2, 3, 8, 31, 32, 33, 40, 41, 64, 65, 300};
        for (u32 n = random() % 120; n; --n) {
            add_row(lengths[random() % (seed % 3 ? 13 : 5)]);
            mask.push_back(seed % 2 || random() % 4);
        }
        for (OFFSET i = 0; i < offsets.back(); ++i) values.push_back(1 + random() % 97);
        partials.resize(long_rows.size());
    }
    void add_row(u32 length) {
        const u32 row = offsets.size() - 1, pieces = length > limit ? (length + piece - 1) / piece : 0;
        offsets.push_back(offsets.back() + length);
        if (pieces > 1) cut_rows.push_back(row), cut_pieces.push_back(long_rows.size());
        for (u32 i = 0; i < pieces; ++i) long_rows.push_back(row), numbers.push_back(i);
    }
    Rows<OFFSET> rows() {
        return {offsets.data(), cut_rows.data(), cut_pieces.data(), long_rows.data(), numbers.data(), partials.data(),
                offsets.size() - 1, (u32)long_rows.size(), (u32)cut_rows.size(), limit, piece};
    }
};

template <u32 lanes> void test(u32 seed) {
    Matrix matrix(seed);
    const u32 n = matrix.offsets.size() - 1;
    std::vector<long long> results(n);
    std::vector<int> times(n);
    std::vector<char> near(matrix.values.size());
    const Body shared{matrix.values.data(), matrix.mask.data(), results.data(), times.data(), near.data()};
    const Rows<OFFSET> rows = matrix.rows();
    warp::run([&] {
        Body body = shared;
        reduce_rows<lanes, u32>(rows, body);
        __syncthreads();
        reduce_cut_rows<u32>(rows, body);
    });
    for (u32 row = 0; row < n; ++row) {
        VALUE expected = 0;
        for (OFFSET e = matrix.offsets[row]; e < matrix.offsets[row + 1]; ++e)
            expected = shared.combine(expected, shared.term(row, e));
        if (times[row] == (matrix.mask[row] ? 1 : 0) && (!times[row] || results[row] == (long long)expected)) continue;
        printf("lanes %u, matrix %u, row %u: %lld, %d times\n", lanes, seed, row, results[row], times[row]);
        exit(1);
    }
    u32 far = 0;  // entries of wanted rows since the last that was near; a piece ends with up to 31 such entries
    for (u32 row = 0; row < n && BRINGS_NEAR && lanes == PACKED && BODY == 0; ++row)
        for (OFFSET e = matrix.offsets[row]; e < matrix.offsets[row + 1] && matrix.mask[row]; ++e) {
            far = near[e] ? 0 : far + 1;
            if (far < WARP) continue;
            printf("matrix %u, row %u: nothing was brought near\n", seed, row);
            exit(1);
        }
}

int main() {
    for (u32 seed = 0; seed < 6; ++seed) {
        test<PACKED>(seed);
        test<1>(seed);
        test<8>(seed);
        test<32>(seed);
    }
}
