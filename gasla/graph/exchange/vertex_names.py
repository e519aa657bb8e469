"""The names of vertices: strings, large integers, or any hashable objects that were ids in the input.

Every function that takes a vertex takes its name as well. `translate_vertex` reads an argument that is one vertex, and
`translate_vertices` an argument with several.
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

# An unknown name is compared with at most this many names, to suggest a similar one in the error message.
_FEW = 10_000
_MANY = 1_000_000  # of more names than this, only the first ones are searched for a name similar to an unknown one
_BOOL = (bool, np.bool_)
_INTEGER = (int, np.integer)
# Types whose numbers Python may find equal, such as 1 and True. As names of vertices, such numbers are different.
_KINDS: tuple[tuple[type, ...], ...] = (_BOOL, _INTEGER, (float, np.floating))


class Number(int):
    """A vertex number that is never taken for a name.

    `Graph.vertex` returns such numbers if names are integers, too.
    """


class OfVertices(Protocol):
    """The attributes of a graph that functions need to replace names of vertices by their numbers.

    Graphs in one process, distributed graphs, and single types of vertices of a typed graph have these attributes.
    """

    n: int
    device: Device
    naming: Names | None

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The dtype of the graph's vertex ids, int32 or int64."""
        ...


class Names:
    """The names of all vertices of a graph, in a NumPy array even if the graph is on a GPU."""

    def __init__(self, each: Array) -> None:
        self.each = each

    def __getstate__(self) -> dict[str, Any]:
        # a copy, because other threads may add cached properties while the object is pickled
        return self.__dict__.copy()

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
        """Return the number of the vertex with this name, or None if there is no such vertex.

        1, 1.0 and True are different names.
        """
        try:
            v = self._numbers.get(name)
        except TypeError:  # raised for an object that is not hashable, which can't be a name
            return None
        return v if v is not None and _kind_of_number(name) == _kind_of_number(self.each[v]) else None

    def number(self, name: Any) -> int:
        """Return the number of the vertex with this name. Raise ValueError if there is none.

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
        """Return the error message for a name that no vertex has. It suggests the most similar name."""
        suggestion = self._suggest(name) if isinstance(name, str) else ""
        return f"no vertex is named {reprlib.repr(name)}; expected one of {len(self.each)} names{suggestion}"

    def _suggest(self, name: str) -> str:
        candidates = [*self._similar_candidates(name)]
        equal_name = next((candidate for candidate in candidates if candidate.casefold() == name.casefold()), None)
        return meant(name, candidates) if equal_name is None else f"; did you mean {equal_name!r}?"

    def _similar_candidates(self, name: str) -> Iterator[str]:
        """Yield the names of vertices with which an unknown name is compared. The error suggests the most similar.

        If there are many names, these are only the names with the same two first letters.
        """
        texts = (text for text in self.each[:_MANY] if isinstance(text, str))
        if len(self.each) > _FEW:
            prefix = name[:2].casefold()
            texts = (text for text in texts if text[:2].casefold() == prefix)
        return islice(texts, _FEW)


def _kind_of_number(name: Any) -> int:
    """Return 0, 1 or 2 for a name that is a bool, an integer or a float, and 3 for any other name."""
    return next((position for position, name_types in enumerate(_KINDS) if isinstance(name, name_types)), len(_KINDS))


def translate_vertex(graph: OfVertices, given: Any, name: str = "source") -> int:
    """Return the number of the vertex that an argument gives by number or by name.

    `name` is the argument's name in errors.

    In a graph with names, an integer may be the number of one vertex and the name of another. This is an error, unless
    the integer is one of NumPy (as results have them) or comes from `Graph.vertex`. Such integers are numbers.
    """
    # A vertex number in a graph without names is the usual case. It is tested first, because this test takes the least
    # time.
    if type(given) is int and 0 <= given < graph.n and graph.naming is None:
        return given
    names = graph.naming
    given = given.item() if (is_scalar := getattr(given, "ndim", 1) == 0) else given
    try:
        integer = None if isinstance(given, _BOOL) else index(given)
    except TypeError:
        integer = None
    is_inside = integer is not None and 0 <= integer < graph.n
    if names is None or isinstance(given, Number):
        vertex = None
    else:
        vertex = names.find(given) if integer is None or names.have_integers else None
    if integer is None:
        if vertex is None:
            raise _not_a_vertex(names, given, name)
        integer = vertex
    elif vertex is not None and vertex != integer and is_inside and not is_scalar:
        assert names is not None
        raise ValueError(
            f"{name} is {integer}, the number of the vertex named {names.called(integer)!r} and the name of "
            f"vertex {vertex}; pass graph.vertex({integer}) for the name, or numpy.int64({integer}) for the number"
        )
    elif not is_inside:
        if vertex is None:
            unnamed = ", and no vertex has that name" if names is not None and names.have_integers else ""
            raise ValueError(f"{name} {reprlib.repr(integer)} is outside a graph of {graph.n} vertices{unnamed}")
        integer = vertex
    return Number(integer) if names is not None and names.have_integers else integer


def called(names: Names, ids: Array) -> Array:
    """Return the names of the vertices `ids` as an array. An id of -1, which stands for no vertex, becomes None."""
    is_none = ids < 0
    if not is_none.any():
        return names.each[ids]
    each_name = np.empty(ids.shape, object)
    each_name[~is_none] = names.each[ids[~is_none]]
    return each_name


def as_numbers(graph: OfVertices, ids: list[int]) -> list[int]:
    """Return vertex numbers as objects of the class `Number`, which public functions don't take for names of vertices.

    The library uses it where it passes vertices to its own public functions, if names are integers, too.
    """
    return [*map(Number, ids)] if graph.naming is not None and graph.naming.have_integers else ids


def _not_a_vertex(names: Names | None, argument: Any, name: str) -> Exception:
    """Return the error for an argument, called `name`, that is neither the number nor the name of a vertex."""
    if names is None:
        unnamed = ": the graph has no names" if isinstance(argument, str) else ""
        return TypeError(f"{name} is {reprlib.repr(argument)}; expected the id of a vertex, an integer{unnamed}")
    if type(argument) in names._kinds:
        return ValueError(f"{name}: {names.unknown(argument)}")
    type_names = ", ".join(sorted(name_type.__name__ for name_type in names._kinds)) or "none"
    return TypeError(
        f"{name} is {reprlib.repr(argument)}; expected a vertex, by its name (of type {type_names}) or its number, "
        "an integer"
    )


def translate_vertices(graph: OfVertices, given: Any, name: str, one: str = "vertex") -> Any:
    """Return an argument that gives several vertices, with names replaced by an array of vertex numbers.

    The array is on the graph's device. An argument without names, such as a mask or an array of numbers, is returned as
    it is, and the caller checks it.
    """
    names = graph.naming
    if names is None or isinstance(given, str | bytes) or getattr(given, "ndim", 1) == 0:
        return given
    dtype_kind = given.dtype.kind if array_module(given) is not np or isinstance(given, np.ndarray) else None
    if dtype_kind is None and hasattr(
        given, "__array__"
    ):  # the argument is a column of a table, such as a pandas Series
        given = np.asarray(given)
        dtype_kind = given.dtype.kind
    if dtype_kind == "b" or (
        dtype_kind in ("i", "u") and not (names.have_integers and _is_any_outside(given, graph.n))
    ):
        return given
    name_list = given.tolist() if dtype_kind is not None else given
    if not isinstance(name_list, Iterable):
        return given
    name_list = [*name_list]
    types = set(map(type, name_list))
    if types <= set(_BOOL) or (types == {int} and not names.have_integers):
        return name_list
    if any(isinstance(v, list) or getattr(v, "ndim", 0) > 0 for v in name_list):
        return name_list
    numbers = np.array([translate_vertex(graph, v, f"{name}: {one}") for v in name_list], graph.id_dtype)
    return moved(numbers, graph.device)


def _is_any_outside(ids: Array, n: int) -> bool:
    return len(ids) > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < n
