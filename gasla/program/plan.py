"""`Plan`: the decisions for a program that all engines share: push or pull, copies of fields, what is read."""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

import semirings
from gasla.names import given, inner
from gasla.program.fields import bounds_of
from gasla.program.hooks import ALONG, BETWEEN, COMPUTING, HOOKS, REVISING, WRITING
from gasla.program.reductions.absorbing import absorbing_fields, leaves
from gasla.program.reductions.activating import activates_on_change, change
from gasla.program.tracing import Function, Traced
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.bounds import bounds
from semirings.expr import rebuilt
from semirings.operators import scalars
from semirings.types import parts_of

if TYPE_CHECKING:
    from gasla.program.frontier import Frontier

# The array in which `self.at` finds a field: "only" copy; the "behind" copy, updated at the iteration's end; or of two
# alternating copies, the one before the iteration ("old"), after it ("left"), or the next iteration's old one ("next").
# Aggregates at vertices: this iteration's ("reduced") or the last one's ("reduced before").
Where = Literal["only", "behind", "old", "left", "next", "reduced", "reduced before"]
VERTICES = ("src", "dst", "vertex", "other")  # roles of vertices as arguments of a program's functions
MOST_PARTS = 8  # numbers in a pushed value: each takes an atomic operation, and a bit that marks it as new


class Part(NamedTuple):
    """One number of a gathered value whose numbers combine independently: its position, and their combination."""

    item: int | None  # position in a tuple
    lane: int | None  # position in a vector
    combined: Expr  # an expression of the symbols x and y

    @property
    def type(self) -> np.dtype:
        """The type of this part."""
        return self.combined.dtype


