"""Write the sentences of `gasla.explain`: what a run of a program will do, and why, as its `Plan` has decided."""

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gasla.graph.graph import Graph
from gasla.names import given
from gasla.program.binding import AUTO, PULL, PUSH, Binding, NeighborLists, field_layouts, layout
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram


def ways(plan: Plan, direction: int) -> Mapping[int, str]:
    """Return the reasons why iterations of a run pull and why they push, as a dict with the keys PULL and PUSH.

    Each is a few words, for `Result.trace`. `direction` is the one that the caller of the run asks for: AUTO, PUSH or
    PULL.
    """
    pull = "many edges are active"
    if plan.scheduled:
        pull = "a schedule gives the receivers"
    elif plan.everyone:
        pull = "everyone receives"
    elif plan.only_pulls:
        pull = "deterministic=True" if plan.deterministic else "the graph is small"
    elif direction == PULL:
        pull = "direction='pull'"
    push = "direction='push'" if direction == PUSH else "few edges are active"
    push = "near vertices first" if plan.prioritised else push
    return {PULL: pull, PUSH: push if plan.pushes else f"{push}; their neighbors pull"}


def sentences(plan: Plan, direction: int) -> list[str]:
    """Return what `gasla.explain` says of a program for all engines: direction, order, copies of fields, and so on."""
    return [
        *_direction_sentences(plan, direction),
        *_reduction_sentences(plan),
        *_order_sentences(plan),
        *_copies_sentences(plan),
        *_edge_sentences(plan),
        *_end_sentences(plan),
    ]


def _direction_sentences(plan: Plan, direction: int) -> list[str]:
    if plan.pushes and plan.only_pulls:
        return ["Every iteration pulls: on a graph as small as this one that is faster than pushing."]
    if plan.pushes and plan.prioritised:
        return ["Every iteration pushes: active vertices push along their edges."]
    if plan.pushes and direction == AUTO:
        return ["An iteration pushes where few edges are active, and pulls where many are."]
    if plan.pushes:
        verb = "pushes" if direction == PUSH else "pulls"
        return [f"Every iteration {verb}, because direction={'push' if direction == PUSH else 'pull'!r}."]
    lines = [f"It never pushes, because {plan.reason_to_pull}."]
    if not (plan.everyone or plan.scheduled or plan.only_pulls):
        lines.append(
            "If few edges are active, their destinations receive; if many are, every vertex looks for active neighbors."
        )
    return lines


def _reduction_sentences(plan: Plan) -> list[str]:
    """Return sentences of `gasla.explain` on where a program's gathered values are reduced: into a field or separately.

    They also say in which iteration new values are read.
    """
    lines = []
    if plan.absorbs:
        fields = " and ".join(map(given, plan.absorbs))
        lines.append(f"It absorbs: values are reduced directly into {fields}, and may be read in the same iteration.")
    elif plan.in_place:
        lines.append("New values are read at once, because order = 'in place'.")
    elif plan.gathers:
        lines.append(f"New values are read in the next iteration, because {why_it_waits(plan)}.")
    if plan.push_at_once:
        lines.append("The first neighbor to reach a vertex applies to it at once, because any value will do.")
    elif plan.pushes and not plan.absorbs:
        lines.append("Values pushed to a vertex are reduced in an accumulator, and applied after all pushes.")
    if plan.active_only and plan.gathers:
        reason = "sources = 'active'" if plan.traced.program.sources == "active" else "others have been reduced before"
        lines.append(f"Only values of active neighbors are gathered, because {reason}.")
    return lines


def why_it_waits(plan: Plan) -> str:
    """Return the reason why a program's gathered values are read only in the next iteration.

    Other programs reduce gathered values directly into a field, where they can be read at once.
    """
    if plan.scheduled:
        return "a schedule says when each vertex receives"
    if plan.traced.program.everyone:
        return "everyone = True"
    if isinstance(plan.absorption, str):
        return plan.absorption
    return plan.reason_to_pull or "it has too many parts"


