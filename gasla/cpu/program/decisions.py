"""The CPU's part of a program's plan: the arguments of its kernel, and all that templates ask about the program.

Templates (`gasla/cpu/kernels`) see a `CpuPlan` as `plan`. Its properties that stand for generated text are `Code`.
"""

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from gasla.cpu.program.specialize import Code, code
from gasla.program.plan import Part, Plan
from gasla.program.statements import Load, LoadEdge, Statement, Store, edge_loads, loads, read, watched
from gasla.program.tracing import AFTERWARDS
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.printers import python as printer
from semirings.types import HALF, has_wide, parts_of

FEW = 4  # number of edges that a gather without branches reads at once
CACHE_LINE, LINES = 64, 8  # bytes; cache lines of a vector that are prefetched
TABLES = ["table_keys", "table_totals", "table_places"]  # arrays of reductions by key, with one row per thread


class CpuPlan(Plan):
    """The decisions for one program on the CPU."""

    # --- arguments of the kernel --------------------------------------------------------------------------------------

    @functools.cached_property
    def arrays(self) -> list[str]:
        """The names of the array arguments, in order."""
        t = self.traced
        names = ["control", "counts", "log"]
        if self.scheduled:
            names += ["receivers"] if self.staged else ["receivers", "starts", "levels"]
        names += ["queues"] if self.keeps_active and not self.scheduled else []
        if self.keeps_active:
            names.append("bits")
        if self.staged:
            names.append("activated")
        if self.sends and not self.scheduled:
            names += ["claimed", "receivers"]
        elif self.keeps_receivers and not self.scheduled:
            names.append("receivers")
        if self.gathers and (self.two_phases or (self.pushes and not self.absorbs and not self.push_at_once)):
            names += [name for name, _ in self.components]
        names += TABLES if self.keyed is not None else []
        names += list(self.wide_scratch)
        names += ["far", "far_bits", "lows", "bounds"] if self.prioritised else []
        names += ["news"] if self.sends_news else []
        names += ["waiting", "lowest"] if self.has_buckets else []
        names += [f"set_{name}" for name in self.carried]
        names += [
            f"{array}_{n}" for n in t.vertex_types for array in (["v", "from", "at"] if n in self.filled else "v")
        ]
        names += [f"to_{name}" for name in t.deposits]
        names += [f"was_{name}" for name in sorted(self.behind)]
        names += [f"was_{name}" for name in sorted(self.edges_behind)]
        names += ["gp", "gi"] + (["ge"] if self.needs_gather_ids else [])
        names += ["gb"] if self.needs_gather_partners else []
        names += [f"gv_{n}" for n in self.edge_values]
        if self.sends:
            names += ["sp", "si"] + (["se"] if self.needs_send_ids else [])
            names += [f"sv_{n}" for n in self.edge_values]
            names += ["sb"] if self.needs_send_partners else []
        names += ["leaving"] if self.needs_leaving else []
        names += [f"value_{n}" for n in self.back_values]
        names += [f"e_{n}" for n in self.edge_states]
        names += [f"{d[:-6]}p" for d in sorted(self.degrees)]
        names += [f"part_{n}" for n in t.aggregates]
        names += [*(f"term_{n}" for n in t.aggregates), "summed"] if self.sums_in_order else []
        return names

    @functools.cached_property
    def has_halves(self) -> bool:
        """Whether a field is of float16."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        return any(getattr(kind, "scalar", kind) == HALF for kind in kinds)

    @property
    def carried(self) -> list[str]:
        """The attributes of `self` that the loop sets, except aggregates: the open bucket, and parameters."""
        return [*(["bucket"] if self.has_buckets else []), *self.changes]

    @functools.cached_property
    def is_wide(self) -> bool:
        """Whether the gathered value is or contains a wide vector."""
        return self.gathers and has_wide(self.traced.gathered_type)

    @functools.cached_property
    def has_short_vectors(self) -> bool:
        """Whether fields or gathered values are vectors that are not wide."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        kinds += parts_of(self.traced.gathered_type) if self.gathers else []
        return any(isinstance(kind, VectorType) and not kind.is_wide for kind in kinds)

    @functools.cached_property
    def wide_scratch(self) -> dict[str, VectorType]:
        """The type of each scratch array for wide vectors that functions return; each thread has a row."""
        gathered = self.components if self.gathers else []
        applied = [(f"after_{n}", self.traced.vertex_types[n]) for n in self.traced.writes("apply", "post_apply")]
        scattered = [(f"result_{n}", self.traced.edge_types[n]) for n in self.traced.writes("scatter")]
        found = {f"scratch_{name}": kind for name, kind in [*gathered, *sorted(applied), *sorted(scattered)]}
        return {name: kind for name, kind in found.items() if has_wide(kind)}

    @property
    def accumulates(self) -> bool:
        """Whether pushes reduce into an array, which holds the identity between iterations."""
        return self.pushes and not self.takes_first and not self.absorbs

    @property
    def sends_news(self) -> bool:
        """Whether a vertex sends only the parts that changed since it last sent; each part has a bit."""
        return bool(self.absorbs) and not self.is_single

    @property
    def starts_active(self) -> bool:
        """Whether the first iteration already reads the bitmap of active vertices."""
        return self.active_only and self.everyone

    @functools.cached_property
    def filled(self) -> list[str]:
        """The vertex fields that the kernel can fill with their initial values."""
        return [] if self.staged else list(self.traced.vertex_types)

    @functools.cached_property
    def scalars(self) -> list[str]:
        """The names of the scalar arguments: parameters, aggregates of the last iteration, the state of the loop."""
        t = self.traced
        bounds = ["delta", "threshold", "last_threshold", "width", "spare"] if self.prioritised else []
        return [
            *bounds,
            "skewed",
            "narrow",
            "receiver_count",
            "self_n",
            "self_iteration",
            *(["self_bucket"] if self.has_buckets else []),
            *(f"self_{n}" for n in (*t.parameter_types, *t.aggregates)),
        ]

    @functools.cached_property
    def identities(self) -> dict[str, Any]:
        """The identity of each aggregate."""
        declared = {**self.traced.aggregates, **self.traced.deposits}
        return {name: declared[name].monoid.identity(kind) for name, kind in self.measured_types.items()}

    @property
    def measured_types(self) -> dict[str, np.dtype]:
        """The types of aggregates, over the graph and at vertices."""
        return {**self.traced.aggregate_types, **self.traced.deposit_types}

    @functools.cached_property
    def arguments(self) -> list[str]:
        """The names of all arguments, in order."""
        return ["thread", "threads", *self.arrays, *self.scalars]

    # --- the program's functions --------------------------------------------------------------------------------------

    @property
    def seen_elsewhere(self) -> list[str]:
        """The fields and aggregates that functions may read of any vertex."""
        return [*self.traced.vertex_types, *self.traced.deposits]

    def copy_of(self, function: str, field: str) -> Code:
        """The array from which a function reads a field of any vertex."""
        rows = {"old": f"old_{field}", "left": f"v_{field}[1 - (self_iteration & 1)]"}
        rows |= {"only": f"v_{field}", "behind": f"was_{field}", "next": f"v_{field}[self_iteration & 1]"}
        rows["reduced"] = f"to_{field}[self_iteration % 3]"
        rows["reduced before"] = f"to_{field}[(self_iteration + 2) % 3]"
        return code(rows[self.where_found(function, field)])

    def call(self, name: str) -> Code:
        """A call of a function of the program; the arguments are locals named like its parameters."""
        return called(self.functions[name].printed, [*self._passed(name), *self._scratch_of(name)])

    def _passed(self, name: str) -> list[Code]:
        f = self.functions[name]
        of = {s.name: f.sources[s.name] for s in f.symbols} if name in AFTERWARDS else {}
        found = {symbol: self.copy_of(name, field) for symbol, (role, field) in of.items() if role == "other"}
        return [found.get(s.name, code(s.name)) for s in f.symbols]

    def symbols(self, name: str) -> list[Code]:
        """A function's parameters."""
        return [code(s.name) for s in self.functions[name].symbols]

    def _scratch_of(self, function: str) -> list[Code]:
        """The scratch rows for the wide vectors that a function returns, in order."""
        if function == "gather":
            names = [name for name, _ in self.components]
        else:
            role = "result" if function == "scatter" else "after"
            result = self.functions[function].result
            names = [f"{role}_{field}" for field in result] if isinstance(result, dict) else []
        return [code(f"scratch_{name}[thread]") for name in names if f"scratch_{name}" in self.wide_scratch]

    def returned(self, function: str) -> str | list[str]:
        """The fields that a function returns: a name, or a list of several."""
        names = [*self.functions[function].result]
        return names[0] if len(names) == 1 else names

    def read(self, role: str, *functions: str) -> list[str]:
        """The fields that the functions read of a role."""
        return read(self, role, functions)

    def loads(self, role: str, *functions: str, copy: str = "old", but: str = "") -> list[Statement]:
        """The loads of the fields that the functions read of a vertex, except those that `but` reads."""
        known = loads(self, role, but)
        return [load for load in loads(self, role, *functions, copy=copy) if load not in known]

    def edge_loads(self, *functions: str, but: str = "") -> list[LoadEdge]:
        """The loads of the fields that the functions read of an edge, except those that `but` reads."""
        known = edge_loads(self, but)
        return [load for load in edge_loads(self, *functions) if load not in known]

    def vertex_type(self, name: str) -> Any:
        return self.traced.vertex_types.get(name)

    def edge_type(self, name: str) -> Any:
        return self.traced.edge_types.get(name)

    @property
    def id_type(self) -> np.dtype:
        return self.traced.id_type

    @functools.cached_property
    def racing(self) -> set[str]:
        """The fields that are written while other threads read or write them."""
        return self.in_place | (self.traced.writes("apply") if self.absorbs or self.push_at_once else set())

    @functools.cached_property
    def sees_rows(self) -> bool:
        """Whether activate or an aggregate reads a wide vector in place, while it is being updated."""
        return any(f"scratch_after_{field}" in self.wide_scratch for field in watched(self))

    @staticmethod
    def stores(statements: Iterable[Statement]) -> list[Statement]:
        return [each for each in statements if isinstance(each, Store)]

    @staticmethod
    def but_stores(statements: Iterable[Statement]) -> list[Statement]:
        return [each for each in statements if not isinstance(each, Store)]

    def literal(self, value: Any, kind: Any) -> Code:
        """A constant."""
        return code(_literal(value, kind))

    def aggregate_identity(self, name: str) -> Code:
        return self.literal(self.identities[name], self.measured_types[name])

    # --- gather ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def identity(self) -> Code:
        """The gathered value of a vertex without edges."""
        if not self.gathers:
            return code("None")
        kind: Any = self.traced.gathered_type
        if self.is_wide and self.keyed is None:
            return called("nothing", self._scratch_of("gather"))
        return self.literal(self.gathered_identity, kind)

    @functools.cached_property
    def gathered_identity(self) -> Any:
        """The identity as a value."""
        if self.keyed is not None:
            return self.keyed.nothing
        assert self.traced.monoid is not None
        return self.traced.monoid.identity(self.traced.gathered_type)

    def parts_of(self, value: Code | str) -> list[tuple[str, Any, Code]]:
        """The name and type of each array that holds gathered values, and the part of `value` that it stores."""
        node = code(value) if isinstance(value, str) else value
        parts = [_item(node, i) for i in range(len(self.components))] if self.is_tuple else [node]
        return [(*component, part) for component, part in zip(self.components, parts)]

    @functools.cached_property
    def leaves_early(self) -> bool:
        """Whether a gather may stop early: after the first edge, or at a value that no edge can change."""
        return self.takes_first or self.final is not None

    @property
    def ratio(self) -> int:
        """How many edges a pull checks in the time of one edge of a push; more if a pull may stop early."""
        return 15 if self.leaves_early else 2

    def asks_active(self, is_receiver: bool) -> bool:
        """Whether a vertex that gathers over all its edges receives only if a neighbor is active."""
        return not (self.everyone or is_receiver or self.active_only)

    @functools.cached_property
    def takes_all_edges(self) -> bool:
        """Whether every edge of a vertex is gathered."""
        return not (self.leaves_early or self.active_only or "edge_mask" in self.functions)

    @functools.cached_property
    def may_be_narrow(self) -> bool:
        """Whether a gather may take the first few edges of short lists without branches."""
        monoid, is_number = self.traced.monoid, not self.is_tuple and not self.is_wide
        return self.takes_all_edges and monoid is not None and monoid.commutative and is_number

    @property
    def gathers_few_at_once(self) -> bool:
        """Whether a run may gather the first few edges of short lists without a branch, of all vertices or some."""
        lists_receivers = self.scheduled or not (self.everyone or self.pushes)
        takes_all = not (self.scheduled or self.prioritised or self.asks_active(is_receiver=False))
        return self.may_be_narrow and (lists_receivers or takes_all)

    @functools.cached_property
    def fetched_rows(self) -> list[tuple[str, list[int]]]:
        """The vector fields that gather reads of a neighbor, and the lanes at which their cache lines begin."""
        found = []
        for name in self.read("src", "gather"):
            kind = self.vertex_type(name)
            if isinstance(kind, VectorType):
                step = CACHE_LINE // kind.scalar.itemsize
                found.append((name, [*range(0, min(kind.length, LINES * step), step)]))
        return found

    @functools.cached_property
    def symbols_of_few(self) -> list[Code]:
        """The arguments of `gather_few` after the first."""
        gather = self.functions["gather"]
        return [code(name) for name in dict.fromkeys(self.at_edge(s, i) for i in range(FEW) for s in gather.symbols)]

    def at_edge(self, symbol: Symbol, edge: int) -> str:
        """The local that holds a symbol of gather for one of several edges."""
        role, _ = self.functions["gather"].sources[symbol.name]
        return f"{symbol.name}_{edge}" if role in ("src", "edge", "back") else symbol.name

    @functools.cached_property
    def values_gathered(self) -> list[str]:
        """The edge values that gather reads, as the lists hold them."""
        return sorted(self._edge_roles("gather") & set(self.edge_values))

    @staticmethod
    def one_in_bits(kind: np.dtype) -> int:
        """The bits of 1, as a whole number."""
        return int(np.ones(1, kind).view(f"i{kind.itemsize}").item())

    # --- push -----------------------------------------------------------------------------------------------

    @functools.cached_property
    def fetched(self) -> str | None:
        """The field of targets that a push reads, and so prefetches."""
        fields = sorted(self.absorbs or self.read("vertex", "mask"))
        numbers = [name for name in fields if isinstance(self.vertex_type(name), np.dtype)]
        return next(iter([*numbers, *self.absorbs]), None)

    @property
    def fetches_vector(self) -> bool:
        return self.fetched is not None and not isinstance(self.vertex_type(self.fetched), np.dtype)

    def loads_of_end(self, role: str) -> list[Statement]:
        """The loads of one end of an edge, except of vectors that are read lane by lane."""
        names = self.read(role, "gather", "edge_mask")
        if self.sends_news and self.lane_gather:
            asked = self.read(role, "edge_mask")
            names = [n for n in names if n in asked or not isinstance(self.vertex_type(n), VectorType)]
        return [Load(role, name) for name in names]

    @functools.cached_property
    def lane_call(self) -> Code:
        """A call of gather for the current lane."""
        assert self.lane_gather is not None
        found = []
        for s in self.lane_gather.symbols:
            role, field = self.lane_gather.sources[s.name]
            is_lane = role in ("src", "dst") and isinstance(self.vertex_type(field), VectorType)
            row = f"old_{field}" if field in self.doubled else f"v_{field}"
            at = "u" if role == "src" else "v"
            found.append(code(f"load_unordered({row}[{at}], lane)" if is_lane else s.name))
        return called(self.lane_gather.printed, found)

    @functools.cached_property
    def combinations(self) -> dict[Expr, int]:
        """The distinct expressions that combine parts of gathered values, numbered."""
        return {e: i for i, e in enumerate(dict.fromkeys(part.combined for part in self.parts))}

    def number(self, part: Part) -> int:
        """The number of the function that combines a part."""
        return self.combinations[part.combined]

    def part_of(self, value: str, part: Part) -> Code:
        """A part of the local variable `value`."""
        item = code(value) if part.item is None else _item(code(value), part.item)
        return item if part.lane is None else _item(item, part.lane)

    def place_of(self, part: Part) -> list[Code]:
        """The array and the index where a part is accumulated."""
        return _place(self.components[part.item or 0][0], part)

    def place_in_field(self, part: Part) -> list[Code]:
        """The array and the index of the field that absorbs a part."""
        return _place(f"v_{self.absorbs[part.item or 0]}", part)

    @property
    def all_news(self) -> Code:
        """The bits of all parts set."""
        return code(f"np.uint8({(1 << len(self.parts)) - 1})")

    @property
    def ranks_new(self) -> bool:
        """Whether the priority of a vertex follows from its changed parts alone."""
        return self.sends_news and self.ranks_least

    @property
    def priority(self) -> Code:
        """The priority of a vertex as a number that orders buckets."""
        number = code("nearest") if self.ranks_new else called("np.float64", [self.call("priority")])
        return called("ranked", [number]) if self.functions["priority"].result.type.kind == "f" else number

    @property
    def mask_of_applied(self) -> Code:
        """A call of the mask with the values that apply has just returned."""
        test, written = self.functions["mask"], self.functions["apply"].result
        names = {f"vertex_{f}": f"after_{f}" for f in written}
        return called(test.printed, [code(names.get(s.name, s.name)) for s in test.symbols])

    # --- reductions by key --------------------------------------------------------------------------------------------

    @functools.cached_property
    def chooses_of_few(self) -> bool:
        """Whether lists of few edges are reduced by key without a table."""
        return self.takes_all_edges and not self._edge_roles("gather", "key") & {"back", *self.edge_states}

    @property
    def scores(self) -> list[str]:
        """Names of the local variables that hold the scores that `choose` returns."""
        assert self.keyed is not None
        return [f"score_{i}" for i in range(len(self.keyed.scores))]

    @property
    def entry(self) -> list[str]:
        """Names of the local variables that hold one entry of a table of keys: the key, its total and its scores."""
        return ["key", "total", *self.scores]

    @property
    def compared(self) -> list[Code]:
        """The arguments of `better`: the current key with its scores, and the best so far."""
        return [code(name) for each in ["key", *self.scores] for name in (each, f"best_{each}")]

    @functools.cached_property
    def nothing(self) -> Code:
        """The identity of the totals of keys."""
        assert self.keyed is not None and self.traced.monoid is not None
        return self.literal(self.traced.monoid.identity(self.keyed.total), self.keyed.total)

    @functools.cached_property
    def fields_of_keys(self) -> list[str]:
        """The fields of neighbors that keys are computed from."""
        return sorted(self.functions["key"].reads("src") & {*self.traced.vertex_types})


def called(name: str, args: Iterable[Code]) -> Code:
    """A call of a function."""
    call = code(f"{name}()")
    call.node.args = [arg.node for arg in args]  # type: ignore[attr-defined]
    return call


def _item(value: Code, i: int) -> Code:
    item = code(f"_[{i}]")
    item.node.value = value.node  # type: ignore[attr-defined]
    return item


def _place(array: str, part: Part) -> list[Code]:
    """The array and the index of a part of vertex `v`, as arguments of atomic operations."""
    return [code(array), code("v")] if part.lane is None else [code(f"{array}[v]"), code(str(part.lane))]


def _literal(value: Any, kind: Any) -> str:
    """The text of a constant of any type."""
    if isinstance(kind, TupleType):
        return "(" + "".join(f"{_literal(v, k)}, " for v, k in zip(value, kind.items)) + ")"
    if isinstance(kind, VectorType):
        return "(" + "".join(f"{printer.literal(v, kind.scalar)}, " for v in np.broadcast_to(value, kind.length)) + ")"
    return printer.literal(value, kind)
