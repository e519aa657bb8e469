// What is printed of a plan (gasla/program/join_plan.py, which explains it) before `joins.cuh`. All are constants, of which
// nothing is left in the machine code.
#pragma once
#include "runtime.cuh"

namespace gasla {

constexpr u32 MOST_SIZE = 8, MOST_LISTS = 8 * MOST_SIZE;  // vertices of a pattern, and lists in which one is looked up

template <class T, u32 most> struct Some {
    u32 count;
    T of[most];
};

// One of the lists of the vertex at a place: of out-neighbors or in-neighbors, in a relation.
struct Reach {
    u32 place, slot;
};
struct Join {
    Some<Reach, MOST_LISTS> within, outside;
    Some<u32, MOST_SIZE> apart, above;
    u32 kind;   // the bit that the vertex must have, or 0
    u32 label;  // the same if it has a label
};
// Whether the vertex at a place is in a list.
struct Test {
    Reach reach;
    u32 place;
};
// A matched vertex that has been counted if all tests hold.
struct Met {
    u32 place;
    Some<Test, MOST_LISTS> tests;
};
// A vertex that is counted: how, after how many vertices, and how many matched ones have been counted for certain.
struct Free {
    u32 ready;
    bool is_tabled, is_degree;
    u32 table, certain;
    u32 crossed;  // the slot of the list of a vertex between that has those it is a neighbor of
    Some<Met, MOST_SIZE> met;
};

}  // namespace gasla
