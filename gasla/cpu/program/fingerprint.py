"""A hash of all that a program's kernels follow from, besides the types of their arguments.

It covers the traced program, the options of its plan, and the Python files that are compiled and that decide how. Code
is stored under it, so that a process that finds it need not print or compile anything.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import semirings
from gasla.program.plan import Plan
from gasla.program.terms import Terms
from semirings import Expr, Monoid
from semirings.expr import in_order
from semirings.operators import Product

if TYPE_CHECKING:
    from gasla.program.walk_plan import WalkPlan

PACKAGE = Path(__file__).parents[2]
# The folders of the templates, of the files that decide what is compiled of them, and of the files that these import.
FOLDERS = [
    *(PACKAGE / name for name in ("", "compiler", "cpu", "cpu/program", "cpu/runtime")),
    *(PACKAGE / "cpu" / name for name in ("kernels", "kernels/products", "product")),
    *(PACKAGE / name for name in ("program", "program/reductions")),
    *(PACKAGE.parent / name for name in ("semirings", "semirings/printers")),
]
# The attributes of a program's class that a plan reads besides what tracing has found.
SETTINGS = ("direction", "everyone", "order", "sources", "_most", "_decided", "_changing")


class Undescribed(Exception):
    """A plan holds an object of a kind whose state is not known."""


def fingerprint(plan: Plan) -> str | None:
    """Return the hash for a plan, or None if it holds an object that can't be described."""
    traced, program = plan.traced, plan.traced.program
    kinds = {**traced.aggregate_types, **traced.deposit_types}
    declared = {**traced.aggregates, **traced.deposits}
    parts: list[Any] = [
        *(plan.deterministic, plan.scheduled, plan.staged),
        *(getattr(program, name) for name in SETTINGS),
        {name: field.is_value for name, field in program.edge_fields.items()},
        *(traced.id_type, traced.vertex_types, traced.edge_types, traced.parameter_types, kinds),
        *(list(traced.aggregates), traced.functions, traced.keyed, traced.held is None),
    ]
    monoids = [(each.monoid, kinds[name]) for name, each in declared.items()]
    if traced.monoid is not None:
        monoids.append((traced.monoid, traced.gathered_type if traced.keyed is None else traced.keyed.total))
    return described(*parts, *monoids)


def fingerprint_of_walk(plan: "WalkPlan") -> str | None:
    """Return the hash for the plan of a walk program."""
    traced = plan.traced
    kinds = traced.id_type, traced.vertex_types, traced.edge_types, traced.parameter_types
    return described("walk", traced.program.__name__, *kinds, plan.functions, plan.inputs)


def fingerprint_of_product(terms: Terms, *more: Any) -> str | None:
    """Return the hash for a kind of product over a semiring."""
    return described("product", *more, terms.product, terms.merged, terms.out_type, (terms.monoid, terms.type))


def described(*parts: Any) -> str | None:
    """Return the hash of all that kernels follow from, or None if a part can't be described.

    Monoids come with a type.
    """
    try:
        texts = [files(), *map(_Describer(), parts)]
    except Undescribed:
        return None
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


@functools.cache
def files() -> str:
    """Return a hash of the Python files that generate source text, and of the files that the text imports."""
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted(folder.glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _monoid(monoid: Monoid, kind: Any) -> Any:
    """Return the parts of a monoid that decide how values of a type are reduced."""
    if type(monoid).__module__ != Monoid.__module__:
        raise Undescribed(monoid)
    if isinstance(monoid, Product):
        return "product", [_monoid(each, of) for each, of in monoid.each(kind)]
    laws = [bool(law) for law in (monoid.commutative, monoid.idempotent, monoid.is_neutral)]
    return monoid.combination(kind), monoid.identity(kind), monoid.terminal(kind), laws


class _Describer:
    """Turns values into texts that differ wherever the values do. Known expressions and mappings go by numbers."""

    def __init__(self) -> None:
        self._expressions: dict[Expr, int] = {}
        self._mappings: list[Mapping[Any, Any]] = []  # met so far; all functions of a program share one

    def __call__(self, value: Any) -> str:
        if any(value is each for each in (semirings.ANY, bool, int, float)):
            return f"the {value}"
        match value:
            case np.dtype():
                return value.str
            case np.generic() | np.ndarray():
                return f"{value.dtype.str}{value.shape}{value.tobytes().hex()}"
            case None | bool() | int() | float() | str() | bytes():
                return repr(value)
            case Expr():
                return self._expression(value)
            case Mapping():
                return self._mapping(value)
            case (Monoid() as monoid, kind):
                return self(_monoid(monoid, kind))
            case tuple() | list():
                return f"({','.join(map(self, value))})"
            case _ if dataclasses.is_dataclass(value):
                fields = (getattr(value, each.name) for each in dataclasses.fields(value))
                return f"{type(value).__name__}({','.join(map(self, fields))})"
        raise Undescribed(value)

    def _expression(self, value: Expr) -> str:
        nodes, known = [], self._expressions
        for e in in_order(value):
            if e not in known:
                nodes.append(f"{e.op}{[known[arg] for arg in e.args]}{self(e.type)}{self(e.payload)}")
                known[e] = len(known)
        return f"<{';'.join(nodes)}>{known[value]}"

    def _mapping(self, value: Mapping[Any, Any]) -> str:
        for number, each in enumerate(self._mappings):
            if each is value:
                return f"mapping {number}"
        self._mappings.append(value)
        return f"{{{','.join(map(self, value.items()))}}}"
