"""What any engine must do for a program: how vertices may reduce, which old values must be saved, what is read."""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

import semirings
from gasla.names import given, inner
from gasla.program.fields import bounds_of
from gasla.program.reductions.absorbing import absorbing_fields, leaves
from gasla.program.reductions.activating import activates_on_change, change
from gasla.program.tracing import AFTERWARDS, Function, Traced
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.expr import rebuilt
from semirings.operators import scalars
from semirings.types import parts_of

# One of the copies of a field: the only one, or the one that is brought up to date later; of two by turns, that from
# before the iteration, that which it has left, or, once its number is the next one's, which that begins with.
Found = Literal["only", "behind", "old", "left", "next", "reduced", "reduced before"]  # the last two: of aggregates
COMPUTING = ("mask", "edge_mask", "gather", "key", "choose", "apply", "post_apply")  # of an iteration's functions
VERTICES = ("src", "dst", "vertex", "other")  # whose fields those functions read
MOST_PARTS = 8  # numbers of a value that is pushed: each has an atomic operation, and a bit that says it is new


class Part(NamedTuple):
    """One number of what is gathered, where each combines on its own: where it is, and what two come to."""

    item: int | None  # of a tuple
    lane: int | None  # of a vector
    combined: Expr  # of the symbols x and y

    @property
    def type(self) -> np.dtype:
        """The type of this part."""
        return self.combined.dtype


