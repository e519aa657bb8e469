"""Functions that declare a program's fields, parameters and aggregates, and checks of these declarations."""

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
from semirings import Expr, Monoid, VectorType
from semirings.expr import cast_expr, in_order
from semirings.types import SHORT, has_wide, parts_of

__all__ = ["ID", "aggregate", "edge", "parameter", "vertex"]

Order = Literal["synchronous", "in place"]
# The largest number of items of a tuple, and of fields that a function may return. It is limited because each of them
# is a variable in compiled code.
MOST_ITEMS = 30
MOST_LANES = 1024  # largest number of items of a vector field, limited because each thread holds a whole vector


class _Id:
    """The type of the graph's vertex ids: int32 where the ids fit, else int64."""

    def __repr__(self) -> str:
        return "gasla.ID"

    def __reduce__(self) -> str:
        # Pickle stores this name, so that copying and unpickling give the object ID itself, with which types are
        # compared by `is`.
        return "ID"


ID = _Id()


@dataclass(frozen=True)
class VertexField:
    """The declaration of a value that every vertex has: its type, start value, and default for indices out of range."""

    type: Any
    init: Any
    missing: Any = None
    when: Any = True


@dataclass(frozen=True)
class EdgeField:
    """The declaration of a value that every edge has.

    Without `init` it is read-only, and is the matrix's value or an edge attribute.
    """

    type: Any
    init: Any = None
    when: Any = True
    attribute: str | None = None

    @property
    def is_value(self) -> bool:
        return self.init is None


@dataclass(frozen=True)
class Parameter:
    """The declaration of a number that is constant in a run.

    The number may change between runs, without compiling the program again.
    """

    type: Any
    default: Any


@dataclass(frozen=True)
class Aggregate:
    """The declaration of a reduction over the vertices that received in an iteration.

    Functions can read the result in the next iteration. `at` is a function that returns an id for a vertex. With
    `at` there is one reduction per id, over the vertices for which `at` returns this id.
    """

    monoid: Monoid
    type: Any
    function: Callable[..., Any]
    at: Callable[..., Any] | None = None
    when: Any = True


