"""The names of vertices: strings, large integers, or any hashable objects that were ids in the input.

Whatever takes a vertex takes its name: `translate_vertex` reads one vertex, and `translate_vertices` several.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import index
from typing import Any, Protocol

import numpy as np

from gasla.arrays import Device, array_module, moved
from gasla.graph.adjacency import Array
from gasla.names import meant
from gasla.once import once_property

_FEW = 10_000  # names that an error compares with an unknown one
_MANY = 1_000_000  # number of names among which it looks for these few
_BOOL = (bool, np.bool_)
_INTEGER = (int, np.integer)
_KINDS: tuple[tuple[type, ...], ...] = (_BOOL, _INTEGER, (float, np.floating))  # types of numbers that may be equal


class Number(int):
    """A vertex number that is never taken for a name: what `Graph.vertex` returns where names are integers."""


class OfVertices(Protocol):
    """The parts of a graph that translation reads, in one process or over ranks."""

    n: int
    device: Device
    naming: Names | None

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The type of vertex ids."""
        ...


class Names:
    """One name per vertex, in a NumPy array on either device."""

    def __init__(self, each: Array) -> None:
        self.each = each

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()  # other threads may add to it while it is pickled

    @once_property
    def _numbers(self) -> dict[Any, int]:
        names = self.each.tolist()
        numbers = {name: v for v, name in enumerate(names)}
        if len(numbers) != len(names):
            v = next(v for v, name in enumerate(names) if numbers[name] != v)
            raise ValueError(
                f"vertices {v} and {numbers[names[v]]} are both named {names[v]!r}; expected distinct names"
            )
        return numbers

    @once_property
    def _kinds(self) -> set[type]:
        return set(map(type, (self.each if self.each.dtype == object else self.each[:1]).tolist()))

    @once_property
    def have_integers(self) -> bool:
        """Whether any name is an integer, which might also be the number of a vertex."""
        return len(self.each) > 0 and any(issubclass(k, _INTEGER) and not issubclass(k, _BOOL) for k in self._kinds)

    def find(self, name: Any) -> int | None:
        """Return the number of the vertex with this name, if there is one. 1, 1.0 and True are different names."""
        try:
            v = self._numbers.get(name)
        except TypeError:  # not hashable
            return None
        return v if v is not None and _kind(name) == _kind(self.each[v]) else None

    def number(self, name: Any) -> int:
        """Return the number of the vertex with this name.

        Examples
        --------
        >>> import numpy as np
        >>> Names(np.array(["ann", "bob"], object)).number("bob")
        1
        """
        v = self.find(name)
        if v is None:
            raise ValueError(self.unknown(name))
        return Number(v) if self.have_integers else v

    def called(self, v: int) -> Any:
        """Return the name of a vertex, as an object of Python."""
        return self.each[v : v + 1].tolist()[0]

    def unknown(self, name: Any) -> str:
        """Return the text of the error for a name that no vertex has, with the most similar name."""
        like = self._like(name) if isinstance(name, str) else ""
        return f"no vertex is named {reprlib.repr(name)}; expected one of {len(self.each)} names{like}"

    def _like(self, name: str) -> str:
        near = [*self._near(name)]
        same = next((each for each in near if each.casefold() == name.casefold()), None)
        return meant(name, near) if same is None else f"; did you mean {same!r}?"

    def _near(self, name: str) -> Iterator[str]:
        """Return some names to compare with this one.

        These are all if there are few, else those with the same first letters.
        """
        texts = (each for each in self.each[:_MANY] if isinstance(each, str))
        if len(self.each) > _FEW:
            begin = name[:2].casefold()
            texts = (each for each in texts if each[:2].casefold() == begin)
        return islice(texts, _FEW)


def _kind(name: Any) -> int:
    """Return 0 to 2 for a bool, an integer and a float, 3 for everything else."""
    return next((place for place, kind in enumerate(_KINDS) if isinstance(name, kind)), len(_KINDS))