def _order_sentences(plan: Plan) -> list[str]:
    """Return sentences of `gasla.explain` on the order in which a run processes vertices, and reduces and sums their
    values.
    """
    lines, functions = [], plan.traced.functions
    if plan.prioritised:
        width = "from the mean edge value and the degrees" if plan.adds_up else "as a fraction of the waiting range"
        lines.append(f"Vertices are taken in buckets, near ones first; a bucket's width is delta=, or found {width}.")
    if "bucket" in functions:
        lines.append("Vertices wait in buckets: when no vertex is active, the lowest bucket that is not empty opens.")
    if "wake" in functions:
        changed_parameters = " and ".join(f"self.{given(name)}" for name in sorted(plan.traced.writes("idle")))
        idle_clause = f"idle sets {changed_parameters}, and " if changed_parameters else ""
        lines.append(f"When no vertex is active, {idle_clause}wake is called for every vertex.")
    if plan.gathers and plan.traced.monoid is not None and not plan.traced.monoid.commutative:
        lines.append(
            f"Values are reduced in the order of the input, because {plan.traced.monoid.name} does not commute."
        )
    if plan.keyed is not None:
        order = "in the order of the input" if plan.reduces_in_order else "in the order of the lists"
        order_clause = "" if plan.keyed.total.kind != "f" else f", {order} within a key"
        lines.append(
            f"Values are reduced by key{order_clause}; choose scores each key, and the greatest score is gathered."
        )
    if plan.takes_first:
        lines.append("A pull ends at the first value, because any value will do.")
    elif plan.final is not None:
        lines.append("A pull ends once no further value can change its result.")
    if plan.sums_in_order:
        lines.append("Aggregates of floats are added up in the order of the vertices.")
    if "priority" in functions and not plan.prioritised:
        reason = "on a small graph the order costs more than it saves" if plan.absorbs else why_it_waits(plan)
        lines.append(f"priority is not used, because {reason}.")
    return lines


def _copies_sentences(plan: Plan) -> list[str]:
    """Return sentences of `gasla.explain` on which fields of a program have a second copy, and why."""
    lines = []
    read_by_neighbors, read_by_at = plan.traced.gathers_what_apply_writes, plan.traced.looked_up
    for name in sorted(plan.doubled):
        readers = " and ".join(
            ["neighbors"] * (name in read_by_neighbors) + ["others, by self.at,"] * (name in read_by_at)
        )
        lines.append(
            f"{given(name)} has two copies, one read and one written: {readers} read it while apply writes it."
        )
    for name in sorted(plan.in_place):
        lines.append(f"{given(name)} has one copy, which is read by others while it is written.")
    for name in sorted(plan.behind):
        lines.append(
            f"{given(name)} has a second copy for self.at, with the values before the iteration: receivers update it "
            "at the end."
        )
    for name in sorted(plan.traced.deposits):
        lines.append(
            f"{given(name)} is reduced at vertices, in any order, by atomic operations: in three alternating arrays, "
            "one of which each iteration clears."
        )
    if plan.two_phases:
        fields = " and ".join(map(given, sorted(plan.traced.gathers_what_apply_writes)))
        lines.append(f"All receivers gather before any applies: neighbors read {fields}, which apply writes.")
    return lines


def _edge_sentences(plan: Plan) -> list[str]:
    """Return sentences of `gasla.explain` on what a run reads of edges besides their sources and targets."""
    lines = []
    if plan.needs_gather_ids or plan.needs_send_ids:
        states = " and ".join(map(given, plan.edge_states))
        lines.append(f"Edge ids are read with the neighbor lists{f', to find {states}' if states else ''}.")
    if plan.knows_partners:
        lines.append("The ids of edges' partners are read with the neighbor lists; they are made once for the graph.")
    for name in sorted(plan.edges_behind):
        lines.append(
            f"{given(name)} has a second copy, with old values, that scatter reads of partners: vertices that scatter "
            "update it."
        )
    return lines


def _end_sentences(plan: Plan) -> list[str]:
    """Return the sentence of `gasla.explain` that says when a run of the program ends."""
    if (reason := why_endless(plan)) is not None:
        return [f"It never ends by itself: {reason}, and it has no stop. Give max_iterations."]
    stop_clause = "when stop holds" if "stop" in plan.functions else ""
    if plan.scheduled:
        end_conditions = ["with the schedule", stop_clause]
    elif not plan.ends_when_still:
        return [f"It ends {stop_clause}, or after max_iterations: {why_unstable(plan)}."]
    else:
        end_conditions = [
            "once an iteration changes nothing" if plan.everyone and plan.is_active_by_change else STILL,
            stop_clause,
        ]
    return [f"It ends {', or '.join(filter(None, end_conditions))}."]


STILL = "when no vertex is active"


def why_endless(plan: Plan) -> str | None:
    """Return the reason why only `max_iterations` can end a run of the program, or None if it may end earlier."""
    if plan.never_ends:
        return "every vertex is always active" if plan.ends_when_still else why_unstable(plan)
    return "wake is always true" if plan.always_wakes else None


def why_unstable(plan: Plan) -> str:
    """Return the reason why a run of a program may have to go on after an iteration that changes no field."""
    assert plan.what_varies is not None
    return f"{' reads '.join(plan.what_varies)}, so that an iteration which changes nothing may not be the last"


