"""Call a program's functions on arrays, with records of vertices and edges and a stand-in for `self`.

The reference engine runs whole programs in this way. Ranks call the functions by which all ranks decide together.
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
    """The functions of a program, and what they read. Fields and aggregates go by inner names.

    Attributes
    ----------
    program : VertexProgram
    traced : Traced
        The traced program, of the whole graph if `program` runs on a part: it has the type of global ids.
    parameters : dict of str to number
        Parameters by their names in the program.
    numbers : dict of str to int
        `n`, `iteration` and `bucket`. A part has those of the whole graph as parameters.
    vertex, edge : dict of str to array
        Fields of vertices and of edges.
    known : dict of str to function
        Functions that return `id`, `in_degree` and `out_degree` of given vertices. A part has those of the whole graph
        as fields.
    range : tuple of int
        The id of the first own vertex, and the number of own vertices. All other vertices are mirrors.
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
        self.seen_by_others = vertex  # the fields that self.at reads: within an iteration, copies from before it
        self.aggregates: dict[str, Any] = {}
        self.deposits: dict[str, np.ndarray] = {}  # aggregates at vertices

    def call(self, function: Callable[..., Any] | str, *records: Record) -> Any:
        """Call a function of the program, with a `self` of the current parameters, counters and aggregates.

        Parameters and aggregates are arrays of one value, as methods of NumPy's scalars differ from those of `Values`.
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
        """Return one of `numbers`, of the whole graph."""
        number: int = self.parameters.get(PREFIX + name, self.numbers[name])
        return number

    def vertices(self, ids: np.ndarray, now: bool = False) -> Record:
        """Return a record of the vertices `ids`. Fields are copied when first read, or at once with `now`."""
        makers = makers_of(self.vertex, ids)
        if now:
            held = {name: make() for name, make in makers.items()}
            makers = {name: lambda value=value: value for name, value in held.items()}  # type: ignore[misc]
        known: dict[str, Any] = {name: lambda read=read: as_values(read(ids)) for name, read in self.known.items()}
        return Record("vertex", Lazy(renamed(makers | known, OF_VERTEX)))

    def link(self, what: str, ids: np.ndarray, known: Mapping[str, Callable[[], Any]]) -> Record:
        """Return the record that a program gets for some edges, with `known` values added.

        `ids` are the positions of the edges in the arrays of fields.
        """
        makers = {"id": lambda: as_values(ids.astype(np.int64, copy=False)), **makers_of(self.edge, ids), **known}
        return Record(what, Lazy(renamed(makers, OF_EDGE)))

    # --- deciding which vertices are active: buckets, wake, idle -----------------------------------------------------

    def has(self, function: str) -> bool:
        """Return whether the program has a function whose results matter."""
        return function in self.traced.functions and getattr(self.program, function, None) is not None

    def admitted(self, function: str, count: int, *records: Record) -> np.ndarray:
        """Return the results of a test for each vertex or edge, all True if the program lacks the function."""
        if not self.has(function):
            return np.ones(count, bool)
        return np.broadcast_to(np.asarray(self.call(function, *records), bool), count)

    def idle(self) -> dict[str, Any]:
        """Call `idle` if the program has it, and return the parameters that it changes, by the names in the program."""
        changed = self.call("idle") if self.has("idle") else {}
        return {name: spread(x, self.traced.parameter_types[inner(name)], 1)[0] for name, x in changed.items()}

    def woken(self, count: int) -> np.ndarray:
        """Return the vertices that `wake` makes active, among the first `count`."""
        everyone = np.arange(count)
        return everyone[self.admitted("wake", count, self.vertices(everyone))]

    def open(self, ids: np.ndarray, waiting: np.ndarray) -> np.ndarray:
        """Return the vertices in `ids` whose bucket is open. Vertices with a later bucket are marked as `waiting`."""
        if not self.has("bucket"):
            return ids
        buckets, opened = self._buckets(ids), self.numbers["bucket"]
        waiting[ids] = buckets > opened
        return ids[(buckets >= 0) & (buckets <= opened)]

    def ask_again(self, waiting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the waiting vertices and their buckets. Vertices with a bucket below 0 stop waiting."""
        ids = np.flatnonzero(waiting)
        buckets = self._buckets(ids)
        waiting[ids[buckets < 0]] = False
        return ids[buckets >= 0], buckets[buckets >= 0]

    def _buckets(self, ids: np.ndarray) -> np.ndarray:
        """Return the buckets of the vertices `ids`."""
        return np.broadcast_to(np.asarray(self.call("bucket", self.vertices(ids)), np.int64), len(ids))

    # --- reading fields of any vertex by its id ----------------------------------------------------------------------

    def places(self, index: Any) -> np.ndarray:
        """Return the local vertex of each id, or -1 for an id out of range."""
        vertices: np.ndarray = local_vertex(np.asarray(index), *self.range, self.number("n"))
        return vertices

    def other(self, index: Any) -> Record:
        """Return the record of `self.at(index)`, with `missing` for indices out of range."""
        index = np.atleast_1d(np.asarray(index))
        places = self.places(index)
        is_there, ids = places >= 0, np.maximum(places, 0)
        deposits, kinds = self.traced.deposits, self.traced.deposit_types
        missing = {inner(name): field.missing for name, field in self.program.vertex_fields.items()}
        missing |= {name: aggregate.monoid.identity(kinds[name]) for name, aggregate in deposits.items()}

        def reading(array: Any, outside: Any) -> Callable[[], Any]:
            def read() -> Any:
                dtype: Any = computed(array.dtype)
                shape = *index.shape, *array.shape[1:]
                array_values = np.broadcast_to(np.asarray(outside, array.dtype), shape)
                if len(array):
                    is_it = is_there.reshape(index.shape + (1,) * (array.ndim - 1))
                    array_values = np.where(is_it, taken(array, ids), array_values)
                return as_values(array_values.astype(dtype, copy=False).T)  # no effect but on vectors

            return read

        arrays = {**self.seen_by_others, **self.deposits}
        makers = {given_name(name): reading(array, missing[name]) for name, array in arrays.items() if name in missing}
        makers["id"] = lambda: as_values(np.where(is_there, index, -1).astype(self.traced.id_type))
        return Record("vertex", Lazy(makers))


