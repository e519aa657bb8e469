"""Writes atomic reductions of tuples and vectors in CUDA, with an atomic operation for each of their numbers."""

import semirings
from gasla.gpu.program.generate.syntax import literal
from gasla.gpu.program.plan import GpuPlan
from gasla.program.plan import Part
from semirings import Expr, Symbol
from semirings.printers import cuda


def native(combined: Expr) -> str | None:
    """Return the name of the hardware's atomic operation that does a combination: "add", "min" or "max".

    `combined` is an expression of the symbols `x` and `y`. Return None if the hardware has no such operation.
    """
    value_type = combined.dtype
    if value_type.itemsize < 4:
        return None
    x, y = Symbol("x", value_type), Symbol("y", value_type)
    forms = {"add": x + y, "min": semirings.minimum(x, y), "max": semirings.maximum(x, y)}
    return next((name for name, operation in forms.items() if combined is operation), None)


def differs(combined: Expr) -> str:
    """Return the C++ condition that a reduction has changed a number: the variable `next` differs from the variable
    `old`.

    `combined` is the reduction's expression, which has the numbers' type. NaN counts as equal to NaN.
    """
    return "next != old && (next == next || old == old)" if combined.dtype.kind == "f" else "next != old"


def combinations(plan: GpuPlan) -> dict[Expr, int]:
    """Return the expressions by which the numbers of a program's gathered value are combined, each with an index from
    0.

    Numbers that are combined by the same expression share one C++ function, whose name has this index.
    """
    return {e: i for i, e in enumerate(dict.fromkeys(accumulator.combined for accumulator in plan.parts))}


def accumulated(plan: GpuPlan) -> list[str]:
    """Return C++ statements that reduce a gathered value into a vertex's accumulators by atomic operations.

    The C++ variable `value` holds the gathered value. Each of its numbers has an accumulator of its own.
    """
    lines = []
    for accumulator, operand in _parts_of_value(plan):
        address = _address(f"c.a.{plan.components[accumulator.item or 0][0]}", accumulator)
        match native(accumulator.combined):
            case "add":
                lines.append(f"gasla::add({address}, {operand});")
            case "min" | "max" as name:
                lines.append(f"gasla::improve_{name}({address}, {operand});")
            case None:
                type_name, combined_text = cuda.ctype(accumulator.type), _combination_call(plan, accumulator, operand)
                lines.append(f"gasla::update({address}, [&]({type_name} old, bool&) {{ return {combined_text}; }});")
    return lines


def improves(plan: GpuPlan) -> list[str]:
    """Return C++ statements that tell whether a gathered value would change the fields of a vertex it is reduced into.

    The C++ variable `value` holds the gathered value. The fields are read without atomic operations, which is cheaper.
    Other threads may change the fields at any time, so the answer is only a hint.
    """
    lines = ["bool better = false;"]
    for accumulator, operand in _parts_of_value(plan):
        lines += [
            "{",
            *_load_and_combine(plan, accumulator, operand),
            f"    better |= {differs(accumulator.combined)};",
            "}",
        ]
    return [*lines, "return better;"]


def improved(plan: GpuPlan) -> list[str]:
    """Return C++ statements that reduce a gathered value directly into a vertex's fields, by atomic operations.

    The C++ variable `value` holds the gathered value, whose numbers are reduced one by one. The statements return
    whether any field has changed. They also replace each number of `value` that did not change its field. The number
    becomes the identity if priorities are computed of new values alone, else the number that the field has.
    """
    assert plan.traced.monoid is not None
    identities = _scalars(plan.traced.monoid.identity(plan.traced.gathered_type))
    lines = ["bool changed = false;"]
    for (accumulator, operand), identity in zip(_parts_of_value(plan), identities, strict=True):
        address, type_name = (
            _address(f"c.a.v_{plan.absorbs[accumulator.item or 0]}", accumulator),
            cuda.ctype(accumulator.type),
        )
        unchanged_value = literal(identity, accumulator.type) if plan.ranks_least else "next"
        lines += [
            "{",
            *_load_and_combine(plan, accumulator, operand),
            f"    bool better = {differs(accumulator.combined)};",
        ]
        if (name := native(accumulator.combined)) in ("min", "max"):
            lines.append(f"    if (better) better = gasla::improve_{name}({address}, {operand});")
        else:
            lines += [
                "    if (better)",
                f"        gasla::update({address}, [&]({type_name} old, bool& wanted) {{",
                f"            const {type_name} next = {_combination_call(plan, accumulator, operand)};",
                f"            wanted = better = {differs(accumulator.combined)};",
                f"            if (wanted) {operand} = next;",
                "            return next;",
                "        });",
            ]
        lines += [f"    if (!better) {operand} = {unchanged_value};", "    changed |= better;", "}"]
    return [*lines, "return changed;"]


def _parts_of_value(plan: GpuPlan) -> list[tuple[Part, str]]:
    """Return the numbers of a gathered value, each with its C++ expression, such as `value.item0` for an item of a
    tuple.
    """
    return [(accumulator, _member("value", accumulator)) for accumulator in plan.parts]


def _load_and_combine(plan: GpuPlan, accumulator: Part, operand: str) -> list[str]:
    """Return C++ statements that combine one number of a gathered value with the field of a vertex.

    The statements load the field's number as the variable `old`, and set `next` to the combination of `old` and
    `operand`, the C++ expression for the gathered number.
    """
    type_name = cuda.ctype(accumulator.type)
    address = _address(f"c.a.v_{plan.absorbs[accumulator.item or 0]}", accumulator)
    return [
        f"    const {type_name} old = *{address};",
        f"    const {type_name} next = {_combination_call(plan, accumulator, operand)};",
    ]


def _combination_call(plan: GpuPlan, accumulator: Part, operand: str) -> str:
    return f"combine_{combinations(plan)[accumulator.combined]}_(old, {operand})"


def _member(value: str, accumulator: Part) -> str:
    item = value if accumulator.item is None else f"{value}.item{accumulator.item}"
    return item if accumulator.lane is None else f"{item}.item[{accumulator.lane}]"


def _address(array: str, accumulator: Part) -> str:
    """Return the C++ expression for the address of one number of vertex `v` in an array with a value per vertex."""
    return f"({array} + v)" if accumulator.lane is None else f"({array}[v].item + {accumulator.lane})"


def _scalars(value: object) -> list[object]:
    """Return a list of all numbers in the identity of a reduction, which is a number, a vector, or a tuple of these."""
    if isinstance(value, tuple):
        return [x for item in value for x in _scalars(item)]
    return list(value) if getattr(value, "ndim", 0) else [value]  # type: ignore[call-overload]
