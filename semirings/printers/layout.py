"""What both printers share: names for parameters and temporaries, and the order of statements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from semirings.expr import Expr, Symbol, free_symbols, in_order

INLINE = ("symbol", "constant", "item", "vector", "tuple")  # too simple to deserve a line of their own


def identifiers(names: Sequence[str], reserved: Collection[str]) -> list[str]:
    """Distinct identifiers, as near to `names` as a language with these reserved words allows."""
    taken = set(reserved)
    result = []
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        while plain in taken:
            plain += "_"
        taken.add(plain)
        result.append(plain)
    return result


def temporary_prefix(names: Collection[str]) -> str:
    """``t``, or something longer where a parameter is called ``t0`` or the like."""
    prefix = "t"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in names):
        prefix += "_"
    return prefix


def check_parameters(name: str, parameters: Sequence[Symbol], results: Sequence[Expr]) -> None:
    """Parameters must be distinct symbols, and the results may read no other."""
    for parameter in parameters:
        if not isinstance(parameter, Symbol):
            raise TypeError(f"{name}: parameter {parameter!r} is not a Symbol")
    missing = [str(symbol) for symbol in free_symbols(results) if symbol not in set(parameters)]
    if missing:
        raise ValueError(f"{name} reads {', '.join(missing)}, not among its parameters {[str(p) for p in parameters]}")


def statements(
    results: Sequence[Expr],
    parameters: Mapping[Symbol, str],
    expression: Callable[[Expr, list[str]], str],
) -> tuple[list[tuple[Expr, str, str]], list[str]]:
    """
    The body of a function in single-assignment form.

    Returns (node, temporary, text) of each line, then the texts of the results. A single result that nothing else reads
    needs no temporary.
    """
    order = in_order(results)
    uses = Counter(arg for expr in order for arg in expr.args)
    prefix = temporary_prefix(parameters.values())
    texts: dict[Expr, str] = {symbol: name for symbol, name in parameters.items()}  # noqa: C416  (keys are Expr)
    lines: list[tuple[Expr, str, str]] = []
    for expr in order:
        if expr in parameters:
            continue
        text = expression(expr, [texts[arg] for arg in expr.args])
        if expr.op in INLINE or (len(results) == 1 and expr is results[0] and not uses[expr]):
            texts[expr] = text
        else:
            texts[expr] = f"{prefix}{len(lines)}"
            lines.append((expr, texts[expr], text))
    return lines, [texts[expr] for expr in results]
