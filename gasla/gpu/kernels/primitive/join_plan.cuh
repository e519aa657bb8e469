// Types for the plan of a join, which Python code writes as constants before `joins.cuh` is included
// (gasla/program/join_plan.py explains plans). The compiler evaluates the plan, so that nothing of it is left in the
// machine code.
#pragma once
#include "runtime.cuh"

namespace gasla {

// the largest number of vertices of a pattern, and of adjacency lists in which the candidates for one vertex are looked
// up
constexpr u32 MOST_SIZE = 8, MOST_LISTS = 8 * MOST_SIZE;

template <class T, u32 most> struct Some {
    u32 count;
    T of[most];
};

// One of the adjacency lists of a matched vertex, the one at `place` in the order in which pattern vertices are
// matched. `slot` selects the list: the vertex's out-neighbors or in-neighbors in one of the pattern's relations.
struct Reach {
    u32 place, slot;
};
struct Join {
    Some<Reach, MOST_LISTS> within, outside;
    Some<u32, MOST_SIZE> apart, above;
    u32 kind;  // the bit of its kind that the vertex must have, or 0 if any vertex will do
    u32 label;  // the bit of its label that the vertex must have, or 0 if any vertex will do
};
// A test whether the matched vertex at `place` is in one of the adjacency lists of another matched vertex.
struct Test {
    Reach reach;
    u32 place;
};
// A matched vertex that may be among the candidates of a pattern vertex that is only counted. If all tests hold, it is
// among them, and must be subtracted, because the vertices of a match differ.
struct Met {
    u32 place;
    Some<Test, MOST_LISTS> tests;
};
// A vertex of the pattern whose candidates are only counted. The struct tells how they are counted, how many vertices
// must be matched before (`ready`), and how many matched vertices are always among the candidates (`certain`).
struct Free {
    u32 ready;
    bool is_tabled, is_degree;
    u32 table, certain;
    u32 crossed;  // the list (slot) of the middle vertex of a path of two edges from which the table is filled
    Some<Met, MOST_SIZE> met;
};

}  // namespace gasla