def translate_vertex(graph: OfVertices, given: Any, name: str = "source") -> int:
    """Return the number of a vertex that an argument gives by its number or its name. Errors call the argument `name`.

    In a graph with names, an integer that is a vertex's number and another vertex's name is an error, unless it is of
    NumPy (as results have them) or comes from `Graph.vertex`: then it is a number.
    """
    if type(given) is int and 0 <= given < graph.n and graph.naming is None:  # the usual case, quickly
        return given
    names = graph.naming
    given = given.item() if (is_scalar := getattr(given, "ndim", 1) == 0) else given
    try:
        number = None if isinstance(given, _BOOL) else index(given)
    except TypeError:
        number = None
    is_inside = number is not None and 0 <= number < graph.n
    if names is None or isinstance(given, Number):
        vertex = None
    else:
        vertex = names.find(given) if number is None or names.have_integers else None
    if number is None:
        if vertex is None:
            raise _not_a_vertex(names, given, name)
        number = vertex
    elif vertex is not None and vertex != number and is_inside and not is_scalar:
        assert names is not None
        raise ValueError(
            f"{name} is {number}, the number of the vertex named {names.called(number)!r} and the name of "
            f"vertex {vertex}; pass graph.vertex({number}) for the name, or numpy.int64({number}) for the number"
        )
    elif not is_inside:
        if vertex is None:
            unnamed = ", and no vertex has that name" if names is not None and names.have_integers else ""
            raise ValueError(f"{name} {reprlib.repr(number)} is outside a graph of {graph.n} vertices{unnamed}")
        number = vertex
    return Number(number) if names is not None and names.have_integers else number


def called(names: Names, ids: Array) -> Array:
    """Return the names of the vertices with these numbers, and None for -1."""
    is_none = ids < 0
    if not is_none.any():
        return names.each[ids]
    each_name = np.empty(ids.shape, object)
    each_name[~is_none] = names.each[ids[~is_none]]
    return each_name


def as_numbers(graph: OfVertices, ids: list[int]) -> list[int]:
    """Return ids that the library itself hands to public functions, which must not take them for names."""
    return [*map(Number, ids)] if graph.naming is not None and graph.naming.have_integers else ids


def _not_a_vertex(names: Names | None, given: Any, name: str) -> Exception:
    """Return the error for an argument that is neither a number nor the name of a vertex."""
    if names is None:
        unnamed = ": the graph has no names" if isinstance(given, str) else ""
        return TypeError(f"{name} is {reprlib.repr(given)}; expected the id of a vertex, an integer{unnamed}")
    if type(given) in names._kinds:
        return ValueError(f"{name}: {names.unknown(given)}")
    kinds = ", ".join(sorted(kind.__name__ for kind in names._kinds)) or "none"
    return TypeError(
        f"{name} is {reprlib.repr(given)}; expected a vertex, by its name (of type {kinds}) or its number, an integer"
    )


def translate_vertices(graph: OfVertices, given: Any, name: str, one: str = "vertex") -> Any:
    """Translate an argument that gives several vertices: names become an array of numbers on the graph's device.

    Arguments without names come back as they are, such as a mask or an array of numbers, which their reader checks.
    """
    names = graph.naming
    if names is None or isinstance(given, str | bytes) or getattr(given, "ndim", 1) == 0:
        return given
    kind = given.dtype.kind if array_module(given) is not np or isinstance(given, np.ndarray) else None
    if kind is None and hasattr(given, "__array__"):  # a column of a table
        given = np.asarray(given)
        kind = given.dtype.kind
    if kind == "b" or (kind in ("i", "u") and not (names.have_integers and _any_outside(given, graph.n))):
        return given
    each = given.tolist() if kind is not None else given
    if not isinstance(each, Iterable):
        return given
    each = [*each]
    kinds = set(map(type, each))
    if kinds <= set(_BOOL) or (kinds == {int} and not names.have_integers):
        return each
    if any(isinstance(v, list) or getattr(v, "ndim", 0) > 0 for v in each):
        return each
    numbers = np.array([translate_vertex(graph, v, f"{name}: {one}") for v in each], graph.id_dtype)
    return moved(numbers, graph.device)


def _any_outside(ids: Array, n: int) -> bool:
    return len(ids) > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < n
