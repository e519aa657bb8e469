"""Derive the program that runs on one part of a graph from the program for the whole graph.

A part has its own vertices, numbered from 0, and after them mirrors of vertices that other parts own. The derived
program has the user's functions. `PartTracer` traces them with other symbols where they read values of the whole graph:
global ids and degrees are vertex fields of the part; the number of all vertices, the iteration and the values of
aggregates are parameters. Functions that control the whole run are left out, as all parts call them together. If the
kernels of all parts exchange values themselves (`together`), the kernels know the iteration and the aggregates, and
call `stop`.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import semirings
from gasla.names import inner
from gasla.program.fields import ID, Declared, EdgeField, Parameter, VertexField
from gasla.program.hooks import HOOKS
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record
from gasla.program.tracing import Function, Traced, Tracer, symbols_of
from semirings import Expr
from semirings.expr import cast_expr

PREFIX = "of_all_"  # beginning of the names of a part's fields and parameters that hold values of the whole graph
OWN = "of_rank_own"  # name of the parameter with the number of vertices that the part owns
FIRST = "of_rank_first"  # name of the parameter with the global id of the first vertex that the part owns
EDGE_ID, LEAVES = f"{PREFIX}edge_id", f"{PREFIX}leaves"
# names of functions that ranks don't call on their own, but all together or with the same result
DECIDED = tuple(name for name, hook in HOOKS.items() if hook.shard != "own")
# attributes of `self` that describe the whole graph or run, so that a part gets them as parameters
NUMBERS = ("n", "iteration", "bucket")
# The id and the degrees of a vertex refer to the whole graph. For each, the name of the part's field that holds it.
OF_VERTEX = {"id": f"{PREFIX}id", "in_degree": f"{PREFIX}in_degree", "out_degree": f"{PREFIX}out_degree"}
OF_EDGE = {"id": EDGE_ID, "leaves": LEAVES}


@functools.cache
def in_part(
    base: type[VertexProgram], id_type: np.dtype, has_priority: bool, together: bool = False
) -> type[VertexProgram]:
    """Return the program that does the work of the program `base` on one part of a graph.

    `id_type` is the dtype of global ids. The part keeps the function `priority` only if `has_priority`. `together` says
    that the kernels of all parts exchange values themselves.
    """
    whole_traced = base.traced(id_type)
    used = {
        function.sources[symbol.name] for function in whole_traced.functions.values() for symbol in function.symbols
    }
    decided = whole_traced.functions.keys() & {*DECIDED} - ({"stop"} if together else set())
    body: dict[str, Any] = {"direction": "in", **dict.fromkeys(decided), "_tracer": PartTracer, "_whole": whole_traced}
    declared: dict[str, Any] = {**base.vertex_fields, **base.parameters}
    for name, field in declared.items():
        if field.type is ID:
            body[name] = replace(field, type=id_type)
    dtypes = {"id": id_type, "in_degree": np.dtype(np.int64), "out_degree": np.dtype(np.int64)}
    of_vertices = {name for source_role, name in used if source_role not in ("self", "edge", "")}
    body |= {PREFIX + name: VertexField(dtype, 0) for name, dtype in dtypes.items() if name in of_vertices}
    body |= {PREFIX + name: Parameter(np.int64, 0) for name in (("n",) if together else NUMBERS)}
    body |= {name: Parameter(np.int64, 0) for name in (OWN, FIRST)}
    if ("edge", "id") in used:
        body[EDGE_ID] = EdgeField(np.int64, 0)
    if ("edge", "leaves") in used:
        body[LEAVES] = EdgeField(np.bool_, 0)
    if not has_priority:
        body["priority"] = None
    for name, aggregate in base.aggregates.items():
        dtype = {**whole_traced.aggregate_types, **whole_traced.deposit_types}[inner(name)]
        aggregate_in_part = replace(aggregate, type=dtype)
        # In a part, an aggregate with a value per vertex becomes a field with the totals over all parts. Ranks write
        # this field between iterations.
        if aggregate.at is not None:
            identity = aggregate.monoid.identity(dtype)
            body |= {name: VertexField(dtype, identity, missing=identity), PREFIX + name: aggregate_in_part}
        else:
            body |= (
                {name: aggregate_in_part} if together else {name: Parameter(dtype, 0), PREFIX + name: aggregate_in_part}
            )
    body["_decided"] = tuple(sorted(decided))
    changing = (
        whole_traced.writes("idle") | whole_traced.aggregate_types.keys() | {PREFIX + "iteration", PREFIX + "bucket"}
    )
    body["_changing"] = tuple(sorted(changing))
    body["_most"] = {PREFIX + "id": int(np.iinfo(id_type).max) - 1}
    return type(base.__name__, (base,), body)


class PartTracer(Tracer):
    """A tracer for the program that runs on one part of a graph.

    It calls the user's functions with symbols, as every tracer does. What a function reads of the whole graph, such as
    a global id, is a field of the part here.
    """

    def _parameter_symbol(self, name: str) -> Expr:
        """Return the symbol of a parameter that the program of one part has in addition to the user's: an int64 number.

        An example is the number of vertices that the part owns.
        """
        return self._symbol("self", name, np.dtype(np.int64))

    def _is_own(self, source_role: str) -> Any:
        """Return an expression that is true if a part of the graph owns a vertex, which is false for mirrors (copies).

        `source_role` is the argument of the user's function that stands for the vertex, such as "dst".
        """
        return self._symbol(source_role, "id", self.id_type) < self._parameter_symbol(OWN)

    def _local_number(self, index: Any) -> Any:
        """Return an expression for the number that a part of the graph gives to a vertex, from the global id `index`.

        The function `local_vertex` computes this number.
        """
        return local_vertex(
            index, self._parameter_symbol(FIRST), self._parameter_symbol(OWN), self._parameter_symbol(f"{PREFIX}n")
        )

    def _make_vertex(self, source_role: str) -> Record:
        """Return the record that a user's function gets for a vertex, such as `src`, while the function is traced.

        Its id and degrees are those in the whole graph.
        """
        fields = dict(super()._make_vertex(source_role)._fields)
        fields["id"] = cast_expr(fields["id"], self.program._whole.id_type)
        return Record("vertex", renamed(fields, OF_VERTEX), self._of_self)

    def _make_edge(self) -> Record:
        """Return the record that a user's function gets for an edge while the function is traced.

        `edge.leaves` says whether the edge is an out-edge in the whole graph. A part stores only in-edges, so this is a
        constant, or a field of the part if the program gathers over edges of both directions.
        """
        fields = dict(super()._make_edge()._fields)
        direction = self.program._whole.program.direction
        if direction != "all":
            fields["leaves"] = semirings.as_expr(np.bool_(direction == "in"))
        return Record("edge", renamed(fields, OF_EDGE), self._of_self)

    def _make_self(self, where: str) -> Declared:
        """Return the object that a user's functions get as `self` while they are traced for one part of a graph.

        Its `n` and `iteration` are those of the whole run, not of the part.
        """
        stand_in = super()._make_self(where)
        attributes = stand_in.__dict__
        attributes.update({name: attributes[PREFIX + name] for name in NUMBERS if PREFIX + name in attributes})
        return stand_in

    def _record_at(self, where: str, given_index: Any) -> Record:
        """Return the record that `self.at` returns in the program for one part of a graph.

        `given_index` is a global id. The record's fields are read from the vertices and mirrors that the part stores. A
        program that calls `self.at` may read any vertex, so each of its parts has mirrors of all vertices of other
        parts.
        """
        local_index = self._local_number(given_index)
        fields = super()._record_at(where, local_index)._fields
        checked_index = semirings.where(local_index >= 0, semirings.cast(given_index, np.int64), np.int64(-1))
        return Record("vertex", Lazy({
            **{name: functools.partial(fields.__getitem__, name) for name in fields},
            "id": lambda: semirings.cast(checked_index, self.program._whole.id_type),
        }))  # fmt: skip

    def trace(self) -> Traced:
        """Trace all functions of the program for one part of a graph.

        Mirrors (copies of vertices that other parts own) must not receive, because the owners compute their values. So
        with `everyone = True` the program gets a mask that refuses mirrors.
        """
        if self.program.everyone:
            self._set_result("mask", semirings.as_expr(self._is_own("vertex")))
        return super().trace()

    def _trace_function(
        self, name: str, expected: Any, *records: Any, function: Callable[..., Any] | None = None
    ) -> None:
        """Trace one function of the program for a part of a graph, so that mirrors have no effect on its results.

        Mirrors are copies of vertices that other parts own. Aggregates skip them. If every vertex receives (`everyone =
        True`), the mask refuses mirrors as well.
        """
        earlier_function = self.functions.get(name)
        super()._trace_function(name, expected, *records, function=function)
        if earlier_function is not None and self.functions[name] is not earlier_function:
            self._set_result(name, earlier_function.result & self.functions[name].result)
        elif function is not None and name in self.program.aggregates:
            # Aggregates over the start values include all vertices of a part. So that mirrors of other parts' vertices
            # do not count twice, they add the identity.
            term, is_own = self.functions[inner(name)].result, self._is_own("after")
            if isinstance(term, tuple):
                index, value = term
                self._set_result(name, (semirings.where(is_own, self._local_number(index), np.int64(-1)), value))
            else:
                identity = self.program.aggregates[name].monoid.identity(term.type)
                self._set_result(name, semirings.where(is_own, term, term.type.type(identity)))

    def _set_result(self, name: str, result: Any) -> None:
        """Store `result`, an expression, as the result of the traced function `name`, in place of the result that it
        had.
        """
        results = result if isinstance(result, tuple) else (result,)
        function = Function(inner(name), result, symbols_of(results), self.sources, name in self.program.aggregates)
        self.functions[inner(name)] = function


def renamed(fields: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a dict of fields in which some have another name, or are replaced by another field.

    `names` maps a name that functions use to the name of the field whose value they then get.
    """
    return fields | {name: fields[original_name] for name, original_name in names.items() if original_name in fields}


def local_vertex(index: Any, first: Any, own: Any, n: Any) -> Any:
    """Return the number that a part of a graph gives to a vertex, from the vertex's global id `index`.

    The part numbers its own vertices from 0: they are the `own` vertices whose global ids begin at `first`. All other
    vertices of the graph, of which it has mirrors, follow in the order of their global ids. Return -1 if `index` is not
    the id of one of the graph's n vertices.
    """
    index = semirings.cast(index, np.int64)
    later = semirings.where(index < first + own, index - first, index)
    is_there = (index >= 0) & (index < n)
    return semirings.where(is_there, semirings.where(index < first, index + own, later), np.int64(-1))
