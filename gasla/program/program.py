"""`VertexProgram`: the base class of vertex programs.

A program is a class with declared fields (fields.py) and a few ordinary Python functions over them, which are traced to
expressions (tracing.py). The same functions work on NumPy arrays.
"""

import functools
from typing import Any, get_args

import numpy as np

from gasla.once import once
from gasla.program.fields import Declared, Order, as_instance, check_spelling
from gasla.program.hooks import HOOKS
from gasla.program.options import Option
from gasla.program.records import Record
from gasla.program.tracing import Traced, Tracer

__all__ = ["VertexProgram", "as_program"]

PARAMETERS = {name: hook.parameters for name, hook in HOOKS.items()}
SETTINGS = {"reduce", "direction", "sources", "everyone", "order"}
# names of arguments of `gasla.run` that fields can't have, because other arguments are start values of fields
ARGUMENTS = {
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
    """A graph algorithm as gather, apply and scatter: subclass it, declare fields, and define the functions you need.

    One iteration, starting from the active vertices (those that the last iteration changed):

    1. A vertex *receives* if `mask` admits it and an edge that `edge_mask` admits leads to it from an active vertex.
       With `everyone = True`, every vertex that `mask` admits receives in every iteration, even without an in-edge.
    2. `gather(src, dst, edge)` is reduced by `reduce` over the receiver's in-edges that `edge_mask` admits: all of
       them (`sources = "all"`, VertexAPI2's rule) or only those from active vertices (`sources = "active"`).
    3. `apply(vertex, gathered)` returns the fields to change. Steps 1 to 3 read the state before the iteration; but if
       apply only reduces by an idempotent `reduce`, as in `f = min(f, gathered)`, new values may be read within the
       iteration, which gives the same result in fewer iterations (not with `deterministic=True`).
    4. `activate(before, after)` tells which receivers are active next; without it, those that `apply` changed.
    5. `scatter(src, dst, edge)` returns edge fields to change, on the out-edges of the newly active vertices (with
       `direction = "out"` on their in-edges). `src` is the active vertex, `dst` its neighbor. With `direction = "all"`
       an edge is visited once, from its source.
    6. `post_apply(vertex)` changes fields of the receivers after all vertices have finished steps 1 to 5.
    7. The run ends when `stop()` is true, or after `max_iterations`. If no vertex is active, the lowest bucket that is
       not empty opens; if there is none, `idle()` changes parameters, and `wake(vertex)` tells which vertices are
       active next; if none is, the run ends. With `everyone = True` and neither `activate` nor `wake`, it ends after an
       iteration that changes nothing, unless functions of steps 1 to 6 read `self.iteration`, an aggregate of
       changes, or a field that `post_apply` writes: then the next iteration may change something, and the run needs
       `stop` or `max_iterations`.

    Attributes
    ----------
    reduce : semirings.Monoid
        Combines gathered values. A monoid that does not commute reduces in the order of the input's edges.
    direction : "in", "out" or "all"
        The edges that a vertex gathers over; activity spreads the other way. `src` is always the neighbor.
    sources : "all" or "active"
        The in-neighbors that a receiver gathers from. If apply only reduces by an idempotent `reduce`, and gather is
        monotone, values of inactive neighbors have been reduced before, and are skipped in either case.
    everyone : bool
        Whether every vertex receives in every iteration.
    order : "synchronous" or "in place"
        In place, new values are read at once: a read of another vertex's field gives its value of this iteration or of
        the one before. Each receiver still applies once per iteration. This often takes fewer iterations, and half the
        memory for fields that neighbors read. It is not deterministic.

    Within the functions, `self` has the parameters, the options, the aggregates, `self.iteration` (from 0) and
    `self.n`. The record of a vertex has its fields, `id`, `in_degree` and `out_degree`; that of an edge its fields and
    `id`, its position in the input. `edge.leaves` is whether the edge is stored as one from `src` to `dst`, which with
    `direction = "all"` varies. `edge.back` is its partner, the reverse edge of `Graph.reverse_edge_ids`:
    `edge.back.flow`, `edge.back.id`. A scatter reads the partner's fields before any edge is written.

    `priority(vertex)` makes a program whose apply is `f = reduce(f, gathered)` process vertices in ascending order of a
    number, roughly; NaN comes last. It may read fields of the vertex and parameters, but not `self.iteration`.

    `bucket(vertex)` makes any program process vertices in ascending order of a whole number (Julienne's buckets). A
    vertex that is activated, or that a run starts with, is active only if its bucket is `self.bucket`, the open one, or
    lower; otherwise it waits until no vertex is active, and with a bucket below 0 it does neither. Buckets of waiting
    vertices are computed again before the next one opens.

    `idle()` returns new values of parameters, as `{name: value}`, from parameters, aggregates, `self.iteration` and
    `self.n`. It requires `wake(vertex)`, which reads them; `wake` may also be defined alone. Vertices that are woken,
    or that a run starts with, don't scatter.

    `key(src, dst, edge)` reduces values by key, a whole number, at each receiver. `choose(vertex, key, total)` scores
    each key by a number or a tuple of numbers. The key of the greatest score is gathered, of ties the smallest key:
    apply reads `gathered.key`, `.total` and `.score`. An edge with a key below 0 is skipped; if all are, the key is -1,
    the total the identity of `reduce`, and the score the smallest number. In apply, `self.choose(vertex, own, 0)` is
    the score of a key that no edge has. A program with keys never pushes.

    `self.at(index)` is any other vertex, with its fields before the iteration; see `at`.

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

    _hooks = PARAMETERS
    _tracer = Tracer
    _settings = SETTINGS
    _kept = _KEPT
    _kept_of_edges = dict.fromkeys(("back", "leaves"), "every edge has it")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._check_names()
        for name, allowed in WORDS.items():
            if not isinstance(setting := getattr(cls, name), Option) and setting not in allowed:
                *choices, last_choice = map(repr, allowed)
                raise ValueError(
                    f"{cls.__name__}.{name} is {setting!r}; expected {', '.join(choices)} or {last_choice}"
                )

    def at(self, index: Any) -> Record:
        """Read the fields of any vertex, within the program's functions: `self.at(vertex.parent).parent`.

        The fields have their values from before the iteration; in `stop`, `idle` and `wake`, which run after it, their
        current values. An index outside 0 … n-1 gives each field's `missing`, and -1 for `id`. A vertex is not
        activated by changes of a vertex that it reads this way.

        Parameters
        ----------
        index : a whole number
            Any expression of a record's fields and of parameters. Not allowed in `bucket` and `priority`.

        Raises
        ------
        TypeError
            If the index is not a whole number; if a field without `missing`, or a vector of more than 8 items, is read.

        Examples
        --------
        >>> import gasla, semirings, numpy as np
        >>> class Roots(gasla.VertexProgram):  # roots of trees, by pointer jumping
        ...     everyone = True
        ...     parent = gasla.vertex(np.int64, missing=-1)
        ...     def apply(self, vertex, _): return {"parent": self.at(vertex.parent).parent}
        >>> chain = np.array([0, 0, 1, 2, 3])
        >>> gasla.run(Roots(), gasla.Graph.from_edges([], [], n=5), max_iterations=3, parent=chain).parent
        array([0, 0, 0, 0, 0])
        """
        raise TypeError(
            "self.at(index) is for the functions of a run, from mask to wake; read the fields of a result directly"
        )

    @classmethod
    @functools.cache
    def traced(cls, id_type: Any = np.int32) -> Traced:
        """Return the program with its functions as expressions, which result from one call of each function with
        symbols.

        `id_type` is the dtype of vertex ids.
        """
        if cls.options:
            return type(cls()).traced(id_type)
        check_spelling(cls)
        return cls._tracer(cls, np.dtype(id_type)).trace()


def as_program(given: Any) -> VertexProgram:
    """Return the given vertex program, or an instance of the given program class with default parameters."""
    return as_instance(VertexProgram, given)


def in_order(program: VertexProgram, order: Any) -> VertexProgram:
    """Return a program that runs in the given order of reads and writes, "synchronous" or "in place".

    With "in place", new values are read within the same iteration. If `order` is None or the program's own order, this
    is the program itself.
    """
    if order is None or order == program.order:
        return program
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; expected 'synchronous', 'in place', or None for the program's own")
    program_class: Any = type(program)
    result: VertexProgram = _subclass_in_order(program_class, order)(**program.values)
    return result


@once()
def _subclass_in_order(program: type[VertexProgram], order: str) -> type[VertexProgram]:
    return type(program.__name__, (program,), {"order": order})