@dataclass(eq=False)
class Plan:
    """The decisions for one program.

    `scheduled`: receivers are known ahead, as one array; nothing is activated. `staged`: stages alone, for a loop that
    is written by hand: gather always puts values aside, and apply notes which vertices are active.
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
        # Fields whose values go on by themselves, once heard: those of vertices that are not active have been.
        heard = self._heard()
        self.absorbs = () if self.deterministic or self.scheduled or not self.parts else heard
        conflict, looked_up = set() if self.absorbs else t.gathers_what_apply_writes, t.looked_up
        self.in_place: set[str] = set()  # fields that others read while they are written
        if cls.order == "in place":
            self.in_place = conflict | looked_up
            self._check_in_place(conflict)
            conflict, looked_up = set(), set()
        # Where every vertex writes, what neighbours read has two copies, read and written in turn.
        self.doubled = conflict | looked_up if self.everyone else set()
        floats = [n for n, a in t.deposits.items() if t.deposit_types[n].kind == "f" and not a.monoid.idempotent]
        if self.deterministic and floats:
            raise ValueError(
                f"{cls.__name__}.{given(floats[0])} reduces floats at vertices by {t.deposits[floats[0]].monoid.name}, "
                "in any order; expected integers, or an order that doesn't matter, with deterministic=True"
            )
        # Elsewhere what is read of any vertex has a copy that is brought up to date once the iteration is over.
        self.behind = looked_up - self.doubled
        # So has what a scatter both writes and reads at partners, which others may be writing meanwhile.
        scatter = t.functions.get("scatter")
        self.edges_behind = set() if scatter is None else scatter.reads("back") & scatter.result.keys()
        if self.staged and self.edges_behind:
            raise TypeError(
                f"{cls.__name__}.scatter writes {given(min(self.edges_behind))!r} and reads it of partners, as it was "
                "before an iteration; stages don't say where one begins: expected a run"
            )
        if self.staged and t.looks_up:
            raise TypeError(
                f"{cls.__name__} reads or reduces at other vertices, as they were before an iteration; stages don't "
                "say where one begins: expected a run"
            )
        self.two_phases = self.staged or (bool(conflict) and not self.everyone)
        self.active_only = (not self.scheduled or self.staged) and (cls.sources == "active" or bool(heard))
        self.keeps_active = self.active_only or bool(
            not self.scheduled and (not self.everyone or {"scatter", "wake"} & t.functions.keys())
        )
        self.keeps_receivers = self.two_phases or "post_apply" in t.functions or bool(self.behind)
        self.pushes = self.reason_to_pull is None
        self.push_at_once = bool(
            self.pushes
            and self.takes_first
            and not self.keeps_receivers
            and not {"activate", "bucket"} & t.functions.keys()
        )
        self.prioritised = "priority" in t.functions and bool(self.absorbs)
        if self.scheduled and not self.staged:
            self.functions = {name: f for name, f in t.functions.items() if name != "activate"}
        elif "apply" in t.functions and "activate" not in t.functions:
            self.functions = {**t.functions, "activate": change(t)}

    def _check_in_place(self, conflict: set[str]) -> None:
        """Refuse what can't be right where what has been applied is seen at once."""
        cls, kinds = self.traced.program, self.traced.vertex_types
        asked = f"{cls.__name__} runs in place, where what a vertex sees depends on who came first; expected "
        if self.deterministic:
            raise ValueError(f"{asked}deterministic=False, or order='synchronous'")
        if self.scheduled:
            what = "stages" if self.staged else "a schedule, whose vertices see each other as they were before"
            raise ValueError(f"{asked}order='synchronous' for {what}")
        if conflict and cls.sources == "active":
            raise ValueError(
                f"{asked}sources = 'all': {given(min(conflict))} of an active neighbour may be another by the time "
                "that it is read, and be read once more in the next iteration"
            )
        for name in sorted(self.in_place):
            if not isinstance(kinds[name], np.dtype):
                raise TypeError(
                    f"{cls.__name__}.{given(name)} is {kinds[name]}, and read while it is written, as the program runs "
                    "in place; expected one number, which is read and written as a whole, or order='synchronous'"
                )

    @functools.cached_property
    def final(self) -> Expr | None:
        """Whether nothing can change what has been gathered, symbol `x`, any more; None if something always can.

        Floats have no number that NaN could not still change.
        """
        monoid, kind = self.traced.monoid, self.traced.gathered_type if self.gathers else None
        if monoid is None or self.keyed is not None or (terminal := monoid.terminal(kind)) is None:
            return None
        plain = isinstance(kind, np.dtype) and kind.kind != "f"
        return monoid.is_final(Symbol("x", kind)) if plain or terminal is semirings.ANY else None

    @property
    def has_buckets(self) -> bool:
        """Whether a run opens buckets."""
        return "bucket" in self.functions and not self.staged

    @property
    def resumes(self) -> bool:
        """Whether something is asked when no vertex is active: the next bucket, or which vertices wake."""
        return self.has_buckets or ("wake" in self.functions and not self.staged)

    @functools.cached_property
    def stop_sees_fields(self) -> bool:
        """Whether `stop` reads a field that the next iteration writes in place: all must have asked before that."""
        read = self.functions["stop"].reads("other") if "stop" in self.functions else set()
        return bool(read & self.traced.writes("apply", "post_apply") - self.doubled - self.behind)

    def where_found(self, function: str, field: str) -> Found:
        """The copy of a field in which a function finds what `self.at` reads."""
        if field in self.traced.deposits:
            return "reduced" if function == "stop" else "reduced before"
        if field in self.behind:
            return "behind"
        if field not in self.doubled:
            return "only"
        return "old" if function not in AFTERWARDS else "left" if function == "stop" else "next"

    @functools.cached_property
    def changes(self) -> list[str]:
        """The parameters that a run changes."""
        return [] if self.staged or "idle" not in self.functions else list(self.functions["idle"].result)

    @functools.cached_property
    def ends_when_still(self) -> bool:
        """Whether a run ends once no vertex is active; otherwise by `stop` or its limit of iterations alone.

        Where some vertices take part and none is active, none receives. Where everyone takes part, and those are active
        that `apply` changed, an iteration in which none is proves that the next one changes nothing either; unless it
        computes with what varies all the same (`what_varies`). A program with `activate` or `wake` says itself which
        vertices are active, and so whether it is over.
        """
        return self.staged or not self.everyone or not self.is_active_by_change or self.what_varies is None

    @functools.cached_property
    def what_varies(self) -> tuple[str, str] | None:
        """A function by which an iteration computes, and what it reads that may vary though `apply` changes no field.

        That is the number of the iteration; a field that `post_apply` writes; and an aggregate that depends on more
        than the fields of all vertices as the iteration leaves them.
        """
        t, later = self.traced, self.traced.writes("post_apply")
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

    def is_over(self, left: int, n: int) -> bool:
        """Whether a run ends with so many vertices that are active or wait, of n."""
        return left == 0 if self.ends_when_still else n == 0

    @property
    def is_active_by_change(self) -> bool:
        """Whether those vertices are active that `apply` changed, if any, and nothing else says who is."""
        return not {"activate", "wake"} & self.traced.functions.keys()

    def find_read(self, of_self: Collection[str], of_vertices: Collection[str]) -> tuple[str, str] | None:
        """A function by which an iteration computes, and one of such names that it reads; None if none does."""
        for name in COMPUTING:
            for role, field in self._sources(name):
                if field in (of_self if role == "self" else of_vertices if role in VERTICES else ()):
                    return name, f"self.{given(field)}" if role == "self" else given(field)
        return None

    def _sources(self, name: str) -> list[tuple[str, str]]:
        """What a function reads."""
        function = self.traced.functions.get(name)
        return [] if function is None else sorted(function.sources[s.name] for s in function.symbols)

    @functools.cached_property
    def never_ends(self) -> bool:
        """Whether no run ends before its limit of iterations: nothing stops it, nor that no vertex is active."""
        if not self.everyone or "stop" in self.functions:
            return False
        return not self.ends_when_still or (self._always("activate") and "mask" not in self.functions)

    @functools.cached_property
    def measures_first(self) -> bool:
        """Whether aggregates reduce over what a run starts with: they may be read before an iteration is over."""
        return bool(self.traced.measures) and (self.traced.reads_ahead or not self.everyone)

    @property
    def always_wakes(self) -> bool:
        """Whether everyone wakes whenever nothing is active, and nothing stops the run."""
        return self._always("wake") and not {"bucket", "stop"} & self.functions.keys()

    def _always(self, test: str) -> bool:
        """Whether a function says yes of every vertex."""
        function = self.functions.get(test)
        return function is not None and function.result is semirings.as_expr(np.bool_(True))

    @functools.cached_property
    def adds_up(self) -> bool:
        """Whether a priority is a sum of edge values along a path, so that a bucket may be some of them wide."""
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
    def ranks_least(self) -> bool:
        """Whether a priority is just the least of what absorbs, so that it can be told for some of its parts alone."""
        asked = self.functions["priority"].result if self.prioritised else None
        return asked is not None and _least(asked) == set(leaves(self.traced, "vertex", self.absorbs))

    @functools.cached_property
    def lane_gather(self) -> Function | None:
        """What gather gives for one lane of a vector, where all are alike: fields of vectors stand for their lanes."""
        kind, gather = self.traced.gathered_type, self.functions["gather"]
        if not isinstance(kind, VectorType) or not self.parts:
            return None
        found = {
            rebuilt(value, functools.partial(_lane_of, lane))
            for lane, value in enumerate(scalars(semirings.as_expr(gather.result)))
        }
        result = found.pop()
        symbols = tuple(s for s in semirings.free_symbols(result) if isinstance(s, Symbol))
        if found or len({part.combined for part in self.parts}) > 1 or any(_is_vector(s) for s in symbols):
            return None
        return Function("lane", result, symbols, gather.sources)

    @property
    def only_pushes(self) -> bool:
        """Whether no iteration pulls: in an order of priorities few are active at once."""
        return self.prioritised and not self.staged

    @property
    def only_pulls(self) -> bool:
        """Whether no iteration pushes, nor lists receivers, on a graph like this."""
        return False

    @property
    def is_tuple(self) -> bool:
        """Whether several values are gathered."""
        return self.gathers and isinstance(self.traced.gathered_type, TupleType)

    @functools.cached_property
    def absorption(self) -> tuple[str, ...] | str:
        """The fields into which values may go straight, one for each item of what is gathered; or why they may not."""
        found = absorbing_fields(self.traced)
        if isinstance(found, tuple) and not activates_on_change(self.traced, found):
            return "activate asks for more than whether a value changed"
        return found

    def _heard(self) -> tuple[str, ...]:
        is_heard = not self.traced.program.everyone and isinstance(self.absorption, tuple)
        return self.absorption if is_heard else ()  # type: ignore[return-value]

    @functools.cached_property
    def parts(self) -> list[Part]:
        """The numbers of what is gathered, if each combines on its own and there are few enough to be pushed."""
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
        """Whether one number is gathered."""
        return self.gathers and isinstance(self.traced.gathered_type, np.dtype)

    @functools.cached_property
    def reason_to_pull(self) -> str | None:
        """Why active vertices never send: a sentence. None if they may, as that comes to the same."""
        cls, monoid = self.traced.program, self.traced.monoid
        if monoid is None:
            return "nothing is gathered"
        if self.keyed is not None:
            return "values are reduced by key, where they are received"
        if self.scheduled:
            return "the receivers of each iteration are known ahead"
        if self.everyone:
            return "everyone = True: every vertex gathers in every iteration"
        if self.deterministic:
            return "deterministic=True: what is sent arrives in any order"
        if cls.sources != "active" and isinstance(self.absorption, str):
            return f"values of neighbours that are not active count as well (sources = 'all'): {self.absorption}"
        if not monoid.commutative:
            return f"{monoid.name} minds the order of values: it is not commutative"
        if self.traced.held is not None:
            return f"{monoid.name} has no identity, so that each value would have to arrive with a flag"
        if not (self.parts or self.takes_first):
            return f"{_of(self.traced.gathered_type)} {self._why_whole()}"
        return None

    def _why_whole(self) -> str:
        assert self.traced.monoid is not None
        if sum(getattr(part, "length", 1) for part in parts_of(self.traced.gathered_type)) > MOST_PARTS:
            return f"has over {MOST_PARTS} numbers, which is more than are sent one by one"
        return f"is combined as a whole by {self.traced.monoid.name}, not part by part: no atomic operation does that"

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

    @functools.cached_property
    def back_values(self) -> list[str]:
        """The edge fields that are read of an edge's partner."""
        return [n for n in self.traced.edge_types if n not in self.edge_states and ("back", n) in self.used]

    def _edge_roles(self, *names: str) -> set[str]:
        """What some functions read of an edge: fields, "id", "leaves", and "back" if they ask its partner."""
        functions = [self.functions[n] for n in names if n in self.functions]
        fields = {f for function in functions for f in function.reads("edge")}
        return fields | ({"back"} if any(function.reads("back") for function in functions) else set())

    @functools.cached_property
    def _read_in_lists(self) -> tuple[set[str], set[str]]:
        """What is read of an edge where vertices gather, and where activity spreads."""
        names = ("gather", "edge_mask", "scatter") if self.pushes else ("edge_mask", "scatter")
        return self._edge_roles("gather", "key", "edge_mask"), self._edge_roles(*names)

    @functools.cached_property
    def needs_gather_ids(self) -> bool:
        return bool(self._read_in_lists[0] & {"id", *self.edge_states})

    @functools.cached_property
    def needs_send_ids(self) -> bool:
        return "scatter" in self.functions or bool(self._read_in_lists[1] & {"id", *self.edge_states})

    @functools.cached_property
    def knows_partners(self) -> bool:
        """Whether any function asks an edge's partner."""
        return any(role == "back" for role, _ in self.used)

    @functools.cached_property
    def needs_gather_partners(self) -> bool:
        return "back" in self._read_in_lists[0]

    @functools.cached_property
    def needs_send_partners(self) -> bool:
        return "back" in self._read_in_lists[1]

    @functools.cached_property
    def needs_leaving(self) -> bool:
        """Whether it matters which end of an edge a list has it at, where lists have both."""
        return self.scatters_from_tails or ("edge", "leaves") in self.used

    @functools.cached_property
    def reduces_in_order(self) -> bool:
        """Whether values are taken in the order of the input's edges."""
        monoid = self.traced.monoid
        if monoid is None or not monoid.commutative:
            return monoid is not None
        is_sum = self.keyed is not None and self.keyed.total.kind == "f" and not monoid.idempotent
        return is_sum and self.deterministic

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


