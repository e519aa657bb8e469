"""Whether a program absorbs: apply does nothing but reduce into a field what was gathered, at any time.

Then a value may arrive twice, late, or straight into the field: push stands for pull. So it is where nobody but a
gather sees the values on their way, and what it gives gets no worse where they are better. Parts of a value, the items
of a tuple and those of a vector, are on their way each by itself, so none may be computed from another.
"""

from collections.abc import Sequence
from typing import Any

import semirings
from gasla.names import given
from gasla.program.tracing import Traced
from semirings import Expr, Symbol, TupleType
from semirings.expr import rebuilt
from semirings.operators import scalars
from semirings.order import are_combined, order_in
from semirings.types import computed

Fields = tuple[str, ...]


def absorbing_fields(t: Traced) -> Fields | str:
    """The fields that absorb what is gathered, one for each item of it; or what stands in the way, as a sentence."""
    monoid = t.monoid
    if monoid is None:
        return "it gathers nothing"
    if t.keyed is not None:
        return "values are reduced by key"
    if not (monoid.idempotent and monoid.commutative):
        return f"{monoid.name} is not {'idempotent' if monoid.commutative else 'commutative'}"
    if seen := {*t.measures, *(t.functions.keys() & {"post_apply", "scatter"})}:
        return f"{min(seen)} sees what each iteration has applied"
    if "bucket" in t.functions:
        return "bucket says who goes on"
    parts = semirings.independent(monoid, t.gathered_type)
    if parts is None:
        return f"{monoid.name} combines a value as a whole, not part by part"
    fields = _absorbed(t, parts)
    if not fields:
        if rounded := [f for f in t.writes("apply") if t.vertex_types[f] != computed(t.vertex_types[f])]:
            return f"{given(min(rounded))} is float16, to which apply rounds what is gathered"
        return f"apply does more than reduce what is gathered, by {monoid.name}, into fields of its type"
    return _why_order_shows(t, fields, parts) or fields


def leaves(t: Traced, role: str, fields: Fields) -> list[Expr]:
    """The parts of some fields of a vertex, as functions see them."""
    return [part for f in fields for part in scalars(Symbol(f"{role}_{f}", t.vertex_types[f]))]


def _absorbed(t: Traced, parts: Sequence[Expr]) -> Fields:
    """For each item of what is gathered the field that apply reduces it into; nothing if it does more or else."""
    kind: Any = t.gathered_type
    gathered: Any = Symbol("gathered", kind)
    items = list(gathered) if isinstance(kind, TupleType) else [gathered]
    applied, fields, first = t.functions["apply"].result if "apply" in t.functions else {}, [], 0
    for item in items:
        own = parts[first : first + len(scalars(item))]
        first += len(own)
        for name, result in applied.items():
            old = Symbol(f"vertex_{name}", t.vertex_types[name])
            if old.type == item.type and name not in fields and are_combined(own, result, old, item):
                fields.append(name)
                break
    return tuple(fields) if len(fields) == len(items) == len(applied) else ()


def _why_order_shows(t: Traced, fields: Fields, parts: Sequence[Expr]) -> str | None:
    """What sees in which order values of the fields travel along edges; None if nothing does."""
    functions = t.functions
    if "mask" in functions and (read := functions["mask"].reads("vertex") & set(fields)):
        return f"mask reads {min(read)}"
    if "edge_mask" in functions:
        edge_mask = functions["edge_mask"]
        if read := (edge_mask.reads("src") | edge_mask.reads("dst")) & set(fields):
            return f"edge_mask reads {min(read)}"
    for name in ("gather", "mask", "edge_mask", "activate"):
        if name in functions and (read := functions[name].reads("other") & set(fields)):
            return f"{name} reads {given(min(read))} of another vertex, as it was before the iteration"
    for name in ("gather", "mask", "edge_mask"):
        if name in functions and (seen := functions[name].reads("self") & t.changing):
            return f"{name} reads self.{given(min(seen))}"
    values = scalars(semirings.as_expr(functions["gather"].result))
    for value, combined, own in zip(values, parts, leaves(t, "src", fields), strict=True):
        if not semirings.grows_with(value, [own], order_in(combined)):
            return f"what gather returns does not grow with {str(own).replace('_', '.', 1)}"
        others = rebuilt(value, lambda e, _, own=own: Symbol("own", own.type) if e is own else None)  # type: ignore[misc]
        read = {symbol.payload for symbol in semirings.free_symbols(others)}
        if read & {f"src_{f}" for f in fields}:
            return "gather computes a part of what it returns from another part"
        if read & {f"dst_{f}" for f in fields}:
            return "gather reads of dst what is reduced into: it counts how often that has been done"
    return None
