"""Writes the plan of a join, which matches a pattern in a graph, as C++ constants for `kernels/primitive/joins.cuh`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gasla.program.join_plan import Join, JoinPlan, Reach

_KNOWN = {
    *("joins", "free", "directed", "join", "met"),
    *("within", "outside", "apart", "above", "vertex", "has_label", "is_checked"),
    *("place", "backward", "relation", "reach"),
}  # names of the fields of a plan whose conditions the kernels can test


def constants(plan: JoinPlan, way: str, has_tables: bool, threads: int) -> str:
    """Return C++ constants that tell the join kernel which pattern to match in a graph, and in which order of its
    vertices.

    `plan` describes the pattern. `way` is what is done with matches: "count", "tally" (count them at each vertex) or
    "write". If `has_tables` is False, the kernel intersects adjacency lists where it would look up tables of common
    neighbors. Blocks have up to `threads` threads.

    Raises
    ------
    NotImplementedError
        If the plan has conditions that the kernel does not test.
    """
    _check_conditions(plan)
    tabled = plan.tabled if has_tables else []
    joins = [*plan.joins, *(free.join for free in plan.free)]
    flags = {
        "WRITES": way == "write",
        "TALLIES": way == "tally",
        "MARKS": way != "write" and _searches_first_vertex(plan, tabled),
    }
    numbers = {
        "MOST_THREADS": threads,
        "SIZE": plan.size,
        "SLOTS": slots(plan),
        "FIRST_SLOT": first_slot(plan),
        "FREE": len(plan.free),
        "TABLES": len(tabled),
        "FIRST": _bit(plan.joins[0]),
        "SECOND": _bit(plan.joins[1]),
    }
    frees = [_free_initializer(plan, k, tabled) for k in range(len(plan.free))] or ["{}"]
    return "\n".join(
        [
            "namespace gasla {",
            *(f"constexpr bool {name} = {str(value).lower()};" for name, value in flags.items()),
            *(f"constexpr u32 {name} = {value};" for name, value in numbers.items()),
            f"constexpr Join JOINS[] = {{{', '.join(_join_initializer(plan, join) for join in joins)}}};",
            f"constexpr Free FREES[] = {{{', '.join(frees)}}};",
            "}",
        ]
    )


def _check_conditions(part: Any) -> None:
    """Raise NotImplementedError if a join's plan has a condition on matched vertices that the kernels on the GPU don't
    test.

    `part` is the plan, or an object in it.
    """
    for name, value in zip(getattr(part, "_fields", ()), part):
        if name not in _KNOWN and value != part._field_defaults.get(name):
            raise NotImplementedError(
                f"the pattern has conditions ({name}) that are not tested on a GPU; expected a graph in host memory: "
                "graph.to('cpu')"
            )
    for each in part:
        if isinstance(each, tuple):
            _check_conditions(each)


def _searches_first_vertex(plan: JoinPlan, tabled: list[int]) -> bool:
    """Return whether the kernel of a join looks up vertices in an adjacency list of the match's first vertex.

    If so, the kernel marks the neighbors of the first vertex in a bitmap, in which a look-up is faster than a search.
    """
    joins = [*plan.joins[1:], *(free.join for k, free in enumerate(plan.free) if k not in tabled)]
    searched = {reach for join in joins for reach in (*(join.within if len(join.within) > 1 else ()), *join.outside)}
    searched |= {test.reach for free in plan.free for _, tests in free.met for test in tests}
    return any(reach.place == 0 for reach in searched)


def _bit(join: Join) -> int:
    return 1 << join.vertex


def _sized_array(items: Iterable[str]) -> str:
    listed = list(items)
    return f"{{{len(listed)}, {{{', '.join(listed)}}}}}"


def slots(plan: JoinPlan) -> int:
    """Return how many adjacency lists each vertex of the graph has for a join.

    There is one list for each relation of the pattern (a set of edges, such as those with one label), or two if edges
    are directed.
    """
    joins = [*plan.joins, *(free.join for free in plan.free)]
    reaches = [reach for join in joins for reach in (*join.within, *join.outside)]
    return (1 + max(reach.relation for reach in reaches)) * (1 + plan.directed)


def first_slot(plan: JoinPlan) -> int:
    """Return which of the first matched vertex's adjacency lists (see `slots`) has the second matched vertex, as an
    index.
    """
    return _slot(plan, plan.joins[1].within[0])


def _slot(plan: JoinPlan, reach: Reach) -> int:
    return reach.relation * (1 + plan.directed) + reach.backward


def _reach_initializer(plan: JoinPlan, reach: Reach) -> str:
    return f"{{{reach.place}, {_slot(plan, reach)}}}"


def _join_initializer(plan: JoinPlan, join: Join) -> str:
    lists = (
        _sized_array(_reach_initializer(plan, reach) for reach in reaches) for reaches in (join.within, join.outside)
    )
    earlier_places = (_sized_array(map(str, each)) for each in (join.apart, join.above))
    bits = _bit(join) * join.is_checked, _bit(join) * join.has_label
    return f"{{{', '.join((*lists, *earlier_places, *map(str, bits)))}}}"


def _free_initializer(plan: JoinPlan, k: int, tabled: list[int]) -> str:
    """Return the C++ initializer for a vertex of a join's pattern whose candidates in the graph are only counted.

    `k` is the vertex's position in `plan.free`, and `tabled` has the positions of those that are counted by tables of
    common neighbors. Where the kernel counts all entries of an adjacency list, it doesn't compare them with the
    vertices that are already matched. It subtracts the number of these vertices that are in the list.
    """
    free, is_tabled = plan.free[k], k in tabled
    join = free.join
    is_degree = len(join.within) == 1 and not join.outside and not join.has_label
    met = [met for met in free.met if met[0] >= free.ready or is_degree or is_tabled]
    certain = [met for met in met if not (met[1] or join.has_label or join.above)]
    tests = (
        f"{{{place}, {_sized_array(f'{{{_reach_initializer(plan, test.reach)}, {test.place}}}' for test in tests)}}}"
        for place, tests in (candidate for candidate in met if candidate not in certain)
    )
    last_reach = join.within[-1]
    crossed_slot = _slot(plan, last_reach._replace(backward=plan.directed and not last_reach.backward))
    table = tabled.index(k) if is_tabled else 0
    words = (free.ready, is_tabled, is_degree and not is_tabled, table, len(certain), crossed_slot)
    return f"{{{', '.join(str(word).lower() for word in words)}, {_sized_array(tests)}}}"
