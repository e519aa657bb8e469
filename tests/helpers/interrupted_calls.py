"""Ctrl-C at random moments of every public function, in one process that goes on to compute right answers.

    python -m tests.helpers.interrupted_calls --rounds 8 --seed 0 [--calls sssp "over ranks"]

prints how many calls were interrupted, and ends with an error if an answer was wrong afterwards, an interrupt was late
or lost, or an exception was ignored.

A signal that comes while Python calls back code of its own (a set of weak references, for one) is lost by Python
itself, in any program. So it is sent again, as a person would.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import gasla
import semirings
from gasla import distributed
from tests.helpers import calls
from tests.helpers.law import Asked, Row
from tests.helpers.law_trials import differs
from tests.helpers.laws import ROWS

LATE = 1.0  # seconds within which an interrupt has to arrive
HUNG = 120.0  # seconds after which the process prints where it is, and ends


@dataclass
class Interrupted:
    """A call that is interrupted, and one that returns an answer to compare."""

    name: str
    call: Callable[[], Any]
    answer: Callable[[], Any]
    check: Callable[[Any, Any], str]  # what is wrong with a second answer
    seconds: float | None = None  # that a call takes of the function itself


@dataclass
class Tally:
    """What came of the interrupts."""

    raised: int = 0
    ended: int = 0  # calls that had ended before
    latest: float = 0.0
    again: int = 0  # interrupts that Python lost, and that were sent again
    found: list[str] = field(default_factory=list)


def same(expected: Any, found: Any) -> str:
    """Compare answers that are arrays, or tuples or lists of them."""
    if isinstance(expected, (tuple, list)):
        return "".join(same(*pair) for pair in zip(expected, found, strict=True))
    return "" if np.array_equal(expected, found) else f"expected {expected}, found {found}"


class Unchecked(Asked):
    """Its answers are compared with each other, not verified: verifiers look at samples of graphs of this size."""

    def check(self, verifier: Callable[..., None], *args: Any, **options: Any) -> None:
        pass


def ask(row: Row, over: Any = None) -> Asked:
    """A question about a graph of the row's first kind, with some hundred vertices."""
    rng, kind, n, m = np.random.default_rng(7), row.kinds[0], 300, 1500
    src, dst = rng.integers(0, n, m), rng.integers(0, n, m)
    if kind == "acyclic":
        src, dst = np.minimum(src, dst)[src != dst], np.maximum(src, dst)[src != dst]
    elif kind == "bipartite":
        src, dst = src // 2 * 2, dst // 2 * 2 + 1
    elif kind == "steady":
        ring = np.arange(n)
        src, dst = np.concatenate([src, ring, ring]), np.concatenate([dst, ring, (ring + 1) % n])
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    values = np.abs(src - dst) % 7 + 1.0
    graph = gasla.Graph.from_edges(src, dst, values, n=n)
    given = graph if over is None else distributed.Graph.from_graph(graph, over)
    return Unchecked(given, graph, np.arange(n), np.arange(len(src)), len(src))


def of_row(row: Row, over: Any = None) -> Interrupted:
    asked, name = ask(row, over), row.name if over is None else f"{row.name} over ranks"

    def call() -> Any:
        return row.call(asked)

    call()  # compiles
    seconds = calls.call(row, asked).seconds
    return Interrupted(name, call, call, lambda a, b: differs(a, b, max(row.rtol, 1e-6)), seconds)


class Summed(gasla.VertexProgram):
    """A program whose code depends on an option, so that it is compiled anew for each number."""

    number = gasla.option(0)
    x = gasla.vertex(np.int64, init=1)
    reduce = semirings.plus
    everyone = True

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.x + self.number

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"x": gathered}


def further(folder: Path) -> Iterator[Interrupted]:
    """Calls that no row of the laws makes: other doors, files, callbacks, compilation, two threads."""
    rng = np.random.default_rng(7)
    graph, points = ask(ROWS[0]).plain, rng.random((20_000, 3))
    wide = rng.random((1000, 100))
    numbers, net = iter(range(10**6)), graph.to_networkx()
    ready = gasla.prepare(Summed, graph)

    def plain(name: str, call: Callable[[], Any]) -> Interrupted:
        return Interrupted(name, call, call, same)

    def lists(graph: gasla.Graph) -> list[Any]:
        return [graph.out.indptr, graph.out.indices, graph.out_values]

    for of in (points, wide):
        yield plain(f"nearest_neighbors_graph {of.shape}", lambda of=of: lists(gasla.nearest_neighbors_graph(of, 5)))  # type: ignore[misc]
    for name in ("a.npz", "a.mtx", "a.csv", "a.tsv.gz", "a.graphml", "a.gml", "a.parquet"):
        path = folder / name

        def written(path: Path = path) -> list[Any]:
            gasla.io.write(path, graph)
            return lists(gasla.as_graph(gasla.io.read(path)).simple(semirings.plus))

        yield plain(f"files {name}", written)

    def compiled() -> Any:
        return gasla.run(Summed(number=next(numbers)), graph, max_iterations=1).x - 0

    def summed() -> Any:
        number = next(numbers)
        found = gasla.run(Summed(number=number), graph, max_iterations=1).x
        return found - number * graph.in_degrees

    yield Interrupted("compilation", compiled, summed, same)
    yield plain("interpreted", lambda: gasla.run(Summed, graph, max_iterations=20, compile=False).x)
    yield plain("prepared", lambda: ready(max_iterations=50).x)
    yield plain("networkx", lambda: list(nx.pagerank(net, backend="gasla").values()))
    yield plain("walk_pairs", lambda: gasla.walk_pairs(gasla.random_walks(graph, np.arange(graph.n), 20, seed=1), 3))

    def bar() -> Any:
        with gasla.progress.bar("a bar"):
            return gasla.betweenness_centrality(graph)

    yield Interrupted("progress", bar, bar, lambda a, b: differs({"": a}, {"": b}, 1e-9))
    levels = gasla.bfs(graph, 0)

    def beside() -> Any:
        """Another thread works meanwhile, and finds what is right, whatever happens to this one."""
        wrong: list[Any] = []

        def work() -> None:
            for _ in range(20):
                found = gasla.bfs(graph, 0)
                wrong.extend([found] if not np.array_equal(found, levels) else [])

        other = threading.Thread(target=work)
        other.start()
        try:
            return gasla.betweenness_centrality(graph, k=20, seed=0)
        finally:
            heard = None
            while other.is_alive():
                try:
                    other.join()
                except KeyboardInterrupt as interrupt:
                    heard = interrupt
            assert not wrong, wrong
            if heard is not None:
                raise heard

    yield Interrupted("two threads", beside, beside, lambda a, b: differs({"": a}, {"": b}, 1e-9))


