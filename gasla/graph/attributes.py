"""Attributes of edges or vertices: named columns with one number per edge or per vertex (`Graph.edge_attributes`).

A graph made from another graph computes a column when it is first read, so unread columns cost nothing. Dates and times
are kept as integers (`numbers`), with their types (`time_types`); readers of the mapping see NumPy's dates.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, KeysView, Mapping
from typing import Any, Literal

import numpy as np

from gasla.arrays import Device, array_module, device_of, imported, moved
from gasla.graph.adjacency import Array
from gasla.graph.dates import NAT, TimeColumn, TimeType, time_column
from gasla.graph.validate import VALUE_TYPES, is_value_type
from gasla.names import meant
from gasla.once import only_one

Of = Literal["edge", "vertex"]
Column = Array | Callable[[], Array]


class Attributes:
    """A mapping from names of attributes to arrays with a number or a date for each edge or each vertex of a graph.

    The arrays are on one device, and must not be written to. `types` has the dtype of each column of numbers.
    `time_types` has the type of each column of dates or times.
    """

    def __init__(
        self,
        of: Of,
        columns: Mapping[str, Column] | None = None,
        types: Mapping[str, np.dtype[Any]] | None = None,
        time_types: Mapping[str, TimeType] | None = None,
    ) -> None:
        self.of = of
        self._columns = dict(columns or {})
        self.types = types or {name: array.dtype for name, array in self._columns.items() if not callable(array)}
        self.time_types = dict(time_types or {})

    def __getitem__(self, name: str) -> Array:
        numbers = self.numbers(name)
        return numbers if (time_type := self.time_types.get(name)) is None else time_type.shown(numbers)

    def numbers(self, name: str) -> Array:
        """Return the column `name` as an array of numbers. Dates and times are returned as integers."""
        if name not in self._columns:
            raise KeyError(self.unknown(name))
        column = self._columns[name]
        if callable(column):
            with only_one(self, name):
                # read again, as another thread may have replaced the function by the computed column
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
        """Return the names of the attributes, in the order in which they were added."""
        return self._columns.keys()

    def items(self) -> Iterator[tuple[str, Array]]:
        """Return pairs of name and column, in the order in which the attributes were added."""
        return ((name, self[name]) for name in self)

    def columns(self) -> dict[str, Any]:
        """Return all columns by name, in the form in which they can be added to another graph.

        A column of numbers is an array, and a column of dates is an array of integers together with its type.
        """
        return {name: self.column(name, self.numbers(name)) for name in self}

    def column(self, name: str, numbers: Array) -> Any:
        """Return a column that can be added to another graph as the attribute `name`, made from the array `numbers`.

        If the attribute `name` holds dates, the numbers get its type. Otherwise they are returned unchanged.
        """
        return numbers if (time_type := self.time_types.get(name)) is None else TimeColumn(numbers, time_type)

    def __repr__(self) -> str:
        return f"Attributes({', '.join(f'{name!r}: {self.time_types.get(name, self.types[name])}' for name in self)})"

    def __getstate__(self) -> dict[str, Any]:
        # Columns that have not been computed yet are functions, which can't be pickled. So all columns are computed
        # first.
        return self.__dict__ | {"_columns": {name: self.numbers(name) for name in self}}

    def unknown(self, name: Any) -> str:
        """Return the error message for a name that no attribute has. The message lists the names of all attributes."""
        if not self:
            return f"{name!r} is no {self.of} attribute; the graph has none; add it: {self._adding(name)}"
        hint = meant(name, self) if isinstance(name, str) else ""
        return f"{name!r} is no {self.of} attribute; there are {', '.join(map(repr, self))}{hint}"

    def _adding(self, name: Any) -> str:
        return f"graph.with_{self.of}_attributes({name if isinstance(name, str) and name.isidentifier() else 'name'}=…)"

    def require(self, name: Any, parameter: str = "") -> None:
        """Raise ValueError unless there is an attribute of this name, and TypeError if the name is no string.

        `parameter` is the name of the function's parameter that got the attribute's name.
        """
        if not isinstance(name, str):
            raise TypeError(f"{parameter or 'attribute'} is {reprlib.repr(name)}; expected the name of an attribute")
        if name not in self._columns:
            raise ValueError(f"{parameter}: {self.unknown(name)}" if parameter else self.unknown(name))

    def name_of(self, values: Array | None) -> str | None:
        """Return the name of the attribute whose column is the array `values` itself, or None if there is none."""
        for name, column in self._columns.items():
            if column is values:
                return name
        return None

    def replaced(self, given: Mapping[str, Any], count: int, device: Device) -> Attributes:
        """Return these attributes with the columns in `given` added, or put in place of those with the same names.

        A column that is given as None is removed. Raise an error unless each column has `count` entries on the given
        device.
        """
        columns, types, time_types = dict(self._columns), dict(self.types), dict(self.time_types)
        for name, data in given.items():
            time_types.pop(name, None)
            if data is None:
                self.require(name)
                del columns[name], types[name]
                continue
            column = checked(self.of, name, data, count, device)
            if isinstance(column, TimeColumn):
                time_types[name], column = column.type, column.numbers
            columns[name], types[name] = column, column.dtype
        return Attributes(self.of, columns, types, time_types)

    def shared(self, name: str | None, values: Array | None) -> Attributes:
        """Return these attributes with `values`, the array of the edge values of a graph, as the column `name`.

        So the values and the attribute are one array. If the name or the values are None, return the object itself.
        """
        if name is None or values is None:
            return self
        return Attributes(self.of, {**self._columns, name: values}, self.types, self.time_types)

    def mapped(self, function: Callable[[str, Array], Array]) -> Attributes:
        """Return the attributes of a graph that is derived from the graph with these attributes.

        A column is computed when it is first read: by a call of `function` with its name and the old graph's column.
        """
        if not self:
            return self

        def compute_later(name: str) -> Callable[[], Array]:
            return lambda: _read_only_view(function(name, self.numbers(name)))

        return Attributes(self.of, {name: compute_later(name) for name in self}, self.types, self.time_types)

    def taken(self, ids: Callable[[], Array]) -> Attributes:
        """Return attributes of which each column has only some entries of these attributes' columns.

        `ids` is a function that returns the positions of these entries. It is called when a column is first read.
        """
        return self.mapped(lambda _, column: column[ids()])

    def to(self, device: Device) -> Attributes:
        """Return these attributes on another device. Each column is copied when it is first read."""
        return self.mapped(lambda _, column: moved(column, device))

    def arrays(self) -> list[Array]:
        """Return the arrays of the columns that are in memory. Columns that have not been computed yet are left out."""
        return [column for column in self._columns.values() if not callable(column)]


NO_EDGE_ATTRIBUTES, NO_VERTEX_ATTRIBUTES = Attributes("edge"), Attributes("vertex")


def checked(of: Of, name: Any, data: Any, count: int, device: Device) -> Any:
    """Check the data of a new attribute, and return it as a contiguous array that can't be written to.

    Dates are returned as a `TimeColumn`. Raise an error unless there is one number or date for each of `count` edges or
    vertices, on the given device.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"an {of} attribute is named {name!r}; expected a string that is not empty")
    data = imported(data)
    column = data if isinstance(data, TimeColumn) else array_module(data).asarray(data)
    dates = _as_dates(of, name, data, column)
    if dates is not None:
        return TimeColumn(_number_column(of, name, moved(dates.numbers, device), count, device), dates.type)
    return _number_column(of, name, column, count, device)


