"""Plans of walk programs for both engines: the traced functions, and the arguments of the kernel that runs them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

import semirings
from gasla.arrays import as_bits
from gasla.graph.graph import Graph
from gasla.names import given as given_name
from gasla.program.binding import Binding, NeighborLists
from gasla.program.fields import as_index, bounds_of, check_parameters, check_spelling
from gasla.program.records import Lazy, Record
from gasla.program.tracing import Function, Traced, Tracer
from gasla.program.walk_program import WalkProgram
from semirings import Expr, Symbol
from semirings.expr import as_expr, in_order, rebuilt
from semirings.types import has_wide

DEGREES = ("in_degree", "out_degree")
# The largest number of pairs of vertices that accept may pass to `has_edge`. Bounds of the result of accept are
# computed for all combinations of True and False as answers.
MOST_PAIRS = 3


class Input(NamedTuple):
    """An array or a number that the functions of a walk program (for random walks) read, as a kernel's argument."""

    role: str  # what the value belongs to: "vertex", "edge", or "self" for a parameter
    field: str
    type: Any
    is_number: bool = False

    @property
    def name(self) -> str:
        """The name that this array or number has in generated source, such as `v_rank`."""
        return f"{'v' if self.role == 'vertex' else 'e' if self.role == 'edge' else self.role}_{self.field}"


class WalkTracer(Tracer):
    """A tracer that calls the functions of a program for random walks with symbols in place of values."""

    def walk_plan(self) -> WalkPlan:
        """Trace all functions of the walk program, and return its plan."""
        program: Any = self.program
        check_spelling(program)
        check_parameters(f"{program.__name__}.bound", program.bound, ())
        # The pairs of vertices that `has_edge` tests, as expressions of their ids. As expressions are not hashable
        # here, the keys are their identities.
        self.pairs: dict[tuple[int, int], tuple[Expr, Expr]] = {}
        accept_type, where = np.dtype(np.float64), f"{self.program.__name__}.accept"
        vertex, target = self._make_vertex("vertex"), self._make_vertex("target")
        id_before = self._symbol("previous", "id", self.id_type)
        record = self._record_at(where, id_before)
        makers = {
            given_name(n): functools.partial(getattr, record, given_name(n)) for n in (*self.vertex_types, *DEGREES)
        }
        previous = Record("vertex", Lazy({**makers, "id": lambda: id_before}))
        types = {**self.edge_types, "id": np.dtype(np.int64)}
        edge = Record("edge", {given_name(n): self._symbol("edge", n, edge_type) for n, edge_type in types.items()})
        self._trace_function("stop", accept_type, vertex)
        self._trace_function("restart", accept_type, vertex)
        self._trace_function("accept", accept_type, previous, vertex, target, edge)
        for name, kind in {**self.vertex_types, **self.edge_types}.items():
            if has_wide(kind):
                raise TypeError(
                    f"{self.program.__name__}.{given_name(name)} is a vector of {kind.length} items; expected at most 8"
                )
        field_types = self.vertex_types, self.edge_types, self.parameter_types
        traced = Traced(self.program, self.id_type, *field_types, {}, {}, {}, {}, self.functions)
        return WalkPlan(traced, list(self.pairs.values()), self.sources)

    def _counters(self) -> dict[str, np.dtype]:
        return {"step": np.dtype(np.int64), "n": np.dtype(np.int64), "start": self.id_type}

    def _make_self(self, where: str) -> Any:
        stand_in = super()._make_self(where)
        if where.endswith(".accept"):
            stand_in.__dict__["has_edge"] = functools.partial(self._has_edge_symbol, where)
        return stand_in

    def _has_edge_symbol(self, where: str, *ends: Any) -> Expr:
        """Return a boolean symbol that stands for the result of `self.has_edge(src, dst)` while `accept` is traced.

        Calls with the same two vertices get the same symbol.
        """
        src, dst = (as_index(where, end.id if isinstance(end, Record) else end, "self.has_edge") for end in ends)
        key = id(src), id(dst)
        if key not in self.pairs:
            if len(self.pairs) == MOST_PAIRS:
                raise TypeError(f"{where} calls has_edge for more than {MOST_PAIRS} pairs; expected fewer")
            name = str(len(self.pairs))
            self.pairs[key] = src, dst
            self.sources[f"near_{name}"] = ("near", name)
        return Symbol(f"near_{[*self.pairs].index(key)}", bool)


