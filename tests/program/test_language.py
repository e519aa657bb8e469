"""Expressions of vectors, choices and constants in programs: the same compiled and not, or the same error."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from semirings import cast, vector, where
from semirings.types import SHORT
from tests.helpers.semirings_engines import assert_same

AT_ONCE = 25  # results of a program, which has at most 30
VECTORS = {"short": 3, "wide": 11}
FLOAT = np.array([2.5, -1.5, np.nan, 1e20, 3, -0.0, -np.inf, 0.5, 300.7, -129.0, 255.9])
WHOLE = np.array([1, 0, 3, -1, 2**31 - 1, -(2**31), 40, -7, 8, 31, 5], np.int32)


def _in_place(y: Any, other: Any) -> Any:
    """`y += other` and the like, which change no field."""
    y += other
    y *= other
    y -= 1
    return y


def _cases(k: int) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """The name, the function of the program and a vertex, and the type of each result; vectors have `k` items.

    A vertex has the fields x, float64; s, float32; i, int32; b, int8; v and w, vectors of float64 and of int32.
    """
    constant = np.resize([1.0, np.nan, -2.5, np.inf, 300.0], k)
    counts = np.resize([-1, 31, 40, 0, 3], k)
    double, whole = (np.float64, (k,)), (np.int64, (k,))
    for dtype in (np.int32, np.uint8, np.float32, np.bool_, np.float64):
        kind = (dtype, (k,))
        sources: dict[str, Callable[[Any], Any]] = {
            "v": lambda of: of.v,
            "where(v)": lambda of: where(of.v > 1, 2.5, 300.7),
            "constant": lambda of: constant,
            "where(constant)": lambda of: where(constant > 1, 2.5, 300.7),
            "x": lambda of: of.x,
            "where(x)": lambda of: where(of.x > 1, 2.5, 300.7),
            "where(p)": lambda of: where(of.x > 1, -2.5, 3),
            "number": lambda of: 2.5,
        }
        for name, source in sources.items():
            is_vector = name in ("v", "where(v)", "constant", "where(constant)")
            what = f"{name} as {dtype.__name__}"
            yield f"{what}, cast to vectors", lambda p, of, s=source, t=kind: cast(s(of), t), kind
            yield f"{what}, an item of it", lambda p, of, s=source, t=kind: cast(s(of), t)[1], dtype
            yield f"{what}, cast", lambda p, of, s=source, t=dtype: cast(s(of), t), kind if is_vector else dtype
            if name not in ("constant", "where(constant)", "number"):
                yield f"{what}, astype", lambda p, of, s=source, t=dtype: s(of).astype(t), kind if is_vector else dtype
                yield f"{what}, astype vectors", lambda p, of, s=source, t=kind: s(of).astype(t), kind
        yield f"p.astype {dtype.__name__}", lambda p, of, t=dtype: (p.p * 1e20).astype(t), dtype
    yield "constant", lambda p, of: constant, double
    yield "number", lambda p, of: 2.5, double
    yield "scalar", lambda p, of: of.x, double
    yield "parameter", lambda p, of: p.p, double
    yield "v and constant", lambda p, of: of.v % constant, double
    yield "x and constant", lambda p, of: of.x * constant, double
    yield "weak vector", lambda p, of: of.s * np.float32(0.1) + where(constant > 1, 0.1, 0.2), double
    yield "weak vector of ints", lambda p, of: of.b * where(constant > 1, 100, 2), whole
    yield "weak number", lambda p, of: of.s * where(p.p > 1, 0.1, 0.2), np.float64
    yield "weak items", lambda p, of: of.s * where(of.v > 1, 0.1, 0.2)[0], np.float64
    yield "settled", lambda p, of: of.b * cast(where(of.x > 0, 100, 2), np.int64), np.int64
    yield "a weak sign", lambda p, of: of.b * +where(of.x > 0, 100, 2), np.int64
    yield "always", lambda p, of: of.b * where(True, where(of.x > 0, 100, 2), of.i), np.int64
    yield "where constant", lambda p, of: where(constant > 1, of.x, of.v), double
    yield "where(constant, x, 0)", lambda p, of: np.where(constant > 1, of.x, 0), double
    yield "where(x, constant, 0)", lambda p, of: where(of.x > 1, constant, 0), double
    yield "where(p, constant, 0)", lambda p, of: where(p.p > 1, constant, 0), double
    yield "where(x, both)", lambda p, of: np.where(of.x > 1, constant, 2 * constant), double
    yield "where a weak one", lambda p, of: where(where(of.x > 1, 3, 0), of.x, of.b), np.float64
    yield "np.where a weak one", lambda p, of: np.where(where(of.v > 1, 3.5, 0), of.x, 1), double
    yield "where of where", lambda p, of: np.where(of.x > 1, where(of.x > 2, 1, 2), 0.5), np.float64
    yield "clip", lambda p, of: semirings.clip(of.v, constant, of.x) + 0, double
    yield "numpy.clip", lambda p, of: np.clip(of.v, -3, of.x) + 0, double
    yield "hash", lambda p, of: semirings.hash(of.i, np.arange(k)), (np.uint64, (k,))
    yield "random", lambda p, of: semirings.random(3, of.i, np.arange(k)), double
    yield "popcount", lambda p, of: semirings.popcount(of.w), whole
    yield "ctz", lambda p, of: semirings.ctz(of.w), whole
    yield "popcount of constants", lambda p, of: semirings.popcount(np.arange(k)), whole
    yield "shifts", lambda p, of: of.i << counts, whole
    yield "shifts of constants", lambda p, of: counts >> of.i, whole
    yield "quotients", lambda p, of: of.w // counts, whole
    yield "remainders", lambda p, of: of.w % constant, double
    yield "powers", lambda p, of: of.v ** np.float64(0.5), double
    yield "items", lambda p, of: of.v[0] + of.v[-1], np.float64
    yield "sum", lambda p, of: sum(of.v), np.float64
    yield "in place", lambda p, of: _in_place(of.v, constant) + of.v, double
    yield "in place, wider", lambda p, of: _in_place(of.i, 0.5) + of.i, np.float64
    yield "in place, weak", lambda p, of: _in_place(where(of.x > 0, 1, 2), of.b), np.int64
    yield "in place, a parameter", lambda p, of: _in_place(p.p, of.x) + p.p, np.float64
    yield "vector(s, 0.1)", lambda p, of: vector(of.s, 0.1) * np.float32(3), (np.float64, (2,))
    yield "vector(b, 1)", lambda p, of: vector(1, of.b) * np.int8(100), (np.int64, (2,))
    yield "vector(b, where)", lambda p, of: vector(where(of.x > 0, 1, 2), of.b) * of.b, (np.int64, (2,))
    yield "vector(where, 3)", lambda p, of: vector(where(of.x > 0, 1, 2), 3) * of.i, (np.int64, (2,))
    yield "vector(x, p) and constants", lambda p, of: vector(of.x, p.p) * np.array([2.0, 3]), (np.float64, (2,))
    yield "vector of numbers", lambda p, of: vector(1.0, 2) * of.x, (np.float64, (2,))
    yield "at", lambda p, of: of.v + p.at(0).x * p.at(of.i).x, double
    if k <= SHORT:
        yield "a vector at", lambda p, of: of.v + p.at(0).v, double
    for name in ("plus", "min", "max", "any", "first", "second"):
        monoid = getattr(semirings, name)
        yield f"{name}(v)", lambda p, of, m=monoid: m(of.v) + 0, np.float64
        yield f"{name}(constant)", lambda p, of, m=monoid: m(constant) + of.x, np.float64
        yield f"{name}(where)", lambda p, of, m=monoid: m(where(of.v > 0, 1, 2.5)), np.float64


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "another length": lambda p, of: cast(of.v, (np.float64, (len(of.v) + 1,))),
    "a vector for a scalar": lambda p, of: of.v,
    "constants for a scalar": lambda p, of: np.arange(5.0),
    "one constant for a scalar": lambda p, of: np.array([3.0]),
    "no item": lambda p, of: of.v[len(of.v)],
    "an item of a scalar": lambda p, of: of.x[0],
    "a list": lambda p, of: of.x * [1, 2],
    "a matrix": lambda p, of: of.x * np.ones((2, 2)),
    "too large": lambda p, of: of.b + 300,
    "too large in a vector": lambda p, of: vector(of.b, 300)[0],
    "one of two too large": lambda p, of: of.b + where(of.x > 0, 1, 300),
    "beyond 64 bits": lambda p, of: 2**64,
    "chosen beyond 64 bits": lambda p, of: where(of.x > 0, of.b, 2**64),
    "a condition beyond 64 bits": lambda p, of: where(2**64, of.x, 0),
    "numpy's overflow": lambda p, of: np.logical_and(of.x, 2**63),
    "bools beyond int64": lambda p, of: (of.x > 0) < 2**63,
    "half precision": lambda p, of: of.x.astype(np.float16),
    "integer power": lambda p, of: of.i**of.i,
    "setting an item": lambda p, of: of.v.__setitem__(0, 1.0),
}


def _program(functions: dict[str, tuple[Callable[..., Any], Any]], k: int) -> type[gasla.VertexProgram]:
    """A program that computes these fields."""
    body: dict[str, Any] = {name: gasla.vertex(kind) for name, (_, kind) in functions.items()}
    fields = {"x": np.float64, "s": np.float32, "i": np.int32, "b": np.int8}
    body |= {name: gasla.vertex(kind, missing=0) for name, kind in fields.items()}
    missing = 0 if k <= SHORT else None  # a longer one is not read at other vertices
    body |= {"v": gasla.vertex((np.float64, (k,)), missing=missing), "w": gasla.vertex((np.int32, (k,)))}
    body |= {"everyone": True, "p": gasla.parameter(np.float64, 2.5)}
    body["apply"] = lambda self, vertex, gathered: {name: f(self, vertex) for name, (f, _) in functions.items()}
    return type("Computed", (gasla.VertexProgram,), body)


def _run(program: type[gasla.VertexProgram], n: int, k: int, compile: bool) -> gasla.Result:
    with np.errstate(all="ignore"):
        x = np.resize(FLOAT, n)
        given = {"x": x, "s": x.astype(np.float32), "i": np.resize(WHOLE, n), "b": np.resize(WHOLE, n).astype(np.int8)}
        given |= {"v": np.resize(np.roll(FLOAT, 3), (n, k)), "w": np.resize(np.roll(WHOLE, 3), (n, k))}
    return gasla.run(program, gasla.Graph.from_edges([0], [1], n=n), max_iterations=1, compile=compile, **given)


@pytest.mark.thorough
@pytest.mark.parametrize("k", VECTORS.values(), ids=VECTORS)
def test_vectors_are_the_same_compiled_and_not(k: int) -> None:
    """Also for as many vertices as a vector has items, where rows and columns look alike."""
    cases = list(_cases(k))
    compared = 0
    for begin in range(0, len(cases), AT_ONCE):
        some = {f"y{place}": case for place, case in enumerate(cases[begin : begin + AT_ONCE])}
        for n in (k, 5):
            compiled = _run(_program({name: (f, kind) for name, (_, f, kind) in some.items()}, k), n, k, True)
            for name, (what, function, kind) in some.items():
                try:
                    found = _run(_program({"y": (function, kind)}, k), n, k, False).y
                except Exception as error:
                    raise AssertionError(f"{what} is refused without compiling") from error
                assert_same(getattr(compiled, name), found, f"{what}, {n} vertices", rounding=4)
                compared += 1
    print(f"{compared} expressions")
    assert compared > 2 * 130


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_the_same_compiled_and_not(name: str) -> None:
    errors = []
    for compile in (True, False):
        with pytest.raises((TypeError, OverflowError, IndexError, AttributeError)) as caught:
            _run(_program({"y": (REFUSED[name], np.float64)}, 3), 3, 3, compile)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]
