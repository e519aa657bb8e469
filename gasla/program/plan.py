"""What any engine must do for a program: how vertices may reduce, what must be kept apart, what is read."""

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import semirings
from gasla.names import inner
from gasla.program.fields import bounds_of
from gasla.program.tracing import Function, Traced
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.expr import fold
from semirings.types import has_wide


@dataclass(eq=False)
class Plan:
    """The decisions for one program.

    `scheduled`: receivers are known ahead, as one array; nothing is activated. `staged`: stages alone, for a loop that
    somebody writes by hand; the same but that gather always puts aside and apply notes who is active.
    """

    traced: Traced
    deterministic: bool = False
    scheduled: bool = False
    staged: bool = False

    def __post_init__(self) -> None:
        t, cls = self.traced, self.traced.program
        self.functions: Mapping[str, Function] = t.functions
        self.gathers = "gather" in t.functions
        self.components = _components(t.gathered_type) if self.gathers else []
        self.everyone = cls.everyone and not self.scheduled
        self.takes_first = self.gathers and t.monoid.takes_first(  # type: ignore[union-attr]
            semirings.as_expr(t.functions["gather"].result), t.bounds("gather")
        )
        # The field whose values go on by themselves, once heard: those of vertices that are not active have been.
        heard = None if cls.everyone or not t.absorbs or not _activates_on_change(t, t.absorbs) else t.absorbs
        self.absorbs = None if self.deterministic or self.scheduled else heard
        conflict = set() if self.absorbs else t.gathers_what_apply_writes
        # Where every vertex writes, what neighbours read has two copies, read and written in turn.
        self.doubled = conflict if self.everyone else set()
        self.two_phases = self.staged or (bool(conflict) and not self.everyone)
        self.active_only = (not self.scheduled or self.staged) and (cls.sources == "active" or bool(heard))
        self.keeps_active = self.active_only or (not self.scheduled and (not self.everyone or "scatter" in t.functions))
        self.keeps_receivers = self.two_phases or "post_apply" in t.functions
        self.pushes = self._may_push()
        self.push_at_once = bool(
            self.pushes and self.takes_first and not self.keeps_receivers and "activate" not in t.functions
        )
        self.prioritised = "priority" in t.functions and bool(self.absorbs)
        if self.scheduled and not self.staged:
            self.functions = {name: f for name, f in t.functions.items() if name != "activate"}
        elif "apply" in t.functions and "activate" not in t.functions:
            self.functions = {**t.functions, "activate": _change(t)}

    @functools.cached_property
    def final(self) -> Expr | None:
        """Whether nothing can change what has been gathered, symbol `x`, any more; None if something always can.

        Floats have no number that NaN could not still change.
        """
        monoid, kind = self.traced.monoid, self.traced.gathered_type if self.gathers else None
        if monoid is None or (terminal := monoid.terminal(kind)) is None:
            return None
        plain = isinstance(kind, np.dtype) and kind.kind != "f"
        return monoid.is_final(Symbol("x", kind)) if plain or terminal is semirings.ANY else None

    @functools.cached_property
    def never_ends(self) -> bool:
        """Whether no run ends before its limit of iterations: everyone is always active, and nothing stops it."""
        activate = self.functions.get("activate")
        is_active = activate is not None and activate.result is semirings.as_expr(np.bool_(True))
        return self.everyone and is_active and not {"mask", "stop"} & self.functions.keys()

    @functools.cached_property
    def adds_up(self) -> bool:
        """Whether a priority is a sum of edge values along a path, so that a bucket may be some of them wide."""
        if not self.prioritised:
            return False
        gather, x, y = self.functions["gather"], *(Symbol(s, self.traced.gathered_type) for s in "xy")
        reduces = self.traced.monoid.combine(x, y) is semirings.minimum(x, y)  # type: ignore[union-attr]
        terms = [gather.sources.get(term.payload) for term in _terms(gather.result)]
        values = [("edge", name) for name in self.edge_values]
        adds = sorted(term in values for term in terms) == [False, True] and ("src", self.absorbs) in terms
        asked = _terms(self.functions["priority"].result)
        return reduces and adds and [term.payload for term in asked] == [f"vertex_{self.absorbs}"]

    @property
    def is_tuple(self) -> bool:
        """Whether several values are gathered."""
        return self.gathers and isinstance(self.traced.gathered_type, TupleType)

    def _may_push(self) -> bool:
        """Whether active vertices may send: one word a value, in any order, and only where that changes nothing."""
        if self.deterministic or self.scheduled or self.everyone or not self.gathers:
            return False
        single = len(self.components) == 1 and isinstance(self.components[0][1], np.dtype)
        monoid = self.traced.monoid
        assert monoid is not None
        return single and (bool(self.absorbs) or (monoid.commutative and self.traced.program.sources == "active"))

    @functools.cached_property
    def used(self) -> set[tuple[str, str]]:
        """Every (role, field) that some function reads."""
        return {f.sources[s.name] for f in self.functions.values() for s in f.symbols}

    @functools.cached_property
    def edge_values(self) -> list[str]:
        """Edge fields that are the matrix's own values and are read."""
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("edge", n) in self.used]

    @functools.cached_property
    def edge_states(self) -> list[str]:
        return [inner(n) for n, f in self.traced.program.edge_fields.items() if not f.is_value]

    @functools.cached_property
    def starting(self) -> dict[str, tuple[Any, Any]]:
        """The fields that a run may be given start values of: each one's type, and the bounds of that."""
        kinds = {**self.traced.vertex_types, **{n: self.traced.edge_types[n] for n in self.edge_states}}
        return {name: (kind, bounds_of(kind)) for name, kind in kinds.items()}

    def _edge_roles(self, *names: str) -> set[str]:
        return {f for n in names if n in self.functions for f in self.functions[n].reads("edge")}

    @functools.cached_property
    def needs_gather_ids(self) -> bool:
        return bool(self._edge_roles("gather", "edge_mask") - set(self.edge_values))

    @functools.cached_property
    def needs_send_ids(self) -> bool:
        names = ("gather", "edge_mask", "scatter") if self.pushes else ("edge_mask", "scatter")
        return "scatter" in self.functions or bool(self._edge_roles(*names) - set(self.edge_values))

    @functools.cached_property
    def sums_in_order(self) -> bool:
        """Whether the order matters in which aggregates add up what vertices give: it must be the graph's."""
        return self.deterministic and any(kind.kind == "f" for kind in self.traced.aggregate_types.values())

    @functools.cached_property
    def scatters_from_tails(self) -> bool:
        """Whether the lists that a scatter walks have every edge twice, of which one is passed over."""
        return "scatter" in self.functions and self.traced.program.direction == "all"

    @functools.cached_property
    def sends(self) -> bool:
        """Whether out-edges (in the direction of activity) are ever walked."""
        if self.scheduled:
            return self.staged and "scatter" in self.functions
        return not self.everyone or "scatter" in self.functions

    @functools.cached_property
    def degrees(self) -> set[str]:
        return {f for role, f in self.used if f in ("in_degree", "out_degree")}