class WalkPlan:
    """The plan of a walk program (for random walks): its functions as expressions, and which arrays and numbers they
    read.
    """

    # Names of all fields. No function of a walk program writes a field, so `Binding` may use the caller's arrays
    # without a copy.
    doubled: frozenset[str]

    def __init__(self, traced: Traced, pairs: list[tuple[Expr, Expr]], sources: Mapping[str, tuple[str, str]]) -> None:
        self.traced, self.pair_count = traced, len(pairs)
        self.doubled = frozenset(traced.vertex_types)
        self.starting = {name: (dtype, bounds_of(dtype)) for name, dtype in traced.vertex_types.items()}
        self.functions = dict(traced.functions)
        for pair_number, edge_pair in enumerate(pairs):
            self.functions[f"pair_{pair_number}"] = _make_function(f"pair_{pair_number}", edge_pair, sources)
        if pairs:
            accept = self.functions["accept"]
            answers = itertools.product((False, True), repeat=len(pairs))
            results: list[Any] = [_result_for_answers(accept, answer) for answer in answers]
            lowest, highest = functools.reduce(semirings.minimum, results), functools.reduce(semirings.maximum, results)
            self.functions["range"] = _make_function("range", (lowest, highest), sources)

    @property
    def accepts(self) -> bool:
        """Whether the program has `accept`, which may reject an edge that a walker has drawn."""
        return "accept" in self.functions

    @property
    def stops(self) -> bool:
        """Whether the program has `stop`, which may end a walk before its last step."""
        return "stop" in self.functions

    @property
    def restarts(self) -> bool:
        """Whether the program has `restart`, which may move a walker back to its start."""
        return "restart" in self.functions

    @functools.cached_property
    def inputs(self) -> list[Input]:
        """The arrays and numbers that the program's functions read, sorted by name, as arguments of its kernel.

        The walker's state and the adjacency lists, which the kernel gets as well, are not among them.
        """
        traced, distinct = self.traced, dict[Input, None]()
        for function in self.functions.values():
            for source_role, field in (function.sources[symbol.name] for symbol in function.symbols):
                if source_role in ("vertex", "target", "other") and field in traced.vertex_types:
                    distinct[Input("vertex", field, traced.vertex_types[field])] = None
                elif source_role in ("vertex", "target") and field == "in_degree":
                    distinct[Input("vertex", field, np.dtype(np.int64))] = None
                elif source_role == "edge":
                    distinct[Input("edge", field, traced.edge_types.get(field, np.dtype(np.int64)))] = None
                elif source_role == "self" and field in traced.parameter_types:
                    distinct[Input("self", field, traced.parameter_types[field], True)] = None
        return sorted(distinct, key=lambda each: each.name)


def _make_function(name: str, result: tuple[Expr, ...], sources: Mapping[str, tuple[str, str]]) -> Function:
    symbols = tuple(symbol for symbol in in_order(result) if isinstance(symbol, Symbol))
    return Function(name, result, symbols, sources)


def _result_for_answers(accept: Function, answers: tuple[bool, ...]) -> Expr:
    """Return the result of a walk program's `accept`, as an expression, for given answers to its calls of `has_edge`.

    `answers` has True or False for each call, which replaces the call's symbol.
    """
    replaced: dict[Expr, Expr] = {Symbol(f"near_{i}", bool): as_expr(answer) for i, answer in enumerate(answers)}
    return rebuilt(accept.result, lambda e, _: replaced.get(e))


def walk_plan(program: Any, id_type: np.dtype[Any]) -> WalkPlan:
    """Return the plan of a class of walk programs (for random walks). It is made once for each dtype of vertex ids."""
    return _make_walk_plan(program, id_type)


@functools.cache
def _make_walk_plan(program: Any, id_type: np.dtype[Any]) -> WalkPlan:
    return WalkTracer(program, id_type).walk_plan()


class WalkBinding(Binding):
    """A walk program bound to a graph, with its start values: it makes the arguments of the program's kernel."""

    plan: WalkPlan

    def __init__(self, program: WalkProgram, graph: Graph, values: Mapping[str, Any]) -> None:
        self.plan = walk_plan(type(program), graph.id_dtype)
        super().__init__(program, graph)
        self.given = self.by_inner_name(values)
        self.check(self.given)

    def bound(self) -> float:
        """Return the upper bound of the results of `accept`, which the walk program's function `bound` computes.

        Raise an error if `bound` does not return a finite number above 0.
        """
        stand_in: Any = object.__new__(type(self.program))
        stand_in.__dict__.update({given_name(name): value for name, value in self.parameters().items()})
        with np.errstate(all="ignore"):
            result = np.asarray(stand_in.bound())
        if result.shape != () or result.dtype.kind not in "iuf" or not 0 < result < np.inf:
            raise ValueError(
                f"{type(self.program).__name__}.bound gives {result}; expected a finite number above 0, the largest "
                "result of accept"
            )
        return float(result)

    def refuse(self, walker: int, step: int, function: int, value: float) -> NoReturn:
        """Raise the error for a walk program's function that returned a probability out of range, `value`.

        `walker` and `step` say where. `function` is 0 for `stop`, 1 for `restart`, and 2 for `accept`.
        """
        name, upper_bound = ("stop", "restart", "accept")[function], self.bound() if function == 2 else 1.0
        raise ValueError(
            f"{type(self.program).__name__}.{name} gives {value} for walker {walker} in step {step}; expected "
            f"a number from 0 to {upper_bound}" + (", the result of bound" if function == 2 else "")
        )

    def arrays(self) -> list[Any]:
        """Return the arrays and numbers that a walk program's functions read, as arguments of its kernel.

        They are in the order of `plan.inputs`.
        """
        numbers = self.parameters()
        return [
            numbers[argument.field] if argument.is_number else as_bits(self._array(argument))
            for argument in self.plan.inputs
        ]

    def _array(self, array_input: Input) -> Any:
        lists = NeighborLists(self.graph, "out", ordered=False)
        if array_input.role == "edge":
            by_id = array_input.field == "id"
            return (
                lists.ids().astype(np.int64)
                if by_id
                else lists.values(array_input.type, self.weighted(array_input.field))
            )
        if array_input.field == "in_degree":
            return self.graph.in_degrees.astype(np.int64)
        return self._start_array(array_input.field, self.given.get(array_input.field))
