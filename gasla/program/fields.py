"""What a program declares: fields of vertices and edges, parameters, aggregates; and which hooks it may have."""

import functools
import inspect
import reprlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import CodeType
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

import semirings
from gasla.names import LONGEST, inner, meant
from gasla.program.options import Option, resolved, specialized
from semirings import Expr, Monoid, Symbol, VectorType
from semirings.expr import cast_expr, in_order
from semirings.types import SHORT, has_wide, parts_of

__all__ = ["ID", "aggregate", "edge", "parameter", "vertex"]

Order = Literal["synchronous", "in place"]
MOST_ITEMS = 30  # of a tuple, or results: each is a variable of its own in what is compiled
MOST_LANES = 1024  # of a vector


class _Id:
    """Stands for the graph's own vertex id type: int32 where the ids fit, else int64."""

    def __repr__(self) -> str:
        return "gasla.ID"

    def __reduce__(self) -> str:
        return "ID"  # a copy is the very same, as it is compared by identity


ID = _Id()


@dataclass(frozen=True)
class VertexField:
    """A value that every vertex holds: its type, how it starts, and what stands for that of a vertex there isn't."""

    type: Any
    init: Any
    missing: Any = None
    when: Any = True


@dataclass(frozen=True)
class EdgeField:
    """A value that every edge holds. Without `init` it is the matrix's own value, and can't be written."""

    type: Any
    init: Any = None
    when: Any = True

    @property
    def is_value(self) -> bool:
        return self.init is None


@dataclass(frozen=True)
class Parameter:
    """A number fixed for a run: changing it compiles nothing."""

    type: Any
    default: Any


@dataclass(frozen=True)
class Aggregate:
    """A reduction, over the vertices that an iteration applied to, which the next iteration can read.

    With `at`, a function of a vertex, there is one for each vertex that this names.
    """

    monoid: Monoid
    type: Any
    function: Callable[..., Any]
    at: Callable[..., Any] | None = None
    when: Any = True


class Declared:
    """What the class of a program declares, or its bases do: all that tracing looks at beside the functions."""

    reduce: ClassVar[Any] = None
    direction: ClassVar[Literal["in", "out", "all"]] = "in"
    sources: ClassVar[Literal["all", "active"]] = "all"
    everyone: ClassVar[bool] = False
    order: ClassVar[Order] = "synchronous"
    _most: ClassVar[dict[str, int]] = {}  # of fields that are known to hold numbers from 0 to this one

    _hooks: ClassVar[dict[str, tuple[str, ...]]] = {}  # functions that may be written, and their parameters beside self
    _settings: ClassVar[set[str]] = set()  # other members that mean something
    _kept: ClassVar[dict[str, str]] = {}  # other names that no field may have, and why
    _kept_of_edges: ClassVar[dict[str, str]] = {}  # and no field of an edge

    vertex_fields: ClassVar[dict[str, VertexField]] = {}
    edge_fields: ClassVar[dict[str, EdgeField]] = {}
    parameters: ClassVar[dict[str, Parameter]] = {}
    aggregates: ClassVar[dict[str, Aggregate]] = {}
    options: ClassVar[dict[str, Option]] = {}  # those that have no value yet
    _chosen: ClassVar[dict[str, Any]] = {}  # the values of the others
    _defaults: ClassVar[dict[str, Any]] = {}  # of the parameters

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            members.update(vars(base))
        for name, member in members.items():
            if isinstance(member, VertexField | EdgeField | Parameter | Aggregate | Option):
                members[name] = resolved(member, members)
                if members[name] is not member:
                    setattr(cls, name, members[name])
        cls.options = {k: v for k, v in members.items() if isinstance(v, Option) and v.name == k}
        cls.vertex_fields = {k: v for k, v in members.items() if isinstance(v, VertexField)}
        cls.edge_fields = {k: v for k, v in members.items() if isinstance(v, EdgeField)}
        cls.parameters = {k: v for k, v in members.items() if isinstance(v, Parameter)}
        cls.aggregates = {k: v for k, v in members.items() if isinstance(v, Aggregate)}
        cls._defaults = {k: v.default for k, v in cls.parameters.items()}

    def __init__(self, /, **values: Any) -> None:
        if self.options:
            self.__class__ = specialized(type(self), self.options, values)
            values = {name: value for name, value in values.items() if name not in self._chosen}
        self.values = self._defaults | values
        if len(self.values) > len(self._defaults):
            raise self._unknown(min(values.keys() - self.parameters.keys()))

    def _unknown(self, given: str) -> TypeError:
        """What to say of a value for what is no parameter."""
        name, chosen = type(self).__name__, self._chosen
        if given in chosen:
            return TypeError(f"{name}.{given} is {chosen[given]!r} in this class; expected no other value")
        options = f"; its options: {', '.join(chosen)}" if chosen else ""
        known = ", ".join(self.parameters) or "none"
        return TypeError(f"{name} has no parameter {given!r}; its parameters: {known}{options}")

    @classmethod
    def _kept_names(cls) -> dict[str, str]:
        """The names that no field, parameter, aggregate or option of such a program may have, and why each is kept."""
        kind: Any = next(base for base in cls.__mro__ if "_hooks" in vars(base))
        own = {name: "it is an attribute of every program" for name in dir(kind) if not name.startswith("_")}
        functions = dict.fromkeys(kind._hooks, "it is a function that a program may have")
        return {**own, **kind._kept, **dict.fromkeys(kind._settings, "it is a setting of every program"), **functions}

    @classmethod
    def _check_names(cls) -> None:
        """Refuse names of fields that mean something else in programs of this kind, or that are too long."""
        kept = cls._kept_names()
        options = cls.options.keys() - cls._settings
        for name in (*cls.vertex_fields, *cls.edge_fields, *cls.parameters, *cls.aggregates, *options):
            of_edge = cls._kept_of_edges if name in cls.edge_fields else {}
            if why := "it begins with _" if name.startswith("_") else kept.get(name) or of_edge.get(name):
                raise ValueError(
                    f"{cls.__name__}.{name}: {'of an edge ' if name in of_edge else ''}this name is gasla's own, as "
                    f"{why}; choose another, such as {'my_' + (name.strip('_') or 'value')!r}. gasla keeps these: "
                    f"{', '.join(sorted({*kept, *of_edge}))}"
                )
            if len(inner(name)) > LONGEST:
                raise ValueError(f"{cls.__name__}.{name}: this name is too long; choose a shorter one")


