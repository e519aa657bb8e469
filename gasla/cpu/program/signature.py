"""The arguments of the CPU engine's functions: those that Python calls take all of them, in order."""

import functools
from typing import Any, NamedTuple

import numpy as np

from gasla.program.plan import Plan
from semirings import VectorType
from semirings.types import HALF, has_wide, parts_of

TABLES = ["table_keys", "table_totals", "table_places"]  # of a reduction by key: a row a thread


class Field(NamedTuple):
    """What the arrays are called that a vertex field is in, and that say what it starts with: values, and where."""

    name: str
    array: str
    values: str
    places: str


class Arguments(Plan):
    """Which arrays and scalars a program needs, in order."""

    @functools.cached_property
    def arrays(self) -> list[str]:
        """The array arguments, by name, in order."""
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
        names += [name for f in self.fields for name in f[1:] if f.name in self.filled or name == f.array]
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
        """What the loop sets of what `self` shows, beside aggregates: the bucket that is open, and parameters."""
        return [*(["bucket"] if self.has_buckets else []), *self.changes]

    @functools.cached_property
    def is_wide(self) -> bool:
        """Whether what is gathered is a wide vector, or holds one."""
        return self.gathers and has_wide(self.traced.gathered_type)

    @functools.cached_property
    def has_short_vectors(self) -> bool:
        """Whether vectors are fields or gathered whose numbers are values of their own."""
        kinds = [*self.traced.vertex_types.values(), *self.traced.edge_types.values()]
        kinds += parts_of(self.traced.gathered_type) if self.gathers else []
        return any(isinstance(kind, VectorType) and not kind.is_wide for kind in kinds)

    @functools.cached_property
    def wide_scratch(self) -> dict[str, VectorType]:
        """Where a thread holds the wide vectors that functions return, by name: one of each for each thread."""
        gathered = self.components if self.gathers else []
        applied = [(f"after_{n}", self.traced.vertex_types[n]) for n in self.traced.writes("apply", "post_apply")]
        scattered = [(f"result_{n}", self.traced.edge_types[n]) for n in self.traced.writes("scatter")]
        found = {f"scratch_{name}": kind for name, kind in [*gathered, *sorted(applied), *sorted(scattered)]}
        return {name: kind for name, kind in found.items() if has_wide(kind)}

    @property
    def seen_elsewhere(self) -> list[str]:
        """What there is of any vertex for functions to read."""
        return [*self.traced.vertex_types, *self.traced.deposits]

    def copy_of(self, function: str, field: str) -> str:
        """The array in which a function finds a field of any vertex."""
        rows = {"old": f"old_{field}", "left": f"v_{field}[1 - (self_iteration & 1)]"}
        rows |= {"only": f"v_{field}", "behind": f"was_{field}", "next": f"v_{field}[self_iteration & 1]"}
        rows["reduced"] = f"to_{field}[self_iteration % 3]"
        rows["reduced before"] = f"to_{field}[(self_iteration + 2) % 3]"
        return rows[self.where_found(function, field)]

    def scratch_of(self, function: str) -> list[str]:
        """The texts of where the wide vectors go that a function returns, in order."""
        if function == "gather":
            names = [name for name, _ in self.components]
        else:
            role = "result" if function == "scatter" else "after"
            result = self.functions[function].result
            names = [f"{role}_{field}" for field in result] if isinstance(result, dict) else []
        return [f"scratch_{name}[thread]" for name in names if f"scratch_{name}" in self.wide_scratch]

    @property
    def accumulates(self) -> bool:
        """Whether pushes reduce into an array, which holds the identity between iterations."""
        return self.pushes and not self.takes_first and not self.absorbs

    @property
    def sends_news(self) -> bool:
        """Whether a vertex sends those parts alone that are new since it sent: a bit for each says so."""
        return bool(self.absorbs) and not self.is_single

    @property
    def starts_active(self) -> bool:
        """Whether the first iteration already looks at the bitmap of active vertices."""
        return self.active_only and self.everyone

    @functools.cached_property
    def fields(self) -> list[Field]:
        """The vertex fields."""
        return [Field(n, f"v_{n}", f"from_{n}", f"at_{n}") for n in self.traced.vertex_types]

    @functools.cached_property
    def filled(self) -> list[str]:
        """The vertex fields that a run can fill itself."""
        return [] if self.staged else list(self.traced.vertex_types)

    @functools.cached_property
    def scalars(self) -> list[str]:
        """The scalar arguments: parameters, what the last iteration's aggregates gave, and where the loop is."""
        t = self.traced
        bounds = ["delta", "threshold", "last_threshold"] if self.prioritised else []
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
        """What each aggregate of nothing is."""
        declared = {**self.traced.aggregates, **self.traced.deposits}
        return {name: declared[name].monoid.identity(kind) for name, kind in self.measured_types.items()}

    @property
    def measured_types(self) -> dict[str, np.dtype]:
        """The types of aggregates of both kinds."""
        return {**self.traced.aggregate_types, **self.traced.deposit_types}

    @staticmethod
    def deposit(name: str, row: str, called: str) -> list[str]:
        """An aggregate takes in what a vertex gives, at another."""
        add = f"improve_{name}(to_{name}[{row}], np.uint64(place_{name}), given_{name}, threads > 1)"
        named = f"place_{name}, given_{name} = {called}"
        return [named, f"if np.uint64(place_{name}) < np.uint64(self_n):", f"    {add}"]

    @functools.cached_property
    def arguments(self) -> str:
        return ", ".join(["thread", "threads", *self.arrays, *self.scalars])
