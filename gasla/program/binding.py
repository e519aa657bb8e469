"""Programs bound to graphs, the same for all engines: start values of fields, and adjacency lists to traverse."""

import functools
import itertools
import math
import reprlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from gasla.arrays import address, as_bits, as_values, converted, imported, module_of, moved
from gasla.graph.adjacency import Adjacency
from gasla.graph.arguments import LARGEST
from gasla.graph.exchange.vertex_names import translate_vertex
from gasla.graph.graph import Graph
from gasla.graph.memory_limit import require_room
from gasla.names import given as given_name
from gasla.names import inner, meant
from gasla.program.fields import Declared, bounds_of, check_start
from gasla.program.frontier import Frontier
from gasla.program.program import ARGUMENTS, VertexProgram
from gasla.program.records import Lazy, Record
from semirings import VectorType
from semirings.types import HALF

AUTO, PUSH, PULL = range(3)  # numbers for the directions of an iteration; gpu/kernels/state.cuh has the same ones
Layout = tuple[tuple[int, ...], np.dtype]  # shape and dtype of an array
# What a run returns, in the order of the attributes of a `Result`: final values of the fields, number of iterations,
# whether the run converged, number of traversed edges, active vertices at the end, aggregates.
Outcome = tuple[Mapping[str, Any], int, bool, int, Frontier, Mapping[str, Any]]
# advice that errors about too little memory give: how a field takes fewer bytes
FEWER = "a shorter vector, a narrower type, or a part of the graph"
# types of start values that are given for some vertices only; isinstance tests `dict` first, which is faster
FEW = (dict, Mapping)
# types of start values that need no conversion: `imported` would return such a value unchanged
_USED_AS_GIVEN = (dict, np.ndarray, int, float)


class Synchronous:
    """Base class of runs that are never asynchronous: they have always ended when `advance` returns.

    It implements the methods of `gasla.engines.Running` that only matter for asynchronous runs.
    """

    def leave(self, until: int) -> bool:
        """Return False: a run of this class never goes on while its caller does other work.

        The caller has to wait for the run instead.
        """
        return False

    def known(self) -> dict[str, Any]:
        """Return an empty dict, because nothing is known of the results of a run before its end."""
        return {}

    def finish(self) -> None:
        """Do nothing, as the run has already ended."""


def by_number(graph: Graph, values: dict[str, Any]) -> dict[str, Any]:
    """Return the start values of a program's fields, by name, in forms that a run can use.

    Arrays of other libraries become arrays of NumPy or CuPy. If a start value is a dict by vertex, and the graph's
    vertices have names, the dict's keys become vertex ids.
    """
    for field, start_value in values.items():
        if type(start_value) not in _USED_AS_GIVEN:
            values = {**values, field: imported(start_value)}
    if graph.naming is None:
        return values
    return {
        field: {
            translate_vertex(graph, vertex, f"{field}: vertex"): value_of_vertex
            for vertex, value_of_vertex in start_value.items()
        }
        if isinstance(start_value, FEW)
        else start_value
        for field, start_value in values.items()
    }


