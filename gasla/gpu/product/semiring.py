"""Writes the functions of a semiring in CUDA C++, in the form in which the kernels of all products call them."""

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
    """Return C++ functions for a semiring: the product of two values, and the combination of two products.

    If the semiring needs them, the result also has a function that tells whether a total can still change, and one that
    merges a result with the previous value of the output.
    """
    a, b = Symbol("a", terms.type), Symbol("b", terms.type)
    cuda_functions = [
        printer.function("product_", terms.symbols, terms.product),
        printer.function("combine_", [a, b], terms.combination),
    ]
    if terms.final is not None:
        cuda_functions.append(printer.function("is_terminal_", [a], terms.final))
    if terms.merged is not None:
        old, new = Symbol("old", terms.out_type), Symbol("new", terms.type)
        cuda_functions.append(printer.function("merge_", [old, new], terms.merged))
    return "\n".join(cuda_functions)


def monoid(terms: Terms) -> str:
    """Return the C++ members by which a kernel reduces the products of a row by a semiring's monoid.

    They are the monoid's identity, the combination of two values, and a test whether a total can still change.
    """
    return MONOID.format(
        has_terminal=flag(terms.final is not None),
        identity=printer.literal(terms.monoid.identity(terms.type), terms.type),
        is_terminal="false" if terms.final is None else "is_terminal_(x)",
    )


def values(terms: Terms) -> dict[str, str]:
    """Return the names and C++ types of the arrays that a product reads: the matrix's "values", "x", or both."""
    type_by_name = {s.name: f"const {printer.ctype(s.type)}*" for s in terms.symbols}
    names = {"values": "value", "x": "x"}
    return {array: type_by_name[name] for array, name in names.items() if name in type_by_name}


def inputs(terms: Terms, masked: bool) -> dict[str, str]:
    """Return the names and C++ types of what a kernel reads for a product by a vector or a dense matrix.

    The first are the arrays "values" and "x", as far as the semiring needs them. The column indices and a mask may
    follow.
    """
    types = values(terms)
    types |= {"indices": "const vertex_t*"} if terms.reads("x") or terms.reads("other") else {}
    return types | ({"mask": "const bool*", "complement": "bool"} if masked else {})


def outputs(terms: Terms) -> dict[str, str]:
    """Return the names and C++ types of a product's output arrays: one array, or one for each item of a tuple."""
    return {f"y{p}": f"{printer.ctype(kind)}*" for p, kind in enumerate(parts(terms.out_type))}


def old(terms: Terms, at: str) -> str:
    """Return the C++ expression for the value that the product's output has had before at position `at`.

    The result of the product is merged with this value. The expression is "false" if nothing is merged.
    """
    if terms.merged is None:
        return "false"
    names = [f"{name}[{at}]" for name in outputs(terms)]
    return f"had_t{{{', '.join(names)}}}" if isinstance(terms.out_type, TupleType) else names[0]


def store(terms: Terms, at: str) -> str:
    """Return C++ statements that store a row's result in the product's output arrays at position `at`.

    The result is the C++ variable `total`, or its combination with `old`, the value that the output had before.
    """
    lines = [f"const auto result = {result(terms)};"]
    lines += [f"{name}[{at}] = {item};" for name, item in zip(outputs(terms), items(terms))]
    return "\n".join(f"        {line}" for line in lines)


def result(terms: Terms) -> str:
    """Return the C++ expression for a row's result that is stored in the output of a product.

    It is the row's total, or the combination of this total with the value that the output had before.
    """
    return "total" if terms.merged is None else "merge_(old, total)"


def items(terms: Terms) -> list[str]:
    """Return the C++ expressions for what is stored of the variable `result`: one per item of a tuple, else `result`
    itself.
    """
    if isinstance(terms.out_type, TupleType):
        return [f"result.item{p}" for p in range(len(terms.out_type.items))]
    return ["result"]


def size_of(kind: Any) -> int:
    """Return an upper bound, in bytes, of the size of a C++ value of type `kind`, which is a dtype or a tuple type."""
    return 8 * len(kind.items) if isinstance(kind, TupleType) else int(kind.itemsize)


def flag(value: bool) -> str:
    """Return the C++ literal for a bool."""
    return "true" if value else "false"
