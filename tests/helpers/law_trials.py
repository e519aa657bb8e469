"""Trials of the laws in `laws.py`: graphs that are drawn, what is done to them, and whether answers follow.

    python -m tests.helpers.law_trials --examples 20 --engine numpy [--rows bfs sssp] [--columns order split]

prints how many calls ran, how many were refused by name, and what was found.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

import gasla
from gasla import engines
from tests.helpers.law import COLUMNS, EDGE, SAME, Answer, Array, Asked, Law, Row
from tests.helpers.laws import ROWS

SECONDS = 60  # that a call may take before it counts as one that doesn't end
EXPONENTS = (-900, -600, -60, 60, 600, 900)
TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "bool")
WEIGHTS = {  # what is drawn: small ones, those whose sums leave their type
    "small": (0, 1, 2, 3, 5, 7),
    "bytes": (0, 1, 100, 127),
    "words": (0, 1, 2**30, 2**31 - 2**7),
    "wide": (0, 1, 2**62, 2**61),
}


@dataclass(frozen=True)
class Case:
    """A graph as it was drawn, or as it is after some changes."""

    n: int
    src: Array
    dst: Array
    values: Array | None
    partner: Array  # the edge that is split along with each: in symmetric graphs its other direction
    now: Array
    edge_was: Array
    drawn: int  # edges
    kind: str
    seed: int
    factor: float = 1.0

    def taking(self, edges: Array, values: Array | None = None) -> Case:
        """The case with its edges in another order, or some of them several times."""
        values = self.values if values is None else values
        return replace(
            self, src=self.src[edges], dst=self.dst[edges], edge_was=self.edge_was[edges],
            values=None if values is None else values[edges] if len(values) == len(self.src) else values,
        )  # fmt: skip

    def program(self) -> str:
        """What makes the graph, to be tried by hand."""
        values = None if self.values is None else f"np.array({self.values.tolist()}, '{self.values.dtype}')"
        return f"gasla.Graph.from_edges({self.src.tolist()}, {self.dst.tolist()}, {values}, n={self.n})"


def draw(row: Row, seed: int, weights: str = "small") -> Case:
    """A small graph of a kind that the row takes: with loops, parallel edges, vertices without edges, stored zeros."""
    rng = np.random.default_rng([seed, sum(map(ord, row.name))])
    kind = row.kinds[seed % len(row.kinds)]
    n = int(rng.integers(3, 9))
    m = int(rng.integers(0, 3 * n))
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    if kind == "acyclic":
        src, dst = np.minimum(src, dst)[src != dst], np.maximum(src, dst)[src != dst]
    elif kind == "bipartite":
        dst = np.where((src + dst) % 2, dst, (dst + 1) % (n - n % 2))
        keep = (src + dst) % 2 == 1
        src, dst = src[keep], dst[keep]
    elif kind == "steady":  # connected, with a loop at each vertex: one largest eigenvalue
        ring = np.arange(n)
        src, dst = np.concatenate([src, ring, ring]), np.concatenate([dst, ring, (ring + 1) % n])
    repeats = rng.integers(0, max(len(src), 1), len(src) // 3)
    src, dst = np.append(src, src[repeats]), np.append(dst, dst[repeats])
    drawn = [x for x in WEIGHTS[weights] if x >= row.least]
    values = rng.choice(np.array(drawn, float), len(src))
    partner = np.arange(len(src))
    if kind in ("symmetric", "steady"):
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
        other = np.flatnonzero(src != dst)
        partner = np.concatenate([partner, other])
        partner[other] = len(src) + np.arange(len(other))
        src, dst, values = np.append(src, dst[other]), np.append(dst, src[other]), np.append(values, values[other])
        # Half of the graphs list the parallel edges of both directions in the same order, the others in any.
        order = rng.permutation(len(src)) if seed % 4 >= 2 else np.arange(len(src))
        rank = np.empty(len(src), int)
        rank[order] = np.arange(len(src))
        src, dst, values, partner = src[order], dst[order], values[order], rank[partner[order]]
    given = None if not row.weights and seed % 3 == 2 else values
    m = len(src)
    return Case(n, src, dst, given, partner, np.arange(n), np.arange(m), m, kind, seed)


# --- what is done -----------------------------------------------------------------------------------------------------

Change = Callable[[Case, Row, np.random.Generator], Iterator[tuple[str, Case, str]]]  # its name, the case, the form


def reordered(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    yield "reversed", case.taking(np.arange(len(case.src))[::-1]), "graph"
    for _ in range(3):
        yield "shuffled", case.taking(rng.permutation(len(case.src))), "graph"


def split(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    m = len(case.src)
    if m == 0:
        return
    one = int(rng.integers(m))
    chosen = np.arange(m) if row.split.how == "all" else np.unique([one, case.partner[one]])
    shares = row.split.how == "shares"
    values = case.values
    if shares and values is None:  # a graph without values has ones, which are shared out as well
        values = np.ones(m)
    if values is not None:
        more = values[chosen]
        values = values.copy()
        if shares:
            values[chosen] *= 0.25
            more = more * 0.75
        values = np.append(values, more)
    edges = np.append(np.arange(m), chosen)
    parted = case.taking(edges, values)
    yield "appended", parted, "graph"
    yield "anywhere", parted.taking(rng.permutation(len(edges))), "graph"


def zeros(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    """Stored zeros of either sign, as the law of the row says: added, in place of weights, or tiny weights for them."""
    m = len(case.src)
    values = np.ones(m) if case.values is None else case.values
    if row.zeros.how == "added":
        path = rng.permutation(case.n)  # which connects all vertices
        for name, zero, (src, dst) in (
            ("added", 0.0, rng.integers(0, case.n, (2, 3))),
            ("a path of negative zeros", -0.0, (path[:-1], path[1:])),
        ):
            more = replace(
                case,
                src=np.append(case.src, src),
                dst=np.append(case.dst, dst),
                values=np.append(values, np.full(len(src), zero)),
                edge_was=np.append(case.edge_was, np.full(len(src), -1)),
            )
            yield name, more, "graph"
    elif row.zeros.how == "tiny":
        yield "tiny for zeros", replace(case, values=np.where(values == 0, 2.0**-60, values)), "graph"
        yield "negative zeros", replace(case, values=np.where(values == 0, -0.0, values)), "graph"
    else:
        some = rng.random(m) < 0.5
        some |= some[case.partner]
        if not some.any():
            return
        for value in (0.0, -0.0, np.nan, np.inf) if row.zeros is EDGE else (0.0, -0.0):
            yield f"set to {value}", replace(case, values=np.where(some, value, values)), "graph"


def nan(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    m = len(case.src)
    if row.zeros is not EDGE and m:  # for others, `zeros` has NaN among the values
        values = np.ones(m) if case.values is None else case.values.copy()
        one = int(rng.integers(m))
        values[[one, case.partner[one]]] = np.nan
        yield "NaN", replace(case, values=values), "graph"


def isolated(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    yield "added", replace(case, n=case.n + int(rng.integers(1, 4))), "graph"


def renamed(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    for name, p in (("reversed", np.arange(case.n)[::-1].copy()), ("shuffled", rng.permutation(case.n))):
        yield name, replace(case, src=p[case.src], dst=p[case.dst], now=p[case.now]), "graph"


def scaled(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    if case.values is not None:
        for exponent in EXPONENTS:
            factor = 2.0**exponent
            yield f"2^{exponent}", replace(case, values=case.values * factor, factor=factor), "graph"


def converted(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    for kind in TYPES if case.values is not None else ():
        with np.errstate(invalid="ignore"):
            values = case.values.astype(kind)
        if np.array_equal(values.astype(float), case.values):
            yield kind, replace(case, values=values), "graph"


def in_forms(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    for form in FORMS:
        yield form, case, form


def as_is(case: Case, row: Row, rng: np.random.Generator) -> Iterator[tuple[str, Case, str]]:
    yield "again", case, "graph"


CHANGES: dict[str, Change] = {
    "order": reordered,
    "zeros": zeros,
    "nan": nan,
    "split": split,
    "isolated": isolated,
    "renamed": renamed,
    "scaled": scaled,
    "types": converted,
    "forms": in_forms,
    "engines": as_is,
}

# --- forms ------------------------------------------------------------------------------------------------------------


def compressed(case: Case, by_column: bool = False, kind: str = "int32", backwards: bool = False) -> tuple[Any, Case]:
    """A CSR or CSC matrix with parallel entries, and the case in its order."""
    major = case.dst if by_column else case.src
    order = np.argsort(major, kind="stable")
    if backwards:  # the entries of each row the other way round
        order = np.lexsort((-np.arange(len(major)), major))
    case = case.taking(order)
    major, minor = (case.dst, case.src) if by_column else (case.src, case.dst)
    data = np.ones(len(major)) if case.values is None else case.values
    A = (csc_array if by_column else csr_array)((case.n, case.n), dtype=data.dtype)
    A.data, A.indices = data, minor.astype(kind)
    A.indptr = np.searchsorted(major, np.arange(case.n + 1)).astype(kind)
    return A, case


def coordinates(case: Case, kind: str = "int32") -> tuple[Any, Case]:
    data = np.ones(len(case.src)) if case.values is None else case.values
    A = coo_array((data, (case.src.astype(kind), case.dst.astype(kind))), shape=(case.n, case.n))
    A.coords = tuple(ids.astype(kind) for ids in (case.src, case.dst))
    return A, case


def read_only(case: Case) -> tuple[Any, Case]:
    A, case = compressed(case)
    for part in (A.data, A.indices, A.indptr):
        part.flags.writeable = False
    return A, case


def mapped(case: Case) -> tuple[Any, Case]:
    A, case = compressed(case)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "indices", "indptr"):
            np.save(Path(folder) / f"{name}.npy", getattr(A, name))
            setattr(A, name, np.load(Path(folder) / f"{name}.npy", mmap_mode="r"))
    return A, case


def on_gpu(case: Case) -> tuple[Any, Case]:
    import cupyx.scipy.sparse as there

    A, case = compressed(case)
    return there.csr_matrix(A), case


FORMS: dict[str, Callable[[Case], tuple[Any, Case]]] = {
    "csr": compressed,
    "csc": lambda case: compressed(case, by_column=True),
    "coo": coordinates,
    "csr, int64 indices": lambda case: compressed(case, kind="int64"),
    "coo, int64 indices": lambda case: coordinates(case, "int64"),
    "csr, unsorted": lambda case: compressed(case, backwards=True),
    "csr, read-only": read_only,
    "csr, memory-mapped": mapped,
}


def ask(case: Case, form: str, engine: str) -> Asked:
    """The question that a function is to answer on this engine."""
    given: Any
    if form == "graph":
        given = gasla.Graph.from_edges(case.src, case.dst, case.values, n=case.n)
        plain = given
    else:
        given, case = FORMS[form](case)
        plain = gasla.Graph.from_edges(case.src, case.dst, case.values, n=case.n)
    if engine == "gpu":
        given = gasla.as_graph(given).to("gpu")
    elif engine.startswith("ranks"):
        from gasla import distributed

        given = distributed.Graph.from_graph(gasla.as_graph(given), distributed.ThreadRanks(int(engine[5:])))
    return Asked(given, plain, case.now, case.edge_was, case.drawn, case.factor, case.seed)


# --- trials -----------------------------------------------------------------------------------------------------------


@dataclass
class Found:
    """A law that didn't hold."""

    row: str
    column: str
    change: str
    engine: str
    seed: int
    kind: str
    what: str
    program: str

    def __str__(self) -> str:
        return (
            f"{self.row}, {COLUMNS[self.column]} ({self.change}), {self.engine}, seed {self.seed} ({self.kind}):\n"
            f"    {self.what}\n    {self.program}"
        )