class Declared:
    """Base of program classes: collects the declarations of a class and its bases, and sets parameters and options."""

    reduce: ClassVar[Any] = None
    direction: ClassVar[Literal["in", "out", "all"]] = "in"
    sources: ClassVar[Literal["all", "active"]] = "all"
    everyone: ClassVar[bool] = False
    order: ClassVar[Order] = "synchronous"
    # largest value of fields that hold only numbers from 0 to this value, by field; compilers use it as a bound
    _most: ClassVar[dict[str, int]] = {}
    # The next three attributes are set only in programs that `gasla.program.part` derives from a user's program, to run
    # on one rank's part of a graph.
    _whole: ClassVar[Any] = None  # the traced program for the whole graph, from which the program for a part is derived
    # names of functions, such as `stop`, that a part's program lacks because all ranks call them together
    _decided: ClassVar[tuple[str, ...]] = ()
    # names of parameters that may differ between iterations; all other parameters are constant in a run
    _changing: ClassVar[tuple[str, ...]] = ()

    # names of the functions that a program may define, each with the names of its arguments
    _hooks: ClassVar[dict[str, tuple[str, ...]]] = {}
    # names of class attributes that say how a program runs, such as `reduce` and `direction`
    _settings: ClassVar[set[str]] = set()
    # further names that fields may not have, as gasla uses them, each with the reason that errors give
    _kept: ClassVar[dict[str, str]] = {}
    # names that vertex fields may have but edge fields may not, each with the reason that errors give
    _kept_of_edges: ClassVar[dict[str, str]] = {}

    vertex_fields: ClassVar[dict[str, VertexField]] = {}
    edge_fields: ClassVar[dict[str, EdgeField]] = {}
    parameters: ClassVar[dict[str, Parameter]] = {}
    aggregates: ClassVar[dict[str, Aggregate]] = {}
    # declared options, by name; empty in a subclass in which each option has a value
    options: ClassVar[dict[str, Option]] = {}
    # values of the options, by name, in a subclass in which each option has a value
    _chosen: ClassVar[dict[str, Any]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}  # default values of the parameters

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
            raise self._unknown_argument_error(min(values.keys() - self.parameters.keys()))

    def _unknown_argument_error(self, argument: str) -> TypeError:
        """Return the error for a keyword argument, with the name `argument`, that is not a parameter of the program."""
        name, option_values = type(self).__name__, self._chosen
        if argument in option_values:
            return TypeError(f"{name}.{argument} is {option_values[argument]!r} in this class; expected no other value")
        options = f"; its options: {', '.join(option_values)}" if option_values else ""
        parameter_names = ", ".join(self.parameters) or "none"
        return TypeError(f"{name} has no parameter {argument!r}; its parameters: {parameter_names}{options}")

    @classmethod
    def _kept_names(cls) -> dict[str, str]:
        """Return the names that a program may not give to its fields, parameters and aggregates, because gasla uses
        them.

        The values are reasons for error messages. The names depend on the base class, such as `VertexProgram`.
        """
        base_class: Any = next(base for base in cls.__mro__ if "_hooks" in vars(base))
        attributes = {
            name: "it is an attribute of every program" for name in dir(base_class) if not name.startswith("_")
        }
        functions = dict.fromkeys(base_class._hooks, "it is a function that a program may have")
        return {
            **attributes,
            **base_class._kept,
            **dict.fromkeys(base_class._settings, "it is a setting of every program"),
            **functions,
        }

    @classmethod
    def _check_names(cls) -> None:
        """Raise an error if a field, parameter or aggregate of the program has a name that is reserved or too long."""
        reserved = cls._kept_names()
        options = cls.options.keys() - cls._settings
        for name in (*cls.vertex_fields, *cls.edge_fields, *cls.parameters, *cls.aggregates, *options):
            of_edge = cls._kept_of_edges if name in cls.edge_fields else {}
            if reason := "it begins with _" if name.startswith("_") else reserved.get(name) or of_edge.get(name):
                raise ValueError(
                    f"{cls.__name__}.{name}: {'of an edge ' if name in of_edge else ''}this name is gasla's own, as "
                    f"{reason}; choose another, such as {'my_' + (name.strip('_') or 'value')!r}. gasla keeps these: "
                    f"{', '.join(sorted({*reserved, *of_edge}))}"
                )
            if len(inner(name)) > LONGEST:
                raise ValueError(f"{cls.__name__}.{name}: this name is too long; choose a shorter one")


def check_spelling(program: type[Declared]) -> None:
    """Raise TypeError if a member of the program has a name that looks like a misspelled hook or setting.

    A hook is a function that gasla calls, such as `gather`. Members whose names occur in the code of the
    program's functions are helpers, and pass.
    """
    base_class = next(base for base in program.__mro__ if "_hooks" in vars(base))
    members: dict[str, Any] = {}
    for base in reversed(program.__mro__):
        members |= {} if base in base_class.__mro__ else vars(base)
    reserved = program._hooks.keys() | program._settings
    known_names = {*reserved, *program.vertex_fields, *program.edge_fields, *program.parameters, *program.aggregates}
    known_names |= program.options.keys() | program._chosen.keys()
    names_read: set[str] = set().union(*(_names_in(getattr(member, "function", member)) for member in members.values()))
    for name in members.keys() - known_names - names_read:
        if not name.startswith("_") and (hint := meant(name, reserved, 0.8)):
            raise TypeError(
                f"{program.__name__}.{name}: no hook and no setting is called {name!r}{hint} Helpers are called by "
                "hooks, or have names that are less like one"
            )