def check_spelling(program: type[Declared]) -> None:
    """Refuse a name that is nearly a hook's or a setting's, and that no function of the program reads."""
    kind = next(base for base in program.__mro__ if "_hooks" in vars(base))
    own: dict[str, Any] = {}
    for base in reversed(program.__mro__):
        own |= {} if base in kind.__mro__ else vars(base)
    words = program._hooks.keys() | program._settings
    known = {*words, *program.vertex_fields, *program.edge_fields, *program.parameters, *program.aggregates}
    known |= program.options.keys() | program._chosen.keys()
    read: set[str] = set().union(*(_names_in(getattr(member, "function", member)) for member in own.values()))
    for name in own.keys() - known - read:
        if not name.startswith("_") and (hint := meant(name, words, 0.8)):
            raise TypeError(
                f"{program.__name__}.{name}: no hook and no setting is called {name!r}{hint} Helpers are called by "
                "hooks, or have names that are less like one"
            )


def check_parameters(where: str, function: Callable[..., Any], expected: tuple[str, ...]) -> None:
    """Refuse a function that can't be called with self and as many values as are expected."""
    signature = inspect.signature(function)
    try:
        signature.bind(None, *expected)
    except TypeError:
        raise TypeError(f"{where} takes {signature}; expected ({', '.join(('self', *expected))})") from None


def _names_in(function: Any) -> set[str]:
    """What a function reads of other things, and what functions within it do."""
    code = function if isinstance(function, CodeType) else getattr(function, "__code__", None)
    if code is None:
        return set()
    return {*code.co_names}.union(*(_names_in(part) for part in code.co_consts if isinstance(part, CodeType)))


P = TypeVar("P", bound=Declared)


def as_instance(kind: type[P], given: Any) -> P:
    """A program of a kind, or one of a class of these with its parameters as they are by default."""
    program = given() if isinstance(given, type) else given
    if not isinstance(program, kind):
        raise TypeError(f"program is {program!r}; expected a gasla.{kind.__name__}, or a class of it")
    return program


def vertex(dtype: Any, init: Any = 0, missing: Any = None, when: Any = True) -> Any:
    """Declare a field of the vertices.

    Parameters
    ----------
    dtype : dtype-like, (dtype, (k,)), or gasla.ID
        Type of the field; with a shape, each vertex holds a vector of that length, at most 1024. float16 is a type to
        store numbers in: functions see float32.
    init : number, or function of a vertex
        What it holds at the start. A function receives a record with `id`, `in_degree` and `out_degree`.
    missing : number, optional
        What `self.at(index)` gives of it where there is no such vertex; a field that is read so must have it.
    when : option, optional
        The field is there only where this `gasla.option` of the program is true.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Reach(gasla.VertexProgram):
    ...     level = gasla.vertex(np.int32, init=-1)
    """
    return VertexField(dtype, init, missing, when)