@dataclass(eq=False)
class Plan:
    """The decisions for one program.

    `scheduled`: the receivers of each iteration are given ahead; no vertex is activated. `staged`: separate stages for
    a hand-written loop: gather stores its values in an array, and apply marks the active vertices.
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
        self.keyed = t.keyed
        self.takes_first = (
            self.gathers
            and self.keyed is None
            and t.monoid.takes_first(  # type: ignore[union-attr]
                semirings.as_expr(t.functions["gather"].result), t.bounds("gather")
            )
        )
        # Fields that absorb: inactive vertices have delivered their values already.
        absorbing = self._absorbing()
        self.absorbs = () if self.deterministic or self.scheduled or not self.parts else absorbing
        conflict, looked_up = set() if self.absorbs else t.gathers_what_apply_writes, t.looked_up
        self.in_place: set[str] = set()  # fields that other vertices read while they are written
        if cls.order == "in place":
            self.in_place = conflict | looked_up
            self._check_in_place(conflict)
            conflict, looked_up = set(), set()
        # If every vertex writes, fields that neighbors read have two copies, one read and one written.
        self.doubled = conflict | looked_up if self.everyone else set()
        floats = [n for n, a in t.deposits.items() if t.deposit_types[n].kind == "f" and not a.monoid.idempotent]
        if self.deterministic and floats:
            raise ValueError(
                f"{cls.__name__}.{given(floats[0])} reduces floats at vertices by {t.deposits[floats[0]].monoid.name}, "
                "in any order; expected integers, or an order that doesn't matter, with deterministic=True"
            )
        # Otherwise fields read by self.at have a second copy, which receivers update at the end of the iteration.
        self.behind = looked_up - self.doubled
        # So have edge fields that scatter writes and also reads of partners, which other threads may be writing.
        scatter = t.functions.get("scatter")
        self.edges_behind = set() if scatter is None else scatter.reads("back") & scatter.result.keys()
        if self.staged and self.edges_behind:
            raise TypeError(
                f"{cls.__name__}.scatter writes {given(min(self.edges_behind))!r} and reads its old value of partners; "
                "stages have no iterations that would define it: expected gasla.run"
            )
        if self.staged and t.looks_up:
            raise TypeError(
                f"{cls.__name__} reads or reduces at other vertices, by their values before an iteration; "
                "stages have no iterations that would define these: expected gasla.run"
            )
        self.two_phases = self.staged or (bool(conflict) and not self.everyone)
        self.active_only = (not self.scheduled or self.staged) and (cls.sources == "active" or bool(absorbing))
        self.keeps_active = self.active_only or bool(
            not self.scheduled and (not self.everyone or {"scatter", "wake"} & t.hooks)
        )
        self.revising = [name for name in REVISING if name in t.functions]  # each runs over all receivers
        self.keeps_receivers = self.two_phases or bool(self.revising or self.behind)
        self.pushes = self.reason_to_pull is None
        self.push_at_once = bool(
            self.pushes and self.takes_first and not self.keeps_receivers and not {"activate", "bucket"} & t.hooks
        )
        self.prioritised = "priority" in t.functions and bool(self.absorbs)
        if self.scheduled and not self.staged:
            self.functions = {name: f for name, f in t.functions.items() if name != "activate"}
        elif "apply" in t.functions and "activate" not in t.functions:
            self.functions = {**t.functions, "activate": change(t)}

    def _check_in_place(self, conflict: set[str]) -> None:
        """Refuse programs that give wrong results in place, where new values are read at once."""
        cls, kinds = self.traced.program, self.traced.vertex_types
        asked = f"{cls.__name__} runs in place, where the values read depend on the order of threads; expected "
        if self.deterministic:
            raise ValueError(f"{asked}deterministic=False, or order='synchronous'")
        if self.scheduled:
            what = "stages" if self.staged else "a schedule, whose vertices read each other's old values"
            raise ValueError(f"{asked}order='synchronous' for {what}")
        if conflict and cls.sources == "active":
            raise ValueError(
                f"{asked}sources = 'all': {given(min(conflict))} of an active neighbor may change before it is read, "
                "and be read again in the next iteration"
            )
        for name in sorted(self.in_place):
            if not isinstance(kinds[name], np.dtype):
                raise TypeError(
                    f"{cls.__name__}.{given(name)} is {kinds[name]}, and read while it is written, as the program runs "
                    "in place; expected a single number, which is written atomically, or order='synchronous'"
                )

    @functools.cached_property
    def final(self) -> Expr | None:
        """Whether a gathered value, symbol `x`, is terminal: no further value changes it. None if no value is.

        Floats have no terminal value, as NaN changes every number.
        """
        monoid, kind = self.traced.monoid, self.traced.gathered_type if self.gathers else None
        if monoid is None or self.keyed is not None or (terminal := monoid.terminal(kind)) is None:
            return None
        plain = isinstance(kind, np.dtype) and kind.kind != "f"
        return monoid.is_final(Symbol("x", kind)) if plain or terminal is semirings.ANY else None

    @property
    def stages(self) -> list[str]:
        """The stages of a hand-written loop that the program has."""
        own = (HOOKS[name].stage for name in self.functions if name in HOOKS)
        return [*dict.fromkeys(("apply", *filter(None, own)))]

    @property
    def has_buckets(self) -> bool:
        """Whether a run opens buckets."""
        return "bucket" in self.functions and not self.staged

    @property
    def resumes(self) -> bool:
        """Whether a run may go on when no vertex is active: by the next bucket, or by `wake`."""
        return self.has_buckets or ("wake" in self.functions and not self.staged)

    @functools.cached_property
    def stop_sees_fields(self) -> bool:
        """Whether `stop` reads a field that the next iteration writes in place, which needs a barrier between them."""
        read = self.functions["stop"].reads("other") if "stop" in self.functions else set()
        return bool(read & self.traced.writes(*WRITING) - self.doubled - self.behind)

    def where_found(self, function: str, field: str) -> Where:
        """Return the copy of a field that `self.at` reads in a function."""
        if field in self.traced.deposits:
            return "reduced" if function == "stop" else "reduced before"
        if field in self.behind:
            return "behind"
        if field not in self.doubled:
            return "only"
        return "old" if function not in BETWEEN else "left" if function == "stop" else "next"

    @functools.cached_property
    def changes(self) -> list[str]:
        """The parameters that `idle` changes."""
        return [] if self.staged or "idle" not in self.functions else list(self.functions["idle"].result)

    @functools.cached_property
    def ends_when_still(self) -> bool:
        """Whether a run ends once no vertex is active. If not, it ends only by `stop` or its limit of iterations.

        Without `everyone`, no vertex receives if none is active. With `everyone`, and if the active vertices are those
        that `apply` changed, an iteration that activates none proves that the next one changes nothing either; unless
        functions read something that varies nevertheless (`what_varies`). A program with `activate` or `wake` defines
        by itself which vertices are active, and so when it ends.
        """
        return self.staged or not self.everyone or not self.is_active_by_change or self.what_varies is None

    @functools.cached_property
    def what_varies(self) -> tuple[str, str] | None:
        """A reason why an iteration in which `apply` changes no field need not be the last, or None if it always is.

        The reason is a function that determines the new fields of a receiver (one of COMPUTING), and the name of a
        value that this function reads and that may differ in the next iteration. Such values are `iteration`, a field
        that is written once more after `apply`, and an aggregate that depends on more than the fields of all vertices
        after the iteration.
        """
        t, later = self.traced, self.traced.revised
        numbers = {"iteration", *t.aggregates, *t.deposits}
        varying = {
            name
            for name in numbers - {"iteration"}
            if "mask" in t.functions
            or any(
                role == "before" or field in (numbers if role == "self" else later)
                for role, field in self._sources(name)
            )
        }
        return self.find_read({"iteration", *varying}, later | varying)

    def first_active(self, given: "Frontier") -> "Frontier":
        """Return the vertices that a run starts with: all or none if it does not keep which ones are active."""
        return given if self.keeps_active or not len(given) else type(given).all(given.n)

    def is_over(self, left: int, n: int) -> bool:
        """Return whether a run ends with `left` of n vertices active or waiting."""
        return left == 0 if self.ends_when_still else n == 0

    @property
    def is_active_by_change(self) -> bool:
        """Whether a vertex is active exactly if `apply` changed it."""
        return not {"activate", "wake"} & self.traced.functions.keys()

    def find_read(self, of_self: Collection[str], of_vertices: Collection[str]) -> tuple[str, str] | None:
        """Return a function of COMPUTING, and the first of the given names of self or of vertices that it reads.

        If none does, return None.
        """
        for name in COMPUTING:
            for role, field in self._sources(name):
                if field in (of_self if role == "self" else of_vertices if role in VERTICES else ()):
                    return name, f"self.{given(field)}" if role == "self" else given(field)
        return None

    def _sources(self, name: str) -> list[tuple[str, str]]:
        """Return the (role, field) pairs that a function reads."""
        function = self.traced.functions.get(name)
        return [] if function is None else sorted(function.sources[s.name] for s in function.symbols)

    @functools.cached_property
    def never_ends(self) -> bool:
        """Whether every run goes on to its limit of iterations: it has no `stop`, and always an active vertex."""
        if not self.everyone or "stop" in self.functions:
            return False
        return not self.ends_when_still or (self._always("activate") and "mask" not in self.functions)

    @functools.cached_property
    def measures_first(self) -> bool:
        """Whether aggregates are computed over the initial state, to be read in the first iteration."""
        return bool(self.traced.measures) and (self.traced.reads_ahead or not self.everyone)

    @property
    def always_wakes(self) -> bool:
        """Whether `wake` always wakes every vertex, and the run has no `stop`."""
        return self._always("wake") and not {"bucket", "stop"} & self.functions.keys()

    def _always(self, test: str) -> bool:
        """Return whether a test is constantly true."""
        function = self.functions.get(test)
        return function is not None and function.result is semirings.as_expr(np.bool_(True))

    @functools.cached_property
    def adds_up(self) -> bool:
        """Whether priorities are sums of edge values along a path, so that the width of a bucket follows from these."""
        if not self.prioritised:
            return False
        gather, own = self.functions["gather"], leaves(self.traced, "src", self.absorbs)
        values = [("edge", name) for name in self.edge_values]
        for value, part, leaf in zip(scalars(semirings.as_expr(gather.result)), self.parts, own, strict=True):
            x, y = (Symbol(name, part.type) for name in "xy")
            terms = _terms(value)
            added = [term for term in terms if term is not leaf]
            if part.combined is not semirings.minimum(x, y) or len(terms) != 2 or len(added) != 1:
                return False
            if gather.sources.get(added[0].payload) not in values:
                return False
        return _least(self.functions["priority"].result, _uncast) == set(leaves(self.traced, "vertex", self.absorbs))

    @functools.cached_property
    def closes(self) -> bool:
        """Whether a vertex that the mask refuses stays refused, so that a bitmap can record it as closed.

        A refused vertex is never applied to. So its fields stay the same, and if the mask reads nothing else, so does
        the mask.
        """
        mask = self.functions.get("mask")
        if mask is None or not self.push_at_once or not self.traced.settles or self.changes:
            return False
        roles = {mask.sources[s.name] for s in mask.symbols}
        constant = self.traced.parameter_types.keys() - self.traced.changing
        return all(role == "vertex" or name in constant for role, name in roles)

    @functools.cached_property
    def applies_once(self) -> bool:
        """Whether the mask refuses every vertex that was applied to, so that apply runs once per vertex.

        This holds in searches: the mask compares a field with a constant, and apply writes a value beyond it.
        """
        if not self.closes:
            return False
        mask, applied = self.functions["mask"], self.functions["apply"].result
        test = mask.result
        if test.op not in ("less", "less_equal", "equal") or [x.op for x in test.args] != ["symbol", "constant"]:
            return False
        asked, limit = test.args
        role, name = mask.sources[asked.payload]
        least = bounds(applied[name], self.traced.bounds("apply"))[0] if role == "vertex" else -np.inf
        return bool(least >= limit.payload if test.op == "less" else least > limit.payload)

    @functools.cached_property
    def ranks_least(self) -> bool:
        """Whether the priority is the minimum of the absorbing fields, so that it can be updated from some of them."""
        asked = self.functions["priority"].result if self.prioritised else None
        return asked is not None and _least(asked) == set(leaves(self.traced, "vertex", self.absorbs))

    @functools.cached_property
    def lane_gather(self) -> Function | None:
        """The gather of one lane of a vector, if all lanes are alike. Symbols of vector fields stand for one lane."""
        kind, gather = self.traced.gathered_type, self.functions["gather"]
        if not isinstance(kind, VectorType) or not self.parts:
            return None
        shapes = {
            rebuilt(value, functools.partial(_lane_of, lane))
            for lane, value in enumerate(scalars(semirings.as_expr(gather.result)))
        }
        result = shapes.pop()
        symbols = tuple(s for s in semirings.free_symbols(result) if isinstance(s, Symbol))
        if shapes or len({part.combined for part in self.parts}) > 1 or any(_is_vector(s) for s in symbols):
            return None
        return Function("lane", result, symbols, gather.sources)

    @property
    def only_pushes(self) -> bool:
        """Whether no iteration pulls: with priorities, few vertices are active at once."""
        return self.prioritised and not self.staged

    @property
    def only_pulls(self) -> bool:
        """Whether no iteration pushes, nor lists receivers. Engines override it for small graphs."""
        return False

    @property
    def is_tuple(self) -> bool:
        """Whether several values are gathered."""
        return self.gathers and isinstance(self.traced.gathered_type, TupleType)

    @functools.cached_property
    def absorption(self) -> tuple[str, ...] | str:
        """The fields into which values may be reduced directly, one per gathered item, or the reason why not."""
        fields = absorbing_fields(self.traced)
        if isinstance(fields, tuple) and not activates_on_change(self.traced, fields):
            return "activate asks for more than whether a value changed"
        return fields

    def _absorbing(self) -> tuple[str, ...]:
        is_absorbing = not self.traced.program.everyone and isinstance(self.absorption, tuple)
        return self.absorption if is_absorbing else ()  # type: ignore[return-value]

    @functools.cached_property
    def parts(self) -> list[Part]:
        """The numbers of a gathered value, if they combine independently and are few enough to be pushed."""
        if not self.gathers or self.keyed is not None:
            return []
        kind, monoid = self.traced.gathered_type, self.traced.monoid
        assert monoid is not None
        places = _places(kind)
        if len(places) > MOST_PARTS or (combined := semirings.independent(monoid, kind)) is None:
            return []
        return [Part(*place, e) for place, e in zip(places, combined, strict=True)]

    @functools.cached_property
    def is_single(self) -> bool:
        """Whether a single number is gathered."""
        return self.gathers and isinstance(self.traced.gathered_type, np.dtype)

    @functools.cached_property
    def reason_to_pull(self) -> str | None:
        """Why active vertices never push, as a sentence. Return None if pushing is equivalent to pulling."""
        cls, monoid = self.traced.program, self.traced.monoid
        if monoid is None:
            return "nothing is gathered"
        if self.keyed is not None:
            return "values are reduced by key, at the receiver"
        if self.scheduled:
            return "the receivers of each iteration are known ahead"
        if self.everyone:
            return "everyone = True: every vertex gathers in every iteration"
        if self.deterministic:
            return "deterministic=True: pushed values arrive in any order"
        if cls.sources != "active" and isinstance(self.absorption, str):
            return f"values of inactive neighbors count as well (sources = 'all'): {self.absorption}"
        if not monoid.commutative:
            return f"{monoid.name} depends on the order of values: it is not commutative"
        if self.traced.held is not None:
            return f"{monoid.name} has no identity, so that each pushed value would need a flag"
        if not (self.parts or self.takes_first):
            return f"{_of(self.traced.gathered_type)} {self._why_whole()}"
        return None

    def _why_whole(self) -> str:
        assert self.traced.monoid is not None
        if sum(getattr(part, "length", 1) for part in parts_of(self.traced.gathered_type)) > MOST_PARTS:
            return f"has over {MOST_PARTS} numbers, more than are pushed one by one"
        return f"is combined as a whole by {self.traced.monoid.name}: no atomic operation does that"

    @functools.cached_property
    def used(self) -> set[tuple[str, str]]:
        """Every (role, field) that some function reads."""
        return {f.sources[s.name] for f in self.functions.values() for s in f.symbols}

    @functools.cached_property
    def edge_values(self) -> list[str]:
        """Edge fields that hold the matrix's values and are read."""
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("edge", n) in self.used]

    @functools.cached_property
    def edge_states(self) -> list[str]:
        return [inner(n) for n, f in self.traced.program.edge_fields.items() if not f.is_value]

    @functools.cached_property
    def starting(self) -> dict[str, tuple[Any, Any]]:
        """The fields that take start values: their types, and the bounds of these."""
        kinds = {**self.traced.vertex_types, **{n: self.traced.edge_types[n] for n in self.edge_states}}
        return {name: (kind, bounds_of(kind)) for name, kind in kinds.items()}

    @functools.cached_property
    def back_values(self) -> list[str]:
        """The fields of the matrix's values that are read of an edge's partner."""
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("back", n) in self.used]

    def _edge_roles(self, *names: str) -> set[str]:
        """Return the names that some functions read of an edge.

        These are fields, "id", "leaves", and "back" if they read a partner.
        """
        functions = [self.functions[n] for n in names if n in self.functions]
        fields = {f for function in functions for f in function.reads("edge")}
        return fields | ({"back"} if any(function.reads("back") for function in functions) else set())

    @functools.cached_property
    def _read_in_lists(self) -> tuple[set[str], set[str]]:
        """The names read of an edge in the lists for gathering, and in the lists along which activity spreads."""
        names = ("gather", "edge_mask", "scatter") if self.pushes else ("edge_mask", "scatter")
        return self._edge_roles(*ALONG), self._edge_roles(*names)

    @functools.cached_property
    def needs_gather_ids(self) -> bool:
        return bool(self._read_in_lists[0] & {"id", *self.edge_states})

    @functools.cached_property
    def needs_send_ids(self) -> bool:
        return "scatter" in self.functions or bool(self._read_in_lists[1] & {"id", *self.edge_states})

    @functools.cached_property
    def knows_partners(self) -> bool:
        """Whether any function reads an edge's partner."""
        return any(role == "back" for role, _ in self.used)

    @functools.cached_property
    def needs_gather_partners(self) -> bool:
        return "back" in self._read_in_lists[0]

    @functools.cached_property
    def needs_send_partners(self) -> bool:
        return "back" in self._read_in_lists[1]

    @functools.cached_property
    def needs_leaving(self) -> bool:
        """Whether lists of both directions need to distinguish out-edges from in-edges."""
        return self.scatters_from_tails or ("edge", "leaves") in self.used

    @functools.cached_property
    def reduces_in_order(self) -> bool:
        """Whether values are reduced in the order of the input's edges."""
        monoid = self.traced.monoid
        if monoid is None or not monoid.commutative:
            return monoid is not None
        is_sum = self.keyed is not None and self.keyed.total.kind == "f" and not monoid.idempotent
        return is_sum and self.deterministic

    @functools.cached_property
    def sums_in_order(self) -> bool:
        """Whether aggregates add up vertices in ascending order, as sums of floats must for deterministic results."""
        return self.deterministic and any(kind.kind == "f" for kind in self.traced.aggregate_types.values())

    @functools.cached_property
    def scatters_from_tails(self) -> bool:
        """Whether scatter traverses lists that have every edge twice, and skips one of the two entries."""
        return "scatter" in self.functions and self.traced.program.direction == "all"

    @functools.cached_property
    def sends(self) -> bool:
        """Whether out-edges (in the direction of activity) are ever traversed."""
        if self.scheduled:
            return self.staged and bool({"scatter", "edge_mask"} & self.functions.keys())
        return not self.everyone or "scatter" in self.functions

    @functools.cached_property
    def degrees(self) -> set[str]:
        return {f for role, f in self.used if f in ("in_degree", "out_degree")}


