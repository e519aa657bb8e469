"""Decide whether gathered values may be reduced directly into fields, which requires that `apply` does nothing else.

If so, a value may be reduced twice, or in a later iteration, without changing the result, and a push is equivalent to
a pull. This requires an idempotent monoid, a gather that is monotone in the field, and that no other function reads
values before they are final. The numbers of a value (the items of a tuple or of a vector) are reduced independently, so
none may be computed from another.
"""

from collections.abc import Sequence
from typing import Any

import semirings
from gasla.names import given
from gasla.program.hooks import at
from gasla.program.tracing import Traced
from semirings import Expr, Symbol, TupleType
from semirings.expr import rebuilt
from semirings.operators import scalars
from semirings.order import are_combined, order_in
from semirings.types import computed

Fields = tuple[str, ...]


def absorbing_fields(t: Traced) -> Fields | str:
    """Return the fields into which a program may reduce gathered values directly, one for each gathered item.

    If there are no such fields, return a sentence that says why. A run then reduces gathered values separately, and
    `apply` reads the result.
    """
    monoid = t.monoid
    if monoid is None:
        return "it gathers nothing"
    if t.keyed is not None:
        return "values are reduced by key"
    if not (monoid.idempotent and monoid.commutative):
        return f"{monoid.name} is not {'idempotent' if monoid.commutative else 'commutative'}"
    if observers := {*t.measures, *t.hooks.intersection(at("scatter", "revise"))}:
        return f"{min(observers)} reads what each iteration has applied"
    if "bucket" in t.hooks:
        return "bucket decides which vertices are active"
    independent_parts = semirings.independent(monoid, t.gathered_type)
    if independent_parts is None:
        return f"{monoid.name} combines a value as a whole, not part by part"
    fields = _find_absorbing_fields(t, independent_parts)
    if not fields:
        if rounded := [
            field for field in t.writes("apply") if t.vertex_types[field] != computed(t.vertex_types[field])
        ]:
            return f"{given(min(rounded))} is float16, to which apply rounds the gathered value"
        return f"apply does more than reduce gathered values, by {monoid.name}, into fields of the same type"
    return _why_order_matters(t, fields, independent_parts) or fields


def leaves(t: Traced, role: str, fields: Fields) -> list[Expr]:
    """Return a list of expressions of all numbers in some fields of a vertex: one for a number, several for a vector
    field.

    `role` is the argument that stands for the vertex, such as "src".
    """
    return [scalar for field in fields for scalar in scalars(Symbol(f"{role}_{field}", t.vertex_types[field]))]


def _find_absorbing_fields(traced: Traced, independent_parts: Sequence[Expr]) -> Fields:
    """Return the names of the fields into which `apply` reduces the gathered items by the program's monoid, one per
    item.

    Return an empty tuple if `apply` does anything else. `independent_parts` has, for each number of the gathered value,
    the expression that combines two such numbers.
    """
    gathered_type: Any = traced.gathered_type
    gathered: Any = Symbol("gathered", gathered_type)
    items = list(gathered) if isinstance(gathered_type, TupleType) else [gathered]
    applied, fields, part_start = traced.functions["apply"].result if "apply" in traced.functions else {}, [], 0
    for item in items:
        item_parts = independent_parts[part_start : part_start + len(scalars(item))]
        part_start += len(item_parts)
        for name, result in applied.items():
            field_symbol = Symbol(f"vertex_{name}", traced.vertex_types[name])
            if (
                field_symbol.type == item.type
                and name not in fields
                and are_combined(item_parts, result, field_symbol, item)
            ):
                fields.append(name)
                break
    return tuple(fields) if len(fields) == len(items) == len(applied) else ()


def _why_order_matters(traced: Traced, fields: Fields, independent_parts: Sequence[Expr]) -> str | None:
    """Return a sentence that names a function of the program whose result depends on the order of gathered values.

    Return None if there is no such function, so that values may be reduced directly into `fields`.
    """
    functions = traced.functions
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
        if name in functions and (changing := functions[name].reads("self") & traced.changing):
            return f"{name} reads self.{given(min(changing))}"
    values = scalars(semirings.as_expr(functions["gather"].result))
    for value, combination, own in zip(values, independent_parts, leaves(traced, "src", fields), strict=True):
        if not semirings.grows_with(value, [own], order_in(combination)):
            return f"what gather returns does not grow with {str(own).replace('_', '.', 1)}"
        value_without_own = rebuilt(value, lambda e, _, own=own: Symbol("own", own.type) if e is own else None)  # type: ignore[misc]
        read = {symbol.payload for symbol in semirings.free_symbols(value_without_own)}
        if read & {f"src_{field}" for field in fields}:
            return "gather computes one item of its result from the field of another item"
        if read & {f"dst_{field}" for field in fields}:
            return "gather reads the receiver's field that it is reduced into, which repeated arrivals change"
    return None
