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

FEW = 4  # number of edges that a gather reads together, without a branch between them
# size of a cache line in bytes; largest number of cache lines that are prefetched of a field's vector at one vertex
CACHE_LINE, LINES = 64, 8
I64, U64, F64, BOOL = (np.dtype(name) for name in ("int64", "uint64", "float64", "bool"))
# names of the arrays that hold the hash tables for reductions by key; each thread has a row of each array
TABLES = ["table_keys", "table_totals", "table_places"]

Array = tuple[np.dtype[Any], int]  # the type of an array's items, and its number of dimensions


class CpuPlan(Plan):
    """The decisions about how one vertex program runs on the CPU, for which its kernel is compiled."""

    # --- arguments of the kernel: their names, types and dimensions ---------------------------------------------------

    @functools.cached_property
    def arrays(self) -> dict[str, Array]:
        """The item type and number of dimensions of each array that is passed to the program's kernel, by name, in
        order.
        """
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
        """Whether a vertex or edge field of the program has values of type float16."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        return any(getattr(kind, "scalar", kind) == HALF for kind in kinds)

    @property
    def carried(self) -> list[str]:
        """Names of the values that the loop over iterations changes from one iteration to the next, apart from
        aggregates.

        They are the number of the bucket whose vertices are processed now, and the parameters that the program's `idle`
        changes.
        """
        return [*(["bucket"] if self.has_buckets else []), *self.changes]

    @functools.cached_property
    def is_wide(self) -> bool:
        """Whether the gathered value is or contains a wide vector, which lies in memory and not in registers."""
        return self.gathers and has_wide(self.traced.gathered_type)

    @functools.cached_property
    def has_short_vectors(self) -> bool:
        """Whether a field of the program or its gathered value is a short vector, which fits in registers."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        kinds += parts_of(self.traced.gathered_type) if self.gathers else []
        return any(isinstance(kind, VectorType) and not kind.is_wide for kind in kinds)

    @functools.cached_property
    def wide_scratch(self) -> dict[str, VectorType]:
        """The type of each scratch array that a function of the program needs to return a wide vector, by name.

        Wide vectors are too long for registers, so functions write them to memory. Each thread has a row of each array.
        """
        gathered = self.components if self.gathers else []
        applied = [(f"after_{n}", self.traced.vertex_types[n]) for n in self.traced.writes(*WRITING)]
        scattered = [(f"result_{n}", self.traced.edge_types[n]) for n in self.traced.writes("scatter")]
        types = {f"scratch_{name}": kind for name, kind in [*gathered, *sorted(applied), *sorted(scattered)]}
        return {name: kind for name, kind in types.items() if has_wide(kind)}

    @property
    def accumulates(self) -> bool:
        """Whether pushes reduce the values that they send to a vertex into an array, and not into the vertex field
        itself.

        Between iterations, all items of this array are the identity of the reduction.
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
        """Whether the first iteration reads the bitmap of active vertices.

        Then the bitmap must be set before the run.
        """
        return self.active_only and self.everyone

    @functools.cached_property
    def filled(self) -> list[str]:
        """The vertex fields that the kernel fills with their initial values. In a hand-written loop, it fills none."""
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
        """The identity of each of the program's aggregates, by name: the value that its reduction starts from."""
        declared = {**self.traced.aggregates, **self.traced.deposits}
        return {name: declared[name].monoid.identity(kind) for name, kind in self.measured_types.items()}

    @property
    def measured_types(self) -> dict[str, np.dtype]:
        """The dtypes of all aggregates by name: those over the whole graph, and those that are reduced at each single
        vertex.
        """
        return {**self.traced.aggregate_types, **self.traced.deposit_types}

    @functools.cached_property
    def arguments(self) -> list[str]:
        """The names of all arguments of the kernel of the program's loop, in order."""
        return ["thread", "threads", *self.arrays, *self.scalars]

    # --- parameters and results of the program's own functions --------------------------------------------------------

    @property
    def seen_elsewhere(self) -> list[str]:
        """The fields and aggregates that the program's functions may read at any vertex of the graph, as `self.at`
        allows.
        """
        return [*self.traced.vertex_types, *self.traced.deposits]

    def symbols(self, function: str) -> list[str]:
        """Return the names of the parameters of one of the program's functions, as its printed source has them."""
        return [s.name for s in self.functions[function].symbols]

    def passed(self, function: str) -> list[tuple[str, str | None]]:
        """Return the parameters of one of the program's functions, each as a pair of its name and a field or None.

        The field is given for a parameter that reads a field of any vertex: the field's whole array is passed. It is
        None for a parameter that takes a single value.
        """
        traced_function = self.functions[function]
        sources = [
            traced_function.sources[name] if function in BETWEEN else ("", "") for name in self.symbols(function)
        ]
        return [*zip(self.symbols(function), [field if role == "other" else None for role, field in sources])]

    def returns_wide(self, function: str) -> list[str]:
        """Return the names of the wide vectors that a function of the program returns, in order.

        Wide vectors are too long for registers, so each one is stored in a scratch array.
        """
        if function == "gather":
            names = [name for name, _ in self.components]
        else:
            role = "result" if function == "scatter" else "after"
            result = self.functions[function].result
            names = [f"{role}_{field}" for field in result] if isinstance(result, dict) else []
        return [name for name in names if f"scratch_{name}" in self.wide_scratch]

    def returned(self, function: str) -> str | list[str]:
        """Return the fields whose new values a function of the program returns: a name if it is one field, else a list
        of names.
        """
        names = [*self.functions[function].result]
        return names[0] if len(names) == 1 else names

    def read(self, role: str, *functions: str) -> list[str]:
        """Return the names of the fields that functions of the program read of a role (such as "src", the source of an
        edge).
        """
        return read(self, role, functions)

    def loads(self, role: str, *functions: str, copy: str = "old", but: str = "") -> list[Statement]:
        """Return statements that load the fields of a vertex that some functions of the program read.

        `role` is what the vertex is to these functions, such as "src", and `copy` says which copy of a field to load,
        "old" or "new". Fields that the function `but` reads as well are left out, because they have been loaded
        already.
        """
        known = loads(self, role, but)
        return [load for load in loads(self, role, *functions, copy=copy) if load not in known]

    def edge_loads(self, *functions: str, but: str = "") -> list[LoadEdge]:
        """Return statements that load the fields of an edge that some functions of the program read.

        Fields that the function `but` reads as well are left out, because they have been loaded already.
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
        """The fields that one thread writes while other threads may read or write them, so that accesses must be
        atomic.
        """
        return self.in_place | (self.traced.writes("apply") if self.absorbs or self.push_at_once else set())

    @functools.cached_property
    def sees_rows(self) -> bool:
        """Whether a new wide vector of a field must be stored only after `activate` and aggregates have read the old
        one.

        These functions read wide vectors in memory. Otherwise `apply` would overwrite the old vector before they read
        it.
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
        """The gathered value of a vertex without edges, as a literal (constants that a kernel can contain).

        For wide vectors, which lie in memory, the kernel calls the function `nothing` instead.
        """
        kind, monoid = self.traced.gathered_type, self.traced.monoid
        assert monoid is not None
        return literal(monoid.identity(kind) if self.keyed is None else self.keyed.nothing, kind)

    @functools.cached_property
    def leaves_early(self) -> bool:
        """Whether a gather may stop before the last edge of a vertex, because no further edge can change the value."""
        return self.takes_first or self.final is not None

    @property
    def ratio(self) -> int:
        """The number of edges that a pull reads in the time in which a push sends along one edge, by estimate.

        The number is larger if a pull may stop before the last edge of a vertex.
        """
        return 15 if self.leaves_early else 2

    def asks_active(self, is_receiver: bool) -> bool:
        """Return whether the kernel must check that a vertex has an active neighbor before the vertex may receive.

        Without this check, vertices to which no active vertex sends would receive as well.
        """
        return not (self.everyone or is_receiver or self.active_only)

    @functools.cached_property
    def takes_all_edges(self) -> bool:
        """Whether a vertex always gathers over all of its edges: none is masked, and the gather never stops early."""
        return not (self.leaves_early or self.active_only or "edge_mask" in self.functions)

    @functools.cached_property
    def may_be_narrow(self) -> bool:
        """Whether a gather may read the first `FEW` edges of a vertex together, without branches, if adjacency lists
        are short.
        """
        monoid, is_number = self.traced.monoid, not self.is_tuple and not self.is_wide
        return self.takes_all_edges and monoid is not None and monoid.commutative and is_number

    @property
    def gathers_few_at_once(self) -> bool:
        """Whether in at least some iterations a gather may read the first `FEW` edges of a vertex together, without
        branches.
        """
        lists_receivers = self.scheduled or not (self.everyone or self.pushes)
        takes_all = not (self.scheduled or self.prioritised or self.asks_active(is_receiver=False))
        return self.may_be_narrow and (lists_receivers or takes_all)

    @functools.cached_property
    def fetched_rows(self) -> list[tuple[str, list[int]]]:
        """The vector fields of a neighbor that gather reads, each with the positions in the vector at which cache lines
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
        """Names of the arguments, except for the first one, of `gather_few`, the function that gathers `FEW` edges at
        once.
        """
        gather = self.functions["gather"]
        return [*dict.fromkeys(self.at_edge(s, i) for i in range(FEW) for s in gather.symbols)]

    def at_edge(self, symbol: Symbol, edge: int) -> str:
        """Return the name of the local variable that holds a parameter of gather for one of the edges that are gathered
        together.

        `edge` is the number of this edge. Parameters that are the same for all edges of a vertex, such as its own
        fields, have a single variable.
        """
        role, _ = self.functions["gather"].sources[symbol.name]
        return f"{symbol.name}_{edge}" if role in ("src", "edge", "back") else symbol.name

    @functools.cached_property
    def values_gathered(self) -> list[str]:
        """The edge fields whose values gather reads from copies that are sorted in the order of the adjacency lists."""
        return sorted(self._edge_roles("gather") & set(self.edge_values))

    @staticmethod
    def one_in_bits(dtype: np.dtype) -> int:
        """Return the bits of the number 1 of a dtype, as an integer, by which kernels make comparable floats."""
        return int(np.ones(1, dtype).view(f"i{dtype.itemsize}").item())

    # --- push: how active vertices send values to their neighbors -----------------------------------------------------

    @functools.cached_property
    def fetched(self) -> str | None:
        """The vertex field that a push prefetches at the target of each edge before it reads the field, or None if
        there is none.
        """
        fields = sorted(self.absorbs or self.read("vertex", "mask"))
        numbers = [name for name in fields if isinstance(self.vertex_type(name), np.dtype)]
        return next(iter([*numbers, *self.absorbs]), None)

    @property
    def fetches_vector(self) -> bool:
        return self.fetched is not None and not isinstance(self.vertex_type(self.fetched), np.dtype)

    def loads_of_end(self, role: str) -> list[Statement]:
        """Return statements that load the fields of one end of an edge for the program's `gather` and `edge_mask`.

        `role` says which end, "src" or "dst". Vectors are left out if gather reads them one number at a time.
        """
        names = self.read(role, "gather", "edge_mask")
        if self.sends_news and self.lane_gather:
            asked = self.read(role, "edge_mask")
            names = [n for n in names if n in asked or not isinstance(self.vertex_type(n), VectorType)]
        return [Load(role, name) for name in names]

    @property
    def printed_lane(self) -> str:
        """The name of the compiled function that gathers a single number of a vector, also called a lane."""
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
        """The distinct expressions by which a program combines two numbers of gathered values.

        Each comes with a number, which is part of the name of the function that computes it.
        """
        return {e: i for i, e in enumerate(dict.fromkeys(part.combined for part in self.parts))}

    def number(self, part: Part) -> str:
        """Return the number in the name of the function that combines two values of a part, as text.

        A part is a single number of the gathered value, such as an item of a tuple.
        """
        return str(self.combinations[part.combined])

    def accumulating(self, part: Part) -> str:
        """Return the name of the array in which pushes reduce a part (a single number) of the values that they send."""
        return self.components[part.item or 0][0]

    def absorbing(self, part: Part) -> str:
        """Return the name of the vertex field into which pushes reduce a part (a number of the gathered value)
        directly.
        """
        return self.absorbs[part.item or 0]

    @property
    def all_news(self) -> int:
        """An integer with a bit set for each part (number) of a vertex's value.

        Stored for a vertex, it says that all parts are still to be sent.
        """
        return (1 << len(self.parts)) - 1

    @property
    def ranks_new(self) -> bool:
        """Whether a vertex's priority is computed from the changed parts of its value alone, without another field."""
        return self.sends_news and self.ranks_least

    @property
    def has_float_priorities(self) -> bool:
        return bool(self.functions["priority"].result.type.kind == "f")

    @property
    def passed_after_apply(self) -> list[str]:
        """The arguments of the program's `mask` when it is called right after `apply`, on the new fields."""
        names = {f"vertex_{f}": f"after_{f}" for f in self.functions["apply"].result}
        return [names.get(name, name) for name in self.symbols("mask")]

    # --- reductions by key: a vertex totals values for each key, and chooses the best key -----------------------------

    @functools.cached_property
    def chooses_of_few(self) -> bool:
        """Whether a vertex with few edges reduces values by key without a hash table, by comparing keys."""
        return self.takes_all_edges and not self._edge_roles("gather", "key") & {"back", *self.edge_states}

    @property
    def scores(self) -> list[str]:
        """Names of the local variables that hold the scores of a key, by which a vertex chooses its best key."""
        assert self.keyed is not None
        return [f"score_{i}" for i in range(len(self.keyed.scores))]

    @property
    def entry(self) -> list[str]:
        """Names of the local variables that hold one entry of a hash table of keys.

        They are the key, the total of its values, and its scores.
        """
        return ["key", "total", *self.scores]

    @property
    def compared(self) -> list[str]:
        """Names of the arguments of `better`, which compares two keys of a vertex.

        They are the current key and its scores, then the best ones so far.
        """
        return [name for each in ["key", *self.scores] for name in (each, f"best_{each}")]

    @property
    def no_key(self) -> Any:
        """The key -1, which no edge has. It stands for an edge past the end of an adjacency list."""
        assert self.keyed is not None
        return literal(-1, self.keyed.key)

    @functools.cached_property
    def nothing(self) -> Any:
        """The identity of the reduction of values with equal keys, from which the total of each key starts."""
        assert self.keyed is not None and self.traced.monoid is not None
        return literal(self.traced.monoid.identity(self.keyed.total), self.keyed.total)

    @functools.cached_property
    def fields_of_keys(self) -> list[str]:
        """The fields of neighbors from which the keys of edges are computed, if values are reduced by key."""
        return sorted(self.functions["key"].reads("src") & {*self.traced.vertex_types})


def array_of(kind: Any, is_doubled: bool = False) -> Array:
    """Return the dtype and the number of dimensions of an array that holds values of the type `kind` for vertices or
    edges.

    A vector takes a row of the array. If `is_doubled`, the array has two copies of a field, in a dimension of their
    own.
    """
    return (kind.scalar, 2 + is_doubled) if isinstance(kind, VectorType) else (kind, 1 + is_doubled)


def literal(value: Any, kind: Any) -> Any:
    """Return a value as constants of the type `kind`, which a kernel can contain.

    For a vector or tuple, return a tuple of constants.
    """
    if isinstance(kind, TupleType):
        return tuple(literal(v, k) for v, k in zip(value, kind.items))
    if isinstance(kind, VectorType):
        return tuple(literal(v, kind.scalar) for v in np.broadcast_to(value, kind.length))
    return kind.type(value)
