"""The initial state of a run on one rank: fields of own vertices and mirrors, computed without communication."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import Device, as_values
from gasla.distributed.engine.shard import Shard
from gasla.names import given as given_name
from gasla.names import inner
from gasla.program.binding import FEW, Binding, layout
from gasla.program.frontier import Frontier
from gasla.program.part import PREFIX
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record


def local_vertices(shard: Shard, frontier: Frontier) -> np.ndarray:
    """Return the active vertices of `frontier` that are in this rank's shard, as ascending local numbers."""
    vertices: np.ndarray = np.sort(shard.local(frontier.ids))
    return vertices


def local_frontier(shard: Shard, frontier: Frontier) -> Frontier:
    """Return the active vertices of `frontier` that are in this rank's shard, as a frontier of local numbers."""
    n = shard.graph.n
    if frontier.only is None:
        return Frontier.of(n, local_vertices(shard, frontier))
    local_vertex = shard.local_of(frontier.only)
    return Frontier.none(n) if local_vertex is None else Frontier.one(n, local_vertex)


class InitialState(Binding):
    """The start values of the user's program at the vertices of a rank's shard.

    Functions of the program that compute start values read global ids, and degrees in the whole graph.
    """

    def __init__(
        self,
        program: VertexProgram,
        plan: Plan,
        shard: Shard,
        id_type: np.dtype,
        degrees: Mapping[str, np.ndarray],
        device: Device = "cpu",
    ) -> None:
        self.plan, self.shard = plan, shard
        # Here each field has one array. The engine on this rank makes the second arrays of fields that are doubled,
        # that is, kept before and after an iteration.
        plan.doubled = set()
        super().__init__(program, shard.graph_on(device))
        self.ids = id_type
        fields = program.vertex_fields
        self._fields = [(n, given_name(n), callable(fields[given_name(n)].init)) for n in self.traced.vertex_types]
        id_and_degrees = {"id": shard.ids_as(id_type), **degrees}
        # What the program's functions read of local vertices besides fields: global ids and degrees. The arrays are on
        # the device on which start values are computed.
        self.global_values = {
            name: shard.array_on(device, (name, array.dtype), array) for name, array in id_and_degrees.items()
        }

    def every_vertex(self, fields: Mapping[str, Callable[[], Any]] | None = None) -> Record:
        """Return a record of all vertices of the shard, which is passed to functions of the program that read a vertex.

        Its attributes are arrays over the vertices: the given fields, global ids and degrees.
        """
        global_fields = {name: (lambda array=array: as_values(array)) for name, array in self.global_values.items()}
        return Record("vertex", Lazy({**(fields or {}), **global_fields}))

    def vertex_fields(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the start values of all vertex fields, by field name: arrays over the vertices of this rank's shard.

        `values` has the start values that the caller has given, at all vertices of the graph.
        """
        fields = {}
        for name in self.traced.vertex_types:
            value = values.get(given_name(name))
            fields[given_name(name)] = np.ascontiguousarray(
                self._start_array(name, self._restrict_to_shard(name, value))
            )
        return fields

    def starting_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the start values of fields that the engine of this rank must be given, by field name.

        They are numbers, dicts of values at some vertices of the shard, or arrays over its vertices. `values` has the
        start values that the caller has given. Fields that start with a number that the program declares are left out,
        because the engine sets them itself.
        """
        fields = {}
        for name, own_name, is_computed in self._fields:
            value = values.get(own_name)
            if value is not None:
                value = self._restrict_to_shard(name, value)
            if is_computed and (value is None or isinstance(value, FEW)):
                value = self._start_array(name, value)
            if value is not None:
                fields[own_name] = value
        return fields

    def _restrict_to_shard(self, name: str, start_value: Any) -> Any:
        """Return the start values of a field at the vertices of this rank's shard, from those that the caller has given
        for the graph.

        A dict of values at few vertices is restricted to vertices of the shard. One value for all vertices is returned
        unchanged.
        """
        shard = self.shard
        if isinstance(start_value, LocalArray):
            return start_value.array
        if isinstance(start_value, FEW):
            return {
                local_vertex: x for v, x in start_value.items() if (local_vertex := shard.local_of(int(v))) is not None
            }
        if start_value is None or np.shape(start_value) != layout(self.traced.vertex_types[name], shard.n)[0]:
            return start_value  # a single value, which is the start value at all vertices
        values = np.asarray(start_value)
        mirrors = shard.array_on("cpu", "mirrors", shard.mirrors)
        return np.concatenate([values[shard.first : shard.first + shard.own], values[mirrors]])

    def edge_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the start values that the caller has given for the program's edge fields, in the order of the shard's
        edges.
        """
        fields = {}
        for name in map(given_name, self.plan.edge_states):
            start_values = values.get(name)
            if isinstance(start_values, LocalArray):
                fields[name] = start_values.array
            elif start_values is not None:
                ids = self.shard.array_on("cpu", "edge_ids", self.shard.edge_ids)
                is_each = np.shape(start_values) == layout(self.traced.edge_types[inner(name)], self.shard.m)[0]
                fields[name] = np.asarray(start_values)[ids] if is_each else start_values
        return fields

    def global_fields(self, local: type[VertexProgram]) -> dict[str, np.ndarray]:
        """Return the global ids and the degrees of the shard's vertices, by the fields in which the rank's program
        stores them.

        `local` is the class of the program that the rank runs on its shard.
        """
        return {
            name: self.global_values[name.removeprefix(PREFIX)]
            for name in local.vertex_fields
            if name.startswith(PREFIX)
        }

    def parameters_of(self) -> Mapping[str, Any]:
        """Return the program's parameters, converted to their types."""
        return self.by_given_name(self.parameters())


class LocalArray:
    """An array of start values of a field at all vertices of a rank's shard: the rank's own vertices and mirrors.

    The type tells it from an array of start values at all vertices of the graph.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
