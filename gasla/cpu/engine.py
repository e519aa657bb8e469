"""Binds a program to a graph on the CPU: makes the arrays that its generated module works on, and calls it."""

import threading
import weakref
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from gasla.cpu import generate, modules, runtime, threads
from gasla.frontier import Frontier
from gasla.graph import Graph
from gasla.program import Record, VertexProgram
from gasla.progress import follow
from semirings import TupleType, VectorType

SMALL = 1 << 15  # vertices and edges below which one thread does all

_workspaces: "weakref.WeakKeyDictionary[Graph, dict[Any, np.ndarray]]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Bound:
    """A program, a graph, and the arrays of a run."""

    log_rows = 1024

    def __init__(
        self,
        program: VertexProgram,
        graph: Graph,
        fields: Mapping[str, Any],
        deterministic: bool = False,
        schedule: np.ndarray | None = None,
        staged: bool = False,
    ) -> None:
        self.program, self.graph, self.deterministic = program, graph, deterministic
        scheduled = schedule is not None
        kind: Any = type(program)
        self.plan = generate.plan(kind, graph.id_dtype, deterministic, scheduled, staged)
        self.traced = self.plan.traced
        self.threads = 1 if graph.n + graph.m < SMALL else threads.num_threads()
        self._check(fields)
        self._space = _Workspace(graph)
        self.control = threads.new_control()
        self._schedule = None if schedule is None else self._sorted(schedule)
        self.arrays = self._make_arrays(fields)
        self.scalars: dict[str, Any] = {"self_n": np.int64(graph.n)}
        self.scalars |= {name: np.float64(0) for name in ("delta", "threshold", "last_threshold")}
        self.scalars["skewed"], self.scalars["narrow"] = self._skewed(), self._narrow()
        self.scalars |= {name: np.int64(0) for name in ("receiver_count", "self_iteration")}
        for name, kind in self.traced.parameter_types.items():
            self.scalars[f"self_{name}"] = _number(f"{type(program).__name__}.{name}", program.values[name], kind)
        for name, kind in self.traced.aggregate_types.items():
            self.scalars[f"self_{name}"] = kind.type(0)

    @property
    def module(self) -> ModuleType:
        """The generated module, compiled on first use."""
        return modules.load(self.plan.source_text, self.traced.program.__name__)

    def close(self) -> None:
        self._space.give_back()

    # --- arrays ----------------------------------------------------------------------------------------------------

    def _check(self, fields: Mapping[str, Any]) -> None:
        known = {*self.traced.vertex_types, *self.plan.edge_states}
        for name in fields:
            if name not in known:
                raise TypeError(
                    f"{type(self.program).__name__} has no field {name!r} to start with; expected some of: "
                    f"{', '.join(sorted(known)) or 'none'}"
                )

    def _make_arrays(self, fields: Mapping[str, Any]) -> dict[str, np.ndarray]:
        n = (self.graph.n,)
        makers: dict[str, Callable[[], np.ndarray]] = {
            "control": lambda: self.control,
            "counts": lambda: np.zeros((3, runtime.FIRST + self.threads * runtime.BLOCK), np.int64),
            "log": lambda: np.zeros((self.log_rows, 3), np.int64),
            "queues": lambda: self._space.take("queues", (2, self.threads, *n), self._ids),
            "activated": lambda: self._space.zeros("activated", n, np.dtype(bool)),
            "receivers": lambda: (
                self._schedule[0] if self._schedule else self._space.take("receivers", (self.threads, *n), self._ids)
            ),
            "starts": lambda: self._schedule[1],  # type: ignore[index]
            "bits": lambda: self._space.zeros("bits", (2, self._words), np.dtype(np.uint64)),
            "far": lambda: self._space.take("far", (self.threads, *n), self._ids),
            "far_bits": lambda: self._space.zeros("far_bits", (self._words,), np.dtype(np.uint64)),
            "lows": lambda: np.full((3, 8 * self.threads), np.inf),
            "bounds": lambda: np.full(2, -np.inf),
            "claimed": lambda: self._space.zeros("claimed", (2, self._words), np.dtype(np.uint64)),
        }
        found = {}
        for name in self.plan.arrays:
            found[name] = makers[name]() if name in makers else self._make(name, fields)
        return found

    def _skewed(self) -> bool:
        """Whether degrees differ so much that the number of active vertices says little of their edges."""
        if not self.plan.sends or self.graph.n == 0:
            return False
        graph = self.graph
        degrees = graph.out_degrees if self.program.direction == "in" else graph.in_degrees
        if self.program.direction == "all":
            return True
        return int(degrees.max()) > 4 * (graph.m // graph.n + 1)

    def _narrow(self) -> bool:
        """Whether all vertices gather over few edges."""
        graph = self.graph
        if not self.plan.gathers or graph.m == 0 or self.program.direction == "all" or graph.m > 6 * graph.n:
            return False
        degrees = graph.in_degrees if self.program.direction == "in" else graph.out_degrees
        return int(degrees.max()) <= 16

    def _sorted(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vertices by level, and where each level starts among them."""
        depth, crew = int(levels.max(initial=-1)) + 1, self.threads
        places, order = np.zeros((crew, depth), np.int64), self._space.take("receivers", (self.graph.n,), self._ids)
        threads.run_parallel(runtime.count_levels, self.control, (levels, places, order), crew)
        counts = places.copy()
        starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
        places[:] = starts[:-1] + np.cumsum(counts, axis=0) - counts
        threads.run_parallel(runtime.sort_by_level, self.control, (levels, places, order), crew)
        return order, starts

    @property
    def _ids(self) -> np.dtype:
        return self.graph.id_dtype

    @property
    def _words(self) -> int:
        return self.graph.n // 64 + 1

    def _make(self, name: str, fields: Mapping[str, Any]) -> np.ndarray:
        prefix, _, rest = name.partition("_")
        if prefix == "v":
            return self._vertex_array(rest, fields)
        if prefix == "e":
            return self._edge_array(rest, fields)
        if prefix == "part":
            kind = self.traced.aggregate_types[rest]
            return np.zeros((2, 8 * self.threads), kind)
        if prefix == "acc":
            return self._accumulator(name)
        return self._graph_array(name, prefix, rest)

    def _graph_array(self, name: str, prefix: str, rest: str) -> np.ndarray:
        if name in ("in_p", "out_p"):
            return (self.graph.in_ if name == "in_p" else self.graph.out).indptr
        gather, send = self._sides()
        lists = gather if prefix[0] == "g" else send
        if prefix[1] == "v":
            return lists.values(self.traced.edge_types[rest])
        return {"p": lists.indptr, "i": lists.indices, "e": lists.ids}[prefix[1]]()

    def _sides(self) -> tuple["_Lists", "_Lists"]:
        """The adjacency that vertices gather over, and the one that activity spreads along."""
        ordered = self.plan.gathers and not self.traced.monoid.commutative  # type: ignore[union-attr]
        if self.program.direction == "all":
            both = _Lists(self.graph, "all", ordered)
            return both, both
        names = ("in", "out") if self.program.direction == "in" else ("out", "in")
        return _Lists(self.graph, names[0], ordered), _Lists(self.graph, names[1], False)

    def _vertex_array(self, name: str, fields: Mapping[str, Any]) -> np.ndarray:
        kind, n = self.traced.vertex_types[name], self.graph.n
        where, given = f"{type(self.program).__name__}.{name}", fields.get(name)
        if given is None or isinstance(given, Mapping):
            array = _filled(where, self._initial(self.program.vertex_fields[name].init), kind, n, "vertices")
            for v, value in (given or {}).items():
                if not 0 <= v < n:
                    raise ValueError(f"{where} is given for vertex {v}, outside a graph of {n} vertices")
                array[v] = value
        elif name not in self.traced.writes("apply", "post_apply") and _is_ready(given, kind, n):
            return given  # only read
        else:
            array = _filled(where, given, kind, n, "vertices")
        if name not in self.plan.doubled:
            return array
        pair = np.empty((2, *array.shape), array.dtype)
        pair[:] = array
        return pair

    def _initial(self, init: Any) -> Any:
        if not callable(init):
            return init
        graph = self.graph
        record = Record("vertex", _Lazy(
            id=lambda: np.arange(graph.n, dtype=self._ids),
            in_degree=lambda: graph.in_degrees.astype(np.int64),
            out_degree=lambda: graph.out_degrees.astype(np.int64),
        ))  # fmt: skip
        with np.errstate(all="ignore"):
            values = np.asarray(init(record))
        return values.T if values.ndim == 2 else values  # functions hold a vector's items along the first axis

    def _edge_array(self, name: str, fields: Mapping[str, Any]) -> np.ndarray:
        kind = self.traced.edge_types[name]
        given = fields.get(name, self.program.edge_fields[name].init)
        return _filled(f"{type(self.program).__name__}.{name}", given, kind, self.graph.m, "edges")

    def _accumulator(self, name: str) -> np.ndarray:
        index = [c for c, _ in self.plan.components].index(name)
        kind = self.plan.components[index][1]
        monoid, whole = self.traced.monoid, self.traced.gathered_type
        assert monoid is not None
        shape, base = (
            ((self.graph.n, kind.length), kind.scalar) if isinstance(kind, VectorType) else ((self.graph.n,), kind)
        )
        array = self._space.take(name, shape, base)
        if self.plan.pushes and not self.plan.any:
            identity = monoid.identity(whole)
            array[:] = identity[index] if isinstance(whole, TupleType) else identity
        return array

    # --- running ---------------------------------------------------------------------------------------------------

    def arguments(self) -> tuple[Any, ...]:
        """All arguments after `thread, threads, control`."""
        return (
            *(self.arrays[n] for n in self.plan.arrays if n != "control"),
            *(self.scalars[n] for n in self.plan.scalars),
        )

    def call(self, stage: str, threads_wanted: int | None = None) -> None:
        """Run one stage function of the module on all threads."""
        kernel = getattr(self.module, stage)
        threads.run_parallel(kernel, self.control, self.arguments(), threads_wanted or self.threads)

    def begin(self, frontier: Frontier, way: int, delta: float | None) -> None:
        """Set the loop at its start."""
        control = self.control
        control[runtime.WAY], control[runtime.REMAINING] = way, self.graph.m
        control[runtime.ACTIVE], control[runtime.FORM] = self.graph.n, runtime.LIST
        control[runtime.EDGE_SUM] = self.graph.m
        if self._schedule:
            control[runtime.ACTIVE] = len(self._schedule[1]) - 1
        if self.plan.keeps_active:
            ids = frontier.ids
            control[runtime.ACTIVE] = len(ids)
            for t, part in enumerate(np.array_split(ids, self.threads)):
                self.arrays["queues"][0, t, : len(part)] = part
                self.arrays["counts"][2, runtime.FIRST + t * runtime.BLOCK + runtime.NEXT] = len(part)
            if self.plan.sends and len(ids) < self.graph.n:
                indptr = self.arrays["sp"]
                control[runtime.EDGE_SUM] = int((indptr[ids + 1] - indptr[ids]).sum(dtype=np.int64))
            if self.plan.active_only and self.plan.everyone:
                self.set_active(frontier)
        if self.plan.prioritised:
            self._set_buckets(frontier, delta)
        if self.traced.aggregates:
            self._first_aggregates()

    def set_active(self, frontier: Frontier, parity: int = 0) -> None:
        """Say who is active, for a gather that looks at those alone."""
        packed = np.packbits(frontier.mask, bitorder="little")
        self.arrays["bits"][parity].view(np.uint8)[: len(packed)] = packed

    def _set_buckets(self, frontier: Frontier, delta: float | None) -> None:
        """The width of a bucket. All that are active at first are near."""
        self.scalars["delta"] = np.float64(self._default_delta() if delta is None else delta)
        self.arrays["bounds"][:] = -np.inf

    def _default_delta(self) -> float:
        """The mean edge value (from a sample) over the mean degree; several times that where few edges meet.

        There iterations are thin, and fewer of them are worth some edges looked at twice.
        """
        values, m = self.graph.values, self.graph.m
        mean = 1.0 if values is None or m == 0 else float(np.abs(values[:: max(1, m // 4096)]).mean(dtype=np.float64))
        degree = max(m, 1) / max(self.graph.n, 1)
        delta = max(1.0, 24.0 / degree) * mean / degree
        return delta if np.isfinite(delta) and delta > 0 else 1.0

    def _first_aggregates(self) -> None:
        """Reduce over the initial state, as though an iteration before the first had left it."""
        for name in self.traced.aggregates:
            kind = self.traced.aggregate_types[name]
            self.arrays[f"part_{name}"][:] = self.traced.aggregates[name].monoid.identity(kind)
        self.scalars["self_iteration"] = np.int64(-1)
        self.call("aggregate")
        self.scalars["self_iteration"] = np.int64(0)
        self.arrays["counts"][2, runtime.DENSE_TICKET] = 0

    def advance(self, until: int, progress: Callable[[int], Any] | None = None) -> None:
        """Run iterations until the one numbered `until`, or the program's end."""
        self.control[runtime.LAST] = until
        if self.control[runtime.DONE]:
            return
        control = self.control
        watch = None if progress is None else lambda: progress(int(control[runtime.PROGRESS]))
        follow(lambda: (int(control[runtime.PROGRESS]), 0), "iterations")
        threads.run_parallel(self.module.run_loop, control, self.arguments(), self.threads, watch)

    @property
    def iteration(self) -> int:
        return int(self.control[runtime.ITERATION])

    @property
    def ended(self) -> bool:
        waiting = self.control[runtime.ACTIVE] + self.control[runtime.PUT_OFF]
        return bool(self.control[runtime.DONE]) or int(waiting) == 0

    @property
    def edges(self) -> int:
        return int(self.control[runtime.TOTAL])

    def log(self, rows: int) -> np.ndarray:
        return self.arrays["log"][:rows].copy()

    def state(self) -> dict[str, np.ndarray]:
        """The fields as they are now."""
        now = {n: self.arrays[f"v_{n}"] for n in self.traced.vertex_types}
        for name in self.plan.doubled:
            now[name] = now[name][self.iteration & 1]
        return {**now, **{n: self.arrays[f"e_{n}"] for n in self.plan.edge_states}}

    def aggregates(self) -> dict[str, Any]:
        """What the aggregates came to in the last iteration."""
        row, step = (self.iteration - 1) & 1, 8
        return {
            n: a.monoid.reduce(self.arrays[f"part_{n}"][row, : self.threads * step : step])
            for n, a in self.traced.aggregates.items()
        }

    def frontier(self) -> Frontier:
        """The active vertices as they are now."""
        n, count = self.graph.n, int(self.control[runtime.ACTIVE])
        if count == 0:
            return Frontier(n, [])
        if not self.plan.keeps_active:
            return Frontier.all(n)
        row = self.iteration & 1
        if self.control[runtime.FORM] == runtime.LIST:
            sizes = self.arrays["counts"][(self.iteration + 2) % 3, runtime.FIRST + runtime.NEXT :: runtime.BLOCK]
            queues = self.arrays["queues"][row]
            return Frontier(n, np.concatenate([queues[t, : sizes[t]] for t in range(self.threads)]))
        bytes_ = self.arrays["bits"][row].view(np.uint8)
        return Frontier(n, mask=np.unpackbits(bytes_, count=n, bitorder="little").astype(bool))


class _Lists:
    """One adjacency as a program walks it: neighbour lists, edge ids, edge values."""

    def __init__(self, graph: Graph, side: str, ordered: bool) -> None:
        self.graph, self.side = graph, side
        self._lists = graph.both if side == "all" else graph.in_ if side == "in" else graph.out
        if ordered:
            self._lists = self._lists.in_order()

    def indptr(self) -> np.ndarray:
        return self._lists.indptr

    def indices(self) -> np.ndarray:
        return self._lists.indices

    def ids(self) -> np.ndarray:
        m = len(self._lists.indices)
        return np.arange(m, dtype=self.graph.offset_dtype) if self._lists.edge_ids is None else self._lists.edge_ids

    def values(self, kind: np.dtype) -> np.ndarray:
        graph = self.graph
        if graph.values is None:
            return np.ones(len(self._lists.indices), kind)
        if not np.can_cast(graph.values.dtype, kind, "same_kind"):
            raise TypeError(
                f"the matrix holds {graph.values.dtype}, and the program's edge field is {kind}; "
                f"convert the matrix, or give the field the type {graph.values.dtype}"
            )
        if self.side != "all" and self._lists is (graph.in_ if self.side == "in" else graph.out):
            values = graph.in_values if self.side == "in" else graph.out_values
        else:
            values = graph.values[self.ids()]
        assert values is not None
        return values.astype(kind, copy=False)


class _Lazy(dict[str, Any]):
    """Fields that are made when first read."""

    def __init__(self, **makers: Callable[[], Any]) -> None:
        super().__init__(makers)

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name)()


class _Workspace:
    """Scratch arrays, kept with the graph between runs: to get fresh pages from the system costs as much as a BFS."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        with _lock:
            self._spare = _workspaces.pop(graph, {})
        self._taken: dict[Any, np.ndarray] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array of any content."""
        key = (name, shape, np.dtype(dtype))
        self._taken[key] = self._spare.pop(key) if key in self._spare else np.empty(shape, dtype)
        return self._taken[key]

    def zeros(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        array = self.take(name, shape, dtype)
        array[:] = 0
        return array

    def give_back(self) -> None:
        """Let the next run have the arrays; what this one did not use is dropped."""
        with _lock:
            _workspaces[self._graph] = self._taken


def _number(where: str, value: Any, kind: np.dtype) -> Any:
    """A parameter as a NumPy scalar of its type."""
    array = np.asarray(value)
    if array.shape != () or not np.can_cast(array.dtype, kind, "same_kind"):
        raise TypeError(f"{where} is {value!r}; expected one number of type {kind}")
    return kind.type(value)


def _is_ready(given: Any, kind: Any, count: int) -> bool:
    """Whether an array can serve as a field as it is."""
    shape, base = ((count, kind.length), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
    ready = isinstance(given, np.ndarray) and given.shape == shape and given.dtype == base
    return ready and given.flags.c_contiguous and given.flags.writeable


def _filled(where: str, given: Any, kind: Any, count: int, of: str) -> np.ndarray:
    """A new array of `count` values of a field's type, from a scalar or an array."""
    shape, base = ((count, kind.length), kind.scalar) if isinstance(kind, VectorType) else ((count,), kind)
    array = np.asarray(given)
    if array.dtype.kind == "c" or not (np.can_cast(array.dtype, base, "same_kind") or array.shape == ()):
        raise TypeError(f"{where} starts with {array.dtype}; expected {base}; convert it with .astype({str(base)!r})")
    if array.shape not in ((), shape, shape[1:]):
        raise ValueError(
            f"{where} starts with an array of shape {array.shape}; expected {shape}, one value for each of the {of}"
        )
    fresh = np.empty(shape, base)
    fresh[:] = array
    return fresh


__all__ = ["Bound"]
