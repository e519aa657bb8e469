"""What an engine offers, and the one place where engines are named: by string, after the device of the arrays.

An engine is a package whose face implements `Engine`. Nothing above asks which one it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np

from gasla.arrays import Device
from gasla.graph.graph import Graph
from gasla.program.program import VertexProgram
from gasla.program.schedule import Schedule


class Primitives(Protocol):
    """The stages that need no program; `gasla.primitives` says what they do, and looks at what it is given.

    Forests are arrays of one parent a vertex. Graphs are Graphs, arrays are the device's.
    """

    def hook(self, graph: Graph) -> Any:
        """A first forest: every vertex under its first out-neighbour if that is smaller."""

    def link(self, graph: Graph, parents: Any, first: int, last: int | None, known: int | None) -> None:
        """Unite the trees at both ends of edges, in place."""

    def compress(self, parents: Any) -> None:
        """Point every vertex at its root, in place."""

    def number(self, parents: Any) -> int:
        """Replace parents by the number of the tree, in place; how many there are."""

    def likely_largest(self, parents: Any) -> int:
        """The root that most of a sample of vertices have."""

    def label_components(self, graph: Graph) -> tuple[Any, Any]:
        """How many components there are, and the number of each vertex's own."""

    def simplify(self, graph: Graph) -> Graph:
        """The graph with every edge in both directions, once, and without self loops; itself where it is so."""

    def orient(self, graph: Graph) -> Any:
        """What `count_common_neighbours` goes by: a simple graph's sorted Adjacency, or lists by degree."""

    def count_common_neighbours(self, lists: Any, per_vertex: bool) -> tuple[Any, Any]:
        """Sum up, over all edges, the common neighbours that follow both ends; if wanted at each vertex, too."""

    def intersect(self, graph: Graph, sources: Any, targets: Any) -> Any:
        """Count the common out-neighbours of pairs of vertices."""


class Engine(Protocol):
    """What runs on one kind of device."""

    def bind(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        way: int,
        deterministic: bool = False,
        schedule: Schedule | None = None,
    ) -> Any:
        """A program and a graph at the start of a run."""

    def compile_ahead(self, programs: Iterable[VertexProgram], graph: Graph) -> None:
        """Begin to compile scheduled runs of these programs, for a caller who has something else to do first."""

    def staged(self, program: VertexProgram, graph: Graph, fields: Mapping[str, Any]) -> Any:
        """A program and a graph for a loop that somebody writes by hand."""

    def source(self, program: type[VertexProgram], id_type: np.dtype[Any]) -> str:
        """The code that is generated for a program."""

    def workspace(self, program: VertexProgram, graph: Graph, deterministic: bool) -> int:
        """Bytes that a run takes beside the graph and its fields, at most."""

    def products(self) -> ModuleType:
        """What computes products over semirings: `ready`, and what is particular to matrices of the device."""

    def primitives(self) -> Primitives:
        """The stages that need no program."""


@cache
def engine(device: Device) -> Engine:
    """The engine for arrays of a device."""
    return cast(Engine, import_module(f"gasla.{device}"))


def engine_of_language(target: str) -> Engine:
    """The engine whose generated code is in a language: "numba" or "cuda"."""
    devices: dict[str, Device] = {"numba": "cpu", "cuda": "gpu"}
    if target not in devices:
        raise ValueError(f"target is {target!r}; expected 'numba' or 'cuda'")
    return engine(devices[target])