def _as_dates(owner: Of, name: str, data: Any, column: Any) -> TimeColumn | None:
    """Return the data of an attribute as a column of dates or times, or None if it holds something else."""
    # A column of another graph or of a table may have missing dates (NaT): these were refused when the column was made,
    # or they are intended.
    if isinstance(column, TimeColumn):
        return column
    if column.dtype.kind not in "mMO":
        return None
    try:
        times = time_column(data)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{owner} attribute {name!r}: {error}") from error
    if times is not None and (times.numbers == NAT).any():
        raise ValueError(
            f"{owner} attribute {name!r} has no date at {int((times.numbers == NAT).argmax())}; expected one in each"
        )
    return times


def _number_column(of: Of, name: str, column: Any, count: int, device: Device) -> Array:
    native = column.dtype.newbyteorder("=")
    if not is_value_type(native):
        raise TypeError(
            f"{of} attribute {name!r} holds {column.dtype}; expected one of {', '.join(VALUE_TYPES)}, or dates; number "
            "strings first: numpy.unique(column, return_inverse=True)"
        )
    if column.shape != (count,):
        noun = {"edge": "edges", "vertex": "vertices"}[of]
        raise ValueError(
            f"{of} attribute {name!r} has shape {column.shape}; expected ({count},), one for each of the {noun}"
        )
    if device_of(column) != device:
        raise TypeError(
            f"{of} attribute {name!r} is on the {device_of(column)} and the graph on the {device}; expected one device"
        )
    return _read_only_view(array_module(column).ascontiguousarray(column, dtype=native))


def _read_only_view(column: Array) -> Array:
    """Return a view of a NumPy array that can't be written to.

    A CuPy array has no such views, and is returned itself.
    """
    if isinstance(column, np.ndarray) and column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column
