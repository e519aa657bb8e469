"""Whole vertex programs, made by Hypothesis: every option of a program with every other, as the text of a class.

A text can be printed where a run fails or doesn't end, and sent to another process. All values are whole numbers or
halves, and small: sums of floats are exact, so that every order of them gives the same. Where values may go on within
an iteration as long as they change, programs are made such that they come to an end (`Parts.settles`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import gasla
import semirings

NUMBERS = ("int64", "int32", "int16", "uint8", "float32", "float64")
START = "vertex.id * 5 % 13"
COMPOSE = (
    "semirings.Monoid(lambda f, g: (f[0] * g[0] % 1009, (f[0] * g[1] + f[1]) % 1009), (1, 0), "
    "commutative=False, name='compose')"
)
SUM_AND_MOST, LEAST_AND_BITS = "semirings.plus, semirings.max", "semirings.min, semirings.bor"
BESIDE = "semirings.Monoid(lambda f, g: (f[0] + g[0], f[1] ^ g[1]), (0, 0), name='beside')"
SOME_EVER = ("after.y % 2 == 0", "after.id % 3 != 0")
RISING = ("after.x > before.x", *SOME_EVER)


@dataclass(frozen=True)
class Parts:
    """What programs over values of one kind are put together from: expressions of which one is drawn."""

    declared: str  # the field x
    monoids: tuple[str, ...]
    gathers: tuple[str, ...]
    applies: tuple[str, ...]  # what x becomes
    activates: tuple[str, ...] = RISING
    masks: tuple[str, ...] = ()  # beside those of all kinds
    small: str = "vertex.x"  # a whole number of a vertex
    priorities: tuple[str, ...] = ()
    absorbing: dict[str, Any] = field(default_factory=dict)  # by monoid: the apply that only does what it does
    settles: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by monoid: gathers that then come to an end
    keys: tuple[str, ...] = ()  # by which values are reduced, if they are
    chooses: tuple[str, ...] = ()


def _numbers(kind: str) -> Parts:
    """Programs over scalars of a type."""

    def cast(*texts: str) -> tuple[str, ...]:
        return tuple(f"semirings.cast({text}, np.{kind})" for text in texts)

    is_float = kind.startswith("float")
    half, step = (" * 0.5", "0.5") if is_float else ("", "1")
    bits = () if is_float else ("bor", "band", "bxor", "times")  # a product of floats is not exact
    of_bits = {"semirings.bor": "vertex.x | gathered", "semirings.band": "gathered & vertex.x"}
    return Parts(
        declared=f"gasla.vertex(np.{kind}, init=lambda vertex: (({START}){half}).astype(np.{kind}))",
        monoids=tuple(f"semirings.{name}" for name in ("plus", "min", "max", *bits)),
        gathers=cast(
            *("src.x", f"src.x + {step}", "src.x + edge.w", "src.x * 2 + dst.x", "edge.id % 7 + src.id % 3", "1"),
            *("src.y + self.p", "src.x + self.iteration % 3", "src.out_degree % 5 + dst.in_degree % 3"),
            *("edge.back.flow % 5 + edge.back.w + src.x", "semirings.where(edge.leaves, src.x, edge.back.id % 7)"),
            *("edge.flow % 7 + src.x", "src.x + self.total % 3", "7 - src.x", "(src.x * 3 + dst.id) % 11"),
        ),
        applies=cast(
            *("(vertex.x + gathered * 3) % 101", "gathered % 64", "(gathered + self.iteration) % 50", "vertex.y % 7"),
            "semirings.where(semirings.random(3, vertex.id, self.iteration) < 0.1, gathered % 64, vertex.x)",
            "semirings.where(self.iteration == 3, gathered % 64, vertex.x)",
        ),
        activates=("after.x != before.x", *RISING),
        small="semirings.cast(vertex.x, np.int64)",
        priorities=("vertex.x", "-vertex.x", "vertex.id", "vertex.x * 0.5 - vertex.y"),
        absorbing={
            "semirings.min": "semirings.minimum(vertex.x, gathered)",
            "semirings.max": "semirings.where(gathered > vertex.x, gathered, vertex.x)",
            **({} if is_float else of_bits),
        },
        settles={
            "semirings.min": cast("src.x", f"src.x + {step}", "src.x + edge.w", "semirings.maximum(src.x, dst.id % 5)"),
            "semirings.max": cast(
                "src.x", f"semirings.minimum(src.x + {step}, 60)", "semirings.minimum(src.x, edge.w)"
            ),
            "semirings.bor": cast("src.x", "src.x | 4", "src.x & 7"),
            "semirings.band": cast("src.x", "src.x | 3"),
        },
    )


def _halves() -> Parts:
    """Programs over numbers that are stored as float16, which holds all of these, and computed with as float32."""
    return replace(_numbers("float32"), declared=_numbers("float16").declared, absorbing={}, settles={})


WIDE = "gasla.vertex((np.int64, (11,)), init=lambda vertex: np.stack([vertex.id % k for k in range(2, 13)]))"
INTEGERS = f"gasla.vertex(np.int64, init=lambda vertex: {START})"
KINDS: dict[str, Parts] = {kind: _numbers(kind) for kind in NUMBERS} | {
    "float16": _halves(),
    "bool": Parts(
        declared="gasla.vertex(np.bool_, init=lambda vertex: vertex.id % 3 == 0)",
        monoids=("semirings.lor", "semirings.land", "semirings.lxor"),
        gathers=("src.x", "src.x & (dst.id % 2 == 0)", "src.id % 3 == 0", "edge.w > 4", "src.x ^ (edge.w > 2)", "True"),
        applies=("vertex.x ^ gathered", "gathered", "~gathered"),
        activates=SOME_EVER,
        small="vertex.y",
        absorbing={"semirings.lor": "vertex.x | gathered", "semirings.land": "vertex.x & gathered"},
        settles={
            "semirings.lor": ("src.x", "src.x | (edge.w > 8)"),
            "semirings.land": ("src.x", "src.x | (edge.w > 4)"),
        },
    ),
    "any": Parts(  # whatever arrives at a vertex is the same
        declared="gasla.vertex(np.int32, init=-1)",
        monoids=("semirings.any",),
        gathers=tuple(
            f"semirings.cast({text}, np.int32)" for text in ("self.iteration + 1", "dst.id % 5 + 1", "dst.y + 1", "3")
        ),
        applies=("gathered", "semirings.cast(self.iteration + 1, np.int32)", "(vertex.x + gathered) % 50"),
        masks=("vertex.x < 0", "vertex.x < 0", "vertex.x < 2"),
    ),
    "pair": Parts(
        declared=INTEGERS,
        monoids=("semirings.argmin", "semirings.argmax"),
        gathers=("(src.x + edge.w, src.id)", "(src.x % 4, edge.id)", "(edge.w * 1.0, src.y, src.id)", "(1, dst.id)"),
        applies=tuple(
            f"semirings.cast({text}, np.int64) % 64" for text in ("gathered[-1]", "vertex.x * 3 + gathered[0]")
        ),
    ),
    "ordered": Parts(  # in the order of the input
        declared=INTEGERS,
        monoids=(COMPOSE,),
        gathers=(
            *("(src.x + 2, src.y + edge.w)", "(edge.id % 5, src.y)", "(dst.x + 1, 1)"),
            "(edge.back.id % 5 + 1, semirings.where(edge.leaves, src.y, edge.back.w))",
        ),
        applies=("(gathered[0] + gathered[1]) % 1009", "(vertex.x + gathered[1]) % 17"),
    ),
    "first": Parts(
        declared=INTEGERS,
        monoids=("semirings.first", "semirings.second"),
        gathers=("src.x + edge.w", "src.id % 9 + 1", "edge.id % 50 + src.y"),
        applies=("gathered % 64", "(vertex.x + gathered % 64) % 101"),
    ),
    "vector": Parts(
        declared="gasla.vertex((np.int64, (3,)), init=lambda vertex: np.stack([vertex.id % k for k in (9, 7, 5)]))",
        monoids=("semirings.plus", "semirings.min", "semirings.max", "semirings.bor"),
        gathers=("src.x", "src.x * edge.w", "src.x + dst.x", "semirings.vector(src.y, edge.id % 5, edge.w)"),
        applies=("(gathered + vertex.x) % 101", "gathered % 64", "semirings.minimum(vertex.x, gathered)"),
        activates=SOME_EVER,
        small="vertex.x[1]",
        priorities=("semirings.min(vertex.x)", "semirings.min(vertex.x)", "vertex.x[1] - vertex.x[0]", "vertex.id"),
        absorbing={
            "semirings.min": "semirings.minimum(gathered, vertex.x)",
            "semirings.max": "semirings.where(gathered > vertex.x, gathered, vertex.x)",
            "semirings.bor": "vertex.x | gathered",
        },
        settles={
            "semirings.min": (
                *("src.x", "src.x + edge.w", "src.x + 1"),
                "semirings.vector(src.x[0], src.x[1] + 2, semirings.maximum(src.x[2], edge.w))",
            ),
            "semirings.max": ("src.x", "semirings.minimum(src.x + 1, 60)"),
            "semirings.bor": ("src.x", "src.x | 4"),
        },
    ),
    "parts": Parts(  # several values side by side
        declared=INTEGERS,
        monoids=(f"semirings.product({SUM_AND_MOST})", BESIDE, f"semirings.product({LEAST_AND_BITS})"),
        gathers=("(src.x + edge.w, src.y)", "(src.y, src.x % 7)", "(edge.id % 5, dst.y + 1)", "(1, src.x)"),
        applies=("(gathered[0] + gathered[1]) % 101", "(vertex.x + gathered[1]) % 17", "gathered[0] % 64"),
        priorities=("vertex.x", "semirings.minimum(vertex.x, vertex.y)", "vertex.id"),
        absorbing={
            f"semirings.product({LEAST_AND_BITS})": {
                "x": "semirings.minimum(vertex.x, gathered[0])",
                "y": "vertex.y | gathered[1]",
            }
        },
        settles={
            f"semirings.product({LEAST_AND_BITS})": (
                *("(src.x + edge.w, src.y)", "(src.x, src.y | 4)", "(src.x + 1, src.y & dst.id)"),
            )
        },
    ),
    "keyed": Parts(  # one of several keys is chosen
        declared=INTEGERS,
        monoids=("semirings.plus", "semirings.min", "semirings.max", "semirings.bxor"),
        gathers=("src.x", "edge.w + 1", "src.y * 3 - dst.x", "edge.id % 7 + edge.flow", "self.total % 3 + src.id"),
        applies=(
            "(gathered.key + gathered.total) % 101",
            "semirings.where(gathered.key >= 0, gathered.key, vertex.x)",
            "(vertex.x + gathered.total * 3) % 64",
        ),
        priorities=("vertex.x", "vertex.id"),
        keys=("src.x", "src.y - 1", "src.id // 2", "(src.x + edge.w) % 9 - 1", "dst.id", "edge.id", "self.iteration"),
        chooses=(
            *("total", "-total", "total % 4", "vertex.y - total * 0.5", "(total % 3, vertex.id % 2 * key)"),
            "self.at(key).y + total % 5",
        ),
    ),
    "wide": Parts(  # more items than are values of their own
        declared=WIDE,
        monoids=("semirings.plus", "semirings.min", "semirings.max", "semirings.bor", "semirings.any"),
        gathers=(
            *("src.x", "src.x * edge.w", "src.x + dst.x", "semirings.where(src.x > dst.x, edge.w, src.x)"),
            *(
                "src.x - semirings.min(src.x) + edge.back.flow % 3",
                "semirings.where(edge.w > 4, src.x, dst.x) + src.x[3]",
            ),
        ),
        applies=(
            *("(gathered + vertex.x) % 101", "gathered % 64", "semirings.minimum(vertex.x, gathered)", "vertex.x"),
            "(vertex.x + semirings.plus(gathered) - gathered[10] + self.iteration) % 37",
        ),
        activates=(*SOME_EVER, "semirings.any(after.x > before.x)", "after.x[2] != before.x[2]"),
        small="semirings.max(vertex.x)",
    ),
    "wide pair": Parts(
        declared=WIDE,
        monoids=(
            "semirings.Monoid(lambda a, b: (a[0] + b[0], semirings.minimum(a[1], b[1])), (0, 2**31 - 1), name='both')",
        ),
        gathers=("(src.x, src.y)", "(src.x * edge.w, src.id)", "(dst.x - src.x, edge.w)"),
        applies=("(gathered[0] + gathered[1]) % 64", "(vertex.x + gathered[0]) % 101"),
        activates=(*SOME_EVER, "semirings.any(after.x > before.x)"),
        small="semirings.plus(vertex.x)",
    ),
    "wide ordered": Parts(
        declared=WIDE,
        monoids=(COMPOSE,),
        gathers=("(src.y + 1, src.x)", "(src.x % 3, dst.x + edge.w)", "(2, src.x + src.x[9])"),
        applies=("gathered[1] % 64", "(vertex.x + gathered[0]) % 101"),
        activates=SOME_EVER,
        small="vertex.x[4]",
    ),
    "nothing": Parts(
        declared=INTEGERS,
        monoids=(),
        gathers=(),
        applies=("(vertex.x * 3 + 1) % 101", "vertex.x", "(vertex.x + self.p) % 7"),
    ),
}
MASKS = (
    *(None, None, "vertex.id % 4 != 1", "vertex.y < 5", "{small} < 40", "vertex.id % 3 < self.p"),
    "(self.iteration == 3) | (vertex.id == self.iteration)",
)
EDGE_MASKS = (
    *(None, None, "(src.id + dst.id) % 3 != 0", "edge.w < 7", "src.y <= dst.y + 1", "edge.flow % 2 == 0"),
    *("edge.id % 4 != self.iteration % 4", "(edge.back.flow + edge.back.w) % 3 != 0", "edge.leaves | (src.y > 1)"),
)
SCATTERS = (
    *(None, None, {"flow": "edge.flow + src.y - dst.id % 5"}),
    {"flow": "edge.id % 9 + edge.w", "seen": "semirings.vector(src.y, edge.id % 5, dst.y)"},
    {"trail": "edge.trail * 2 % 31 + src.y - dst.y", "flow": "semirings.max(edge.trail)"},
)
SCATTERS_BACK = (  # who scatters reads of partners what others write
    {"flow": "(edge.flow + edge.back.flow * 2 + src.y) % 53"},
    {"flow": "(edge.back.flow + edge.back.w - dst.y) % 53", "trail": "(edge.back.trail * 2 + edge.flow) % 31"},
)
RAISES = ("(vertex.y + 1) % 9", "vertex.y + 1", "(vertex.y + {small} % 5) % 9")  # y
AGGREGATES = {
    "total": ("semirings.plus, np.int64", "after.y + before.y * 2"),
    "most": ("semirings.max, np.int64", "after.y * 3 - before.id % 7"),
    "half": ("semirings.plus, np.float64", "after.y * 0.5"),
    "odd": ("semirings.lor, np.bool_", "after.y % 2 == 1"),
}
AT_VERTICES = {
    "sum_at": ("semirings.plus, np.int64, at=lambda self, vertex: vertex.y * 2 - 1", "after.y + before.id % 5"),
    "low_at": ("semirings.min, np.int32, at=lambda self, vertex: vertex.id // 3", "semirings.cast(after.y, np.int32)"),
    "odd_at": ("semirings.lxor, np.bool_, at=lambda self, vertex: self.n - vertex.id", "after.y % 2 == 1"),
}
READ_AT_VERTICES = {
    "sum_at": "self.at(vertex.id % 4).sum_at % 7",
    "low_at": "semirings.minimum(self.at(vertex.y).low_at, 9)",
    "odd_at": "semirings.where(self.at(vertex.id + 1).odd_at, 1, 0)",
}
STOPS = (None, None, None, "self.iteration >= 2", "self.total > 20", "self.half > self.most", "self.at(self.p).y > 5")
BUCKETS = (None, None, None, "vertex.y", "({small}) % 7 - 1", "vertex.id % 3 + self.p")
WAKES = (None, None, None, "vertex.id % 4 == self.p % 4", "vertex.y == self.iteration % 3", "({small}) % 3 == self.p")
IDLES = (None, {"p": "self.p + 1"}, {"p": "self.p * 2 % 11 + self.iteration % 2"})
WAKE_OF_FEW, IDLE_OF_FEW = "(vertex.id % 4 == self.p % 4) & (self.p < 9)", {"p": "self.p + 1"}  # come to an end
OTHERS = {  # what stands for fields of a record: those of a vertex that a whole number of it names, if there is one
    "src.y": "self.at(src.y * 3 - 1).y",
    "dst.y": "self.at(dst.id + 1).y",
    "vertex.y": "self.at(vertex.y * 2 - 1).y",
    "after.y": "self.at(after.y * 3 - before.y).y",
    "src.x": "self.at(src.id - 1).x",
    "vertex.x": "self.at(vertex.id * 2 - 3).x",
    "vertex.id": "self.at(self.n - vertex.id).id",
}
OTHER = {"direction": "in", "sources": "active", "everyone": False}  # what settings are by default, as options
NEUTRAL = {"mask": "self.on", "edge_mask": "not self.off", "stop": "self.off and self.none"}  # as if it were not there
RECORDS = {
    **dict.fromkeys(("key", "gather", "edge_mask", "scatter"), ", src, dst, edge"),
    "choose": ", vertex, key, total",
    **dict.fromkeys(("mask", "post_apply", "priority", "bucket", "wake"), ", vertex"),
    **{"apply": ", vertex, gathered", "activate": ", before, after", "stop": "", "idle": ""},
}


@dataclass(frozen=True)
class Case:
    """A program, a graph and a run; all of plain data."""

    source: str
    edges: tuple[np.ndarray, np.ndarray, np.ndarray]
    n: int
    active: tuple[int, ...] | None
    limit: int
    mode: str  # "run", "deterministic", "scheduled", "staged"
    options: dict[str, Any]
    schedule: tuple[int, ...] | None = None

    @property
    def graph(self) -> gasla.Graph:
        src, dst, weights = self.edges
        graph = gasla.Graph.from_edges(src, dst, weights, n=self.n)
        graph = graph.paired(fill=3) if "edge.back" in self.source else graph
        if not self.options["wide"]:
            return graph
        return gasla.Graph.from_csr(graph.out.indptr.astype(np.int64), graph.out.indices, graph.out_values)

    @property
    def program(self) -> type[gasla.VertexProgram]:
        names: dict[str, Any] = {"gasla": gasla, "semirings": semirings, "np": np}
        exec(compile(self.source, "<generated>", "exec"), names)
        return names["Generated"]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        src, dst, weights = (part.tolist() if len(part) < 50 else f"<{len(part)}>" for part in self.edges)
        run = {name: value for name, value in vars(self).items() if name not in ("source", "edges")}
        return f"\n{self.source}\nedges {src}\n   to {dst}\nvalues {weights}\n{run}\n"


def functions(draw: st.DrawFn, parts: Parts, monoid: str | None, mode: str, settles: bool) -> dict[str, Any]:
    """What the program's functions return; a dict is one of fields."""

    def one(of: Any) -> Any:
        return draw(st.sampled_from(of))

    absorbs = settles or (monoid in parts.absorbing and draw(st.booleans()))
    absorbing = parts.absorbing.get(str(monoid), "")
    found: dict[str, Any] = {
        "edge_mask": one(EDGE_MASKS),
        "gather": one(parts.settles[str(monoid)] if settles else parts.gathers) if monoid else None,
        "apply": dict(absorbing)
        if absorbs and isinstance(absorbing, dict)
        else {"x": absorbing}
        if absorbs
        else {"x": one(parts.applies)},
        "activate": one([None, *parts.activates]),
        "post_apply": one([None, None, *({"y": text} for text in RAISES)]),
        "stop": one(STOPS),
        "priority": one([None, *parts.priorities]),
    }
    if parts.keys:
        known = [text for text in parts.chooses if mode != "staged" or "self.at" not in text]
        found |= {"key": one(parts.keys), "choose": one(known)}
    scatters = [*SCATTERS, *(SCATTERS_BACK if mode != "staged" else ())]
    if parts.keys:  # beside keys a GPU has no wide vectors
        scatters = [fields for fields in scatters if fields is None or "trail" not in fields]
    if mode != "scheduled":
        found |= {"mask": one([*MASKS, *parts.masks]), "scatter": one(scatters)}
    if mode in ("run", "deterministic"):
        found |= going_on(one, settles)
    if not absorbs and draw(st.booleans()):
        found["apply"]["y"] = one(RAISES)
    if not absorbs and monoid and draw(st.integers(0, 9)) == 0:
        del found["apply"]
    if settles:
        found |= dict.fromkeys(("post_apply", "activate", "stop"))
    if mode == "staged":  # aggregates are the loop's own affair
        found["stop"] = None
        found["gather"] = parts.gathers[0] if "total" in str(found["gather"]) else found["gather"]
    return {name: value for name, value in found.items() if value is not None}