@dataclass
class Tally:
    """What ran, and what was found."""

    calls: Counter[str] = field(default_factory=Counter)  # by column
    rows: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    answers: int = 0  # to questions about graphs as they were drawn

    def __str__(self) -> str:
        lines = [f"{sum(self.calls.values())} calls of {len(self.rows)} rows, {len(self.found)} findings"]
        lines += [f"    {number:7} {COLUMNS.get(column, column)}" for column, number in self.calls.items()]
        lines += [f"    {number:7} refused: {': '.join(what)}" for what, number in sorted(self.refused.items())]
        return "\n".join(lines)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """An error in place of a call that doesn't end, as far as Python sees it."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of this process, whatever else the machine does
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Outcome:
    """An answer, or why there is none."""

    answer: Answer | None = None
    refusal: str = ""  # a ValueError or TypeError, as of arguments that can't be served
    error: str = ""  # anything else
    converged: bool = True


def outcome(row: Row, asked: Asked, engine: str) -> Outcome:
    """Call a row's function; the caller's arrays must stay as they are."""
    parts = [getattr(asked.given, name, None) for name in ("data", "indices", "indptr", "row", "col")]
    before = [part.copy() for part in parts if isinstance(part, np.ndarray)]
    with warnings.catch_warnings(record=True) as warned, limited(SECONDS):
        warnings.simplefilter("always")
        try:
            with engines.interpreted() if engine == "numpy" or engine.startswith("ranks") else nullcontext():
                answer = row.call(asked)
        except gasla.verify.VerificationError as wrong:
            return Outcome(error=f"wrong: {wrong}")
        except (ValueError, TypeError, OverflowError) as refusal:
            where = traceback.extract_tb(refusal.__traceback__)[-1]
            if "/gasla/" not in where.filename:
                return Outcome(error=f"{type(refusal).__name__} from {where.filename}:{where.lineno}: {refusal}")
            return Outcome(refusal=f"{type(refusal).__name__}: {refusal}")
        except Exception as error:
            return Outcome(error=f"{type(error).__name__}: {error}")
    after = [part for part in parts if isinstance(part, np.ndarray)]
    if not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(before, after, strict=True)):
        return Outcome(error="the caller's arrays were changed")
    return Outcome(answer, converged=not any(issubclass(w.category, gasla.ConvergenceWarning) for w in warned))


def differs(expected: Answer, found: Answer, rtol: float, atol: float = 0.0) -> str:
    """In which part an answer isn't as expected, or nothing."""
    for name, wanted in expected.items():
        got = found[name]
        if isinstance(wanted, dict):
            if wanted.keys() != got.keys():
                return f"{name}: expected {wanted}, found {got}"
            wanted, got = list(wanted.values()), list(got.values())
        wanted, got = np.asarray(wanted), np.asarray(got)
        if wanted.shape != got.shape:
            return f"{name}: expected {wanted.tolist()}, found {got.tolist()}"
        if wanted.dtype.kind in "iub" and got.dtype.kind in "iub":
            fine = np.array_equal(wanted, got)
        else:
            wanted, got = wanted.astype(float), got.astype(float)
            finite = np.abs(wanted[np.isfinite(wanted)])
            near = atol + rtol * (finite.max() if finite.size else 0.0)
            with np.errstate(invalid="ignore", over="ignore"):
                fine = np.allclose(got, wanted, rtol=rtol, atol=near, equal_nan=True)
        if not fine:
            return f"{name}: expected {wanted.tolist()}, found {got.tolist()}"
    return ""