def taken(array: Any, ids: np.ndarray) -> np.ndarray:
    """Return the entries `ids` of an array on either device, in the host's memory."""
    entries: np.ndarray = moved(array[moved(ids, device_of(array))], "cpu")
    return entries


def makers_of(fields: Mapping[str, Any], ids: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return a function for each field that reads its entries `ids`, by the names in the program.

    Vectors have their items along the first axis.
    """

    def reading(array: Any) -> Callable[[], np.ndarray]:
        dtype: Any = computed(array.dtype)
        return lambda: as_values(taken(array, ids).astype(dtype, copy=False).T)  # no effect but on vectors

    return {given_name(name): reading(array) for name, array in fields.items()}


def write(fields: dict[str, Any], types: Mapping[str, Any], ids: np.ndarray, changes: Mapping[str, Any]) -> None:
    """Write the results of a function to the entries `ids` of fields."""
    for name, value in changes.items():
        field = inner(name)
        fields[field][ids] = spread(value, types[field], len(ids)).T  # no effect but on vectors


def spread(value: Any, kind: Any, count: int) -> np.ndarray:
    """Return a function's result as `count` values of a type. Vectors have their items along the first axis.

    A function that reads no field returns a single value, or a constant vector, which is repeated.
    """
    shape, base = ((kind.length, count), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
    with np.errstate(all="ignore"):  # overflow to infinity
        return np.broadcast_to(np.asarray(column(value)), shape).astype(base)