def _least(e: Expr, look: Callable[[Expr], Expr] = lambda e: e) -> set[Expr]:
    """What an expression is the least of."""
    e = look(e)
    return _least(e.args[0], look) | _least(e.args[1], look) if e.op == "minimum" else {e}


def _uncast(e: Expr) -> Expr:
    return _uncast(e.args[0]) if e.op == "cast" else e


def _is_vector(e: Expr) -> bool:
    return isinstance(e.type, VectorType)


def _lane_of(lane: int, e: Expr, _: Any) -> Expr | None:
    """What stands for the items of a vertex's vectors at a lane: a symbol of the vector's name."""
    is_own = e.op == "item" and e.payload == lane and _is_vector(e.args[0]) and isinstance(e.args[0], Symbol)
    return Symbol(str(e.args[0].payload), e.type) if is_own else None


def _places(kind: Any) -> list[tuple[int | None, int | None]]:
    """Which item, and which lane of that, each number of a value is."""
    items = list(enumerate(kind.items)) if isinstance(kind, TupleType) else [(None, kind)]
    return [(item, lane) for item, k in items for lane in (range(k.length) if isinstance(k, VectorType) else [None])]


def _of(kind: Any) -> str:
    return f"what is gathered, {'a tuple' if isinstance(kind, TupleType) else 'a vector'},"


def _components(kind: Any) -> list[tuple[str, Any]]:
    """The arrays that hold gathered values: one, or one for each part of a tuple."""
    if isinstance(kind, TupleType):
        return [(f"acc_{i}", k) for i, k in enumerate(kind.items)]
    return [("acc", kind)]