@functools.cache
def endless(program: type[VertexProgram], id_type: np.dtype[Any]) -> str | None:
    """Return the reason why only `max_iterations` can end a run of a program without a schedule.

    Return None if the run may end earlier. `id_type` is the dtype of vertex ids.
    """
    return why_endless(Plan(program.traced(id_type)))


def check_ends(program: VertexProgram, id_type: np.dtype[Any]) -> None:
    """Raise ValueError if only `max_iterations` can end a run of the program.

    It is called for runs without `max_iterations`, which would go on forever.
    """
    cls: Any = type(program)
    if (reason := endless(cls, id_type)) is not None:
        raise ValueError(
            f"{cls.__name__} never ends by itself: {reason}, and it has no stop; give max_iterations, or add "
            "stop(self), or activate(before, after) or wake(vertex) that decide which vertices are active next"
        )


class Bound(Binding):
    """A program bound to a graph without start values, only to find the adjacency lists that a run would traverse."""

    def __init__(self, plan: Plan, program: VertexProgram, graph: Graph) -> None:
        self.plan = plan
        super().__init__(program, graph)


NAMES = {"in": "in-edges", "out": "out-edges", "all": "edges of both directions"}


def of_graph(plan: Plan, program: VertexProgram, graph: Graph, made: str) -> list[str]:
    """Return sentences of `gasla.explain` that say which adjacency lists a run traverses, and which of them it copies.

    `made` says when the run makes copies of adjacency lists and edge values, such as "for each run".
    """
    binding = Bound(plan, program, graph)
    gather, send = binding._sides()
    roles_and_lists: list[tuple[str, NeighborLists]] = []
    roles_and_lists += [("gathered over", gather)] if plan.gathers else []
    only_searches = not (plan.gathers or plan.everyone or plan.scheduled)
    roles_and_lists += [("searched for active neighbors", gather)] if only_searches else []
    roles_and_lists += [("pushed along", send)] if plan.sends else []
    if plan.only_pushes:
        roles_and_lists = [("pushed along", send)]
    elif gather is send:
        roles_and_lists = [("traversed", gather)] if roles_and_lists else []
    lines = []
    for verb, lists in roles_and_lists:
        lines.append(f"{NAMES[lists.side].capitalize()} are {verb} {_origin_of_lists(lists, made)}.")
        lines += [
            _values_sentence(name, plan.traced.edge_types[name], binding.weighted(name), lists, made)
            for name in plan.edge_values
        ]
    return lines


def _origin_of_lists(lists: NeighborLists, when_made: str) -> str:
    """Return the part of a sentence that says where a run gets adjacency lists from, and how large they are.

    An example is "as the graph was given". `when_made` says when copies of adjacency lists are made, such as "for each
    run".
    """
    if lists.are_given:
        return "as the graph was given"
    if lists.are_cached:
        return f"in lists made from the given edges, {lists.nbytes:,} bytes, which the graph keeps"
    return f"in lists in the order of the input, {lists.nbytes:,} bytes, made {when_made}"


def _values_sentence(name: str, dtype: np.dtype[Any], graph: Graph, lists: NeighborLists, when_made: str) -> str:
    """Return a sentence of `gasla.explain` that says whether a run reads an edge field's values where the user gave
    them.

    Otherwise the sentence says that the values are copied or converted, and `when_made` says when, such as "for each
    run". `name` is the field, and `lists` are the adjacency lists in whose order a run reads the values.
    """
    subject, size_text = f"{given(name)} of {NAMES[lists.side]}", f"{lists.entries * dtype.itemsize:,} bytes"
    if graph.value_type is None:
        return f"{subject} is 1, as the graph has no values: {size_text}, made {when_made}."
    if graph.value_type != dtype:
        return f"{subject} is converted from {graph.value_type} to {dtype}: {size_text}, made {when_made}."
    if not lists.caches_values(dtype, graph):
        return f"{subject} is put in the order of the lists: {size_text}, made {when_made}."
    if lists.cached_values(graph) is graph.valued.each:
        return f"{subject} is read where it was given."
    return f"{subject} is copied into the order of the lists, {size_text}, which the graph keeps."


def of_memory(plan: Plan, graph: Graph, workspace: int) -> str:
    """Return a sentence of `gasla.explain` with the bytes that a run takes for the program's fields and for its
    buffers.

    `workspace` is the number of bytes of the buffers.
    """
    layouts = [
        *field_layouts(plan, graph.n).values(),
        *(layout(plan.traced.edge_types[n], graph.m) for n in plan.edge_states),
    ]
    fields = sum(math.prod(shape) * dtype.itemsize for shape, dtype in layouts)
    return (
        f"Fields take {fields:,} bytes, and the workspace takes {workspace:,} at most, which the next run uses again."
    )