def _terms(e: Expr) -> list[Expr]:
    """What an expression is the sum of, whatever types it goes through."""
    if e.op == "cast":
        return _terms(e.args[0])
    return [term for part in e.args for term in _terms(part)] if e.op == "add" else [e]


def _components(kind: Any) -> list[tuple[str, Any]]:
    """The arrays that hold gathered values: one, or one for each part of a tuple."""
    if isinstance(kind, TupleType):
        return [(f"acc_{i}", k) for i, k in enumerate(kind.items)]
    return [("acc", kind)]


def _change(traced: Traced) -> Function:
    """What stands for `activate` where there is none: whether any field that apply returns is another than before."""
    fields = sorted(traced.functions["apply"].result)
    sources = {f"{role}_{field}": (role, field) for field in fields for role in ("before", "after")}
    symbols = [Symbol(name, traced.vertex_types[field]) for name, (_, field) in sources.items()]
    changes = [change for pair in zip(symbols[::2], symbols[1::2]) for change in _changes(*pair)]
    result = semirings.as_expr(functools.reduce(operator.or_, changes) if changes else False)
    return Function("activate", result, tuple(symbols), sources)


def _changes(before: Symbol, after: Symbol) -> list[Any]:
    """Whether each number of a field is another than before; NaN, too, is like itself."""
    kind: Any = before.type
    parts: list[tuple[Any, Any]] = [(before, after)]
    if has_wide(kind):
        differ = before != after
        if kind.scalar.kind == "f":
            differ = differ & ((after == after) | (before == before))
        return [fold(operator.or_, differ)]
    if isinstance(kind, VectorType):
        kind, parts = kind.scalar, [(before[i], after[i]) for i in range(kind.length)]
    if kind.kind != "f":
        return [a != b for a, b in parts]
    return [(a != b) & ((a == a) | (b == b)) for a, b in parts]


def _activates_on_change(traced: Traced, name: str) -> bool:
    """Whether activity is what an improvement of the field brings: the default, or a comparison of before and after."""
    if "activate" not in traced.functions:
        return True
    kind = traced.vertex_types[name]
    before, after = Symbol(f"before_{name}", kind), Symbol(f"after_{name}", kind)
    result = traced.functions["activate"].result
    return any(
        result is form
        for form in (after < before, before > after, after > before, before < after, after != before, before != after)
    )
