"""A hash of everything that a program's compiled kernels depend on, besides the types of their arguments.

The hash covers the traced program, the options of its plan, and the Python files that are compiled or that decide what
is compiled. Compiled code is stored under the hash, so a process that finds it there need not generate or compile
anything.
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
# the folders with the kernel templates, with the files that decide what is compiled, and with the files that these
# import
FOLDERS = [
    *(PACKAGE / name for name in ("", "compiler", "cpu", "cpu/program", "cpu/runtime")),
    *(PACKAGE / "cpu" / name for name in ("kernels", "kernels/products", "product")),
    *(PACKAGE / name for name in ("program", "program/reductions")),
    *(PACKAGE.parent / name for name in ("semirings", "semirings/printers")),
]
# names of attributes of a program's class that a plan reads, besides what tracing the program's functions has found
SETTINGS = ("direction", "everyone", "order", "sources", "_most", "_decided", "_changing")


class Undescribed(Exception):
    """Raised if a plan holds an object that can't be turned into text, so that there is no hash of the plan."""


def fingerprint(plan: Plan) -> str | None:
    """Return the hash of all that the kernels of a vertex program depend on, given the program's plan.

    Return None if the plan holds an object that can't be described as text.
    """
    traced, program = plan.traced, plan.traced.program
    kinds = {**traced.aggregate_types, **traced.deposit_types}
    declarations = {**traced.aggregates, **traced.deposits}
    parts: list[Any] = [
        *(plan.deterministic, plan.scheduled, plan.staged),
        *(getattr(program, name) for name in SETTINGS),
        {name: field.is_value for name, field in program.edge_fields.items()},
        *(traced.id_type, traced.vertex_types, traced.edge_types, traced.parameter_types, kinds),
        *(list(traced.aggregates), traced.functions, traced.keyed, traced.held is None),
    ]
    monoids = [(each.monoid, kinds[name]) for name, each in declarations.items()]
    if traced.monoid is not None:
        monoids.append((traced.monoid, traced.gathered_type if traced.keyed is None else traced.keyed.total))
    return described(*parts, *monoids)


def fingerprint_of_walk(plan: "WalkPlan") -> str | None:
    """Return the hash of all that the kernel of a walk program depends on, given the program's plan.

    Return None if the plan holds an object that can't be described as text.
    """
    traced = plan.traced
    kinds = traced.id_type, traced.vertex_types, traced.edge_types, traced.parameter_types
    return described("walk", traced.program.__name__, *kinds, plan.functions, plan.inputs)


def fingerprint_of_product(terms: Terms, *more: Any) -> str | None:
    """Return the hash of all that a kernel of products over a semiring depends on.

    `terms` describes the semiring, and `more` has further values to hash. Return None if the semiring can't be
    described as text.
    """
    return described("product", *more, terms.product, terms.merged, terms.out_type, (terms.monoid, terms.type))


def described(*parts: Any) -> str | None:
    """Return a hash of some values that kernels depend on, and of gasla's files, or None if a value can't be described.

    A monoid is given together with the type of its values.
    """
    try:
        texts = [files(), *map(_Describer(), parts)]
    except Undescribed:
        return None
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


@functools.cache
def files() -> str:
    """Return a hash of the texts of all Python files that kernels are compiled from, or that decide what is compiled.

    The files that these import are included.
    """
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted(folder.glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _monoid(monoid: Monoid, kind: Any) -> Any:
    """Return all that decides how a monoid reduces values of a type: its operation, identity, terminal value and laws.

    Raise `Undescribed` for a user's own class of monoids, whose methods may do anything.
    """
    if type(monoid).__module__ != Monoid.__module__:
        raise Undescribed(monoid)
    if isinstance(monoid, Product):
        return "product", [_monoid(each, of) for each, of in monoid.each(kind)]
    laws = [bool(law) for law in (monoid.commutative, monoid.idempotent, monoid.is_neutral)]
    return monoid.combination(kind), monoid.identity(kind), monoid.terminal(kind), laws


class _Describer:
    """Turns values into texts to be hashed, such that different values have different texts.

    An expression or mapping that was described before is described by its number.
    """

    def __init__(self) -> None:
        self._expressions: dict[Expr, int] = {}
        # mappings that were described before, since all functions of a program share one mapping
        self._mappings: list[Mapping[Any, Any]] = []

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
        nodes, numbers = [], self._expressions
        for e in in_order(value):
            if e not in numbers:
                nodes.append(f"{e.op}{[numbers[arg] for arg in e.args]}{self(e.type)}{self(e.payload)}")
                numbers[e] = len(numbers)
        return f"<{';'.join(nodes)}>{numbers[value]}"

    def _mapping(self, value: Mapping[Any, Any]) -> str:
        for number, each in enumerate(self._mappings):
            if each is value:
                return f"mapping {number}"
        self._mappings.append(value)
        return f"{{{','.join(map(self, value.items()))}}}"
