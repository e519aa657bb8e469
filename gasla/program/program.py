"""Vertex programs: what a person writes.

A program is a class with declared fields (fields.py) and a few ordinary Python functions over them, which engines read
as expressions (tracing.py). The same functions work on NumPy arrays.
"""

import functools
from typing import Any, get_args

import numpy as np

from gasla.program.fields import (
    Declared,
    Order,
    as_instance,
    check_spelling,
)
from gasla.program.options import Option
from gasla.program.records import Record
from gasla.program.tracing import Traced, Tracer

__all__ = ["VertexProgram", "as_program"]

_EDGE = "src", "dst", "edge"
HOOKS: dict[str, tuple[str, ...]] = {
    "mask": ("vertex",),
    "edge_mask": _EDGE,
    "gather": _EDGE,
    "key": _EDGE,
    "choose": ("vertex", "key", "total"),
    "apply": ("vertex", "gathered"),
    "activate": ("before", "after"),
    "scatter": _EDGE,
    "post_apply": ("vertex",),
    "priority": ("vertex",),
    "stop": (),
    "bucket": ("vertex",),
    "idle": (),
    "wake": ("vertex",),
    "start": ("vertex",),
}
SETTINGS = {"reduce", "direction", "sources", "everyone", "order"}
ARGUMENTS = {  # what `run` takes besides fields
    *("program", "graph", "active", "max_iterations", "direction", "deterministic", "order", "trace", "callback"),
    *("progress", "device", "delta", "schedule", "wait", "notice", "compile", "out", "start"),
}
_KEPT = {
    **dict.fromkeys(ARGUMENTS, "it is an argument of gasla.run"),
    **dict.fromkeys(("state", "iterations", "converged", "edges", "aggregates"), "it is an attribute of every result"),
    "has": "it is a method of every state",
    **dict.fromkeys(("iteration", "n"), "a program reads it as an attribute of self"),
    **dict.fromkeys(("id", "in_degree", "out_degree"), "every vertex has it"),
}

ORDERS = get_args(Order)
WORDS = {"direction": ("in", "out", "all"), "sources": ("all", "active"), "order": ORDERS}


