"""A semiring's functions in CUDA, as the kernels of all products use them."""

from __future__ import annotations

from typing import Any

from gasla.program.terms import Terms, parts
from semirings import Symbol, TupleType
from semirings.printers import cuda as printer

MONOID = """\
    static constexpr bool has_terminal = {has_terminal};
    __device__ __forceinline__ value_t identity() const {{ return {identity}; }}
    __device__ __forceinline__ value_t combine(const value_t& a, const value_t& b) const {{ return combine_(a, b); }}
    __device__ __forceinline__ bool is_terminal(const value_t& x) const {{ return {is_terminal}; }}"""


def functions(terms: Terms) -> str:
    """Return functions for the product of two values, the combination of two products, and merging a result."""
    a, b = Symbol("a", terms.type), Symbol("b", terms.type)
    texts = [
        printer.function("product_", terms.symbols, terms.product),
        printer.function("combine_", [a, b], terms.combination),
    ]
    if terms.final is not None:
        texts.append(printer.function("is_terminal_", [a], terms.final))
    if terms.merged is not None:
        old, new = Symbol("old", terms.out_type), Symbol("new", terms.type)
        texts.append(printer.function("merge_", [old, new], terms.merged))
    return "\n".join(texts)


def monoid(terms: Terms) -> str:
    """Return the members of a body by which its values are reduced."""
    return MONOID.format(
        has_terminal=flag(terms.final is not None),
        identity=printer.literal(terms.monoid.identity(terms.type), terms.type),
        is_terminal="false" if terms.final is None else "is_terminal_(x)",
    )


def values(terms: Terms) -> dict[str, str]:
    """Return names and C++ types of the arrays of values that the product reads."""
    kinds = {s.name: f"const {printer.ctype(s.type)}*" for s in terms.symbols}
    names = {"values": "value", "x": "x"}
    return {array: kinds[name] for array, name in names.items() if name in kinds}


def inputs(terms: Terms, masked: bool) -> dict[str, str]:
    """Return names and C++ types of what kernels of a product with a vector or a dense matrix read."""
    types = values(terms)
    types |= {"indices": "const vertex_t*"} if terms.reads("x") or terms.reads("other") else {}
    return types | ({"mask": "const bool*", "complement": "bool"} if masked else {})


def outputs(terms: Terms) -> dict[str, str]:
    """Return names and C++ types of the output arrays, in order."""
    return {f"y{p}": f"{printer.ctype(kind)}*" for p, kind in enumerate(parts(terms.out_type))}


def old(terms: Terms, at: str) -> str:
    """Return the previous value that a result is merged with."""
    if terms.merged is None:
        return "false"
    names = [f"{name}[{at}]" for name in outputs(terms)]
    return f"had_t{{{', '.join(names)}}}" if isinstance(terms.out_type, TupleType) else names[0]


def store(terms: Terms, at: str) -> str:
    """Return statements that store `total`, or its merge with the `old` value."""
    lines = [f"const auto result = {result(terms)};"]
    lines += [f"{name}[{at}] = {item};" for name, item in zip(outputs(terms), items(terms))]
    return "\n".join(f"        {line}" for line in lines)


def result(terms: Terms) -> str:
    """Return the expression that is stored."""
    return "total" if terms.merged is None else "merge_(old, total)"


def items(terms: Terms) -> list[str]:
    """Return the expressions stored in each of the output arrays."""
    if isinstance(terms.out_type, TupleType):
        return [f"result.item{p}" for p in range(len(terms.out_type.items))]
    return ["result"]


def size_of(kind: Any) -> int:
    """Return an upper bound of the size of the C++ struct of this type, in bytes."""
    return 8 * len(kind.items) if isinstance(kind, TupleType) else int(kind.itemsize)


def flag(value: bool) -> str:
    """Return a bool in C++."""
    return "true" if value else "false"