def _terms(e: Expr) -> list[Expr]:
    """Return the terms of a sum, through casts."""
    if e.op == "cast":
        return _terms(e.args[0])
    return [term for part in e.args for term in _terms(part)] if e.op == "add" else [e]


def _least(e: Expr, look: Callable[[Expr], Expr] = lambda e: e) -> set[Expr]:
    """Return the arguments of nested minima."""
    e = look(e)
    return _least(e.args[0], look) | _least(e.args[1], look) if e.op == "minimum" else {e}


def _uncast(e: Expr) -> Expr:
    return _uncast(e.args[0]) if e.op == "cast" else e


def _is_vector(e: Expr) -> bool:
    return isinstance(e.type, VectorType)


def _lane_of(lane: int, e: Expr, _: Any) -> Expr | None:
    """Replace item `lane` of a vector field by a symbol of the field's name. Return None for other expressions."""
    is_own = e.op == "item" and e.payload == lane and _is_vector(e.args[0]) and isinstance(e.args[0], Symbol)
    return Symbol(str(e.args[0].payload), e.type) if is_own else None


def _places(kind: Any) -> list[tuple[int | None, int | None]]:
    """Return the item and the lane of each number of a value."""
    items = list(enumerate(kind.items)) if isinstance(kind, TupleType) else [(None, kind)]
    return [(item, lane) for item, k in items for lane in (range(k.length) if isinstance(k, VectorType) else [None])]


def _of(kind: Any) -> str:
    return f"the gathered value, {'a tuple' if isinstance(kind, TupleType) else 'a vector'},"


def _components(kind: Any) -> list[tuple[str, Any]]:
    """Return the names and types of the arrays that hold gathered values: one, or one per item of a tuple."""
    if isinstance(kind, TupleType):
        return [(f"acc_{i}", k) for i, k in enumerate(kind.items)]
    return [("acc", kind)]