def edge(dtype: Any, init: Any = None, when: Any = True) -> Any:
    """Declare a field of the edges: the matrix's values, or a state that `scatter` may write.

    Parameters
    ----------
    dtype : dtype-like, or (dtype, (k,))
        Type of the field. The matrix's values are converted to it within their kind: floats to any floats (float64
        to float32 rounds), integers to any floats, and to integers that hold them; never floats to integers.
    init : number, optional
        What a state holds at the start; without it the field is the matrix's values.
    when : option, optional
        The field is there only where this `gasla.option` of the program is true.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Flow(gasla.VertexProgram):
    ...     capacity = gasla.edge(np.float32)
    ...     flow = gasla.edge(np.float32, init=0)
    """
    return EdgeField(dtype, init, when)


def parameter(dtype: Any, default: Any) -> Any:
    """Declare a number that a run may set: `Program(name=value)`.

    Parameters
    ----------
    dtype : dtype-like, or gasla.ID
        Type of the number. What is given is refused where that would turn it into another: an integer takes no
        fractions and nothing out of its range, as with start values of fields.
    default : number

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Decay(gasla.VertexProgram):
    ...     rate = gasla.parameter(np.float64, 0.5)
    >>> Decay(rate=0.9).values
    {'rate': 0.9}
    """
    return Parameter(dtype, default)


def aggregate(
    monoid: Monoid, dtype: Any = np.float64, at: Callable[..., Any] | None = None, when: Any = True
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a reduction over vertices: decorates a method of (before, after), the vertex's two states.

    Within the program `self.name` is what the last iteration gave: the reduction over the vertices that received in it,
    which are all with ``everyone = True`` and no mask. Before the first iteration it is the reduction over all vertices
    of the initial state, with before and after the same.

    Parameters
    ----------
    monoid : semirings.Monoid
        What reduces the values of all vertices.
    dtype : dtype-like
        Type of the result.
    at : function of (self, vertex), optional
        At which vertex each reduces: the id of one, seen as the vertex is after apply. Then there are as many results
        as vertices, which `self.at(index).name` reads, and the run's result has as an array; each is the monoid's
        identity where nobody has named it, and outside 0 … n-1. With `deterministic=True` no sums of floats.
    when : option, optional
        The aggregate is there only where this `gasla.option` of the program is true.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Settling(gasla.VertexProgram):
    ...     level = gasla.vertex(np.float64)
    ...     @gasla.aggregate(semirings.plus)
    ...     def change(self, before, after): return abs(after.level - before.level)
    ...     def stop(self): return self.change < 1e-6
    >>> class Groups(gasla.VertexProgram):  # how many are in a vertex's own group
    ...     everyone = True
    ...     size = gasla.vertex(np.int64)
    ...     @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.id % 3)
    ...     def count(self, before, after): return 1
    ...     def apply(self, vertex, _): return {"size": self.at(vertex.id % 3).count}
    >>> gasla.run(Groups(), gasla.Graph.from_edges([], [], n=8), max_iterations=1).size
    array([3, 3, 2, 3, 3, 2, 3, 3])
    """
    given: Any = monoid
    if inspect.isfunction(given):
        raise TypeError(
            f"the monoid of an aggregate is {monoid!r}; expected one before the function, as in "
            "@gasla.aggregate(semirings.plus)"
        )
    if inspect.isfunction(dtype):
        raise TypeError(
            f"the type of an aggregate is {dtype!r}; expected one such as np.float64: the function comes behind, as in "
            "gasla.aggregate(semirings.plus)(function)"
        )
    return lambda function: Aggregate(monoid, dtype, function, at, when)


def check_start(program: type, name: str, given: Any, kind: Any, verb: str = "starts with") -> None:
    """Refuse numbers that the type of a field or a parameter would turn into others: fractions, and those out of range.

    `verb` is what the message says between the name and what was given.
    """
    bounds, base = bounds_of(kind), kind.scalar if isinstance(kind, VectorType) else kind
    if bounds is None:
        return
    low, high = bounds
    if not (low <= given <= high if type(given) is int else _are_within(given, low, high, base)):
        raise ValueError(
            f"{program.__name__}.{name} {verb} {reprlib.repr(given)}; expected what {base} holds, whole numbers "
            f"from {low} to {high}"
        )


def _are_within(given: Any, low: int, high: int, kind: np.dtype) -> bool:
    """Whether numbers are whole and not out of bounds; what else there may be is for others to refuse."""
    array: Any = given if hasattr(given, "dtype") else np.asarray(given)
    if array.dtype.kind not in "iuf" or array.size == 0 or np.can_cast(array.dtype, kind, "safe"):
        return True
    least, most = array.min().item(), array.max().item()  # Python's numbers, whose comparisons are exact
    return bool(low <= least and most <= high) and (array.dtype.kind != "f" or not (array % 1).any())


@functools.cache
def bounds_of(kind: Any) -> tuple[int, int] | None:
    """The least and the largest number of a field's type; None of one that takes any number for one near it."""
    base = kind.scalar if isinstance(kind, VectorType) else kind
    if base.kind == "f":
        return None
    if base.kind == "b":
        return 0, 1
    limits = np.iinfo(base)
    return int(limits.min), int(limits.max)


