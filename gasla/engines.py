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

    def primitives(self) -> ModuleType:
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