def going_on(one: Callable[[Any], Any], settles: bool) -> dict[str, Any]:
    """Who goes on where nothing is active: functions that stand for others as well, where these can't be together."""
    found: dict[str, Any] = {"wake": WAKE_OF_FEW if settles else one(WAKES)} if one([True, False]) else {}
    if found.get("wake"):
        found["idle"] = IDLE_OF_FEW if settles else one(IDLES)
    if bucket := one(BUCKETS):
        found |= {"bucket": bucket, "priority": None, "scatter": None}
        found |= one([{}, {"mask": "vertex.y >= self.bucket"}, {"mask": "self.bucket % 2 == 0"}])
    return found


def of_others(draw: st.DrawFn, bodies: dict[str, Any], is_wide: bool) -> dict[str, Any]:
    """The same functions, of which some read other vertices; nothing of them where values are wide."""

    def changed(body: Any) -> Any:
        if isinstance(body, dict):
            return {name: changed(value) for name, value in body.items()}
        for own, other in OTHERS.items():
            if not (is_wide and own.endswith("x")) and draw(st.booleans()):
                body = body.replace(own, other)
        return body

    return {name: body if name in ("bucket", "priority") else changed(body) for name, body in bodies.items()}


def text(draw: st.DrawFn, kind: str, mode: str) -> tuple[str, bool]:
    """A program's source, and whether it comes to an end by itself however its values travel."""
    parts = KINDS[kind]
    monoid = draw(st.sampled_from(parts.monoids)) if parts.monoids else None
    settles = monoid in parts.settles and draw(st.integers(0, 2)) == 0
    bodies = functions(draw, parts, monoid, mode, settles)
    if not settles and mode != "staged" and draw(st.integers(0, 2)) == 0:
        bodies = of_others(draw, bodies, kind.startswith("wide"))
    at_vertices = {} if settles or mode == "staged" or draw(st.integers(0, 3)) else AT_VERTICES
    if at_vertices and "apply" in bodies:
        bodies["apply"]["y"] = "(vertex.y + " + " + ".join(READ_AT_VERTICES.values()) + ") % 9"
    if at_vertices and draw(st.booleans()):
        bodies["stop"] = "self.at(2).sum_at > 9"
    used = repr(bodies)
    some = {n for n in AGGREGATES if f"self.{n}" in used or (mode != "staged" and draw(st.integers(0, 3)) == 0)}
    settings = {
        "direction": draw(st.sampled_from(["in", "out", "all"])),
        "sources": draw(st.sampled_from(["all", "active"])),
        "everyone": not settles and "bucket" not in bodies and draw(st.integers(0, 2)) == 0,
    }
    by_options = draw(st.booleans())
    lines = [
        *(["on, off = gasla.option(False), gasla.option(True)"] if by_options else []),
        f"x = {parts.declared[:-1]}, missing=1{', when=on' if by_options else ''})",
        "y = gasla.vertex(np.int64, init=lambda vertex: vertex.id % 4, missing=3)",
        "p = gasla.parameter(np.int64, 2)",
        *(["w = gasla.edge(np.int64)"] if "edge.w" in used or "back.w" in used else []),
        *(["flow = gasla.edge(np.int64, init=1)"] if "flow" in used else []),
        *(["seen = gasla.edge((np.int64, (3,)), init=0)"] if "'seen'" in used else []),
        *(["trail = gasla.edge((np.int64, (9,)), init=0)"] if "'trail'" in used else []),
        *(f"{name} = {f'gasla.option({OTHER[name]!r})' if by_options else repr(x)}" for name, x in settings.items()),
        *([f"reduce = {monoid}"] if monoid else []),
    ]
    if by_options:
        lines += ["none = gasla.vertex(np.int64, init=7, when=off)"]
        lines += [
            "@gasla.aggregate(semirings.plus, when=off)",
            "def no_sum(self, before, after):",
            "    return after.none",
        ]
    if by_options and mode in ("run", "deterministic"):
        bodies = {name: text for name, text in NEUTRAL.items() if draw(st.booleans())} | bodies
    for name, body in bodies.items():
        given = body if isinstance(body, str) else f"{{{', '.join(f'{n!r}: {x}' for n, x in body.items())}}}"
        if by_options and draw(st.booleans()):
            given = f"{given} if self.on else 1 / 0"
        lines += [f"def {name}(self{RECORDS[name]}):", f"    return {given.replace('{small}', parts.small)}"]
    for name in sorted(some):
        declared, value = AGGREGATES[name]
        lines += [f"@gasla.aggregate({declared})", f"def {name}(self, before, after):", f"    return {value}"]
    for name, (declared, value) in at_vertices.items():
        lines += [f"@gasla.aggregate({declared})", f"def {name}(self, before, after):", f"    return {value}"]
    source = "\n    ".join(["class Generated(gasla.VertexProgram):", *lines])
    if by_options:
        given = ", ".join(f"{name}={value!r}" for name, value in {"on": True, "off": False, **settings}.items())
        source += f"\nGenerated = type(Generated({given}))"
    return source, settles


