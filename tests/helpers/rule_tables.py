"""Tables of programs, of how they are run, of what they are given, and of monoids, which all engines must take alike.

`rows` chooses programs and runs such that every pair (or triple) of choices occurs. Rows that are refused stay in the
tables, as all engines must refuse them with the same error.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import gasla
import semirings
from gasla.program.program import PARAMETERS
from semirings.types import SCALAR_NAMES

Row = Mapping[str, Any]

BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "gather": {
        "none": {},
        "plus": {"reduce": semirings.plus, "gather": lambda self, src, dst, edge: src.x + edge.w},
        "min": {"reduce": semirings.min, "gather": lambda self, src, dst, edge: src.x + 1},
        "any": {"reduce": semirings.any, "gather": lambda self, src, dst, edge: dst.id % 3 + 1},
        "first": {"reduce": semirings.first, "gather": lambda self, src, dst, edge: src.x + edge.id},
        "key": {
            "reduce": semirings.plus,
            "gather": lambda self, src, dst, edge: src.x + 1,
            "key": lambda self, src, dst, edge: src.y - 1,
            "choose": lambda self, vertex, key, total: total % 5,
        },
    },
    "apply": {
        "none": {},
        "once": {"apply": lambda self, vertex, gathered: {"x": (vertex.x + _number(gathered)) % 64}},
        "varies": {"apply": lambda self, vertex, gathered: {"x": (_number(gathered) + self.iteration) % 64}},
        "absorbs": {"apply": lambda self, vertex, gathered: {"x": semirings.minimum(vertex.x, _number(gathered))}},
        "looks up": {"apply": lambda self, vertex, gathered: {"x": (self.at(vertex.y).x + _number(gathered)) % 64}},
    },
    "mask": {"none": {}, "some": {"mask": lambda self, vertex: vertex.id % 4 != 1}},
    "edge_mask": {"none": {}, "some": {"edge_mask": lambda self, src, dst, edge: (src.id + dst.id) % 3 != 0}},
    "activate": {
        "none": {},
        "some": {"activate": lambda self, before, after: after.x % 2 == 0},
        "all": {"activate": lambda self, before, after: True},
    },
    "scatter": {"none": {}, "some": {"scatter": lambda self, src, dst, edge: {"flow": edge.flow + src.y}}},
    "post_apply": {"none": {}, "some": {"post_apply": lambda self, vertex: {"y": (vertex.y + 1) % 5}}},
    "wake": {
        "none": {},
        "some": {"wake": lambda self, vertex: vertex.y == self.iteration},
        "idle": {"wake": lambda self, vertex: vertex.id == self.p, "idle": lambda self: {"p": self.p + 1}},
        "only idle": {"idle": lambda self: {"p": self.p + 1}},
    },
    "stop": {
        "none": {},
        "some": {"stop": lambda self: self.iteration >= 1},
        "never": {"stop": lambda self: False},
        "at once": {"stop": lambda self: True},
    },
    "order by": {
        "none": {},
        "bucket": {"bucket": lambda self, vertex: vertex.y - 1},
        "priority": {"priority": lambda self, vertex: vertex.x},
    },
    "aggregate": {
        "none": {},
        "graph": {"total": gasla.aggregate(semirings.plus, np.int64)(lambda self, before, after: after.x)},
        "vertices": {
            "total": gasla.aggregate(semirings.max, np.int32, at=lambda self, vertex: vertex.y)(
                lambda self, before, after: semirings.cast(after.x, np.int32)
            )
        },
        "stops": {
            "total": gasla.aggregate(semirings.plus, np.int64)(lambda self, before, after: after.x - before.x),
            "stop": lambda self: self.total == 0,
        },
    },
    "everyone": {"no": {}, "yes": {"everyone": True}},
    "sources": {"all": {}, "active": {"sources": "active"}},
    "direction": {"in": {}, "out": {"direction": "out"}, "all": {"direction": "all"}},
    "order": {"synchronous": {}, "in place": {"order": "in place"}},
}
STARTS: dict[str, dict[str, Any]] = {
    "active": {"all": None, "none": [], "one": [2], "mask": np.arange(7) % 3 == 0},
    "limit": {"0": 0, "1": 1, "3": 3, "many": 20},
    "way": {
        "auto": {},
        "push": {"direction": "push"},
        "pull": {"direction": "pull"},
        "deterministic": {"deterministic": True},
        "trace": {"trace": True},
        "callback": {"callback": lambda result: result.iterations >= 2},
        "schedule": {"schedule": np.array([0, 1, 2, -1, 1, 0, 3])},
    },
}
FACTORS = {name: list(choices) for name, choices in (BODIES | STARTS).items()}


def _number(gathered: Any) -> Any:
    """The gathered number, of a program with any `gather`."""
    return 1 if gathered is None else getattr(gathered, "total", gathered)


def program(row: Row) -> type[gasla.VertexProgram]:
    """The program of a row."""
    body: dict[str, Any] = {
        "x": gasla.vertex(np.int64, init=lambda vertex: vertex.id * 5 % 13, missing=1),
        "y": gasla.vertex(np.int64, init=lambda vertex: vertex.id % 4, missing=3),
        "p": gasla.parameter(np.int64, 2),
        "w": gasla.edge(np.int64),
        "flow": gasla.edge(np.int64, init=1),
    }
    for name, choices in BODIES.items():
        body |= choices[row[name]]
    return type("Ruled", (gasla.VertexProgram,), body)


def options(row: Row) -> dict[str, Any]:
    """How a row is run."""
    return {
        "active": STARTS["active"][row["active"]],
        "max_iterations": STARTS["limit"][row["limit"]],
        **STARTS["way"][row["way"]],
    }


def rows(strength: int, factors: Mapping[str, list[Any]] = FACTORS) -> Iterator[dict[str, Any]]:
    """Rows in which each choice of up to `strength` factors occurs with each other, greedily few."""
    names = list(factors)
    missing = {
        tuple(zip(some, chosen, strict=True))
        for some in itertools.combinations(names, strength)
        for chosen in itertools.product(*(factors[name] for name in some))
    }
    while missing:
        row: dict[str, Any] = dict(min(missing, key=repr))
        for name in names:
            if name in row:
                continue
            counts = {}
            for choice in factors[name]:
                known = [*row.items()]
                counts[choice] = sum(
                    tuple(sorted((*some, (name, choice)), key=lambda pair: names.index(pair[0]))) in missing
                    for some in itertools.combinations(known, strength - 1)
                )
            row[name] = max(counts, key=lambda choice: counts[choice])
        row = {name: row[name] for name in names}
        missing -= {*itertools.combinations(row.items(), strength)}
        yield row


# --- monoids ---------------------------------------------------------------------------------------------------------

MONOIDS: dict[str, semirings.Monoid] = {
    **{name: one for name, one in vars(semirings).items() if isinstance(one, semirings.Monoid)},
    "both": semirings.product(semirings.plus, semirings.min),
    "mean": semirings.Monoid(lambda x, y: (x + y) / 2, 0, name="mean"),
    "branch": semirings.Monoid(lambda x, y: x if x > y else y, 0, name="branch"),
    "constant": semirings.Monoid(lambda x, y: 3, 0, name="constant"),
    "pairs": semirings.Monoid(lambda x, y: (x, y), 0, name="pairs"),
    "negative identity": semirings.Monoid(np.minimum, -1, name="negative_identity"),
    "negative end": semirings.Monoid(np.maximum, 0, terminal=-1, name="negative_end"),
    "no identity": semirings.Monoid(np.maximum, lambda dtype: None, name="no_identity"),
    "of integers": semirings.Monoid(np.maximum, lambda dtype: np.iinfo(dtype).min, name="of_integers"),
}
DTYPES = tuple(map(np.dtype, SCALAR_NAMES))
SOURCE: dict[str, Any] = {"gather": lambda self, src, dst, edge: src.x}
REDUCED: dict[str, Any] = {  # by where a monoid reduces: the members of a program, of the monoid and a dtype
    "gather": lambda monoid, dtype: {"reduce": monoid, **SOURCE},
    "gather a pair": lambda monoid, dtype: {"reduce": monoid, "gather": lambda self, src, dst, edge: (src.x, src.y)},
    "gather a vector": lambda monoid, dtype: {"reduce": monoid, "x": gasla.vertex((dtype, (3,))), **SOURCE},
    "gather a wide vector": lambda monoid, dtype: {"reduce": monoid, "x": gasla.vertex((dtype, (9,))), **SOURCE},
    "by key": lambda monoid, dtype: {
        "reduce": monoid,
        "key": lambda self, src, dst, edge: src.id,
        "choose": lambda self, vertex, key, total: key,
        **SOURCE,
    },
    "aggregate": lambda monoid, dtype: {"z": gasla.aggregate(monoid, dtype)(lambda self, before, after: after.x)},
    "aggregate at": lambda monoid, dtype: {
        "z": gasla.aggregate(monoid, dtype, at=lambda self, vertex: vertex.id)(lambda self, before, after: after.x)
    },
}


def reducing(where: str, monoid: str, dtype: np.dtype[Any]) -> type[gasla.VertexProgram]:
    """A program that reduces values of a type by a monoid."""
    body = {"everyone": True, "x": gasla.vertex(dtype), "y": gasla.vertex(np.int64)}
    body |= {"apply": lambda self, vertex, gathered: {"y": vertex.y + 1}, **REDUCED[where](MONOIDS[monoid], dtype)}
    return type("Reducing", (gasla.VertexProgram,), body)


# --- results of functions --------------------------------------------------------------------------------------------


def _of(records: tuple[Any, ...], this: Any, name: str) -> Any:
    """A field of the first record that a function takes, or an attribute of self."""
    return getattr(records[0], name) if records else getattr(this, name)


RESULTS: dict[str, Any] = {  # what a function gives, of self and its records
    "True": lambda this, records: True,
    "1": lambda this, records: 1,
    "1.5": lambda this, records: 1.5,
    "nan": lambda this, records: float("nan"),
    "2**40": lambda this, records: 2**40,
    "2**70": lambda this, records: 2**70,
    "int8": lambda this, records: semirings.cast(1, np.int8),
    "float32": lambda this, records: np.float32(1),
    "uint64": lambda this, records: np.uint64(1),
    "None": lambda this, records: None,
    "text": lambda this, records: "x",
    "complex": lambda this, records: 1j,
    "list": lambda this, records: [1, 2],
    "pair": lambda this, records: (1, 2),
    "nothing": lambda this, records: (),
    "many": lambda this, records: tuple(range(40)),
    "two": lambda this, records: np.arange(2),
    "vector": lambda this, records: semirings.vector(*range(9)),
    "no fields": lambda this, records: {},
    "x": lambda this, records: {"x": 1},
    "y": lambda this, records: {"y": 1.5},
    "v": lambda this, records: {"v": np.array([1.0, 2.0])},
    "x of a vector": lambda this, records: {"x": semirings.vector(1, 2)},
    "flow": lambda this, records: {"flow": 2},
    "w": lambda this, records: {"w": 2},
    "p": lambda this, records: {"p": 3},
    "p of a fraction": lambda this, records: {"p": 1.5},
    "unknown": lambda this, records: {"nope": 1},
    "field": lambda this, records: _of(records, this, "x" if records else "p"),
    "vector field": lambda this, records: _of(records, this, "v" if records else "n"),
    "id": lambda this, records: _of(records, this, "id" if records else "n"),
    "degree": lambda this, records: _of(records, this, "out_degree" if records else "n"),
    "unknown field": lambda this, records: _of(records, this, "nope"),
    "aggregate": lambda this, records: this.total,
    "iteration": lambda this, records: this.iteration,
    "open bucket": lambda this, records: this.bucket,
    "another": lambda this, records: this.at(0).x,
    "another without missing": lambda this, records: this.at(0).y,
    "another's degree": lambda this, records: this.at(0).out_degree,
    "another's aggregate": lambda this, records: this.at(0).here,
    "a fraction's": lambda this, records: this.at(1.5).x,
    "if": lambda this, records: 1 if _of(records, this, "x" if records else "p") > 1 else 2,
    "assigned": lambda this, records: setattr(this, "p", 3) or 1,
    "raised": lambda this, records: 1 // 0,
}


def giving(hook: str, result: str) -> type[gasla.VertexProgram]:
    """A program whose function `hook` gives a result that it may or may not give."""
    arguments = PARAMETERS.get(hook, ("before", "after"))
    given: dict[str, Any] = {}
    taken = "".join(f"{name}, " for name in arguments)
    exec(f"def {hook}(self, {taken}): return RESULTS[{result!r}](self, ({taken}))", {"RESULTS": RESULTS}, given)
    function = given[hook]
    body: dict[str, Any] = {
        "x": gasla.vertex(np.int64, init=1, missing=2),
        "y": gasla.vertex(np.float32),
        "v": gasla.vertex((np.float64, (2,))),
        "p": gasla.parameter(np.int16, 2),
        "w": gasla.edge(np.int64),
        "flow": gasla.edge(np.int32, init=0),
        "total": gasla.aggregate(semirings.plus, np.int64)(lambda self, before, after: after.x),
        "here": gasla.aggregate(semirings.max, np.int64, at=lambda self, vertex: vertex.id)(
            lambda self, before, after: after.x
        ),
        "reduce": semirings.plus,
        "gather": lambda self, src, dst, edge: src.x + 1,
        "apply": lambda self, vertex, gathered: {"x": (vertex.x + 1) % 50},
    }
    if hook in ("key", "choose"):
        body |= {"key": lambda self, src, dst, edge: src.id, "choose": lambda self, vertex, key, total: total}
        body["apply"] = lambda self, vertex, gathered: {"x": gathered.total}
    if hook == "idle":
        body["wake"] = lambda self, vertex: vertex.id == self.p
    if hook == "total":
        body["total"] = gasla.aggregate(semirings.plus, np.int64)(function)
    else:
        body[hook] = function
    return type("Giving", (gasla.VertexProgram,), body)


# --- arguments of runs -----------------------------------------------------------------------------------------------


class Hops(gasla.VertexProgram):
    """A search, with fields of several types for start values."""

    hops = gasla.vertex(np.int32, init=100)
    place = gasla.vertex((np.float32, (2,)), init=0)
    half = gasla.vertex(np.float16, init=0)
    flag = gasla.vertex(np.bool_, init=False)
    big = gasla.vertex(np.uint64, init=0)
    step = gasla.parameter(np.int16, 1)
    rate = gasla.parameter(np.float64, 1)
    w = gasla.edge(np.float64)
    flow = gasla.edge(np.int64, init=0)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.hops + semirings.cast(self.step, np.int32)

    def apply(self, vertex, gathered):
        return {"hops": semirings.minimum(vertex.hops, gathered)}


class Every(Hops):
    """The same over everyone, which needs two copies of the field."""

    everyone = True

    def scatter(self, src, dst, edge):
        return {"flow": edge.flow + 1}

    def stop(self):
        return self.iteration >= 2


class Waking(Hops):
    """The same, with vertices that wake."""

    def wake(self, vertex):
        return (vertex.id == self.iteration) & (self.iteration < 3)


def values() -> list[Any]:
    """Start values and parameters, right ones and wrong ones, for a graph of 7 vertices and 9 edges."""
    whole = [
        np.zeros(shape, dtype) for shape in (7, 6, 9, 2, (7, 2), (2, 7), (7, 1)) for dtype in (np.float64, np.int32)
    ]
    odd = [
        np.zeros(7, dtype) for dtype in (bool, complex, np.uint64, np.int64, np.float16, ">i4", "datetime64[s]", "S1")
    ]
    few = [{0: 1}, {0: 2**40}, {0: 1.5}, {9: 1}, {-1: 1}, {"a": 1}, {1.0: 1}, {True: 1}, {0: None}, {0: [1, 2]}]
    few += [{0: np.ones(2)}, {0: "x"}, {0: 1j}, {0: 10**400}, {}, {0: float("inf")}]
    numbers = [0, 1.5, True, -1, 2**40, 2**63, 2**64, 1j, np.int8(3), np.float32(2), np.float16(1), float("inf")]
    others = ["x", None, [1, 2], [0] * 7, range(7), np.array(3), np.array("x"), np.array([None] * 7), len]
    return [*numbers, *whole, *odd, *few, *others, np.zeros(14, np.int32)[::2]]


def arguments() -> Iterator[dict[str, Any]]:
    """Arguments of runs, right ones and wrong ones."""
    for name in ("hops", "place", "half", "flag", "big", "step", "rate", "flow", "w", "nope", "iteration"):
        yield from ({name: value} for value in values())
    fixed = np.zeros(7, np.int32)
    fixed.setflags(write=False)
    shared = np.zeros(7, np.int32)
    ids = [None, [], [0], [9], [-1], [0, 0], [1.0], ["a"], "a", 0, np.array(3), np.zeros(7, bool), np.ones(4, bool)]
    ids += [[True], {0}, range(2), (0, 2), np.array([0, 2], np.uint8), [2**40], 1.5, np.zeros(0), object]
    ids += [gasla.Frontier(7, [1]), gasla.Frontier(4, [1]), gasla.Frontier.all(7), gasla.Frontier.none(7)]
    out: list[Any] = [{}, {"nope": shared}, {"flow": np.zeros(9, np.int64)}, {"hops": [0] * 7}, {"hops": None}, 1, None]
    out += [{"hops": np.zeros(7)}, {"hops": np.zeros(4, np.int32)}, {"hops": np.zeros(14, np.int32)[::2]}]
    out += [{"place": np.zeros((7, 2), np.float32)}, {"place": np.zeros((2, 7), np.float32).T}, [("hops", shared)]]
    out += [{"hops": np.zeros(7, np.int32)}, {"half": np.zeros(7, np.float16)}, {"big": np.zeros(7, np.int64)}]
    for name, given in {
        "active": ids,
        "max_iterations": [None, 0, 1, -1, 1.5, "x", True, 2**70, np.int64(2), 2.0, np.array(2)],
        "direction": ["auto", "push", "pull", "up", None, 1],
        "deterministic": [True, False, 1, None, "yes"],
        "order": [None, "synchronous", "x", 1],
        "trace": [True, 1, None],
        "callback": [1, "x", lambda result: True, lambda result: None],
        "progress": [1, "x", lambda iteration: None],
        "device": ["tpu", 0],
        "delta": [0, 1, -1, "x", float("nan"), float("inf"), True, np.float32(1), None, 1j],
        "wait": [False, True, 1, None],
        "notice": [False, 1, None],
        "out": [*out, {"hops": fixed}],
        "start": [{}, {"hops": shared}, {"nope": 1}, 1, {"hops": 3}, {"hops": np.zeros(4, np.int32)}],
    }.items():
        yield from ({name: value} for value in given)
    yield {"out": {"hops": shared}, "hops": shared}
    yield {"out": {"hops": shared}, "big": shared}
    yield {"start": {"hops": shared}, "hops": 1}
    yield {"deterministic": True, "order": "in place"}