def check_parameters(where: str, function: Callable[..., Any], expected: tuple[str, ...]) -> None:
    """Raise TypeError if a user's function can't be called with `self` and the arguments that gasla passes to it.

    `expected` has the names of these arguments, and `where` the function's name for the error message.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(None, *expected)
    except TypeError:
        raise TypeError(f"{where} takes {signature}; expected ({', '.join(('self', *expected))})") from None


def _names_in(function: Any) -> set[str]:
    """Return the names of globals and attributes that a function's code uses, including its nested functions."""
    code = function if isinstance(function, CodeType) else getattr(function, "__code__", None)
    if code is None:
        return set()
    return {*code.co_names}.union(
        *(_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    )


P = TypeVar("P", bound=Declared)


def as_instance(kind: type[P], given: Any) -> P:
    """Return the given program, or an instance of the given program class with default parameters.

    Raise TypeError if the argument is not a program of the class `kind`, such as `VertexProgram`.
    """
    program = given() if isinstance(given, type) else given
    if not isinstance(program, kind):
        raise TypeError(f"program is {program!r}; expected a gasla.{kind.__name__}, or a class of it")
    return program


def vertex(dtype: Any, init: Any = 0, missing: Any = None, when: Any = True) -> Any:
    """Declare a field of the vertices.

    Parameters
    ----------
    dtype : dtype-like, (dtype, (k,)), or gasla.ID
        Type of the field; with a shape, each vertex holds a vector of that length, at most 1024. float16 is a storage
        type: functions see float32.
    init : number, or function of a vertex
        Start value. A function receives a record with `id`, `in_degree`, `out_degree` and the graph's
        `vertex_attributes`, as whole arrays: ``init=lambda vertex: vertex.population``.
    missing : number, optional
        Value of the field in `self.at(index)` for an index out of range. Required for fields that are read that way.
    when : option, optional
        The field is there only where this `gasla.option` of the program is true.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Reach(gasla.VertexProgram):
    ...     level = gasla.vertex(np.int32, init=-1)
    """
    return VertexField(dtype, init, missing, when)


def edge(dtype: Any, init: Any = None, when: Any = True, attribute: str | None = None) -> Any:
    """Declare a field of the edges: the matrix's values, an attribute, or state that `scatter` writes.

    Parameters
    ----------
    dtype : dtype-like, or (dtype, (k,))
        Type of the field. The matrix's values are converted: floats to any float type (float64 to float32 rounds),
        integers to any float type or to an integer type that holds them; never floats to integers.
    init : number, optional
        Start value of edge state. Without it the field holds the matrix's values and is read-only.
    when : option, optional
        The field is there only where this `gasla.option` of the program is true.
    attribute : str, optional
        The field holds this one of the graph's `edge_attributes` instead of the matrix's values, converted as they are.
        It is read-only.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Flow(gasla.VertexProgram):
    ...     capacity = gasla.edge(np.float32)
    ...     opens = gasla.edge(np.int64, attribute="time")
    ...     flow = gasla.edge(np.float32, init=0)
    """
    if attribute is not None and (not isinstance(attribute, str) or init is not None):
        raise TypeError(
            f"attribute is {attribute!r} and init is {init!r}; expected the name of an edge attribute without init, or "
            "init without attribute"
        )
    return EdgeField(dtype, init, when, attribute)


def parameter(dtype: Any, default: Any) -> Any:
    """Declare a number that a run may set: `Program(name=value)`.

    Parameters
    ----------
    dtype : dtype-like, or gasla.ID
        Type of the number. As with start values of fields, an integer type refuses fractions and values out of range.
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
    """Declare a reduction over vertices: decorates a method of (before, after), a vertex before and after apply.

    Within the program `self.name` is the value of the last iteration: the reduction over the vertices that received in
    it, which are all vertices with ``everyone = True`` and no mask. In the first iteration it is the reduction over all
    vertices of the initial state, with equal before and after, and with 0 for any aggregate that a function reads.

    Parameters
    ----------
    monoid : semirings.Monoid
        Reduces the values of the vertices.
    dtype : dtype-like
        Type of the result.
    at : function of (self, vertex), optional
        The id of the vertex at which this vertex's value is reduced, computed from its state after apply. The aggregate
        then has one value per vertex: `self.at(index).name` reads it, and the run's result has the array. A vertex that
        no other names, and an index out of range, have the monoid's identity. Sums of floats can't be reduced this way
        with `deterministic=True`.
    when : option, optional
        The aggregate exists only if this `gasla.option` of the program is true.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Settling(gasla.VertexProgram):
    ...     level = gasla.vertex(np.float64)
    ...     @gasla.aggregate(semirings.plus)
    ...     def change(self, before, after): return abs(after.level - before.level)
    ...     def stop(self): return self.change < 1e-6
    >>> class Groups(gasla.VertexProgram):  # size of each vertex's group
    ...     everyone = True
    ...     size = gasla.vertex(np.int64)
    ...     @gasla.aggregate(semirings.plus, np.int64, at=lambda self, vertex: vertex.id % 3)
    ...     def count(self, before, after): return 1
    ...     def apply(self, vertex, _): return {"size": self.at(vertex.id % 3).count}
    >>> gasla.run(Groups(), gasla.Graph.from_edges([], [], n=8), max_iterations=1).size
    array([3, 3, 2, 3, 3, 2, 3, 3])
    """
    decorated: Any = monoid
    if inspect.isfunction(decorated):
        raise TypeError(
            f"the monoid of an aggregate is {monoid!r}; expected a monoid in front of the function, as in "
            "@gasla.aggregate(semirings.plus)"
        )
    if inspect.isfunction(dtype):
        raise TypeError(
            f"the type of an aggregate is {dtype!r}; expected a type such as np.float64, then the function, as in "
            "gasla.aggregate(semirings.plus)(function)"
        )
    return lambda function: Aggregate(monoid, dtype, function, at, when)


def check_start(program: type, name: str, given: Any, kind: Any, verb: str = "starts with") -> None:
    """Raise ValueError if a field or parameter can't hold the given numbers, such as fractions in an integer field.

    `verb` stands between the name and the given value in the message.
    """
    bounds, base = bounds_of(kind), kind.scalar if isinstance(kind, VectorType) else kind
    if bounds is None:
        return
    smallest, largest = bounds
    if not (smallest <= given <= largest if type(given) is int else _are_within(given, smallest, largest, base)):
        raise ValueError(
            f"{program.__name__}.{name} {verb} {reprlib.repr(given)}; expected values of {base}, whole numbers "
            f"from {smallest} to {largest}"
        )


def _are_within(start_value: Any, lowest: int, highest: int, dtype: np.dtype) -> bool:
    """Return whether all start values in `start_value` are whole numbers from `lowest` to `highest`, so that an integer
    field can hold them.

    Return True also for values that are not numbers, because other checks refuse those.
    """
    array: Any = start_value if hasattr(start_value, "dtype") else np.asarray(start_value)
    if array.dtype.kind not in "iuf" or array.size == 0 or np.can_cast(array.dtype, dtype, "safe"):
        return True
    # Converted to Python's numbers, because comparing these with `lowest` and `highest` never rounds.
    smallest, largest = array.min().item(), array.max().item()
    return bool(lowest <= smallest and largest <= highest) and (array.dtype.kind != "f" or not (array % 1).any())


@functools.cache
def bounds_of(kind: Any) -> tuple[int, int] | None:
    """Return the smallest and the largest number that a field of type `kind` can hold.

    Return None for floats, to which any number can be rounded.
    """
    base = kind.scalar if isinstance(kind, VectorType) else kind
    if base.kind == "f":
        return None
    if base.kind == "b":
        return 0, 1
    limits = np.iinfo(base)
    return int(limits.min), int(limits.max)


# --- checks of sizes: items of tuples and of vectors ------------------------------------------------------------------


def check_length(what: str, kind: Any) -> None:
    """Raise TypeError for vectors, tuples and dicts of results that have more items than the engines support."""
    components = list(kind) if isinstance(kind, dict) else parts_of(kind)
    if len(components) > MOST_ITEMS:
        raise TypeError(
            f"{what}: {len(components)} together; expected at most {MOST_ITEMS}, as each is a variable in compiled code"
        )
    longest = max((component.length for component in components if isinstance(component, VectorType)), default=0)
    if longest > MOST_LANES:
        raise TypeError(
            f"{what}: a vector of {longest} items; expected at most {MOST_LANES}, "
            "as each thread holds a whole vector: split the vector over several runs"
        )


def check_lanes(program: type[Declared], kind: Any) -> None:
    """Raise TypeError if the program's monoid computes an item of a wide vector from other items of the vector.

    A wide vector has more than 8 items. It is reduced item by item, so no item may depend on another.
    """
    combination = program.reduce.combination(kind)
    for e in in_order(combination):
        reads_whole = e.op == "fold" or (e.op == "item" and getattr(e.args[0].type, "is_wide", False))
        if reads_whole and semirings.free_symbols(e):
            raise TypeError(
                f"{program.__name__} reduces {kind} by monoid {program.reduce.name}, which looks at {e}; expected one "
                f"that combines each item of a vector of more than {SHORT} items on its own"
            )


# --- checks of reads at other vertices, by self.at --------------------------------------------------------------------


def as_index(where: str, index: Any, asked: str = "self.at") -> Expr:
    """Return a vertex id that a user's function has computed, as an int64 expression. Raise TypeError for other values.

    `asked` is the call that takes the id, such as "self.at", for error messages.
    """
    expression = semirings.as_expr(index) if isinstance(index, int | np.integer) else index
    if not isinstance(expression, Expr) or getattr(expression.type, "kind", "") not in tuple("iu"):
        index_text = f"{expression}, of type {expression.type}" if isinstance(expression, Expr) else repr(index)
        raise TypeError(f"{where} calls {asked}({index_text}); expected a whole number, a vertex id")
    return cast_expr(expression, np.dtype(np.int64))


def check_missing(program: type, name: str, missing: Any, kind: Any) -> None:
    """Raise TypeError if a vertex field's `missing`, its value for indices out of range, is not of the field's type."""
    shape = (kind.length,) if isinstance(kind, VectorType) else ()
    if callable(missing) or np.shape(missing) not in ((), shape) or np.asarray(missing).dtype.kind not in "biuf":
        raise TypeError(f"{program.__name__}.{name} has missing={missing!r}; expected a value of type {kind}")
    check_start(program, name, missing, kind, "is, where missing,")


def check_other(where: str, name: str, kind: Any, missing: Any) -> None:
    """Raise TypeError if a user's function reads a field of another vertex, by `self.at`, that can't be read in this
    way.

    Such a field is a vector of more than 8 items, or has no value (`missing`) for indices out of range.
    """
    if has_wide(kind):
        raise TypeError(
            f"{where} reads {name!r} of another vertex, a vector of {kind.length} items; expected at most {SHORT}: "
            "read the rest from another field"
        )
    if missing is None:
        raise TypeError(
            f"{where} reads {name!r} of another vertex, and the field has no value for an index out of range; "
            "declare it: gasla.vertex(dtype, missing=…)"
        )


def refuse_degree(where: str, name: str) -> Any:
    """Raise an error for a function that reads the in-degree or out-degree of another vertex by `self.at`.

    The error says what to write instead.
    """
    raise TypeError(
        f"{where} reads {name} of another vertex; hold it in a field, and read that: "
        f"gasla.vertex(np.int64, init=lambda v: v.{name}, missing=0)"
    )


def refuse_others(where: str, read: Collection[str]) -> None:
    """Raise ValueError if `priority` or `bucket` reads fields of other vertices.

    `read` are the names of these fields. The result of such a function must not change while its vertex waits.
    """
    if read:
        raise ValueError(
            f"{where} reads {min(read)!r} of another vertex; expected fields of the vertex, parameters and self.n alone"
        )
