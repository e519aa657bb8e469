// Types for the plan of a join, which Python code writes as constants before `joins.cuh` is included
// (gasla/program/join_plan.py explains plans). The compiler evaluates the plan, so that nothing of it is left in the
// machine code.
#pragma once
#include "runtime.cuh"

namespace gasla {

// the most vertices of a pattern, and the most lists in which one vertex is looked up
constexpr u32 MOST_SIZE = 8, MOST_LISTS = 8 * MOST_SIZE;

template <class T, u32 most> struct Some {
    u32 count;
    T of[most];
};

// One of the adjacency lists of the matched vertex at a place of the pattern: its out-neighbors or in-neighbors in a
// relation, which `slot` selects.
struct Reach {
    u32 place, slot;
};
struct Join {
    Some<Reach, MOST_LISTS> within, outside;
    Some<u32, MOST_SIZE> apart, above;
    u32 kind;  // the bit of its kind that the vertex must have, or 0 if any vertex will do
    u32 label;  // the bit of its label that the vertex must have, or 0 if any vertex will do
};
// A test whether the vertex that is matched at a place of the pattern is in one of the adjacency lists.
struct Test {
    Reach reach;
    u32 place;
};
// A matched vertex that is counted among the candidates of a counted vertex if all tests hold, and must be subtracted
// then.
struct Met {
    u32 place;
    Some<Test, MOST_LISTS> tests;
};
// A counted vertex of the pattern: how its candidates are counted, how many vertices must be matched before (`ready`),
// and how many matched vertices are among the candidates in any case (`certain`).
struct Free {
    u32 ready;
    bool is_tabled, is_degree;
    u32 table, certain;
    u32 crossed;  // the list (slot) of the middle vertex of a path of two edges from which the table is filled
    Some<Met, MOST_SIZE> met;
};

}  // namespace gasla
