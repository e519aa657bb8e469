"""Calls a program's functions on whole arrays, with records of vertices and edges, and a stand-in for `self`.

The reference engine runs whole programs in this way. In distributed runs, ranks call the functions by which all ranks
decide together, such as `stop`, in this way, too.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import as_values, column, device_of, moved
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.part import OF_EDGE, OF_VERTEX, PREFIX, local_vertex, renamed
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record
from gasla.program.tracing import Traced
from semirings import VectorType
from semirings.types import computed


class Functions:
    """The functions of a vertex program, and the values that they read.

    Fields and aggregates go by inner names, which are valid names in generated code (`gasla.names.inner`).

    Attributes
    ----------
    program : VertexProgram
    traced : Traced
        The traced program. If `program` runs on a part of a graph, it is traced for the whole graph, so that it has the
        type of global ids.
    parameters : dict of str to number
        Parameters by their names in the program.
    numbers : dict of str to int
        The number of vertices `n`, the number of the iteration, and that of the open bucket. A run on a part of a graph
        has the numbers of the whole graph as parameters.
    vertex, edge : dict of str to array
        Fields of vertices and of edges.
    known : dict of str to function
        Functions that return `id`, `in_degree` and `out_degree` of given vertices. A run on a part of a graph has those
        of the whole graph as fields.
    range : tuple of int
        The first vertex that this run owns, and the number of vertices that it owns. All other vertices are mirrors:
        copies of vertices that other ranks own.
    """

    def __init__(
        self,
        program: VertexProgram,
        traced: Traced,
        parameters: Mapping[str, Any],
        numbers: Mapping[str, int],
        vertex: dict[str, Any],
        edge: dict[str, Any],
        known: Mapping[str, Callable[[np.ndarray], Any]],
        range: tuple[int, int],
    ) -> None:
        self.program, self.traced, self.parameters, self.numbers = program, traced, dict(parameters), dict(numbers)
        self.vertex, self.edge, self.known, self.range = vertex, edge, known, range
        # The fields that `self.at` reads in a program. Within an iteration these are copies from before the iteration.
        self.seen_by_others = vertex
        self.aggregates: dict[str, Any] = {}
        # aggregates at vertices: arrays with a reduced value for every vertex
        self.deposits: dict[str, np.ndarray] = {}

    def call(self, function: Callable[..., Any] | str, *records: Record) -> Any:
        """Call a function of the vertex program on records of vertices or edges.

        Its `self` is an object with the run's current parameters, counters and aggregates. Parameters and aggregates
        are arrays of one value, as the methods of NumPy's scalars differ from those of `Values`.
        """
        kind = type(self.program)
        stand_in = object.__new__(kind)
        values = {**self.parameters, **{given_name(name): value for name, value in self.aggregates.items()}}
        stand_in.__dict__.update({name: as_values(np.atleast_1d(value)) for name, value in values.items()})
        stand_in.__dict__.update({name: np.int64(self.number(name)) for name in self.numbers})
        stand_in.__dict__["at"] = self.other
        with np.errstate(all="ignore"):
            return (getattr(kind, function) if isinstance(function, str) else function)(stand_in, *records)

    def number(self, name: str) -> int:
        """Return one of three numbers of the run: of vertices ("n"), of the iteration, or of the open bucket.

        If the run is on a part of a graph, the numbers are those of the whole graph's run.
        """
        number: int = self.parameters.get(PREFIX + name, self.numbers[name])
        return number

    def vertices(self, ids: np.ndarray, now: bool = False) -> Record:
        """Return a record (an object with an array for each field) by which the program reads the vertices `ids`.

        Their fields are copied when they are first read, or at once with `now`.
        """
        makers = makers_of(self.vertex, ids)
        if now:
            current_values = {name: make() for name, make in makers.items()}
            makers = {name: lambda value=value: value for name, value in current_values.items()}  # type: ignore[misc]
        known: dict[str, Any] = {name: lambda read=read: as_values(read(ids)) for name, read in self.known.items()}
        return Record("vertex", Lazy(renamed(makers | known, OF_VERTEX)))

    def link(self, what: str, ids: np.ndarray, known: Mapping[str, Callable[[], Any]]) -> Record:
        """Return a record (an object with an array for each field) by which the program reads some edges.

        `ids` are the positions of the edges in the arrays of edge fields. `known` has functions that compute further
        attributes, by name. `what` is the record's name in error messages.
        """
        makers = {"id": lambda: as_values(ids.astype(np.int64, copy=False)), **makers_of(self.edge, ids), **known}
        return Record(what, Lazy(renamed(makers, OF_EDGE)))

    # --- which vertices are active: the program's functions `bucket`, `wake` and `idle` -------------------------------

    def has(self, function: str) -> bool:
        """Return whether the program has a function of this name, such as `wake`, whose results are used in a run."""
        return function in self.traced.functions and getattr(self.program, function, None) is not None

    def admitted(self, function: str, count: int, *records: Record) -> np.ndarray:
        """Return what a function of the program, such as `mask`, returns for `count` vertices or edges.

        The result is an array of bools, and `records` are the function's arguments. All are True if the program does
        not have the function.
        """
        if not self.has(function):
            return np.ones(count, bool)
        return np.broadcast_to(np.asarray(self.call(function, *records), bool), count)

    def idle(self) -> dict[str, Any]:
        """Call the program's `idle`, which may change parameters of the program when no vertex is active.

        Return the parameters that it changes, by their names in the program. If the program has no `idle`, return an
        empty dict.
        """
        changed = self.call("idle") if self.has("idle") else {}
        return {name: spread(x, self.traced.parameter_types[inner(name)], 1)[0] for name, x in changed.items()}

    def woken(self, count: int) -> np.ndarray:
        """Return those of the first `count` vertices of the graph for which the program's `wake` returns True."""
        all_vertices = np.arange(count)
        return all_vertices[self.admitted("wake", count, self.vertices(all_vertices))]

    def open(self, ids: np.ndarray, waiting: np.ndarray) -> np.ndarray:
        """Return those of the vertices `ids` whose bucket is open: not larger than that of the current bucket.

        Vertices of later buckets are marked in `waiting`. If the program has no function `bucket`, all vertices are
        returned.
        """
        if not self.has("bucket"):
            return ids
        buckets, open_bucket = self._buckets(ids), self.numbers["bucket"]
        waiting[ids] = buckets > open_bucket
        return ids[(buckets >= 0) & (buckets <= open_bucket)]

    def ask_again(self, waiting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Call the program's `bucket` for all vertices that wait, and return these vertices and their buckets.

        `waiting` is a mask of the vertices that wait for their bucket. A vertex whose bucket is negative stops waiting,
        and is left out.
        """
        ids = np.flatnonzero(waiting)
        buckets = self._buckets(ids)
        waiting[ids[buckets < 0]] = False
        return ids[buckets >= 0], buckets[buckets >= 0]

    def _buckets(self, ids: np.ndarray) -> np.ndarray:
        """Return the bucket (the number of a group that is processed together) of each of the vertices `ids`.

        The program's function `bucket` computes the buckets.
        """
        return np.broadcast_to(np.asarray(self.call("bucket", self.vertices(ids)), np.int64), len(ids))

    # --- reading fields of arbitrary vertices by their ids, as `self.at` does in a program ----------------------------

    def places(self, index: Any) -> np.ndarray:
        """Return the local number, on this part of the graph, of each vertex, given by its global id.

        The number is -1 for an id out of range.
        """
        vertices: np.ndarray = local_vertex(np.asarray(index), *self.range, self.number("n"))
        return vertices

    def other(self, index: Any) -> Record:
        """Return a record by which the program reads fields of the vertices with the ids `index`, as `self.at(index)`.

        Where an id is out of range, a field has its `missing` value.
        """
        index = np.atleast_1d(np.asarray(index))
        places = self.places(index)
        is_in_range, ids = places >= 0, np.maximum(places, 0)
        deposits, deposit_types = self.traced.deposits, self.traced.deposit_types
        missing = {inner(name): field.missing for name, field in self.program.vertex_fields.items()}
        missing |= {name: aggregate.monoid.identity(deposit_types[name]) for name, aggregate in deposits.items()}

        def reading(array: Any, outside: Any) -> Callable[[], Any]:
            def read() -> Any:
                dtype: Any = computed(array.dtype)
                shape = *index.shape, *array.shape[1:]
                array_values = np.broadcast_to(np.asarray(outside, array.dtype), shape)
                if len(array):
                    mask = is_in_range.reshape(index.shape + (1,) * (array.ndim - 1))
                    array_values = np.where(mask, taken(array, ids), array_values)
                # `.T` moves the items of vectors to the first axis, as programs expect them; other arrays stay as they
                # are
                return as_values(array_values.astype(dtype, copy=False).T)

            return read

        arrays = {**self.seen_by_others, **self.deposits}
        makers = {given_name(name): reading(array, missing[name]) for name, array in arrays.items() if name in missing}
        makers["id"] = lambda: as_values(np.where(is_in_range, index, -1).astype(self.traced.id_type))
        return Record("vertex", Lazy(makers))


def taken(array: Any, ids: np.ndarray) -> np.ndarray:
    """Return the items `ids` of an array, which is on the CPU or the GPU, as an array on the CPU."""
    entries: np.ndarray = moved(array[moved(ids, device_of(array))], "cpu")
    return entries


def makers_of(fields: Mapping[str, Any], ids: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return, for each field of vertices or edges, a function that reads its values at the indices `ids`.

    Keys are the fields' names. Values that are vectors have their items along the first axis.
    """

    def reading(array: Any) -> Callable[[], np.ndarray]:
        dtype: Any = computed(array.dtype)
        # `.T` moves the items of vectors to the first axis, as programs expect them; other arrays stay as they are
        return lambda: as_values(taken(array, ids).astype(dtype, copy=False).T)

    return {given_name(name): reading(array) for name, array in fields.items()}


def write(fields: dict[str, Any], types: Mapping[str, Any], ids: np.ndarray, changes: Mapping[str, Any]) -> None:
    """Write the values that a function of a program has returned to the items `ids` of fields.

    `fields` has arrays of values of all vertices or edges, and `changes` the new values by field. They are converted to
    the types `types` of the fields.
    """
    for name, value in changes.items():
        field = inner(name)
        # `.T` moves the items of vectors to the last axis, as fields have them; other arrays stay as they are
        fields[field][ids] = spread(value, types[field], len(ids)).T


def spread(value: Any, kind: Any, count: int) -> np.ndarray:
    """Return a value that a function of a program has returned as an array of `count` values of the type `kind`.

    Vectors have their items along the first axis. A function that reads no field returns a single value, or a constant
    vector, which is repeated.
    """
    shape, base = ((kind.length, count), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
    # a float that is too large for the type becomes infinity, without a warning of NumPy
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(column(value)), shape).astype(base)