def everything(folder: Path, threads: distributed.ThreadRanks) -> Iterator[tuple[str, Callable[[], Interrupted]]]:
    """The names of all calls, and what makes them."""
    for row in ROWS:
        yield row.name, partial(of_row, row)
    for row in ROWS:
        if row.ranks:
            yield f"{row.name} over ranks", partial(of_row, row, threads)
    for one in further(folder):
        yield one.name, lambda one=one: one  # type: ignore[misc]


@contextmanager
def signalled(after: float, by: str) -> Iterator[None]:
    """Send Ctrl-C to this process after some seconds, once: by a timer of the system, or from another thread."""
    if by == "timer":
        signal.setitimer(signal.ITIMER_REAL, max(after, 1e-6))
        yield
    else:
        threading.Thread(target=_send, args=(after,), daemon=True).start()
        yield


def _send(after: float) -> None:
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)


def interrupt(one: Interrupted, rounds: int, rng: np.random.Generator, tally: Tally) -> None:
    """Interrupt a call at some moments; then its answer must be what it was before."""
    before, seconds = one.answer(), one.seconds
    if seconds is None:
        began = time.perf_counter()
        one.call()
        seconds = time.perf_counter() - began
    for number in range(rounds):
        after, by = float(rng.uniform(0, seconds)), "thread" if number % 2 else "timer"
        began, has_ended = time.perf_counter(), False
        try:
            with signalled(after, by):
                one.call()
                has_ended = True
                time.sleep(after + LATE)
            tally.found.append(f"{one.name}: Ctrl-C after {after:.4f} s was lost")
        except KeyboardInterrupt:
            late = time.perf_counter() - began - after
            tally.latest = max(tally.latest, 0.0 if has_ended else late)
            if late > LATE and not has_ended:
                tally.found.append(f"{one.name}: Ctrl-C came {late:.2f} s late")
            tally.ended += has_ended
            tally.raised += not has_ended
        except Exception as error:
            tally.found.append(f"{one.name}: Ctrl-C became {error!r}: {traceback.format_exc()}")
            with suppress(KeyboardInterrupt):
                time.sleep(after + LATE)
    if wrong := one.check(before, one.answer()):
        tally.found.append(f"{one.name}: {wrong}")


def main(arguments: Sequence[str]) -> int:
    """Interrupt calls, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=int, default=1, help="of each so many calls one is made")
    parser.add_argument("--calls", nargs="*", default=[], help="names of calls")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rng, tally, names = np.random.default_rng(options.seed), Tally(), 0
    for number in (signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.default_int_handler)

    def ignored(what: Any) -> None:
        module = getattr(what.object, "__module__", None) or ""
        if what.exc_type is KeyboardInterrupt and module.partition(".")[0] in sys.stdlib_module_names:
            tally.again += 1
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
            return
        tally.found.append(f"ignored: {what.exc_value!r} in {what.object!r}")
        sys.__unraisablehook__(what)

    sys.unraisablehook = ignored
    threading.excepthook = lambda what: tally.found.append(f"in a thread: {what.exc_value!r}")
    with tempfile.TemporaryDirectory() as folder:
        for place, (name, make) in enumerate(everything(Path(folder), distributed.ThreadRanks(2))):
            if (options.calls and name not in options.calls) or place % options.share != options.seed % options.share:
                continue
            faulthandler.dump_traceback_later(HUNG, exit=True)
            known, began = len(tally.found), time.perf_counter()
            interrupt(make(), options.rounds, rng, tally)
            names += 1
            if options.verbose or tally.found[known:]:
                print(f"{name}: {time.perf_counter() - began:.2f} s", *tally.found[known:], sep="\n    ", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(
        f"{names} calls, {tally.raised} interrupted, {tally.ended} had ended, at most {tally.latest:.2f} s late; "
        f"{tally.again} sent again; {len(tally.found)} findings"
    )
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