# --- how much is taken at once ---------------------------------------------------------------------------------------


def check_length(what: str, kind: Any) -> None:
    """Refuse vectors and tuples, and dicts of results, of more items than engines take."""
    parts = list(kind) if isinstance(kind, dict) else parts_of(kind)
    if len(parts) > MOST_ITEMS:
        raise TypeError(
            f"{what}: {len(parts)} together; expected at most {MOST_ITEMS}, "
            "as each is a variable of its own in what is compiled"
        )
    longest = max((part.length for part in parts if isinstance(part, VectorType)), default=0)
    if longest > MOST_LANES:
        raise TypeError(
            f"{what}: a vector of {longest} items; expected at most {MOST_LANES}, "
            "as threads hold whole vectors near: take some of them at a time, in a run for each"
        )


def check_lanes(program: type[Declared], kind: Any) -> None:
    """Refuse a monoid that combines an item of a wide vector with others of the same vector."""
    combined = semirings.as_expr(program.reduce.combine(Symbol("x", kind), Symbol("y", kind)))
    for e in in_order(combined):
        reads_whole = e.op == "fold" or (e.op == "item" and getattr(e.args[0].type, "is_wide", False))
        if reads_whole and semirings.free_symbols(e):
            raise TypeError(
                f"{program.__name__} reduces {kind} by monoid {program.reduce.name}, which looks at {e}; expected one "
                f"that combines each lane of a vector of more than {SHORT} items for itself"
            )


# --- other vertices --------------------------------------------------------------------------------------------------


def as_index(where: str, index: Any, asked: str = "self.at") -> Expr:
    """The id of a vertex that a function names, as int64; `asked` is what it names it to."""
    found = semirings.as_expr(index) if isinstance(index, int | np.integer) else index
    if not isinstance(found, Expr) or getattr(found.type, "kind", "") not in tuple("iu"):
        what = f"{found}, of type {found.type}" if isinstance(found, Expr) else repr(index)
        raise TypeError(f"{where} asks for {asked}({what}); expected a whole number, the id of a vertex")
    return cast_expr(found, np.dtype(np.int64))


def check_missing(program: type, name: str, missing: Any, kind: Any) -> None:
    """Refuse what is no value of the field."""
    shape = (kind.length,) if isinstance(kind, VectorType) else ()
    if callable(missing) or np.shape(missing) not in ((), shape) or np.asarray(missing).dtype.kind not in "biuf":
        raise TypeError(f"{program.__name__}.{name} has missing={missing!r}; expected a value of type {kind}")
    check_start(program, name, missing, kind, "is, where missing,")


def check_other(where: str, name: str, kind: Any, missing: Any) -> None:
    """Refuse to read of another vertex what is wide, or what nothing says the value of outside."""
    if has_wide(kind):
        raise TypeError(
            f"{where} reads {name!r} of another vertex, a vector of {kind.length} items; expected at most {SHORT}: "
            "read the rest from another field"
        )
    if missing is None:
        raise TypeError(
            f"{where} reads {name!r} of another vertex, and nothing says what it is where there is no such vertex; "
            "declare it: gasla.vertex(dtype, missing=…)"
        )


def refuse_degree(where: str, name: str) -> Any:
    """Say what to do instead of reading it of another vertex."""
    raise TypeError(
        f"{where} reads {name} of another vertex; hold it in a field, and read that: "
        f"gasla.vertex(np.int64, init=lambda v: v.{name}, missing=0)"
    )


def refuse_others(where: str, read: Collection[str]) -> None:
    """Refuse what may change while a vertex waits for its turn, without being its own."""
    if read:
        raise ValueError(
            f"{where} reads {min(read)!r} of another vertex; expected fields of the vertex, parameters and self.n alone"
        )
