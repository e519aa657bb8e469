"""Writes atomic reductions of tuples and vectors in CUDA, with an atomic operation for each of their numbers."""

import semirings
from gasla.gpu.program.generate.syntax import literal
from gasla.gpu.program.plan import GpuPlan
from gasla.program.plan import Part
from semirings import Expr, Symbol
from semirings.printers import cuda


def native(combined: Expr) -> str | None:
    """Return the atomic operation of the hardware for a combination of `x` and `y`: "add", "min", "max", or None."""
    kind = combined.dtype
    if kind.itemsize < 4:
        return None
    x, y = Symbol("x", kind), Symbol("y", kind)
    forms = {"add": x + y, "min": semirings.minimum(x, y), "max": semirings.maximum(x, y)}
    return next((name for name, form in forms.items() if combined is form), None)


def differs(combined: Expr) -> str:
    """Return the C++ condition that the value `next` differs from the value `old`. NaN counts as equal to NaN."""
    return "next != old && (next == next || old == old)" if combined.dtype.kind == "f" else "next != old"


def combinations(plan: GpuPlan) -> dict[Expr, int]:
    """Return the different expressions by which the numbers of a gathered value are combined, numbered from 0."""
    return {e: i for i, e in enumerate(dict.fromkeys(part.combined for part in plan.parts))}


def accumulated(plan: GpuPlan) -> list[str]:
    """Return C++ statements that reduce a gathered `value` into a vertex's accumulators, one for each number."""
    lines = []
    for part, operand in _parts_of_value(plan):
        address = _address(f"c.a.{plan.components[part.item or 0][0]}", part)
        match native(part.combined):
            case "add":
                lines.append(f"gasla::add({address}, {operand});")
            case "min" | "max" as name:
                lines.append(f"gasla::improve_{name}({address}, {operand});")
            case None:
                kind, combined = cuda.ctype(part.type), _combination_call(plan, part, operand)
                lines.append(f"gasla::update({address}, [&]({kind} old, bool&) {{ return {combined}; }});")
    return lines


def improves(plan: GpuPlan) -> list[str]:
    """Return C++ statements that tell whether `value` would change any number of the fields that it is reduced into.

    The statements read the fields without atomic operations, which is cheaper. Other threads may change the fields at
    any time, so the answer is only a hint.
    """
    lines = ["bool better = false;"]
    for part, operand in _parts_of_value(plan):
        lines += ["{", *_load_and_combine(plan, part, operand), f"    better |= {differs(part.combined)};", "}"]
    return [*lines, "return better;"]


def improved(plan: GpuPlan) -> list[str]:
    """Return C++ statements that reduce `value` into the fields, number by number, and return whether any field
    changed.

    The statements also replace each number of `value` that did not change its field. The number becomes the identity if
    priorities are computed of new values alone, else the number that the field has.
    """
    assert plan.traced.monoid is not None
    identities = _scalars(plan.traced.monoid.identity(plan.traced.gathered_type))
    lines = ["bool changed = false;"]
    for (part, operand), identity in zip(_parts_of_value(plan), identities, strict=True):
        address, kind = _address(f"c.a.v_{plan.absorbs[part.item or 0]}", part), cuda.ctype(part.type)
        unchanged_value = literal(identity, part.type) if plan.ranks_least else "next"
        lines += ["{", *_load_and_combine(plan, part, operand), f"    bool better = {differs(part.combined)};"]
        if (name := native(part.combined)) in ("min", "max"):
            lines.append(f"    if (better) better = gasla::improve_{name}({address}, {operand});")
        else:
            lines += [
                "    if (better)",
                f"        gasla::update({address}, [&]({kind} old, bool& wanted) {{",
                f"            const {kind} next = {_combination_call(plan, part, operand)};",
                f"            wanted = better = {differs(part.combined)};",
                f"            if (wanted) {operand} = next;",
                "            return next;",
                "        });",
            ]
        lines += [f"    if (!better) {operand} = {unchanged_value};", "    changed |= better;", "}"]
    return [*lines, "return changed;"]


def _parts_of_value(plan: GpuPlan) -> list[tuple[Part, str]]:
    """Return each number of a gathered value, with the C++ expression for it in the local variable `value`."""
    return [(part, _member("value", part)) for part in plan.parts]


def _load_and_combine(plan: GpuPlan, part: Part, operand: str) -> list[str]:
    """Return C++ statements that load a number of a field as `old`, and combine it with that of `value` into `next`."""
    kind = cuda.ctype(part.type)
    address = _address(f"c.a.v_{plan.absorbs[part.item or 0]}", part)
    return [f"    const {kind} old = *{address};", f"    const {kind} next = {_combination_call(plan, part, operand)};"]


def _combination_call(plan: GpuPlan, part: Part, operand: str) -> str:
    return f"combine_{combinations(plan)[part.combined]}_(old, {operand})"


def _member(value: str, part: Part) -> str:
    item = value if part.item is None else f"{value}.item{part.item}"
    return item if part.lane is None else f"{item}.item[{part.lane}]"


def _address(array: str, part: Part) -> str:
    """Return the C++ expression for the address of one number in an array of vertex values."""
    return f"({array} + v)" if part.lane is None else f"({array}[v].item + {part.lane})"


def _scalars(value: object) -> list[object]:
    """Return the numbers of a reduction's identity (a number, a vector, or a tuple of these) as a flat list."""
    if isinstance(value, tuple):
        return [x for item in value for x in _scalars(item)]
    return list(value) if getattr(value, "ndim", 0) else [value]  # type: ignore[call-overload]