@st.composite
def cases(draw: st.DrawFn, modes: tuple[str, ...] = ("run", "deterministic", "scheduled", "staged")) -> Case:
    """A program on a small graph, or on one of some hundred vertices with long lists, and how it is run."""
    mode = draw(st.sampled_from(modes))
    source, settles = text(draw, draw(st.sampled_from(sorted(KINDS))), mode)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    large = draw(st.booleans())
    n = draw(st.integers(200, 700)) if large else draw(st.integers(1, 12))
    m = 4 * n if large else draw(st.integers(0, 40))
    src, dst = rng.integers(0, n, m), (n * rng.random(m) ** draw(st.sampled_from([1, 2, 4]))).astype(np.int64)
    if draw(st.booleans()):
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    some = rng.integers(0, n, draw(st.sampled_from([1, 1, 3, n])))
    scheduled = mode == "scheduled"
    return Case(
        source,
        (src, dst, rng.integers(0, 10, len(src))),
        n,
        None if scheduled or draw(st.booleans()) else tuple(np.unique(some).tolist()),
        10**6 if settles else draw(st.integers(1, 6)),
        mode,
        {
            "threads": draw(st.sampled_from(["as it is", "two", "two, later"])),
            "in pieces": draw(st.booleans()),
            "wide": draw(st.booleans()),
            "delta": draw(st.sampled_from([None, None, 1.0, 50.0])),
        },
        tuple(rng.integers(-1, draw(st.integers(1, 6)), n).tolist()) if scheduled else None,
    )
