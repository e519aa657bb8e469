"""Dates, times of day and durations as columns of int64 numbers.

Each column has a type that says what its integers are: the kind (such as a date or a duration), the unit (such as
seconds) and the time zone. Graphs store the integers, and engines compute with them. Callers see NumPy's `datetime64`
and `timedelta64`, which are views of the integers. For other libraries and files, columns are converted to their own
types.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo

import numpy as np

from gasla.arrays import array_module
from gasla.graph.adjacency import Array

NAT = int(np.iinfo(np.int64).min)  # the integer by which NumPy represents NaT, a missing date
_NANOSECONDS = {"D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_ONE_DAY = _NANOSECONDS["D"]
_WORDS = {"week": 7 * _ONE_DAY, "day": _ONE_DAY, "hour": _NANOSECONDS["h"], "minute": _NANOSECONDS["m"]}
_WORDS |= {"min": _NANOSECONDS["m"], "second": 10**9, "sec": 10**9, "d": _ONE_DAY, "w": 7 * _ONE_DAY, "µs": 10**3}
_WORDS |= {unit: count for unit, count in _NANOSECONDS.items() if unit != "D"}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)|(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?")
_LENGTHS = "such as '90min', '24h' or a numpy.timedelta64"
_DATES = "such as '2026-01-31', '2026-01-31 12:00' or a numpy.datetime64"
_ZONELESS = "without a zone, and the times are in {zone}; expected one with an offset from UTC, such as '{date}'"
_Kind = Literal["datetime", "date", "time", "duration"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OF_DAY = datetime(1970, 1, 1)


class TimeType(NamedTuple):
    """The type of a column of integers that are dates, times of day or durations.

    It has a kind, a unit, and the time zone that the column had in its table. Whatever the zone, dates with times are
    counted from 1970 in UTC.
    """

    kind: _Kind
    unit: str
    zone: str | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of a column of this type.

        It has no time zone, and a time of day becomes a duration since midnight.
        """
        return np.dtype(f"{'M8' if self.counts_from_1970 else 'm8'}[{self.unit}]")

    @property
    def counts_from_1970(self) -> bool:
        """Whether the integers are dates. If not, they are durations or times of day."""
        return self.kind in ("datetime", "date")

    def __str__(self) -> str:
        return f"{self.dtype}" if self.zone is None else f"{self.dtype} in zone {self.zone}"

    def shown(self, numbers: Any) -> Any:
        """Return a column of integers of this type as NumPy's dates or durations, which users see, without a copy.

        CuPy has no such dtypes, so a CuPy array is returned as it is.
        """
        return numbers.view(self.dtype) if array_module(numbers) is np else numbers

    def in_unit(self, unit: str) -> TimeType:
        """Return the same type with another unit, such as "s". Dates in a unit below a day become dates with times."""
        return self._replace(unit=unit, kind="datetime" if self.kind == "date" and unit != "D" else self.kind)

    def number(self, name: str, given: Any, up: bool = False) -> int:
        """Return a date or a duration as a number of this type's units, rounded down, or up if `up` is set.

        `name` is what errors call it.
        """
        exact_units = self._nanoseconds(name, given) / Fraction(_NANOSECONDS[self.unit])
        whole_units = -((-exact_units).__floor__()) if up else exact_units.__floor__()
        return max(NAT + 1, min(-NAT - 1, whole_units))

    def span(self, name: str, at: Any, window: Any) -> tuple[bool, Array | None, Array]:
        """Return the first and the last date of each span of time that ends at a date of the argument `at`.

        The result is a triple: whether `at` is a single date, the first dates, and the last dates. Dates are integers
        of this type. A span is as long as the duration `window`. Without a window, spans have no first date (None).
        Ends are exact: an end between two dates of this type's unit is rounded inwards. `name` is what errors call
        `at`.
        """
        is_one, numbers, unit = self._instants(name, at)
        width = None if window is None else length(window)
        if width is None and window is not None:
            raise TypeError(f"window is {window!r}; expected a duration, {_LENGTHS}, as the times are {self}")
        if width is not None and width < 0:
            raise ValueError(f"window is {window!r}; expected a duration of 0 or more")
        candidates = [
            candidate
            for candidate, count in _NANOSECONDS.items()
            if count <= min(map(_NANOSECONDS.__getitem__, (self.unit, unit)))
        ]
        common_unit = next(
            (candidate for candidate in candidates if not width or width % _NANOSECONDS[candidate] == 0), "ns"
        )
        scale, per = (_NANOSECONDS[time_unit] // _NANOSECONDS[common_unit] for time_unit in (unit, self.unit))
        width_in_units = 0 if width is None else width // _NANOSECONDS[common_unit]
        largest_number = 2**62 // scale
        if width_in_units > 2**62 or ((numbers > largest_number) | (numbers < -largest_number)).any():
            raise ValueError(
                f"{name} or window is beyond the range of M8[{common_unit}], the unit that holds {name}, the window "
                "and the times; expected dates and a window in a larger unit"
            )
        scaled_times = numbers * scale
        return is_one, None if width is None else -((width_in_units - scaled_times) // per), scaled_times // per

    def _instants(self, name: str, argument: Any) -> tuple[bool, Array, str]:
        """Convert an argument that holds one or several dates or durations to integers.

        Return a triple: whether the argument is a single date, the integers, and their unit. A NumPy array of dates is
        in UTC. A CuPy array holds integers in the unit of this type. `name` is the argument's name in errors.
        """
        if array_module(argument) is not np and argument.dtype == np.int64:
            return argument.ndim == 0, argument.get().reshape(-1), self.unit
        column = time_column(argument) if hasattr(argument, "dtype") or hasattr(argument, "type") else None
        if column is None:
            is_one = isinstance(argument, str) or not hasattr(argument, "__len__")
            nanoseconds = [self._nanoseconds(name, argument)] if is_one else self._nanoseconds_of(name, argument)
            unit = next(
                (unit for unit, count in _NANOSECONDS.items() if not any(value % count for value in nanoseconds)), "ns"
            )
            numbers = [int(value // _NANOSECONDS[unit]) for value in nanoseconds]
            if any(abs(value) > 2**62 for value in numbers):
                raise ValueError(f"{name} holds dates beyond the range of M8[{unit}]; expected dates of a larger unit")
            return is_one, np.array(numbers, np.int64), unit
        time_type = column.type
        if time_type.counts_from_1970 != self.counts_from_1970:
            raise TypeError(f"{name} holds {time_type}; expected {self}, as the times are")
        if bool(time_type.zone) != bool(self.zone) and not isinstance(argument, np.ndarray | np.generic):
            raise TypeError(f"{name} holds {time_type}; expected dates {'with' if self.zone else 'without'} a zone")
        if (column.numbers == NAT).any():
            raise ValueError(f"{name} has no date in row {int((column.numbers == NAT).argmax())}; expected one in each")
        return getattr(argument, "ndim", 1) == 0, column.numbers, time_type.unit

    def _nanoseconds_of(self, name: str, dates: Any) -> list[Fraction]:
        return [self._nanoseconds(f"{name}[{i}]", date_or_text) for i, date_or_text in enumerate(dates)]

    def _nanoseconds(self, name: str, argument: Any) -> Fraction:
        moment = _nanoseconds_since_1970(name, argument, self.zone) if self.counts_from_1970 else length(argument)
        if moment is None:
            description = f"a date, {_DATES}" if self.counts_from_1970 else f"a duration, {_LENGTHS}"
            error = ValueError if isinstance(argument, str | int | float | np.number) else TypeError
            raise error(f"{name} is {argument!r}; expected {description}, as the times are {self}")
        return moment


def parsed_time_types(given: Any, columns: Mapping[str, Array]) -> dict[str, TimeType]:
    """Return the types of a graph's columns of dates and times by name, as a file of the graph states them.

    The file has a list of a kind, a unit and a zone for each name. Raise ValueError or TypeError for anything else.
    """
    parsed = {
        name: TimeType(*time_type)
        for name, time_type in dict(given).items()
        if isinstance(time_type, list) and len(time_type) == 3
    }
    for name, time_type in parsed.items():
        is_zone = time_type.zone is None or isinstance(time_type.zone, str)
        is_whole = name in columns and columns[name].dtype == np.int64
        if not is_whole or time_type.kind not in get_args(_Kind) or time_type.unit not in _NANOSECONDS or not is_zone:
            raise ValueError(f"{name!r} is {[*time_type]}; expected a kind, a unit and a zone")
    if len(parsed) < len(given):
        raise ValueError(f"{given!r}; expected a kind, a unit and a zone for each name")
    return parsed


class TimeColumn:
    """A column of dates or times of a table or a graph: integers, and the type that says what they stand for.

    Tables of different libraries and graphs are converted to each other through this form.
    """

    def __init__(self, numbers: Array, type: TimeType) -> None:
        self.numbers, self.type = numbers, type

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, which: Any) -> TimeColumn:
        return TimeColumn(self.numbers[which], self.type)

    def held_as(self, type: TimeType, what: str) -> Array:
        """Return the column's integers after conversion to `type`, the type of a column that a graph already has.

        Raise TypeError if only one of the two types is of dates, or only one has a time zone. Raise ValueError if
        `type` can't represent all values. `what` names the column in errors.
        """
        if self.type.counts_from_1970 != type.counts_from_1970 or bool(self.type.zone) != bool(type.zone):
            raise TypeError(f"{what} is given as {self.type}; expected {type}, as the graph has it")
        converted_dates = self.type.shown(self.numbers).astype(type.dtype)
        if not np.array_equal(converted_dates.astype(self.type.dtype), self.type.shown(self.numbers), equal_nan=True):
            raise ValueError(f"{what} is given as {self.type}, and {type} does not hold all of it; expected {type}")
        numbers: Array = converted_dates.view(np.int64)
        return numbers

    def tolist(self) -> list[Any]:
        """Return the values as objects of Python's module `datetime`.

        Values that Python can't represent, such as nanoseconds, are objects of NumPy, or of pandas if they have a time
        zone.
        """
        shown = self.type.shown(self.numbers)
        rounded = shown if self.type.unit in ("D", "us") else shown.astype(f"{shown.dtype.kind}8[us]")
        objects: list[Any] = rounded.tolist()
        if not np.array_equal(rounded, shown) or not all(isinstance(value, date | timedelta) for value in objects):
            if self.type.zone is not None:
                pandas = importlib.import_module("pandas")  # dates of pandas can have both nanoseconds and a time zone

                return [*pandas.DatetimeIndex(shown, tz="UTC").tz_convert(self.type.zone)]
            return list(shown)
        if self.type.kind == "time":
            return [(_OF_DAY + value).time() for value in objects]
        if self.type.kind == "datetime" and self.type.zone is not None:
            zone = _zone_object(self.type.zone)
            return [value.replace(tzinfo=UTC).astimezone(zone) for value in objects]
        return objects

    def to_arrow(self, pa: Any) -> Any:
        """Return the column as an Arrow array with Arrow's type for dates, times or durations.

        `pa` is the module pyarrow.
        """
        unit = self.type.unit if self.type.unit in ("s", "ms", "us", "ns") else "s"
        if self.type.kind == "date":
            return pa.array(self.numbers.astype(np.int32)).view(pa.date32())
        integers = self.type.shown(self.numbers).astype(f"{self.type.dtype.kind}8[{unit}]").view(np.int64)
        if self.type.kind == "time":
            is_narrow = unit in ("s", "ms")
            arrow_type = pa.time32(unit) if is_narrow else pa.time64(unit)
            return pa.array(integers.astype(np.int32) if is_narrow else integers).view(arrow_type)
        return pa.array(integers).view(
            pa.timestamp(unit, self.type.zone) if self.type.kind == "datetime" else pa.duration(unit)
        )


def iso(value: Any) -> str:
    """Return a date or a duration of Python or NumPy as text in ISO 8601 format, which `of_text` reads.

    Examples
    --------
    >>> iso(date(2026, 1, 31)), iso(timedelta(minutes=-90)), iso(np.timedelta64(125, "ms"))
    ('2026-01-31', '-PT5400S', 'PT0.125S')
    """
    nanoseconds = None if isinstance(value, time) else length(value)
    if nanoseconds is None:
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    seconds, fraction = divmod(abs(nanoseconds), 10**9)
    digits = f"{int(fraction):09d}".rstrip("0")
    return f"{'-' * (nanoseconds < 0)}PT{seconds}{'.' * bool(digits)}{digits}S"


# --- readers of columns of dates, which may be of NumPy, pandas, polars or Arrow, or lists of texts -------------------


def time_column(data: Any) -> TimeColumn | None:
    """Return a column of dates or times from an array, a column of another library or a list.

    Return None for other data.

    Raise TypeError for units longer than a day or shorter than a nanosecond. A missing date stays NaT.
    """
    if isinstance(data, TimeColumn):
        return data
    zone, unit = _zone_of(data), getattr(getattr(data, "dtype", None), "unit", None)
    array = np.asarray(data, f"M8[{unit}]" if zone and unit in _NANOSECONDS else None)
    column_kind: Any = None
    if array.dtype == object and array.ndim == 1:
        column = _column_of_objects(array.tolist())
        if column is None:
            return None
        array, column_kind, own_zone = column
        zone = zone or own_zone
    if array.dtype.kind not in "mM":
        return None
    array = _with_plain_unit(array)
    unit = np.datetime_data(array.dtype)[0]
    column_kind = column_kind or (
        "duration" if array.dtype.kind == "m" else "date" if unit == "D" and not zone else "datetime"
    )
    return TimeColumn(np.ascontiguousarray(array).view(np.int64), TimeType(column_kind, unit, zone))


def _zone_of(data: Any) -> str | None:
    """Return the name of the time zone of a column of pandas, polars or Arrow, or None if the column has none."""
    dtype = getattr(data, "dtype", None) if hasattr(data, "dtype") else getattr(data, "type", None)
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    return None if zone is None else _zone_name(zone)


def _zone_name(zone: Any) -> str:
    """Return the name of a time zone, such as "Europe/Paris", or its offset from UTC, such as "+02:00"."""
    name = str(zone)
    return name[3:] if name.startswith(("UTC+", "UTC-")) else name


def _zone_object(name: str) -> tzinfo:
    """Return Python's time zone object for a name such as "Europe/Paris" or an offset such as "+02:00"."""
    if name == "UTC":
        return UTC
    offset = datetime.fromisoformat(f"2000-01-01T00:00{name}").tzinfo if name[0] in "+-" else None
    return offset or ZoneInfo(name)


def _column_of_objects(values: list[Any]) -> tuple[Array, str, str | None] | None:
    """Return a list of dates or times of Python, pandas or NumPy as an array, with its kind and its time zone.

    Missing values (None) become NaT. Return None if the list holds anything else.
    """
    present = [value for value in values if value is not None]
    if not present or not all(
        isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64) for value in present
    ):
        return None
    zone_names = {None if (zone := getattr(value, "tzinfo", None)) is None else _zone_name(zone) for value in present}
    if None in zone_names and len(zone_names) > 1:
        raise TypeError("some dates have a zone and others have none; expected one in each, or in none")
    if isinstance(present[0], time):
        durations: list[Any] = [
            None if value is None else datetime.combine(_OF_DAY, value) - _OF_DAY for value in values
        ]
        return np.array(durations, "m8[us]"), "time", None
    if isinstance(present[0], timedelta | np.timedelta64):
        # Missing values become NaT in days. NumPy gives an array the shortest unit of its entries, and days are the
        # longest, so the other values decide the unit.
        missing_value: Any = np.timedelta64("NaT", "D")
        return (
            np.array([missing_value if value is None else _as_numpy_scalar(value) for value in values]),
            "duration",
            None,
        )
    array = np.array([np.datetime64("NaT") if value is None else _as_numpy_scalar(value) for value in values])
    zone = None if None in zone_names else zone_names.pop() if len(zone_names) == 1 else "UTC"
    return array, "date" if np.datetime_data(array.dtype)[0] == "D" else "datetime", zone


def _as_numpy_scalar(value: Any) -> Any:
    """Return a date or a duration of Python or pandas as a NumPy scalar.

    A date with a time zone is converted to UTC.
    """
    if hasattr(value, "to_numpy"):  # objects of pandas have this method
        return value.to_numpy()
    if isinstance(value, np.generic):
        return value
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.timedelta64(value) if isinstance(value, timedelta) else np.datetime64(value)


def _with_plain_unit(array: Array) -> Array:
    """Return NumPy dates or durations in one of the units from days to nanoseconds.

    Dates in years, months or weeks are converted to days. Raise TypeError for other units, and ValueError for dates
    that overflow the new unit.
    """
    unit, step = np.datetime_data(array.dtype)
    plain = unit if unit in _NANOSECONDS else "D"
    if unit not in ("Y", "M", "W", *_NANOSECONDS) or (unit in "YM" and array.dtype.kind == "m"):
        raise TypeError(f"got {array.dtype}; expected a unit from days to nanoseconds, such as .astype('m8[s]')")
    plain_dates = array.astype(f"{array.dtype.kind}8[{plain}]")
    if (plain, step) != (unit, 1) and not np.array_equal(plain_dates.astype(array.dtype), array, equal_nan=True):
        raise ValueError(f"got {array.dtype} that {plain_dates.dtype} does not hold; expected dates nearer to 1970")
    return plain_dates


def of_arrow(column: Any, pa: Any) -> TimeColumn | None:
    """Return a column of dates or times from an Arrow column without nulls, or None if it holds something else."""
    types, dtype = pa.types, column.type
    if types.is_date(dtype):
        return TimeColumn(_integers(column.cast(pa.date32()), pa), TimeType("date", "D"))
    if types.is_timestamp(dtype):
        return TimeColumn(_integers(column, pa), TimeType("datetime", dtype.unit, dtype.tz))
    if types.is_time(dtype):
        return TimeColumn(_integers(column, pa), TimeType("time", dtype.unit))
    if types.is_duration(dtype):
        return TimeColumn(_integers(column, pa), TimeType("duration", dtype.unit))
    return None


def _integers(column: Any, pa: Any) -> Array:
    narrow = pa.types.is_date32(column.type) or pa.types.is_time32(column.type)
    numbers: Array = (column.cast(pa.int32()) if narrow else column.cast(pa.int64())).to_numpy()
    return numbers.astype(np.int64, copy=False)


def of_text(text: Any) -> Any:
    """Return the date, time of day or duration that a text in ISO 8601 format states, or None for any other text.

    Examples
    --------
    >>> of_text("2026-01-31"), of_text("PT90S"), of_text("12")
    (datetime.date(2026, 1, 31), np.timedelta64(90000000000,'ns'), None)
    """
    if not isinstance(text, str):
        return None
    if re.fullmatch(r"-?P(T?\d+(\.\d+)?[DHMS])+", text) and (nanoseconds := length(text)) is not None:
        return np.timedelta64(int(nanoseconds), "ns")
    if not re.match(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", text):
        return None
    return _read_with(text, date.fromisoformat, time.fromisoformat, datetime.fromisoformat, np.datetime64)


def looks_dated(text: str) -> bool:
    """Return whether a text may be a date, in any usual format with days, months and years.

    Examples
    --------
    >>> looks_dated("03.04.2026"), looks_dated("2026-04-01T12:00+02:00"), looks_dated("1.5")
    (True, True, False)
    """
    return re.match(r"\s*(\d{1,2}([./-])\d{1,2}\2(\d{4}|\d\d)|\d{4}([./-])\d{1,2}\4\d{1,2})(?!\d)", text) is not None


def times_of_texts(texts: Sequence[str]) -> TimeColumn | None:
    """Return texts as a column of times of day or durations, or None if any text is neither.

    They are times of day if all of them are in ISO 8601 format. Otherwise all have to be durations.

    Examples
    --------
    >>> times_of_texts(["07:30:00.5"]).type.kind, times_of_texts(["90min", "2h"]).tolist()[0]
    ('time', datetime.timedelta(seconds=5400))
    """
    times = [_read_with(text, time.fromisoformat) if re.match(r"\d\d:\d\d:\d\d", text) else None for text in texts]
    if times and None not in times:
        return time_column(np.fromiter(times, object, len(times)))
    durations = [int(nanoseconds) for text in texts if (nanoseconds := length(text)) is not None]
    if not durations or len(durations) < len(texts):
        return None
    unit = next(
        unit for unit in ("s", "ms", "us", "ns") if not any(duration % _NANOSECONDS[unit] for duration in durations)
    )
    return TimeColumn(np.array(durations, np.int64) // _NANOSECONDS[unit], TimeType("duration", unit))


def _read_with(text: str, *readers: Any) -> Any:
    """Return what the first of several functions that can read a text returns, or None if none of them can.

    The functions `readers` return a date or a time, and raise ValueError for a text that they can't read. The last of
    several functions is NumPy's. It alone is called for a text with more digits than microseconds have.
    """
    for read in readers[-1:] if re.search(r"[.,]\d{7}", text) else readers:
        try:
            return read(text)
        except ValueError:
            continue
    return None


# --- conversion of a single date or duration to nanoseconds -----------------------------------------------------------


def length(given: Any) -> Fraction | None:
    """Return a duration in nanoseconds, or None if the argument is no duration. A time of day counts from midnight.

    Examples
    --------
    >>> [int(length(text)) // 10**9 for text in ("24h", "1 day 2:30:00", "90 min", "PT1H30M", "-1.5s")]
    [86400, 95400, 5400, 5400, -2]
    """
    if isinstance(given, time):
        given = datetime.combine(_OF_DAY, given.replace(tzinfo=None)) - _OF_DAY
    given = _as_numpy_scalar(given) if isinstance(given, timedelta) else given
    if isinstance(given, np.timedelta64):
        return None if np.isnat(given) else _numpy_nanoseconds(given)
    return _parse_duration(given) if isinstance(given, str) else None


def _parse_duration(text: str) -> Fraction | None:
    """Return the nanoseconds that a text such as "90min", "1 day 2:30:00" or "PT1H30M" states, or None for other texts.

    It reads the formats of ISO 8601, pandas, polars and clocks.
    """
    duration_text = text.strip().casefold()
    sign, duration_text = (-1, duration_text[1:]) if duration_text.startswith("-") else (1, duration_text)
    if duration_text.startswith("p"):
        days, _, hours = duration_text[1:].partition("t")
        if "m" in days:  # a number of months has no fixed duration, so the text is refused
            return None
        duration_text = f"{days} {hours}"
    if not duration_text.strip() or _LENGTH.sub("", duration_text).strip(" ,+"):
        return None
    total_nanoseconds = Fraction(0)
    for count, word, hours, minutes, seconds in _LENGTH.findall(duration_text):
        if hours:
            total_nanoseconds += (int(hours) * 60 + int(minutes)) * 60 * 10**9 + Fraction(seconds or 0) * 10**9
        elif (unit := _WORDS.get(word) or _WORDS.get(word.removesuffix("s"))) is None:
            return None
        else:
            total_nanoseconds += Fraction(count) * unit
    return sign * total_nanoseconds


def _nanoseconds_since_1970(name: str, moment: Any, zone: str | None) -> Fraction | None:
    """Return the nanoseconds from 1970 to a date, or None if the argument is no date.

    If the graph's times have a time zone, `zone`, the date needs one too. The same times may be in UTC in one file and
    in a city's time zone in another, so a date without a zone, such as midnight, would mean different moments.
    """
    if isinstance(moment, np.datetime64):  # dates of NumPy have no time zone, and are taken as UTC
        return None if np.isnat(moment) else _numpy_nanoseconds(moment)
    text = moment
    if isinstance(moment, str):
        moment = _read_with(moment.strip(), datetime.fromisoformat, np.datetime64)
    # NumPy has read the text, because it had more digits than Python's dates can hold
    if isinstance(moment, np.datetime64):
        if zone is not None:
            raise ValueError(f"{name} is {text!r}, {_ZONELESS.format(zone=zone, date=f'{moment}+00:00')}")
        return _numpy_nanoseconds(moment)
    if isinstance(moment, date) and not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    # only the missing date of pandas (NaT) differs from itself
    if not isinstance(moment, datetime) or moment != moment:
        return None
    if moment.tzinfo is not None and zone is None:
        raise TypeError(f"{name} is {moment!s}, with a zone, and the times have none; expected a date without a zone")
    if moment.tzinfo is None and zone is not None:
        stated = moment.replace(tzinfo=_zone_object(zone)).isoformat()
        raise ValueError(f"{name} is {str(text)!r}, {_ZONELESS.format(zone=zone, date=stated)}")
    nanosecond_part = getattr(moment, "nanosecond", 0)
    moment = datetime(
        *(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond),
        tzinfo=moment.tzinfo or UTC,
        fold=moment.fold,
    )
    return Fraction(((moment - _EPOCH) // timedelta(microseconds=1)) * 1000 + nanosecond_part)


def _numpy_nanoseconds(scalar: np.datetime64 | np.timedelta64) -> Fraction:
    array = _with_plain_unit(np.array([scalar]))
    return Fraction(int(array.view(np.int64)[0]) * _NANOSECONDS[np.datetime_data(array.dtype)[0]])


# --- windows of time, and a common unit for a column of times and a column of durations -------------------------------


class Clock(NamedTuple):
    """The common unit in which the times of edges and the durations of edges are added and compared.

    The two columns may have different units, such as minutes and seconds.
    """

    type: TimeType  # the type of the times after conversion to the common unit
    per_time: int  # how many common units there are in one unit of the column of times
    per_duration: int  # how many common units there are in one unit of the column of durations
    duration: int  # the duration of every edge in common units, if there is no column of durations

    @property
    def lengths(self) -> TimeType:
        """The type of the difference of two times: a duration in the common unit."""
        return TimeType("duration", self.type.unit)

    def span(self, window: Any) -> int | None:
        """Return the length of a window of time as a number of common units. Raise ValueError if it is negative.

        The argument is a duration, or else None is returned.
        """
        if not isinstance(window, str | timedelta | np.timedelta64):
            return None
        window_length = self.lengths.number("window", window)
        if window_length < 0:
            raise ValueError(f"window is {window!r}; expected a duration of 0 or more")
        return window_length

    def bounds(self, window: Any) -> tuple[int | None, int | None]:
        """Return the first and the last time of a window of time, as numbers of common units. None stands for no bound.

        The argument is a pair (start, end). Each is a date, or None for no bound. One of the two may be a duration,
        which counts from the other.
        """
        if not isinstance(window, tuple | list) or len(window) != 2:
            expected = "(start, end), of which each is a date, a duration from the other or None, or one duration"
            raise TypeError(f"window is {window!r}; expected {expected}")
        spans = [length(end) if self.type.counts_from_1970 else None for end in window]
        window_ends = [
            None if end is None or span is not None else self.type.number(f"window[{i}]", end, up=i == 0)
            for i, (end, span) in enumerate(zip(window, spans))
        ]
        for i, span in enumerate(spans):
            if span is not None:
                if (other_end := window_ends[1 - i]) is None:
                    raise TypeError(f"window is {window!r}; expected a date for the end that {window[i]!r} counts from")
                window_ends[i] = other_end + (
                    self.lengths.number(f"window[{i}]", window[i]) if i else -self.lengths.number("", window[i])
                )
        if (
            window_ends[0] is not None
            and window_ends[1] is not None
            and window_ends[0] > window_ends[1]
            and not any(spans)
        ):
            first_nanosecond, last_nanosecond = (self.type._nanoseconds("", end) for end in window)
            if first_nanosecond > last_nanosecond:
                raise ValueError(f"window is {window!r}; expected a start that is not after the end")
        return window_ends[0], window_ends[1]


def clock_of(attributes: Any, time: str, duration: Any) -> Clock | None:
    """Return the common unit of edge times and durations, or None if the attribute `time` holds plain numbers.

    `duration` is the name of an attribute of durations, a single duration for all edges, or 0.
    """
    time_type: TimeType | None = attributes.time_types.get(time)
    is_column = isinstance(duration, str) and duration in attributes
    duration_type: TimeType | None = attributes.time_types.get(duration) if is_column else None
    if is_column and (
        (time_type is None) != (duration_type is None) or (duration_type is not None and duration_type.counts_from_1970)
    ):
        holds = duration_type or attributes.types[duration]
        expected = f"durations, as in edges[{duration!r}].astype('m8[s]')" if time_type else "numbers"
        raise TypeError(
            f"edge attribute {duration!r}, the duration, holds {holds}, and {time!r}, the time, "
            f"{time_type or attributes.types[time]}; expected {expected}"
        )
    if time_type is None:
        return None
    exact_length: Fraction = Fraction(0)
    if is_column:
        unit = min(time_type.unit, duration_type.unit, key=_NANOSECONDS.__getitem__)  # type: ignore[union-attr]
    else:
        parsed_length = Fraction(0) if isinstance(duration, int | float) and duration == 0 else length(duration)
        if parsed_length is None and isinstance(duration, str):
            attributes.require(duration, "duration")
        if parsed_length is None:
            error = ValueError if isinstance(duration, float | int) else TypeError
            raise error(f"duration is {duration!r}; expected a duration, {_LENGTHS}, as {time!r} holds {time_type}")
        exact_length = parsed_length
        if exact_length < 0:
            raise ValueError(f"duration is {duration!r}; expected 0 or more")
        units = [unit for unit, count in _NANOSECONDS.items() if count <= _NANOSECONDS[time_type.unit]]
        unit = next((unit for unit in units if exact_length % _NANOSECONDS[unit] == 0), "ns")
    own_per, other_per = (
        _NANOSECONDS[(typed or time_type).unit] // _NANOSECONDS[unit] for typed in (time_type, duration_type)
    )
    return Clock(time_type.in_unit(unit), own_per, other_per, int(exact_length // _NANOSECONDS[unit]))
