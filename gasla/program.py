"""Vertex programs: what a person writes, and what an engine reads from it.

A program is a class with fields (`vertex`, `edge`, `parameter`, `aggregate`) and a few ordinary Python functions over
them. `VertexProgram.traced` calls each function once with symbols in place of values; the typed expressions that come
back are all that an engine ever sees. The same functions work on NumPy arrays.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

import semirings
from semirings import Expr, Monoid, Symbol, TupleType, VectorType

__all__ = ["ID", "VertexProgram", "aggregate", "edge", "parameter", "vertex"]


class _Id:
    """Stands for the graph's own vertex id type: int32 where the ids fit, else int64."""

    def __repr__(self) -> str:
        return "gasla.ID"


ID = _Id()

_RESERVED = {"id", "in_degree", "out_degree", "iteration", "n"}


@dataclass(frozen=True)
class VertexField:
    """A value that every vertex holds: its type, and how it starts."""

    type: Any
    init: Any


@dataclass(frozen=True)
class EdgeField:
    """A value that every edge holds. Without `init` it is the matrix's own value, and can't be written."""

    type: Any
    init: Any = None

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
    """A reduction, over the vertices that an iteration applied to, which the next iteration can read."""

    monoid: Monoid
    type: Any
    function: Callable[..., Any]


def vertex(dtype: Any, init: Any = 0) -> Any:
    """Declare a field of the vertices.

    Parameters
    ----------
    dtype : dtype-like, (dtype, (k,)), or gasla.ID
        Type of the field; with a shape, each vertex holds a vector of that length.
    init : number, or function of a vertex
        What it holds at the start. A function receives a record with `id`, `in_degree` and `out_degree`.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Reach(gasla.VertexProgram):
    ...     level = gasla.vertex(np.int32, init=-1)
    """
    return VertexField(dtype, init)


def edge(dtype: Any, init: Any = None) -> Any:
    """Declare a field of the edges: the matrix's values, or a state that `scatter` may write.

    Parameters
    ----------
    dtype : dtype-like, or (dtype, (k,))
        Type of the field. The matrix's values are converted to it where no information can be lost.
    init : number, optional
        What a state holds at the start; without it the field is the matrix's values.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> class Flow(gasla.VertexProgram):
    ...     capacity = gasla.edge(np.float32)
    ...     flow = gasla.edge(np.float32, init=0)
    """
    return EdgeField(dtype, init)


