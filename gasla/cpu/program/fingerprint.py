"""A hash of all that a program's generated text follows from, which takes less time than generating the text.

It covers the traced program, the options of its plan, and the Python files that turn them into text. Two programs
with one fingerprint have the same text, so the cache maps fingerprints to the identities of compiled kernels.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import semirings
from gasla import cache
from gasla.compiler.function import Compiled, Deferred
from gasla.program.plan import Plan
from semirings import Expr, Monoid, Symbol
from semirings.expr import as_expr, in_order
from semirings.operators import Product

if TYPE_CHECKING:
    from gasla.program.walk_plan import WalkPlan

PACKAGE = Path(__file__).parents[2]
# The folders of the files that generate text, and of those that the text imports.
FOLDERS = [
    *(PACKAGE / name for name in ("", "compiler", "cpu", "cpu/kernels", "cpu/program", "cpu/runtime")),
    *(PACKAGE / name for name in ("program", "program/reductions")),
    *(PACKAGE.parent / name for name in ("semirings", "semirings/printers")),
]
# The attributes of a program's class that a plan reads besides what tracing has found.
SETTINGS = ("direction", "everyone", "order", "sources", "_most")


class Undescribed(Exception):
    """A plan holds an object of a kind whose state is not known; the text must be generated."""


def fingerprint(plan: Plan) -> str | None:
    """The hash for a plan; None if it holds an object that can't be described."""
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
    try:
        return _hashed([*parts, *(_monoid(*each) for each in monoids)])
    except Undescribed:
        return None


def fingerprint_of_walk(plan: "WalkPlan") -> str | None:
    """The hash for the plan of a walk program."""
    traced = plan.traced
    kinds = traced.id_type, traced.vertex_types, traced.edge_types, traced.parameter_types
    try:
        return _hashed(["walk", traced.program.__name__, *kinds, plan.functions, plan.inputs])
    except Undescribed:
        return None


def kernels(mark: str | None, names: Iterable[str], generate: Callable[[str], Compiled]) -> dict[str, Compiled]:
    """The kernels of a fingerprint, by name; `generate` is called only if the cache does not have their identities."""
    stored = None if mark is None else cache.load(f"programs/{mark}")
    if stored is not None:
        identities = [line.split() for line in stored.decode().splitlines()]
        return {name: Deferred(name, of, functools.partial(generate, name)) for name, of in identities}
    found = {name: generate(name) for name in names}
    if mark is not None:
        lines = [f"{name} {kernel.identity}" for name, kernel in found.items()]
        cache.store(f"programs/{mark}", "\n".join(lines).encode())
    return found


def _hashed(parts: Iterable[Any]) -> str:
    described = [files(), *map(_Describer(), parts)]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:32]


@functools.cache
def files() -> str:
    """A hash of the Python files that generate text, and of those that the text imports."""
    found = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted(folder.glob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()


def _monoid(monoid: Monoid, kind: Any) -> Any:
    """The parts of a monoid that decide how values of a type are reduced."""
    if type(monoid).__module__ != Monoid.__module__:
        raise Undescribed(monoid)
    if isinstance(monoid, Product):
        return "product", [_monoid(each, of) for each, of in monoid.each(kind)]
    laws = [bool(law) for law in (monoid.commutative, monoid.idempotent, monoid.is_neutral)]
    try:
        combined = as_expr(monoid.combine(Symbol("x", kind), Symbol("y", kind)))
        return combined, monoid.identity(kind), monoid.terminal(kind), laws
    except (TypeError, ValueError) as error:  # generating the text says what is wrong, if it matters
        raise Undescribed(monoid) from error


class _Describer:
    """Turns values into texts that differ wherever the values do. Known expressions and mappings go by numbers."""

    def __init__(self) -> None:
        self._expressions: dict[Expr, int] = {}
        self._mappings: list[Mapping[Any, Any]] = []  # all functions of a program share one, of their sources

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