class VertexProgram(Declared):
    """A graph algorithm as gather, apply and scatter; subclass it, declare fields, and write the functions you need.

    One iteration, over the vertices that are active (those that changed last):

    1. A vertex *receives* when `mask` admits it and an edge that `edge_mask` admits comes from an active vertex.
       With `everyone = True`, every vertex that `mask` admits receives in every iteration; without it, one that no
       edge leads to never does.
    2. `gather(src, dst, edge)` is reduced by `reduce` over the receiver's in-edges that `edge_mask` admits: all of
       them (`sources = "all"`, VertexAPI2's rule) or those from active vertices alone (`sources = "active"`).
    3. `apply(vertex, gathered)` returns the fields to change. All of 1 to 3 sees the state before the iteration; but
       where apply only does what an idempotent `reduce` does, as in `f = min(f, gathered)`, values may go on within
       an iteration, to the same end in fewer of them (not with `deterministic=True`).
    4. `activate(before, after)` says which receivers are active next (unless it is given, those that `apply` changed).
    5. `scatter(src, dst, edge)` returns edge fields to change, on the edges along which the newly active vertices
       wake others: their out-edges; with `direction = "out"` their in-edges. `src` is the active vertex, `dst` its
       neighbour. With `"all"` an edge is visited once, from its tail.
    6. `post_apply(vertex)` changes fields of the receivers once all of that is done everywhere.
    7. The run ends when `stop()` holds, or after `max_iterations`. Where nothing is active, the lowest bucket opens
       that is not empty; if there is none, `idle()` changes parameters, and `wake(vertex)` says who is active next;
       if nobody is, the run ends. With `everyone = True`, and neither `activate` nor `wake`, it does not end so where
       an iteration that changes nothing proves nothing: where functions of 1 to 6 read `self.iteration`, an aggregate
       of changes, or a field that `post_apply` writes. Then it needs a `stop` or `max_iterations`.

    Attributes
    ----------
    reduce : semirings.Monoid
        How gathered values combine. One that does not commute is reduced in the order of the input's edges.
    direction : "in", "out" or "all"
        The edges that a vertex gathers over; activity spreads the other way. `src` is always the neighbour.
    sources : "all" or "active"
        Which in-neighbours a receiver gathers from. Where apply only does what an idempotent `reduce` does, and gather
        gets no worse where that is better, the values of others count as heard, and it gathers from the active alone.
    everyone : bool
        Whether every vertex takes part in every iteration.
    order : "synchronous" or "in place"
        In place, what has been applied is seen at once: whoever reads a field of another vertex finds what this
        iteration, or the one before, has left there. Each receiver still applies once an iteration. That often takes
        fewer iterations, half the memory for fields that neighbours read, and is not deterministic.

    Within the functions, `self` gives the parameters, the options, the aggregates, `self.iteration` (from 0) and
    `self.n`; a record its fields, and `id`, `in_degree`, `out_degree` (a vertex) or `id` (an edge: its input's place).
    `edge.leaves` is whether the edge is stored as one from `src` to `dst`; with `direction = "all"` it may be either.
    `edge.back` is its partner, as `Graph.reverse_edge_ids` has it: `edge.back.flow`, `edge.back.id`. A scatter sees it
    as it was before any edge was written to.
    `priority(vertex)` lets a program whose apply is `f = reduce(f, gathered)` work near vertices first: those of the
    lowest number, where NaN comes last. It may read anything of the vertex, and parameters, but not `self.iteration`.

    `bucket(vertex)` lets any program take vertices in the order of a whole number (Julienne's buckets): of those that
    activate, and of those that a run starts with, a vertex is active only in the bucket that is open, `self.bucket`,
    or below it, and waits in a higher one until nothing is active; in one below 0 it is neither. The bucket of a
    vertex that waits is worked out again before the next one opens. `idle()` returns new values of parameters, as
    `{name: value}`, from parameters, aggregates, `self.iteration` and `self.n`; `wake(vertex)` sees them. It may be
    had alone. Those who are woken, like those a run starts with, don't scatter.

    `key(src, dst, edge)` has values reduced by a key, a whole number: at each receiver those of the same key come
    together. `choose(vertex, key, total)` scores each, by a number or a tuple of numbers, and the greatest is gathered,
    of those that tie that of the smallest key: apply sees `gathered.key`, `.total` and `.score`. An edge whose key is
    below 0 takes no part; where none does, the key is -1, the total the identity of `reduce`, and the score the least
    there is. `self.choose(vertex, own, 0)` in apply tells the score of a key that no edge had. It never pushes.

    `self.at(index)` is any other vertex, whose fields are as they were before the iteration; see `at`.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class ShortestPaths(gasla.VertexProgram):
    ...     distance = gasla.vertex(np.float32, init=np.inf)
    ...     weight = gasla.edge(np.float32)
    ...     reduce = semirings.min
    ...     def gather(self, src, dst, edge):
    ...         return src.distance + edge.weight
    ...     def apply(self, vertex, gathered):
    ...         return {"distance": semirings.minimum(vertex.distance, gathered)}
    ...     def activate(self, before, after):
    ...         return after.distance < before.distance
    >>> A = csr_array(np.array([[0, 2, 7], [0, 0, 3], [0, 0, 0]], np.float32))
    >>> gasla.run(ShortestPaths(), A, active=[0], distance={0: 0}).distance
    array([0., 2., 5.], dtype=float32)
    """

    _hooks = HOOKS
    _settings = SETTINGS
    _kept = _KEPT
    _kept_of_edges = dict.fromkeys(("back", "leaves"), "every edge has it")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._check_names()
        for name, words in WORDS.items():
            if not isinstance(word := getattr(cls, name), Option) and word not in words:
                *some, last = map(repr, words)
                raise ValueError(f"{cls.__name__}.{name} is {word!r}; expected {', '.join(some)} or {last}")

    def at(self, index: Any) -> Record:
        """Another vertex's fields, within the program's functions: `self.at(vertex.parent).parent`.

        They are as they were when the iteration began; in `stop`, `idle` and `wake`, which come after an iteration, as
        they are now. An index outside 0 … n-1 gives each field's `missing`, and -1 for `id`. It wakes nobody.

        Parameters
        ----------
        index : a whole number
            Any expression of a record's fields and of parameters; not in `bucket` and `priority`.

        Raises
        ------
        TypeError
            If the index is no whole number; if a field is read that has no `missing`, or a vector of more than 8 items.

        Examples
        --------
        >>> import gasla, semirings, numpy as np
        >>> class Roots(gasla.VertexProgram):  # of trees, by pointer jumping: each step doubles how far one sees
        ...     everyone = True
        ...     parent = gasla.vertex(np.int64, missing=-1)
        ...     def apply(self, vertex, _): return {"parent": self.at(vertex.parent).parent}
        >>> chain = np.array([0, 0, 1, 2, 3])
        >>> gasla.run(Roots(), gasla.Graph.from_edges([], [], n=5), max_iterations=3, parent=chain).parent
        array([0, 0, 0, 0, 0])
        """
        raise TypeError(
            "self.at(index) is for functions that iterations call, from mask to wake; of a result read its fields"
        )

    @classmethod
    @functools.cache
    def traced(cls, id_type: Any = np.int32) -> Traced:
        """Call each of the program's functions once with symbols."""
        if cls.options:
            return type(cls()).traced(id_type)
        check_spelling(cls)
        return Tracer(cls, np.dtype(id_type)).trace()


def as_program(given: Any) -> VertexProgram:
    """A program, or one of a class of them with its parameters as they are by default."""
    return as_instance(VertexProgram, given)


def in_order(program: VertexProgram, order: Any) -> VertexProgram:
    """The program with what is asked for as its `order`; itself, where it has that, or nothing is asked for."""
    if order is None or order == program.order:
        return program
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; expected 'synchronous', 'in place', or None for the program's own")
    kind: Any = type(program)
    made: VertexProgram = _ordered(kind, order)(**program.values)
    return made


@functools.cache
def _ordered(program: type[VertexProgram], order: str) -> type[VertexProgram]:
    return type(program.__name__, (program,), {"order": order})