def law_of(row: Row, column: str) -> Law:
    law: Law = getattr(row, column)
    return law


def try_row(
    row: Row,
    seed: int,
    columns: list[str],
    tally: Tally,
    engine: str = "numpy",
    most: int = 1000,
    weights: str = "small",
) -> None:
    """Draw a graph, ask, change it in the ways of some columns, and ask again. At most `most` changes a column."""
    case = draw(row, seed, weights)
    first = engine if engine in ("compiled", "gpu") and row.engines is not SAME else "numpy"
    then = ask(case, "graph", first)
    before = outcome(row, then, first)
    tally.calls["as drawn"] += 1
    tally.rows[row.name] += 1
    tally.answers += before.answer is not None
    rng = np.random.default_rng(seed)

    def note(column: str, change: str, what: str, of: Case) -> None:
        tally.found.append(Found(row.name, column, change, engine, seed, case.kind, what, of.program()))

    if before.error:
        return note("engines", "as drawn", before.error, case)
    for column in columns:
        changes = [*CHANGES[column](case, row, rng)]
        if len(changes) > most:
            changes = [changes[i] for i in sorted(rng.choice(len(changes), most, replace=False))]
        for change, changed, form in changes:
            now = ask(changed, form, engine)
            after = outcome(row, now, engine)
            tally.calls[column] += 1
            tally.rows[row.name] += 1
            if after.error:
                note(column, change, after.error, changed)
            elif law_of(row, column).refused:
                if not after.refusal:
                    note(column, change, f"expected an error, found {after.answer}", changed)
            elif after.refusal and column in ("scaled", "types") and not before.refusal:
                tally.refused[row.name, column, after.refusal[:110]] += 1
            elif bool(after.refusal) != bool(before.refusal):
                note(column, change, f"refused before: {before.refusal!r}; now: {after.refusal!r}", changed)
            elif after.answer is not None and before.answer is not None and before.converged and after.converged:
                with np.errstate(all="ignore"):
                    expected = law_of(row, column).expected(before.answer, then, now)
                if row.wraps and column == "types" and (weights != "small" or change == "bool"):
                    continue
                rtol = max(row.rtol, 1e-5 if change == "float32" else 0)
                if wrong := differs(expected, after.answer, rtol, law_of(row, column).atol):
                    note(column, change, wrong, changed)
    return None


def main(arguments: list[str]) -> int:
    """Try laws, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--examples", type=int, default=10, help="graphs for each row")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--engine", default="numpy", help="numpy, compiled, gpu or ranks2, ranks3, ...")
    parser.add_argument("--rows", nargs="*", default=[], help="names of functions")
    parser.add_argument("--columns", nargs="*", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--weights", default="small", choices=list(WEIGHTS))
    parser.add_argument("--most", type=int, default=1000, help="changes of each column")
    options = parser.parse_args(arguments)
    tally = Tally()
    for row in ROWS:
        if options.rows and row.function not in options.rows:
            continue
        if (options.engine.startswith("ranks") and not row.ranks) or (options.engine == "gpu" and not row.gpu):
            continue
        began, known, calls = time.perf_counter(), len(tally.found), tally.rows[row.name]
        for seed in range(options.first, options.first + options.examples):
            try_row(row, seed, options.columns, tally, options.engine, options.most, options.weights)
        spent = time.perf_counter() - began
        print(
            f"{row.name}: {tally.rows[row.name] - calls} calls, {spent:.1f} s",
            *tally.found[known:],
            sep="\n",
            flush=True,
        )
    print(tally)
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
