"""The CPU's part of a program's plan: the arguments of its kernel, and all that kernel templates ask about the program.

A plan is an object with decisions about how a program runs. Templates of kernels (`gasla/cpu/kernels`) see a `CpuPlan`
under the name `plan`. A plan has data and constants. Text is generated elsewhere (`generate.py`).
"""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.program.hooks import BETWEEN, WRITING
from gasla.program.plan import Part, Plan
from gasla.program.statements import Load, LoadEdge, Statement, Store, edge_loads, loads, read, watched
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.types import HALF, has_wide, parts_of

FEW = 4  # number of edges that a gather without branches reads at a time
CACHE_LINE, LINES = 64, 8  # size of a cache line in bytes, and number of cache lines of a vector that are prefetched
I64, U64, F64, BOOL = (np.dtype(name) for name in ("int64", "uint64", "float64", "bool"))
# Arrays of the hash tables for reductions by key, with a row for each thread.
TABLES = ["table_keys", "table_totals", "table_places"]

Array = tuple[np.dtype[Any], int]  # the type of an array's items, and its number of dimensions


class CpuPlan(Plan):
    """The decisions about how one vertex program runs on the CPU, which its kernel is specialized for."""

    # --- arguments of the kernel: their names, types and dimensions ---------------------------------------------------

    @functools.cached_property
    def arrays(self) -> dict[str, Array]:
        """The item type and number of dimensions of each array that is passed to the kernel, by name, in order."""
        t, keyed, ids, words = self.traced, self.keyed, (self.id_type, 1), (U64, 1)
        types = {"control": (I64, 1), "counts": (I64, 2), "log": (I64, 2)}
        if self.scheduled:
            types |= {"receivers": ids}
            types |= {} if self.staged else {"starts": (I64, 2), "levels": (np.dtype(np.int32), 1)}
        if self.keeps_active:
            types |= {"bits": (U64, 2)} if self.scheduled else {"queues": (self.id_type, 3), "bits": (U64, 2)}
        if self.staged:
            types |= dict.fromkeys(["activated", *(["admitted"] if "edge_mask" in self.functions else [])], (BOOL, 1))
        if self.sends and not self.scheduled:
            types["claimed"] = U64, 2
        if (self.sends or self.keeps_receivers) and not self.scheduled:
            types["receivers"] = self.id_type, 2
        if self.gathers and (self.two_phases or (self.pushes and not self.absorbs and not self.push_at_once)):
            types |= {name: array_of(kind) for name, kind in self.components}
        if keyed is not None:
            types |= {name: (kind, 2) for name, kind in zip(TABLES, (keyed.key, keyed.total, np.dtype(np.int32)))}
        types |= {name: (kind.scalar, 2) for name, kind in self.wide_scratch.items()}
        if self.prioritised:
            types |= {"far": (self.id_type, 2), "far_bits": (U64, 2), "lows": (F64, 2), "bounds": (F64, 1)}
        types |= {"news": (np.dtype(np.uint8), 1)} if self.sends_news else {}
        types |= {"waiting": words, "lowest": (I64, 1)} if self.has_buckets else {}
        types |= {f"set_{name}": (t.parameter_types.get(name, I64), 1) for name in self.carried}
        for name, kind in t.vertex_types.items():
            types[f"v_{name}"] = array_of(kind, name in self.doubled)
            types |= {f"from_{name}": array_of(kind), f"at_{name}": (I64, 1)} if name in self.filled else {}
        types |= {f"to_{name}": (kind, 2) for name, kind in t.deposit_types.items()}
        types |= {f"was_{name}": array_of(t.vertex_types[name]) for name in sorted(self.behind)}
        types |= {f"was_{name}": array_of(t.edge_types[name]) for name in sorted(self.edges_behind)}
        types |= {"gp": (I64, 1), "gi": ids} | ({"ge": ids} if self.needs_gather_ids else {})
        types |= {"gb": ids} if self.needs_gather_partners else {}
        types |= {f"gv_{name}": array_of(t.edge_types[name]) for name in self.edge_values}
        if self.sends:
            types |= {"sp": (I64, 1), "si": ids} | ({"se": ids} if self.needs_send_ids else {})
            types |= {f"sv_{name}": array_of(t.edge_types[name]) for name in self.edge_values}
            types |= {"sb": ids} if self.needs_send_partners else {}
        types |= {"leaving": (BOOL, 1)} if self.needs_leaving else {}
        types |= {f"value_{name}": array_of(t.edge_types[name]) for name in self.back_values}
        types |= {f"e_{name}": array_of(t.edge_types[name]) for name in self.edge_states}
        types |= {f"{name[:-6]}p": (I64, 1) for name in sorted(self.degrees)}
        types |= {f"part_{name}": (kind, 2) for name, kind in t.aggregate_types.items()}
        if self.sums_in_order:
            types |= {f"term_{name}": (kind, 1) for name, kind in t.aggregate_types.items()} | {"summed": words}
        return types

    @functools.cached_property
    def has_halves(self) -> bool:
        """Whether a vertex or edge field has values of type float16."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        return any(getattr(kind, "scalar", kind) == HALF for kind in kinds)

    @property
    def carried(self) -> list[str]:
        """Names of the values that the loop changes from one iteration to the next, apart from aggregates.

        They are the number of the bucket whose vertices are processed now, and the parameters that `idle` changes.
        """
        return [*(["bucket"] if self.has_buckets else []), *self.changes]

    @functools.cached_property
    def is_wide(self) -> bool:
        """Whether the gathered value is a wide vector or contains one.

        Wide vectors lie in memory, and not in registers.
        """
        return self.gathers and has_wide(self.traced.gathered_type)

    @functools.cached_property
    def has_short_vectors(self) -> bool:
        """Whether a field or the gathered value is a short vector, one that is not wide and so fits in registers."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        kinds += parts_of(self.traced.gathered_type) if self.gathers else []
        return any(isinstance(kind, VectorType) and not kind.is_wide for kind in kinds)

    @functools.cached_property
    def wide_scratch(self) -> dict[str, VectorType]:
        """The type of each scratch array for wide vectors (too long for registers) that functions return, by name.

        Each thread has a row of each array.
        """
        gathered = self.components if self.gathers else []
        applied = [(f"after_{n}", self.traced.vertex_types[n]) for n in self.traced.writes(*WRITING)]
        scattered = [(f"result_{n}", self.traced.edge_types[n]) for n in self.traced.writes("scatter")]
        types = {f"scratch_{name}": kind for name, kind in [*gathered, *sorted(applied), *sorted(scattered)]}
        return {name: kind for name, kind in types.items() if has_wide(kind)}

    @property
    def accumulates(self) -> bool:
        """Whether pushes reduce values into a separate array.

        Between iterations, its items are the reduction's identity.
        """
        return self.pushes and not self.takes_first and not self.absorbs

    @property
    def sends_news(self) -> bool:
        """Whether a vertex sends only those parts of its value that changed since it last sent.

        A part is a number of the gathered value. Each vertex has a byte with a bit for each part that is still to be
        sent.
        """
        return bool(self.absorbs) and not self.is_single

    @property
    def starts_active(self) -> bool:
        """Whether the first iteration reads the bitmap of active vertices, so that the bitmap must be set before."""
        return self.active_only and self.everyone

    @functools.cached_property
    def filled(self) -> list[str]:
        """The vertex fields that the kernel fills with their initial values."""
        return [] if self.staged else list(self.traced.vertex_types)

    @functools.cached_property
    def scalars(self) -> dict[str, Any]:
        """The types of the kernel's scalar arguments, by name.

        They are the program's parameters, the aggregates of the last iteration, and the state of the loop.
        """
        t, bounds = self.traced, ["delta", "threshold", "last_threshold", "width", "spare"]
        types: dict[str, Any] = dict.fromkeys(bounds, F64) if self.prioritised else {}
        types |= dict.fromkeys(["skewed", "narrow", "receiver_count", "self_n", "self_iteration"], I64)
        types |= {"self_bucket": I64} if self.has_buckets else {}
        return types | {f"self_{name}": kind for name, kind in {**t.parameter_types, **t.aggregate_types}.items()}

    @functools.cached_property
    def identities(self) -> dict[str, Any]:
        """The identity of each aggregate: the value that its reduction starts from."""
        declared = {**self.traced.aggregates, **self.traced.deposits}
        return {name: declared[name].monoid.identity(kind) for name, kind in self.measured_types.items()}

    @property
    def measured_types(self) -> dict[str, np.dtype]:
        """The types of all aggregates: those over the whole graph, and those that are reduced at single vertices."""
        return {**self.traced.aggregate_types, **self.traced.deposit_types}

    @functools.cached_property
    def arguments(self) -> list[str]:
        """The names of all arguments of the kernel, in order."""
        return ["thread", "threads", *self.arrays, *self.scalars]

    # --- parameters and results of the program's own functions --------------------------------------------------------

    @property
    def seen_elsewhere(self) -> list[str]:
        """The fields and aggregates that the program's functions may read at any vertex, by `self.at`."""
        return [*self.traced.vertex_types, *self.traced.deposits]

    def symbols(self, function: str) -> list[str]:
        """Return the names of the parameters of one of the program's functions."""
        return [s.name for s in self.functions[function].symbols]

    def passed(self, function: str) -> list[tuple[str, str | None]]:
        """Return the parameters of a function as pairs of a name and a field.

        The field is None for an ordinary parameter. For a function that reads a field of any vertex, the field is
        given, and its whole array is the argument.
        """
        f = self.functions[function]
        sources = [f.sources[name] if function in BETWEEN else ("", "") for name in self.symbols(function)]
        return [*zip(self.symbols(function), [field if role == "other" else None for role, field in sources])]

    def returns_wide(self, function: str) -> list[str]:
        """Return the names of the wide vectors that a function returns, in order. Each is stored in a scratch array.

        Wide vectors are too long for registers, and so lie in memory.
        """
        if function == "gather":
            names = [name for name, _ in self.components]
        else:
            role = "result" if function == "scatter" else "after"
            result = self.functions[function].result
            names = [f"{role}_{field}" for field in result] if isinstance(result, dict) else []
        return [name for name in names if f"scratch_{name}" in self.wide_scratch]

    def returned(self, function: str) -> str | list[str]:
        """Return the fields whose new values a function returns: a name if it is a single field, else a list of
        names.
        """
        names = [*self.functions[function].result]
        return names[0] if len(names) == 1 else names

    def read(self, role: str, *functions: str) -> list[str]:
        """Return the fields that functions read of a role, such as "src" for the source of an edge."""
        return read(self, role, functions)

    def loads(self, role: str, *functions: str, copy: str = "old", but: str = "") -> list[Statement]:
        """Return statements that load the fields of a vertex that functions read.

        Fields that the function `but` reads are left out, as they have been loaded already.
        """
        known = loads(self, role, but)
        return [load for load in loads(self, role, *functions, copy=copy) if load not in known]

    def edge_loads(self, *functions: str, but: str = "") -> list[LoadEdge]:
        """Return statements that load the fields of an edge that functions read.

        Fields that the function `but` reads are left out, as they have been loaded already.
        """
        known = edge_loads(self, but)
        return [load for load in edge_loads(self, *functions) if load not in known]

    def vertex_type(self, name: str) -> Any:
        return self.traced.vertex_types.get(name)

    def edge_type(self, name: str) -> Any:
        return self.traced.edge_types.get(name)

    @property
    def id_type(self) -> Any:
        return self.traced.id_type

    @functools.cached_property
    def racing(self) -> set[str]:
        """The fields that one thread writes while other threads read or write them, so that accesses must be atomic."""
        return self.in_place | (self.traced.writes("apply") if self.absorbs or self.push_at_once else set())

    @functools.cached_property
    def sees_rows(self) -> bool:
        """Whether `activate` or an aggregate reads a field's wide vector in memory, where `apply` would overwrite it.

        If so, the new vector is stored only after these functions have read the old one.
        """
        return any(f"scratch_after_{field}" in self.wide_scratch for field in watched(self))

    @staticmethod
    def stores(statements: Iterable[Statement]) -> list[Statement]:
        return [each for each in statements if isinstance(each, Store)]

    @staticmethod
    def but_stores(statements: Iterable[Statement]) -> list[Statement]:
        return [each for each in statements if not isinstance(each, Store)]

    def aggregate_identity(self, name: str) -> Any:
        return literal(self.identities[name], self.measured_types[name])

    # --- gather: how a vertex reduces the values of its edges ---------------------------------------------------------

    @functools.cached_property
    def gathered_identity(self) -> Any:
        """The gathered value of a vertex without edges.

        For wide vectors, the kernel calls the function `nothing` instead.
        """
        kind, monoid = self.traced.gathered_type, self.traced.monoid
        assert monoid is not None
        return literal(monoid.identity(kind) if self.keyed is None else self.keyed.nothing, kind)

    @functools.cached_property
    def leaves_early(self) -> bool:
        """Whether a gather may stop before the last edge: after the first one, or at a value that no further edge
        can change.
        """
        return self.takes_first or self.final is not None

    @property
    def ratio(self) -> int:
        """How many edges a pull checks in the time in which a push sends along one edge.

        The number is larger if a pull may stop before the last edge of a vertex.
        """
        return 15 if self.leaves_early else 2

    def asks_active(self, is_receiver: bool) -> bool:
        """Return whether the kernel has to check, for each vertex, that a neighbor is active before the vertex
        receives.

        Without this check, vertices to which no active vertex sends would receive as well.
        """
        return not (self.everyone or is_receiver or self.active_only)

    @functools.cached_property
    def takes_all_edges(self) -> bool:
        """Whether a vertex always gathers over all of its edges: no mask skips edges, and the gather never ends
        early.
        """
        return not (self.leaves_early or self.active_only or "edge_mask" in self.functions)

    @functools.cached_property
    def may_be_narrow(self) -> bool:
        """Whether a gather may read the first few edges of a short adjacency list at a time, without branches."""
        monoid, is_number = self.traced.monoid, not self.is_tuple and not self.is_wide
        return self.takes_all_edges and monoid is not None and monoid.commutative and is_number

    @property
    def gathers_few_at_once(self) -> bool:
        """Whether a run may read the first few edges of short lists at a time, without branches, in at least some
        iterations.
        """
        lists_receivers = self.scheduled or not (self.everyone or self.pushes)
        takes_all = not (self.scheduled or self.prioritised or self.asks_active(is_receiver=False))
        return self.may_be_narrow and (lists_receivers or takes_all)

    @functools.cached_property
    def fetched_rows(self) -> list[tuple[str, list[int]]]:
        """The vector fields that gather reads of a neighbor, each with the positions in the vector where cache lines
        begin.

        The kernel prefetches these cache lines.
        """
        rows = []
        for name in self.read("src", "gather"):
            kind = self.vertex_type(name)
            if isinstance(kind, VectorType):
                step = CACHE_LINE // kind.scalar.itemsize
                rows.append((name, [*range(0, min(kind.length, LINES * step), step)]))
        return rows

    @functools.cached_property
    def symbols_of_few(self) -> list[str]:
        """Names of the arguments of `gather_few` (the gather of several edges at a time) after its first, the
        gathered value.
        """
        gather = self.functions["gather"]
        return [*dict.fromkeys(self.at_edge(s, i) for i in range(FEW) for s in gather.symbols)]

    def at_edge(self, symbol: Symbol, edge: int) -> str:
        """Return the name of the local variable that holds a parameter of gather for one of several edges.

        Parameters that are the same for all edges of a vertex, such as its own fields, have a single variable.
        """
        role, _ = self.functions["gather"].sources[symbol.name]
        return f"{symbol.name}_{edge}" if role in ("src", "edge", "back") else symbol.name

    @functools.cached_property
    def values_gathered(self) -> list[str]:
        """The edge fields that gather reads from arrays in the order of the adjacency lists."""
        return sorted(self._edge_roles("gather") & set(self.edge_values))

    @staticmethod
    def one_in_bits(dtype: np.dtype) -> int:
        """Return the bits of the number 1 of a dtype, as an integer."""
        return int(np.ones(1, dtype).view(f"i{dtype.itemsize}").item())

    # --- push: how active vertices send values to their neighbors -----------------------------------------------------

    @functools.cached_property
    def fetched(self) -> str | None:
        """The field of a target vertex that a push prefetches because it will read it, or None."""
        fields = sorted(self.absorbs or self.read("vertex", "mask"))
        numbers = [name for name in fields if isinstance(self.vertex_type(name), np.dtype)]
        return next(iter([*numbers, *self.absorbs]), None)

    @property
    def fetches_vector(self) -> bool:
        return self.fetched is not None and not isinstance(self.vertex_type(self.fetched), np.dtype)

    def loads_of_end(self, role: str) -> list[Statement]:
        """Return statements that load the fields of one end of an edge that gather and edge_mask read.

        Vectors are left out if gather reads them one number at a time.
        """
        names = self.read(role, "gather", "edge_mask")
        if self.sends_news and self.lane_gather:
            asked = self.read(role, "edge_mask")
            names = [n for n in names if n in asked or not isinstance(self.vertex_type(n), VectorType)]
        return [Load(role, name) for name in names]

    @property
    def printed_lane(self) -> str:
        """The name of the compiled function that gathers a single number (lane) of a vector."""
        assert self.lane_gather is not None
        return self.lane_gather.printed

    @functools.cached_property
    def lane_reads(self) -> list[tuple[str, str | None, bool]]:
        """The parameters of the function that gathers a single number (lane) of a vector.

        Each is a tuple of three: the parameter's name; the vector field whose lane it is, or None; and whether the
        source of the edge has this field, and not its target.
        """
        assert self.lane_gather is not None
        reads: list[tuple[str, str | None, bool]] = []
        for s in self.lane_gather.symbols:
            role, field = self.lane_gather.sources[s.name]
            is_lane = role in ("src", "dst") and isinstance(self.vertex_type(field), VectorType)
            reads.append((s.name, field if is_lane else None, role == "src"))
        return reads

    @functools.cached_property
    def combinations(self) -> dict[Expr, int]:
        """The distinct expressions that combine two numbers of gathered values, each with its number."""
        return {e: i for i, e in enumerate(dict.fromkeys(part.combined for part in self.parts))}

    def number(self, part: Part) -> str:
        """Return the number of the function that combines two values of a part (one number) of the gathered value."""
        return str(self.combinations[part.combined])

    def accumulating(self, part: Part) -> str:
        """Return the name of the array in which pushes accumulate a part (one number) of the gathered value."""
        return self.components[part.item or 0][0]

    def absorbing(self, part: Part) -> str:
        """Return the vertex field into which pushes reduce a part (one number) of the gathered value directly."""
        return self.absorbs[part.item or 0]

    @property
    def all_news(self) -> int:
        """A word with a bit for each part of a vertex's value, all set: all parts are still to be sent."""
        return (1 << len(self.parts)) - 1

    @property
    def ranks_new(self) -> bool:
        """Whether a vertex's priority follows from the changed parts of its value, so that it needs no other field."""
        return self.sends_news and self.ranks_least

    @property
    def has_float_priorities(self) -> bool:
        return bool(self.functions["priority"].result.type.kind == "f")

    @property
    def passed_after_apply(self) -> list[str]:
        """The arguments of `mask` right after `apply`: the new values that `apply` returned, in place of the fields."""
        names = {f"vertex_{f}": f"after_{f}" for f in self.functions["apply"].result}
        return [names.get(name, name) for name in self.symbols("mask")]

    # --- reductions by key: a vertex totals values for each key, and chooses the best key -----------------------------

    @functools.cached_property
    def chooses_of_few(self) -> bool:
        """Whether short adjacency lists are reduced by key by comparing their few edges, without a hash table."""
        return self.takes_all_edges and not self._edge_roles("gather", "key") & {"back", *self.edge_states}

    @property
    def scores(self) -> list[str]:
        """Names of the kernel's local variables that hold the scores of a key, as `choose` returns them."""
        assert self.keyed is not None
        return [f"score_{i}" for i in range(len(self.keyed.scores))]

    @property
    def entry(self) -> list[str]:
        """Names of the kernel's local variables that hold an entry of a table of keys: the key, its total and its
        scores.
        """
        return ["key", "total", *self.scores]

    @property
    def compared(self) -> list[str]:
        """Names of the arguments of `better`: the current key with its scores, and the best key so far with its
        scores.
        """
        return [name for each in ["key", *self.scores] for name in (each, f"best_{each}")]

    @property
    def no_key(self) -> Any:
        """The key -1, which stands for an edge beyond the end of a list, as no edge has it."""
        assert self.keyed is not None
        return literal(-1, self.keyed.key)

    @functools.cached_property
    def nothing(self) -> Any:
        """The identity of the reduction of values with equal keys, from which each total starts."""
        assert self.keyed is not None and self.traced.monoid is not None
        return literal(self.traced.monoid.identity(self.keyed.total), self.keyed.total)

    @functools.cached_property
    def fields_of_keys(self) -> list[str]:
        """The fields of neighbors from which the keys of edges are computed."""
        return sorted(self.functions["key"].reads("src") & {*self.traced.vertex_types})


def array_of(kind: Any, is_doubled: bool = False) -> Array:
    """Return the item type and number of dimensions of an array that holds values of a type.

    A vector takes a row of the array. A doubled array has two copies of a field, in a dimension of their own.
    """
    return (kind.scalar, 2 + is_doubled) if isinstance(kind, VectorType) else (kind, 1 + is_doubled)


def literal(value: Any, kind: Any) -> Any:
    """Return a Python or NumPy value as constants of a type. For a vector or a tuple, return a tuple of constants."""
    if isinstance(kind, TupleType):
        return tuple(literal(v, k) for v, k in zip(value, kind.items))
    if isinstance(kind, VectorType):
        return tuple(literal(v, kind.scalar) for v in np.broadcast_to(value, kind.length))
    return kind.type(value)