class Binding:
    """A program bound to a graph: it checks start values, and allocates the arrays of fields on the graph's device."""

    plan: Any  # the program's `Plan`, of the subclass that the engine uses
    program: Any  # an instance of the program that the plan was made for
    graph: Graph

    def __init__(self, program: Declared, graph: Graph) -> None:
        self.bind(program, graph, module_of(graph.device))

    def bind(self, program: Declared, graph: Graph, xp: Any) -> None:
        """Store the program and the graph. `xp` is the module whose arrays hold the fields, NumPy or CuPy."""
        self.program, self.graph = program, graph
        self.ids, self.traced, self.xp = graph.id_dtype, self.plan.traced, xp

    def by_inner_name(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the start values `fields` with inner names as keys, which are the names of fields in generated code.

        The keys of `fields` are the program's own names. `gasla.names` describes how the two differ.
        """
        return {inner(name): value for name, value in fields.items()} if self.traced.renames else fields

    def by_given_name(self, by_name: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values of fields or aggregates by the names that these have in the program.

        `by_name` is a dict by inner names, which are those in generated code.
        """
        return {given_name(name): value for name, value in by_name.items()} if self.traced.renames else by_name

    def check(self, fields: Mapping[str, Any]) -> None:
        known_fields = self.plan.starting
        for name, start_value in fields.items():
            if name not in known_fields:
                known_names, unknown = sorted(map(given_name, known_fields)), given_name(name)
                hint = meant(unknown, [*known_names, *self.program.parameters, *ARGUMENTS])
                if unknown in self.program.edge_fields:
                    hint = f"; {unknown} holds the graph's values: graph.with_values(values) replaces them"
                if unknown in self.program._chosen:
                    hint = f"; {unknown} is an option: set it by {type(self.program).__name__}({unknown}=…)"
                raise TypeError(
                    f"{type(self.program).__name__} has no field {unknown!r} to start with; expected some of: "
                    f"{', '.join(known_names) or 'none'}{hint}"
                )
            field_type, bounds = known_fields[name]
            is_of_few = isinstance(start_value, FEW) and name in self.traced.vertex_types
            for v, value in start_value.items() if is_of_few else ():
                self._check_start_of_vertex(name, v, value, field_type)
            if bounds is not None:
                for value in start_value.values() if is_of_few else (start_value,):
                    if type(value) is not int or not bounds[0] <= value <= bounds[1]:
                        check_start(type(self.program), given_name(name), value, field_type)

    def _check_start_of_vertex(self, name: str, v: Any, value: Any, field_type: Any) -> None:
        """Raise an error if a start value can't be given to vertex `v`, because `v` is no vertex or the value does not
        fit.

        `name` is the field, and `field_type` its type.
        """
        self._vertex(name, v)
        # A plain number of moderate size fits every field. It is the usual case, so it is accepted without further
        # tests.
        if type(value) in (int, float) and abs(value) <= LARGEST:
            return
        array, (_, *shape) = value if hasattr(value, "dtype") else np.asarray(value), layout(field_type, 1)[0]
        if array.dtype.kind not in "biuf" or array.shape not in ((), tuple(shape)):
            expectation = f"{shape[0]} numbers, or one for all" if shape else "a number"
            raise TypeError(
                f"{self._where(name)} starts with {reprlib.repr(value)} for vertex {v}; expected {expectation}, "
                f"of type {layout(field_type, 1)[1]}"
            )

    def check_out(
        self, out: Mapping[str, Any], fields: Mapping[str, Any], is_copied: bool = False
    ) -> Mapping[str, Any]:
        """Check the arrays `out` in which a run is to leave its results, and return them by inner names.

        Inner names are the names of fields in generated code. `fields` are the start values by inner names, and `out`
        must not share memory with them. `is_copied` says that results are copied into the arrays after the run, so that
        a field with two copies may also be left there.
        """
        outs = self.by_inner_name(out)
        for name, array in outs.items():
            if name not in self.traced.vertex_types:
                field_names = ", ".join(sorted(map(given_name, self.traced.vertex_types))) or "none"
                raise TypeError(
                    f"{type(self.program).__name__} has no vertex field {given_name(name)!r} to leave in `out`; "
                    f"expected some of: {field_names}"
                )
            if name in self.plan.doubled and not is_copied:
                raise ValueError(
                    f"{self._where(name)} can't be left in `out`: with everyone = True a field "
                    "that neighbors read has two copies; copy the result's array"
                )
            shape, dtype = expected_layout = layout(self.traced.vertex_types[name], self.graph.n)
            if not self._is_ready(array, expected_layout):
                description = f"{array.dtype}{array.shape}" if hasattr(array, "dtype") else type(array).__name__
                raise TypeError(
                    f"{self._where(name)} is given {description} in `out`; expected a {self.xp.__name__} array, "
                    f"C-contiguous and writable, of shape {shape} and type {dtype}"
                )
            # arrays of a distributed graph share memory with no other array, so the test below is skipped
            if not isinstance(array, self.xp.ndarray):
                continue
            imported(array)  # called only for its check, which raises an error for masked arrays
            other_arrays = (
                other_array
                for other_array in fields.values()
                if other_array is not array and isinstance(other_array, self.xp.ndarray)
            )
            if any(self.xp.may_share_memory(other_array, array) for other_array in other_arrays):
                raise self._shared(name)
        arrays = {name: array for name, array in outs.items() if isinstance(array, self.xp.ndarray)}
        array_ranges = sorted((address(array), array.nbytes, name) for name, array in arrays.items())
        for (array_start, byte_count, _), (next_start, _, name) in itertools.pairwise(array_ranges):
            if next_start < array_start + byte_count:
                raise self._shared(name)
        return outs

    def _shared(self, name: str) -> ValueError:
        return ValueError(f"{self._where(name)} is given an array in `out` that shares memory with another argument")

    def parameters(self) -> dict[str, Any]:
        """Return the program's parameters as NumPy scalars of their types."""
        return {name: dtype.type(self._number(name, dtype)) for name, dtype in self.traced.parameter_types.items()}

    def _number(self, name: str, dtype: np.dtype) -> Any:
        """Return the value of the program's parameter `name` as a Python number.

        Raise an error if the value is not a number that the parameter's type, `dtype`, can hold.
        """
        value = self.program.values[given_name(name) if self.traced.renames else name]
        # a float is the usual case, and fits every float type, so it is returned without further tests
        if type(value) is float and dtype.kind == "f":
            return value
        if type(value) is int and dtype.kind in "iu":
            check_start(type(self.program), given_name(name), value, dtype, "is")
            return value
        array = np.asarray(moved(value, "cpu"))
        if array.shape == ():
            check_start(type(self.program), given_name(name), value, dtype, "is")
        if array.shape != () or array.dtype.kind not in "biuf":
            raise TypeError(f"{self._where(name)} is {reprlib.repr(value)}; expected one number of type {dtype}")
        return array.astype(dtype).item()

    def _sides(self) -> tuple["NeighborLists", "NeighborLists"]:
        """Return the adjacency lists over which vertices gather, and those that lead from active vertices to their
        receivers.

        The `direction` of the program says which are in-edges and which are out-edges.
        """
        ordered = self.plan.reduces_in_order
        if self.program.direction == "all":
            both_directions = NeighborLists(self.graph, "all", ordered)
            return both_directions, both_directions
        names = ("in", "out") if self.program.direction == "in" else ("out", "in")
        # A program that only pushes gets the same adjacency lists for both purposes. Other lists to pull over would
        # have to be transposed, which may take as long as the whole run.
        if self.plan.only_pushes:
            neighbor_lists = NeighborLists(self.graph, names[1], False)
            return neighbor_lists, neighbor_lists
        return NeighborLists(self.graph, names[0], ordered), NeighborLists(self.graph, names[1], False)

    @property
    def row_count(self) -> int:
        """The number of vertices whose adjacency lists may have entries for a vertex to gather over.

        The adjacency lists of vertices with ids from this number on are empty.
        """
        return self.graph.n

    @cached_property
    def sends(self) -> "NeighborLists":
        """The adjacency lists along which active vertices send values: from an active vertex to the vertices that
        receive.
        """
        return self._sides()[1]

    def _vertex_array(self, name: str, start_value: Any) -> Any:
        """Return the array of a vertex field, filled with the start values of a run.

        If the field has two copies, the array has a leading axis of length two.
        """
        array = self._start_array(name, start_value)
        if name not in self.plan.doubled:
            return array
        pair = self._new(self._where(name), (2, *array.shape), array.dtype)
        as_bits(pair)[:] = as_bits(array)
        return pair

    def _new(self, where: str, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Return a new array for a field, without setting its values. Errors call the field `where`.

        Raise MemoryError if the array needs more memory than is available.
        """
        require_room(f"{where} has", math.prod(shape), dtype.itemsize, self.graph.device, FEWER)
        return self.xp.empty(shape, dtype)

    def _start_array(self, name: str, start_value: Any) -> Any:
        """Return an array of a vertex field's start values, one for each vertex.

        The result is a new array, which the run may write to. Only for a field with two copies it may be the
        caller's own array, as `_vertex_array` then copies it into the two copies.
        """
        field_type, n, where = self.traced.vertex_types[name], self.graph.n, self._where(name)
        if start_value is None or isinstance(start_value, FEW):
            declared = self.program.vertex_fields[given_name(name)]
            array = self._fill_array(where, self._declared_start(declared.init), field_type, n, "vertices")
            for v, value in (start_value or {}).items():
                entry = self.xp.asarray(value)  # CuPy can't assign a tuple to a vector, so the tuple becomes an array
                entry = converted(entry, array.dtype) if array.dtype == HALF else entry
                as_bits(array)[self._vertex(name, v)] = as_bits(entry)
        elif name in self.plan.doubled and self._is_ready(start_value, layout(field_type, n)):
            return start_value
        else:
            array = self._fill_array(where, start_value, field_type, n, "vertices")
        return array

    def _alike(self, name: str, value: Any) -> Any:
        """Return an array with one entry if all vertices have the same start value of the field `name`, or else None.

        Vertices may differ if the start value is a function, a dict by vertex, or an array with one entry per vertex.
        """
        field_type = self.traced.vertex_types[name]
        shapes = ((), (field_type.length,)) if isinstance(field_type, VectorType) else ((),)
        if not isinstance(value, (int, float)) and (callable(value) or np.shape(value) not in shapes):
            return None
        return self._fill_array(self._where(name), value, field_type, 1, "vertices")

    def _where(self, name: str) -> str:
        return f"{type(self.program).__name__}.{given_name(name)}"

    def _vertex(self, name: str, v: Any) -> int:
        if not hasattr(v, "__index__"):
            hint = ": the graph has no names" if isinstance(v, str) else ""
            raise TypeError(f"{self._where(name)} is given for {v!r}; expected a vertex id, an integer{hint}")
        if not 0 <= v < self.graph.n:
            raise ValueError(f"{self._where(name)} is given for vertex {v}, outside a graph of {self.graph.n} vertices")
        return int(v)

    def every_vertex(self, fields: Mapping[str, Callable[[], Any]] | None = None) -> Record:
        """Return a record that stands for all vertices: each attribute is an array with one entry per vertex.

        The attributes are `id`, `in_degree`, `out_degree`, and those of `fields`, computed on first access.
        """
        graph = self.graph
        makers: dict[str, Callable[[], Any]] = {
            "id": lambda: as_values(self.xp.arange(graph.n, dtype=self.ids)),
            "in_degree": lambda: as_values(graph.in_degrees.astype(np.int64)),
            "out_degree": lambda: as_values(graph.out_degrees.astype(np.int64)),
        }
        return Record("vertex", Lazy({**(fields or {}), **makers}))

    def _declared_start(self, init: Any) -> Any:
        if not callable(init):
            return init
        columns = self.graph.vertex_attributes
        makers = {name: functools.partial(lambda name: as_values(columns.numbers(name)), name) for name in columns}
        with np.errstate(all="ignore"):
            values = self.xp.asarray(init(self.every_vertex(makers)))
        # A function that computes start values of a vector field returns an array with one row per item, not per
        # vertex, so this transposes the array.
        return values.T if values.ndim == 2 else values

    def weighted(self, name: str) -> Graph:
        """Return a graph whose edge values are those that the program's edge field `name` has in a run.

        If the field is declared with an edge attribute, it is a graph with this attribute as values, otherwise the
        bound graph itself.
        """
        attribute = self.program.edge_fields[given_name(name)].attribute
        if attribute is None:
            return self.graph
        require_attribute(self.program, given_name(name), self.graph)
        return self.graph.weighted_by(attribute)

    def lengths(self) -> Graph:
        """Return a graph whose edge values are the lengths of edges, for a program whose priorities are lengths of
        paths.

        The lengths are the values of the first read-only edge field. Without such a field, the bound graph is returned.
        """
        fields = self.plan.edge_values
        return self.weighted(fields[0]) if fields else self.graph

    def _edge_array(self, name: str, fields: Mapping[str, Any]) -> Any:
        field_type, start_value = self.traced.edge_types[name], fields.get(name)
        if start_value is None:
            start_value = self.program.edge_fields[given_name(name)].init
        return self._fill_array(self._where(name), start_value, field_type, self.graph.m, "edges")

    def _is_ready(self, array: Any, expected_layout: Layout) -> bool:
        """Return whether a run can use an array of start values as a field's array, without a copy.

        The array must have the shape and dtype in `expected_layout`, be on the graph's device, and be contiguous and
        writable.
        """
        shape, dtype = expected_layout
        if not isinstance(array, self.xp.ndarray) or array.shape != shape or array.dtype != dtype:
            return False
        flags = array.flags
        return bool(flags.c_contiguous and (self.xp is not np or flags.behaved))  # behaved means aligned and writable

    def _fill_array(self, where: str, start_value: Any, field_type: Any, count: int, owners: str) -> Any:
        """Return a new array of `count` values of a field's type, copied from a start value: a scalar or an array.

        Errors call the field `where`, and what the values belong to `owners`, such as "vertices".
        """
        shape, base = layout(field_type, count)
        if isinstance(start_value, self.xp.ndarray):
            array = start_value
        # a plain number is the usual case, and needs no copy from a GPU, so it is converted at once
        elif self.xp is np and isinstance(start_value, (int, float)):
            array = np.asarray(start_value)
        else:
            array = moved(np.asarray(moved(start_value, "cpu")), self.graph.device)
        self._check_array(where, array, (shape, base), owners)
        result = self._new(where, shape, base)
        array = converted(array, base) if HALF in (array.dtype, base) else array
        as_bits(result)[:] = as_bits(array)
        return result

    @staticmethod
    def _check_array(where: str, array: Any, expected_layout: Layout, owners: str) -> None:
        """Raise an error if an array of start values has a shape or a dtype that the field can't take.

        `expected_layout` is the field's shape and dtype. Errors call the field `where`, and what the values belong to
        `owners`.
        """
        shape, base = expected_layout
        if array.dtype.kind not in "biuf" or not (array.shape == () or np.can_cast(array.dtype, base, "same_kind")):
            raise TypeError(
                f"{where} starts with {array.dtype}; expected {base}; convert it with .astype({str(base)!r})"
            )
        if array.shape not in ((), shape, shape[1:]):
            raise ValueError(
                f"{where} starts with an array of shape {array.shape}; expected {shape}, one value for each of the "
                f"{owners}"
            )


def are_fixed(parameters: Mapping[str, Any]) -> bool:
    """Return whether all parameters of a program are plain numbers, which stay the same until the next run.

    A parameter that is an array with one entry is not fixed, because the caller can write to the array between runs.
    """
    return all(isinstance(value, (int, float, np.number, np.bool_)) for value in parameters.values())


def require_attribute(program: VertexProgram, field: str, graph: Graph) -> None:
    """Raise ValueError unless the graph has the attribute that an edge field of the program holds."""
    try:
        graph.edge_attributes.require(program.edge_fields[field].attribute)
    except ValueError as error:
        raise ValueError(f"{type(program).__name__}.{field} reads an edge attribute: {error}") from None


class NeighborLists:
    """The adjacency lists that a program traverses, as CSR or CSC arrays: offsets, neighbors, edge ids and edge values.

    `side` says which edges: "in", "out", or "all" for both directions. If `ordered`, the edges of each vertex are in
    the order in which the graph's input had them.
    """

    def __init__(self, graph: Graph, side: str, ordered: bool) -> None:
        self.graph, self.side, self._ordered = graph, side, ordered

    def _adjacency(self) -> Adjacency:
        return self.graph.both if self.side == "all" else self.graph.in_ if self.side == "in" else self.graph.out

    @cached_property
    def _lists(self) -> Adjacency:
        """The graph's adjacency lists, as an `Adjacency`.

        They are made on first use, because a run that never traverses these edges may lack the memory to transpose
        them.
        """
        return self._adjacency().in_order() if self._ordered else self._adjacency()

    @property
    def are_given(self) -> bool:
        """Whether these adjacency lists share the arrays that the graph was made from."""
        graph_indices = [
            lists.indices for lists in (self.graph.lists.rows, self.graph.lists.columns) if lists is not None
        ]
        return any(self._lists.indices is indices for indices in graph_indices)

    @property
    def nbytes(self) -> int:
        """The number of bytes of these adjacency lists."""
        return sum(int(array.nbytes) for array in self._lists.arrays())

    @property
    def entries(self) -> int:
        """The number of entries in all adjacency lists: the number of edges, or twice that if they have both
        directions.
        """
        return len(self._lists.stored_ids)

    @property
    def are_cached(self) -> bool:
        """Whether the graph keeps these adjacency lists after a run, so that later runs need not make them again.

        The graph doesn't keep lists that have been sorted into the order of the input for one run.
        """
        return not self._ordered or self._lists is self._adjacency()

    def caches_values(self, dtype: np.dtype, graph: Graph) -> bool:
        """Return whether the graph keeps its edge values in the order of these adjacency lists, with the dtype `dtype`.

        If so, a run reads the values without making a copy.
        """
        return graph.value_type == dtype and self._values_are_cached

    def cached_values(self, graph: Graph) -> Any:
        """Return the edge values that the graph keeps in the order of these adjacency lists."""
        return graph.valued.by_in if self.side == "in" else graph.valued.by_out

    @property
    def _values_are_cached(self) -> bool:
        return self.side != "all" and self.are_cached

    def indptr(self) -> Any:
        return self._lists.indptr

    def indices(self) -> Any:
        return self._lists.indices

    def stored_ids(self) -> Any:
        """Return the ids of all neighbors, list after list, in the form that kernels read: an array, or packed into
        fewer bits.
        """
        return self._lists.stored_ids

    @property
    def has_ids(self) -> bool:
        """Whether an edge's id may differ from its position in these adjacency lists, so that the ids are stored
        separately.
        """
        return self._lists.edge_ids is not None

    def ids(self) -> Any:
        return self._lists.numbers()

    def leaving(self) -> Any:
        """Return a boolean for each entry of adjacency lists that have both directions: whether the entry is an
        out-edge.
        """
        assert self.side == "all"
        return self.graph.leaving

    def partners(self) -> Any:
        """Return, for each entry of these adjacency lists, the id of the edge's partner, which is the reverse edge."""

        def make(graph: Graph) -> Any:
            return self._lists.by_position(graph.reverse_edge_ids)

        return self.graph.kept(("partners", self.side), make) if self.are_cached else make(self.graph)

    def values(self, dtype: np.dtype, graph: Graph) -> Any:
        """Return the graph's edge values as the given dtype, in the order of these adjacency lists.

        If the graph has no edge values, all entries of the result are 1.
        """
        if graph.value_type is None:
            return graph.lists.ones(self.entries, dtype)
        check_values(graph, dtype)
        values = self.cached_values(graph) if self._values_are_cached else self._lists.by_position(graph.valued.each)
        assert values is not None
        return graph.lists.as_type(values, dtype)


def values_in_order(graph: Graph, kind: Any) -> Any:
    """Return the graph's edge values as the given dtype, in the order of edge ids (positions in the graph's input).

    The value of an edge's reverse edge, `edge.back`, is looked up in this array by the reverse edge's id.
    """
    if graph.value_type is None:
        return graph.lists.ones(graph.m, kind)
    check_values(graph, kind)
    edge_values: Any = graph.valued.each
    return graph.lists.as_type(edge_values, kind)


def check_values(graph: Graph, dtype: np.dtype[Any]) -> None:
    """Raise an error if the graph's edge values can't be held by an edge field of this dtype."""
    value_type = graph.value_type
    if value_type is None:
        return
    if not np.can_cast(value_type, dtype, "same_kind"):
        raise TypeError(
            f"the matrix holds {value_type}, and the program's edge field is {dtype}; "
            f"convert the matrix, or give the field the type {value_type}"
        )
    bounds = None if np.can_cast(value_type, dtype, "safe") else bounds_of(dtype)
    if bounds is not None and graph.value_range is not None:
        smallest, largest = (value_bound.item() for value_bound in graph.value_range)
        if smallest < bounds[0] or largest > bounds[1]:
            raise ValueError(
                f"the matrix holds numbers from {smallest} to {largest}, and the program's edge field is {dtype}; "
                f"convert the matrix, or give the field the type {value_type}"
            )


def field_layouts(plan: Any, n: int) -> dict[str, Layout]:
    """Return the shape and dtype of each vertex field's array, by the field's name.

    A field with two copies has an array with a leading axis of length two.
    """
    layouts = {name: layout(field_type, n) for name, field_type in plan.traced.vertex_types.items()}
    return {name: ((2, *shape) if name in plan.doubled else shape, base) for name, (shape, base) in layouts.items()}


def layout(kind: Any, count: int) -> Layout:
    """Return the shape and dtype of an array that holds `count` values of the type `kind`, a dtype or a vector type."""
    return ((count, kind.length), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
