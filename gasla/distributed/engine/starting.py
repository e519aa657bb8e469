"""What a rank's part of a run starts with: own vertices and mirrors alike, so that no other rank need be asked."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gasla.arrays import as_values
from gasla.distributed.engine.local_program import PREFIX
from gasla.distributed.engine.shard import Shard
from gasla.names import given as given_name
from gasla.program.binding import FEW, Binding
from gasla.program.frontier import Frontier
from gasla.program.plan import Plan
from gasla.program.program import VertexProgram
from gasla.program.records import Lazy, Record


def local_vertices(shard: Shard, frontier: Frontier) -> np.ndarray:
    """The vertices of a set that are here, own or mirrored; own ones ascend."""
    found: np.ndarray = np.sort(shard.local(frontier.ids))
    return found


class Start(Binding):
    """The program as the person wrote it, on a shard: checks and makes start values by global ids."""

    def __init__(
        self,
        program: VertexProgram,
        plan: Plan,
        shard: Shard,
        id_type: np.dtype,
        degrees: Mapping[str, np.ndarray],
    ) -> None:
        self.plan, self.shard = plan, shard
        plan.doubled = set()  # one copy of each: the engine below makes what it needs
        super().__init__(program, shard.graph)
        self.ids = id_type
        self.whole = {"id": shard.ids.astype(id_type), **degrees}  # what vertices have beside fields

    def every_vertex(self, fields: Mapping[str, Callable[[], Any]] | None = None) -> Record:
        """All vertices that are here, with what the whole graph knows of them."""
        known = {name: (lambda array=array: as_values(array)) for name, array in self.whole.items()}
        return Record("vertex", Lazy({**(fields or {}), **known}))

    def vertex_fields(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """All vertex fields as the run starts, by the names that a person gave."""
        own = {name: x for name, x in values.items() if not isinstance(x, Placed)}
        self.check(self.by_inner_name(own))
        found = {}
        for name in self.traced.vertex_types:
            given = values.get(given_name(name))
            found[given_name(name)] = np.ascontiguousarray(self._start_array(name, self._here(name, given)))
        return found

    def _here(self, name: str, given: Any) -> Any:
        """Start values of the vertices that are here."""
        n, shard = self.shard.n, self.shard
        if isinstance(given, Placed):
            return given.array
        if isinstance(given, FEW):
            for v in given:
                if not 0 <= v < n:
                    raise ValueError(f"{self._where(name)} is given for vertex {v}, outside a graph of {n} vertices")
            return {int(u): x for v, x in given.items() for u in shard.local(np.array([v]))}
        shape = np.shape(given)
        kind = self.traced.vertex_types[name]
        wanted = (n, kind.length) if hasattr(kind, "length") else (n,)
        if given is None or shape in ((), wanted[1:]):
            return given
        if shape != wanted:
            raise ValueError(
                f"{self._where(name)} starts with an array of shape {shape}; expected {wanted}, one value for each of "
                "the vertices"
            )
        return np.asarray(given)[shard.ids]

    def edge_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The start values given of the program's own edge fields, in the order of the shard's edges."""
        found = {}
        for name in map(given_name, self.plan.edge_states):
            given = values.get(name)
            if isinstance(given, Placed):
                found[name] = given.array
            elif given is not None:
                if np.ndim(given) and len(given) != self.shard.m:
                    raise ValueError(
                        f"{self._where(name)} starts with an array of shape {np.shape(given)}; expected "
                        f"({self.shard.m},), one value for each of the edges"
                    )
                found[name] = np.asarray(given)[self.shard.edge_ids] if np.ndim(given) else given
        return found

    def of_whole(self, local: type[VertexProgram]) -> dict[str, np.ndarray]:
        """The fields that the local program has in place of ids and degrees."""
        return {name: self.whole[name.removeprefix(PREFIX)] for name in local.vertex_fields if name.startswith(PREFIX)}

    def parameters_of(self, program: VertexProgram) -> Mapping[str, Any]:
        """The program's parameters as numbers of their types."""
        return self.by_given_name(self.parameters())


class Placed:
    """Start values that are here already, of own vertices and mirrors."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
