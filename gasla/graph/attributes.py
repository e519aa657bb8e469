"""Attributes: named columns of numbers, one number per edge or per vertex, as `Graph.edge_attributes` holds them.

A graph made from another graph computes a column when it is first read, so unread columns cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping
from typing import Any, Literal

import numpy as np

from gasla.arrays import Device, array_module, device_of, imported, moved
from gasla.graph.adjacency import Array
from gasla.graph.validate import VALUE_TYPES, is_value_type
from gasla.names import meant

Of = Literal["edge", "vertex"]
Column = Array | Callable[[], Array]


class Attributes:
    """A mapping of arrays of numbers by name, all of one length and on one device. They must not be written to."""

    def __init__(
        self, of: Of, columns: Mapping[str, Column] | None = None, types: Mapping[str, np.dtype[Any]] | None = None
    ) -> None:
        self.of = of
        self._columns = dict(columns or {})
        self.types = types or {name: array.dtype for name, array in self._columns.items() if not callable(array)}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise KeyError(self.unknown(name))
        column = self._columns[name]
        if callable(column):
            column = self._columns[name] = column()
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def keys(self) -> KeysView[str]:
        """The names, in order."""
        return self._columns.keys()

    def items(self) -> Iterator[tuple[str, Array]]:
        """Names and columns, in order."""
        return ((name, self[name]) for name in self)

    def __repr__(self) -> str:
        return f"Attributes({', '.join(f'{name!r}: {self.types[name]}' for name in self)})"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "_columns": dict(self.items()),
            "types": self.types,
        }  # computed columns: functions can't be pickled

    def unknown(self, name: Any) -> str:
        """The message for a name that no attribute has."""
        if not self:
            return f"{name!r} is no {self.of} attribute; the graph has none; add it: {self._adding(name)}"
        hint = meant(name, self) if isinstance(name, str) else ""
        return f"{name!r} is no {self.of} attribute; there are {', '.join(map(repr, self))}{hint}"

    def _adding(self, name: Any) -> str:
        return f"graph.with_{self.of}_attributes({name if isinstance(name, str) and name.isidentifier() else 'name'}=…)"

    def require(self, name: Any, parameter: str = "") -> None:
        """Raise ValueError unless an attribute has this name, which a `parameter` was given."""
        if name not in self._columns:
            raise ValueError(f"{parameter}: {self.unknown(name)}" if parameter else self.unknown(name))

    def name_of(self, values: Array | None) -> str | None:
        """The name of the attribute whose array is the object `values`; None if there is none."""
        return next((name for name, column in self._columns.items() if column is values), None)

    def replaced(self, given: Mapping[str, Any], count: int, device: Device) -> Attributes:
        """These attributes with the columns in `given` checked and added; a column given as None is removed."""
        columns, types = dict(self._columns), dict(self.types)
        for name, data in given.items():
            if data is None:
                self.require(name)
                del columns[name], types[name]
            else:
                columns[name] = found = checked(self.of, name, data, count, device)
                types[name] = found.dtype
        return Attributes(self.of, columns, types)

    def shared(self, name: str | None, values: Array | None) -> Attributes:
        """These attributes with the array of a graph's values as the column `name`; themselves without a name."""
        if name is None or values is None:
            return self
        return Attributes(self.of, {**self._columns, name: values}, self.types)

    def mapped(self, function: Callable[[str, Array], Array]) -> Attributes:
        """Attributes of another graph, each computed by a function of its name and column when it is first read."""
        if not self:
            return self

        def later(name: str) -> Callable[[], Array]:
            return lambda: _locked(function(name, self[name]))

        return Attributes(self.of, {name: later(name) for name in self}, self.types)

    def taken(self, ids: Callable[[], Array]) -> Attributes:
        """The entries of all columns at these positions, selected when a column is first read."""
        return self.mapped(lambda _, column: column[ids()])

    def to(self, device: Device) -> Attributes:
        """A copy on another device, each column copied when it is first read there."""
        return self.mapped(lambda _, column: moved(column, device))

    def arrays(self) -> list[Array]:
        """The arrays held now."""
        return [column for column in self._columns.values() if not callable(column)]


NO_EDGE_ATTRIBUTES, NO_VERTEX_ATTRIBUTES = Attributes("edge"), Attributes("vertex")


def checked(of: Of, name: Any, data: Any, count: int, device: Device) -> Array:
    """One column as a contiguous array that can't be written to; dates and times become int64."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"an {of} attribute is named {name!r}; expected a string that is not empty")
    data = imported(data)
    column = array_module(data).asarray(data)
    if column.dtype.kind in "mM":
        if np.isnat(column).any():
            raise ValueError(
                f"{of} attribute {name!r} has no date at {int(np.isnat(column).argmax())}; expected one in each"
            )
        column = column.astype(np.int64)
    native = column.dtype.newbyteorder("=")
    if not is_value_type(native):
        raise TypeError(
            f"{of} attribute {name!r} holds {column.dtype}; expected one of {', '.join(VALUE_TYPES)}, or dates; number "
            "strings first: numpy.unique(column, return_inverse=True)"
        )
    if column.shape != (count,):
        each = {"edge": "edges", "vertex": "vertices"}[of]
        raise ValueError(
            f"{of} attribute {name!r} has shape {column.shape}; expected ({count},), one for each of the {each}"
        )
    if device_of(column) != device:
        raise TypeError(
            f"{of} attribute {name!r} is on the {device_of(column)} and the graph on the {device}; expected one device"
        )
    return _locked(array_module(column).ascontiguousarray(column, dtype=native))


def _locked(column: Array) -> Array:
    """A view of a NumPy array that can't be written to; a CuPy array itself."""
    if isinstance(column, np.ndarray) and column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column