def parameter(dtype: Any, default: Any) -> Any:
    """Declare a number that a run may set: `Program(name=value)`.

    Parameters
    ----------
    dtype : dtype-like
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


def aggregate(monoid: Monoid, dtype: Any = np.float64) -> Callable[[Callable[..., Any]], Any]:
    """Declare a global reduction: decorates a method of (before, after), the vertex's two states.

    Within the program `self.name` is what the last iteration gave. Before the first it is the reduction over all
    vertices of the initial state, with before and after the same.

    Parameters
    ----------
    monoid : semirings.Monoid
        What reduces the values of all vertices.
    dtype : dtype-like
        Type of the result.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Settling(gasla.VertexProgram):
    ...     level = gasla.vertex(np.float64)
    ...     @gasla.aggregate(semirings.plus)
    ...     def change(self, before, after): return abs(after.level - before.level)
    ...     def stop(self): return self.change < 1e-6
    """
    return lambda function: Aggregate(monoid, dtype, function)


class Record:
    """The fields of one vertex or edge, by name; what a program's functions receive."""

    def __init__(self, what: str, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_what", what)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            known = ", ".join(sorted(self._fields))
            raise AttributeError(f"a program's {self._what} has no field {name!r}; it has {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{self._what}.{name} can't be assigned: return {{{name!r}: value}} from apply, post_apply or scatter"
        )


@dataclass(frozen=True)
class Function:
    """One traced function: its result, and which fields its symbols stand for."""

    name: str
    result: Any  # Expr, tuple of Expr, or dict of name -> Expr
    symbols: tuple[Symbol, ...]
    sources: Mapping[str, tuple[str, str]] = field(hash=False)  # symbol name -> (role, field)

    def reads(self, role: str) -> set[str]:
        """The fields of `role` that the function uses."""
        return {f for s in self.symbols for r, f in [self.sources[s.name]] if r == role}


@dataclass(frozen=True)
class Traced:
    """A program as an engine sees it: typed fields and traced functions, for one type of vertex id."""

    program: "type[VertexProgram]"
    id_type: np.dtype
    vertex_types: Mapping[str, Any]
    edge_types: Mapping[str, Any]
    parameter_types: Mapping[str, Any]
    aggregate_types: Mapping[str, np.dtype]
    aggregates: Mapping[str, Aggregate]
    functions: Mapping[str, Function]

    @property
    def monoid(self) -> Monoid | None:
        return self.program.reduce if "gather" in self.functions else None

    @property
    def gathered_type(self) -> Any:
        result = self.functions["gather"].result
        return TupleType(tuple(e.type for e in result)) if isinstance(result, tuple) else result.type

    def writes(self, *names: str) -> set[str]:
        """The fields that the named functions return."""
        return {f for n in names if n in self.functions for f in self.functions[n].result}

    @functools.cached_property
    def gathers_what_apply_writes(self) -> set[str]:
        """The fields of neighbours that a gather sees and the same iteration changes."""
        read = {f for n in ("gather", "edge_mask") if n in self.functions for f in self.functions[n].reads("src")}
        return read & self.writes("apply")

    @functools.cached_property
    def settles(self) -> bool:
        """Whether, for each vertex, apply leaves the same value in every field that mask reads, whatever was gathered.

        Then, if the mask refuses a vertex after one apply, it does after any: several threads may apply to it at
        once, none twice. At most one field may depend on what was gathered, or parts of two values could mix.
        """
        apply, mask = self.functions.get("apply"), self.functions.get("mask")
        if apply is None or mask is None or self.aggregates or not mask.reads("vertex") <= set(apply.result):
            return False
        fickle = 0
        for name, result in apply.result.items():
            sources = {self.functions["apply"].sources[s.name] for s in _symbols([result])}
            changing = ("", "gathered") in sources or any(r == "vertex" and f in apply.result for r, f in sources)
            if changing and name in mask.reads("vertex"):
                return False
            fickle += changing
        return fickle <= 1

    @functools.cached_property
    def absorbs(self) -> str | None:
        """The field f for which apply is just `f = reduce(f, gathered)`, with an idempotent reduction; else None.

        Then a value may arrive twice, late, or straight into the field: push stands for pull.
        """
        if self.monoid is None or not self.monoid.idempotent or not self.monoid.commutative:
            return None
        if self.aggregates or "post_apply" in self.functions or len(self.writes("apply")) != 1:
            return None
        ((name, result),) = self.functions["apply"].result.items()
        types = self.vertex_types[name], self.gathered_type
        if types[0] != types[1] or not isinstance(types[0], np.dtype) or "apply" not in self.functions:
            return None
        if "mask" in self.functions and name in self.functions["mask"].reads("vertex"):
            return None
        old, gathered = Symbol(f"vertex_{name}", types[0]), Symbol("gathered", types[1])
        return name if semirings.is_absorbing(result, old, gathered, self.monoid) else None


class VertexProgram:
    """A graph algorithm as gather, apply and scatter; subclass it, declare fields, and write the functions you need.

    One iteration, over the vertices that are active (those that changed last):

    1. A vertex *receives* when `mask` admits it and an edge that `edge_mask` admits comes from an active vertex.
       With `everyone = True`, every vertex that `mask` admits receives in every iteration.
    2. `gather(src, dst, edge)` is reduced by `reduce` over the receiver's in-edges that `edge_mask` admits: all of
       them (`sources = "all"`, VertexAPI2's rule) or those from active vertices alone (`sources = "active"`).
    3. `apply(vertex, gathered)` returns the fields to change. All of 1 to 3 sees the state before the iteration.
    4. `activate(before, after)` says which receivers are active next (all of them, unless it is given).
    5. `scatter(src, dst, edge)` returns edge fields to change, on the out-edges of the newly active vertices.
    6. `post_apply(vertex)` changes fields of the receivers once all of that is done everywhere.
    7. The run ends when nothing is active, when `stop()` holds, or after `max_iterations`.

    Class attributes
    ----------------
    reduce : semirings.Monoid
        How gathered values combine. One that does not commute is reduced in the order of the input's edges.
    direction : "in", "out" or "all"
        The edges that a vertex gathers over; activity spreads the other way. `src` is always the neighbour.
    sources : "all" or "active"
        Which in-neighbours a receiver gathers from.
    everyone : bool
        Whether every vertex takes part in every iteration.

    Within the functions, `self` gives the parameters, the aggregates, `self.iteration` (from 0) and `self.n`; a
    record gives its fields, and `id`, `in_degree`, `out_degree` (a vertex) or `id` (an edge: its place in the input).
    `priority(vertex)` lets a program whose apply is `f = reduce(f, gathered)` work near vertices first.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> from scipy.sparse import csr_array
    >>> class ShortestPaths(gasla.VertexProgram):
    ...     distance = gasla.vertex(np.float32, init=np.inf)
    ...     weight = gasla.edge(np.float32)
    ...     reduce = semirings.min
    ...     def gather(self, src, dst, edge):
    ...         return src.distance + edge.weight
    ...     def apply(self, vertex, gathered):
    ...         return {"distance": semirings.minimum(vertex.distance, gathered)}
    ...     def activate(self, before, after):
    ...         return after.distance < before.distance
    >>> A = csr_array(np.array([[0, 2, 7], [0, 0, 3], [0, 0, 0]], np.float32))
    >>> gasla.run(ShortestPaths(), A, active=[0], distance={0: 0}).distance
    array([0., 2., 5.], dtype=float32)
    """

    reduce: ClassVar[Any] = None
    direction: ClassVar[Literal["in", "out", "all"]] = "in"
    sources: ClassVar[Literal["all", "active"]] = "all"
    everyone: ClassVar[bool] = False

    vertex_fields: ClassVar[dict[str, VertexField]] = {}
    edge_fields: ClassVar[dict[str, EdgeField]] = {}
    parameters: ClassVar[dict[str, Parameter]] = {}
    aggregates: ClassVar[dict[str, Aggregate]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            members.update(vars(base))
        kinds = (VertexField, EdgeField, Parameter, Aggregate)
        cls.vertex_fields = {k: v for k, v in members.items() if isinstance(v, VertexField)}
        cls.edge_fields = {k: v for k, v in members.items() if isinstance(v, EdgeField)}
        cls.parameters = {k: v for k, v in members.items() if isinstance(v, Parameter)}
        cls.aggregates = {k: v for k, v in members.items() if isinstance(v, Aggregate)}
        for name in (k for k, v in members.items() if isinstance(v, kinds)):
            if name in _RESERVED or name.startswith("_"):
                raise ValueError(f"{cls.__name__}.{name}: this name is gasla's own; choose another")
        if cls.direction not in ("in", "out", "all"):
            raise ValueError(f"{cls.__name__}.direction is {cls.direction!r}; expected 'in', 'out' or 'all'")
        if cls.sources not in ("all", "active"):
            raise ValueError(f"{cls.__name__}.sources is {cls.sources!r}; expected 'all' or 'active'")

    def __init__(self, **parameters: Any) -> None:
        self.values = {n: p.default for n, p in self.parameters.items()} | parameters
        if len(self.values) > len(self.parameters):
            unknown, known = parameters.keys() - self.parameters.keys(), ", ".join(self.parameters) or "none"
            raise TypeError(f"{type(self).__name__} has no parameter {min(unknown)!r}; its parameters: {known}")

    @classmethod
    @functools.cache
    def typed(cls, **types: Any) -> "type[VertexProgram]":
        """The same program with other types for some of its fields or parameters.

        Examples
        --------
        >>> import gasla, numpy as np
        >>> class P(gasla.VertexProgram):
        ...     rank = gasla.vertex(np.float32)
        >>> P.typed(rank=np.dtype("f8")).vertex_fields["rank"].type
        dtype('float64')
        """
        body: dict[str, Any] = {}
        for name, kind in types.items():
            declared = vars(cls).get(name) or getattr(cls, name, None)
            if isinstance(declared, VertexField | EdgeField):
                body[name] = type(declared)(kind, declared.init)
            elif isinstance(declared, Parameter):
                body[name] = Parameter(kind, declared.default)
            elif isinstance(declared, Aggregate):
                body[name] = Aggregate(declared.monoid, kind, declared.function)
            else:
                raise TypeError(f"{cls.__name__} has no field {name!r} to give the type {kind}")
        return type(cls.__name__, (cls,), body)

    @classmethod
    @functools.cache
    def traced(cls, id_type: Any = np.int32) -> Traced:
        """Call each of the program's functions once with symbols."""
        return _Tracer(cls, np.dtype(id_type)).trace()

    @classmethod
    def source(cls, target: str = "numba", id_type: Any = np.int32) -> str:
        """The code that gasla generates: for `"numba"` the module that the CPU runs, for `"cuda"` the functions."""
        traced = cls.traced(np.dtype(id_type))
        if target == "numba":
            from gasla.cpu.generate import module_source

            return module_source(traced)
        if target == "cuda":
            return cuda_functions(traced)
        raise ValueError(f"target is {target!r}; expected 'numba' or 'cuda'")

    @classmethod
    def workspace(cls, graph: Any, deterministic: bool = False) -> int:
        """Bytes that a run takes at most, beside the graph (`Graph.nbytes`) and its fields, on the graph's device.

        On the CPU each of the threads has queues with room for all vertices; pages of them that no run writes take
        no memory. Kept with the graph for the next run.

        Parameters
        ----------
        graph : Graph or sparse array
        deterministic : bool
            As for `gasla.run`.

        Examples
        --------
        >>> import gasla, semirings, numpy as np
        >>> from scipy.sparse import csr_array
        >>> class Rank(gasla.VertexProgram):
        ...     everyone = True
        ...     rank = gasla.vertex(np.float32, init=1)
        ...     reduce = semirings.plus
        ...     def gather(self, src, dst, edge): return src.rank / src.out_degree
        ...     def apply(self, vertex, gathered): return {"rank": gathered}
        >>> Rank.workspace(csr_array(np.eye(1000)))  # in each iteration everyone: no queues
        0
        """
        from gasla.graph import as_graph

        graph = as_graph(graph)
        if graph.device == "gpu":
            from gasla.gpu.engine import workspace_bytes
        else:
            from gasla.cpu.engine import workspace_bytes
        return workspace_bytes(cls(), graph, deterministic)


OPTIONAL = ("mask", "edge_mask", "gather", "apply", "activate", "scatter", "post_apply", "priority", "stop")


class _Tracer:
    """Calls a program's functions with symbols, and checks what they return."""

    def __init__(self, program: type[VertexProgram], id_type: np.dtype) -> None:
        self.program, self.id_type = program, id_type
        self.vertex_types = {n: self._type(f.type) for n, f in program.vertex_fields.items()}
        self.edge_types = {n: self._type(f.type) for n, f in program.edge_fields.items()}
        self.parameter_types = {n: self._type(p.type) for n, p in program.parameters.items()}
        self.aggregate_types = {n: self._scalar(n, a.type) for n, a in program.aggregates.items()}
        self.sources: dict[str, tuple[str, str]] = {}
        self.functions: dict[str, Function] = {}

    def _type(self, declared: Any) -> Any:
        return self.id_type if declared is ID else semirings.as_type(declared)

    def _scalar(self, name: str, declared: Any) -> np.dtype:
        kind = self._type(declared)
        if not isinstance(kind, np.dtype):
            raise TypeError(f"the aggregate {self.program.__name__}.{name} is {kind}; expected a scalar type")
        return kind

    def trace(self) -> Traced:
        source, target, link = self._vertex("src"), self._vertex("dst"), self._edge()
        vertex, before, after = (self._vertex(r) for r in ("vertex", "before", "after"))
        self._function("mask", np.dtype(bool), vertex)
        self._function("edge_mask", np.dtype(bool), source, target, link)
        self._function("gather", None, source, target, link)
        self._function("apply", self.vertex_types, vertex, *self._gathered())
        self._function("activate", np.dtype(bool), before, after)
        self._function("scatter", self.edge_types, source, target, link)
        self._function("post_apply", self.vertex_types, vertex)
        self._function("priority", None, vertex)
        self._function("stop", np.dtype(bool))
        for name, declared in self.program.aggregates.items():
            self._function(name, self.aggregate_types[name], before, after, function=declared.function)
        self._check_scatter()
        return Traced(
            self.program,
            self.id_type,
            self.vertex_types,
            self.edge_types,
            self.parameter_types,
            self.aggregate_types,
            self.program.aggregates,
            self.functions,
        )  # fmt: skip

    def _symbol(self, role: str, name: str, kind: Any) -> Symbol:
        symbol = Symbol(f"{role}_{name}" if role else name, kind)
        self.sources[symbol.name] = (role, name)
        return symbol

    def _vertex(self, role: str) -> Record:
        types = {
            **self.vertex_types,
            "id": self.id_type,
            "in_degree": np.dtype(np.int64),
            "out_degree": np.dtype(np.int64),
        }
        return Record("vertex", {n: self._symbol(role, n, t) for n, t in types.items()})

    def _edge(self) -> Record:
        types = {**self.edge_types, "id": np.dtype(np.int64)}
        return Record("edge", {n: self._symbol("edge", n, t) for n, t in types.items()})

    def _gathered(self) -> tuple[Any, ...]:
        if "gather" not in self.functions:
            return (None,)
        if not isinstance(self.program.reduce, Monoid):
            raise TypeError(
                f"{self.program.__name__} gathers, but its `reduce` is {self.program.reduce!r}; "
                "expected a semirings.Monoid, such as semirings.min"
            )
        result = self.functions["gather"].result
        kind = TupleType(tuple(e.type for e in result)) if isinstance(result, tuple) else result.type
        return (self._symbol("", "gathered", kind),)

    def _self(self) -> VertexProgram:
        """The program's `self` while its functions are called: symbols where a run has numbers."""
        stand_in = object.__new__(self.program)
        stand_in.__dict__.update({n: self._symbol("self", n, t) for n, t in self.parameter_types.items()})
        stand_in.__dict__.update({n: self._symbol("self", n, t) for n, t in self.aggregate_types.items()})
        for name in ("iteration", "n"):
            stand_in.__dict__[name] = self._symbol("self", name, np.dtype(np.int64))
        return stand_in

    def _function(self, name: str, expected: Any, *records: Any, function: Callable[..., Any] | None = None) -> None:
        function = function or getattr(self.program, name, None)
        if function is None:
            return
        where = f"{self.program.__name__}.{name}"
        result = semirings.trace(functools.partial(function, self._self()), *records)
        if isinstance(expected, dict):
            result = self._fields(where, result, expected)
        elif isinstance(result, dict) or (expected is not None and isinstance(result, tuple)):
            raise TypeError(f"{where} returned {result!r}; expected one value")
        elif expected is not None:
            result = _convert(where, result, expected)
        values = list(result.values()) if isinstance(result, dict) else result
        symbols = _symbols(values if isinstance(values, list | tuple) else [values])
        self.functions[name] = Function(name, result, symbols, self.sources)

    def _fields(self, where: str, result: Any, types: dict[str, Any]) -> dict[str, Expr]:
        if not isinstance(result, dict):
            raise TypeError(f"{where} returned {result!r}; expected a dict of the fields to change, {{name: value}}")
        unknown = sorted(set(result) - set(types))
        if unknown:
            raise ValueError(f"{where} returned a field {unknown[0]!r}; expected some of: {', '.join(types)}")
        return {n: _convert(f"{where}[{n!r}]", e, types[n]) for n, e in result.items()}

    def _check_scatter(self) -> None:
        for name in self.functions["scatter"].result if "scatter" in self.functions else ():
            if self.program.edge_fields[name].is_value:
                raise ValueError(
                    f"{self.program.__name__}.scatter writes {name!r}, which is the matrix's own values; "
                    f"declare it with a start value: gasla.edge(dtype, init=0)"
                )


def _symbols(results: Any) -> tuple[Symbol, ...]:
    return tuple(s for s in semirings.free_symbols(results) if isinstance(s, Symbol))


def _convert(where: str, value: Any, expected: Any) -> Expr:
    """`value` as the type of the field that it goes to, where no kind of number is lost."""
    if value.type == expected:
        return value
    base = [t.scalar if isinstance(t, VectorType) else t for t in (value.type, expected)]
    lengths = [t.length if isinstance(t, VectorType) else 0 for t in (value.type, expected)]
    scalars = all(isinstance(t, np.dtype) for t in base) and lengths[0] in (0, lengths[1])
    if not scalars or not np.can_cast(base[0], base[1], "same_kind"):
        raise TypeError(
            f"{where} gives {value.type}, but {expected} was declared; convert it with semirings.cast(value, dtype)"
        )
    return semirings.cast(value, expected)


def cuda_functions(traced: Traced) -> str:
    """The program's functions as CUDA C++ device functions."""
    from semirings.printers import cuda

    parts = [cuda.PRELUDE]
    for name, f in traced.functions.items():
        result = tuple(f.result.values()) if isinstance(f.result, dict) else f.result
        if isinstance(result, tuple) and len(result) == 1:
            result = result[0]
        parts.append(cuda.function(f"{name}_", f.symbols, result))
    return "\n".join(parts)
