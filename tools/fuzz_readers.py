"""Fuzz the readers of graph files: inputs that reach new lines of gasla/graph are kept and mutated further.

python tools/fuzz_readers.py [FORMAT ...] [--seconds 60] [--keep]

Each input is read in a process of its own per format, with little memory. Any exception but those of ALLOWED, a crash,
a hang, and a graph whose lists do not fit together are failures; their inputs go to the folder `--failures`. `--keep`
stores the smallest inputs that together reach the most lines in tests/data/fuzz, which the tests read.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import multiprocessing
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

import gasla  # noqa: E402
from gasla.graph import io as readers  # noqa: E402

CORPUS = ROOT / "tests" / "data" / "fuzz"
ALLOWED = (ValueError, TypeError, OSError, MemoryError)
WATCHED = str(ROOT / "gasla" / "graph")
LONGEST, MOST_KEPT = 2000, 12  # bytes of an input, and inputs per format, in the corpus
MEMORY, SECONDS = 4 << 30, 20  # of one input
NUMBERS = (
    "0 1 -1 2 255 65536 2147483647 2147483648 4294967296 9223372036854775807 18446744073709551616 1e400 nan .5 -inf"
)
WORDS = {
    "mtx": "%%MatrixMarket matrix array coordinate complex integer pattern real symmetric skew-symmetric general",
    "edges": "# % Nodes: Edges: \ufeff \t , ; |",
    "gr": "p sp tw c a e",
    "metis": "% 011 010 001 100",
    "graphml": "<node> <edge> source= target= <data key= </graph> <!DOCTYPE &amp; <![CDATA[ id= attr.type=",
    "gml": "graph [ node [ edge [ id label source target ] directed multigraph 1 \" & &#9;",
    "csv": ", ; | \" \"\" src dst weight # true 2020-01-01 \r\n \u00e9",
}  # fmt: skip
Input = dict[str, bytes]  # the files of a folder or the members of an archive; one file has the name ""


class Failure(Exception):
    """A graph that was read and is wrong."""


class Hang(BaseException):
    """An input that takes too long; no reader catches it."""


def formats() -> list[str]:
    """All formats that gasla reads."""
    return list(dict.fromkeys(readers._NAMES.values()))


def suffix(format: str) -> str:
    """A suffix of file names of a format."""
    return next(key for key, value in readers._NAMES.items() if value == format)


def read(path: Path) -> None:
    """Read a file or folder, and check that the lists of the graph fit together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = gasla.as_graph(gasla.io.read(path))
    for lists in (graph.out, graph.in_):
        offsets, ids = np.asarray(lists.indptr), np.asarray(lists.indices)
        fits = len(offsets) == graph.n + 1 and offsets[0] == 0 and offsets[-1] == len(ids) == graph.m
        if not fits or np.any(np.diff(offsets) < 0) or np.any((ids < 0) | (ids >= graph.n)):
            raise Failure(f"the lists of {graph} do not fit together")
    if graph.values is not None and len(graph.values) != graph.m:
        raise Failure(f"{graph} has {len(graph.values)} values")


# --- inputs ---------------------------------------------------------------------------------------------------------


def seeds(format: str) -> Iterator[Input]:
    """Small graphs in a format, and the corpus that is kept."""
    src, dst = np.array([0, 0, 1, 2, 2, 3]), np.array([1, 1, 2, 0, 2, 0])
    plain = gasla.Graph.from_edges(src, dst, np.array([1, 2.5, -3, 0, 4, 1]), n=4)
    two_way = gasla.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], np.array([2, 2, 3, 3]))
    more = plain.with_edge_attributes({"time": np.arange(6, dtype=np.int32)})
    table = pa.table({"a": ["x", "yy", "x"], "b": ["yy", "x", "zé"], "c": [1.0, 2.0, 3.0]})
    named = gasla.Graph.from_table(table, weight="c")
    for graph in (plain, two_way, more, named, more.with_vertex_attributes({"height": np.arange(4) / 2})):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, f"a{suffix(format)}")
            try:
                gasla.io.write(path, graph)
            except ALLOWED:  # the format does not hold this graph
                continue
            yield load(path)
    for path in sorted((CORPUS / format).glob("*")):
        yield load(path)


def load(path: Path) -> Input:
    """An input from a file, a folder, or the archive of a folder."""
    if path.is_dir():
        return {each.name: each.read_bytes() for each in path.iterdir()}
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return {name: archive.read(name) for name in archive.namelist()}
        except Exception:  # a damaged one is mutated as it is
            pass
    return {"": path.read_bytes()}


def save(data: Input, path: Path) -> None:
    """Write an input as what the reader takes: a folder if `path` is one of gasla's, else a file."""
    if path.suffix == ".gasla":
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name, content in data.items():
            (path / name).write_bytes(content)
    else:
        path.write_bytes(data[""] if "" in data else packed(data))


def packed(data: Input) -> bytes:
    """The files of an input as a zip archive."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in data.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return stream.getvalue()


def mutated(data: Input, other: Input, format: str, drawn: random.Random) -> Input:
    """An input with a few changes."""
    data = dict(data)
    if format == "npz" and "" not in data and drawn.random() < 0.2:
        data = {"": packed(data)}
    for _ in range(drawn.choice([1, 1, 1, 2, 4])):
        name = drawn.choice(sorted(data))
        if len(data) > 1 and drawn.random() < 0.05:
            del data[name]
        else:
            data[name] = changed(data[name], drawn.choice(sorted(other.values())), format, drawn)
    return data


def changed(text: bytes, other: bytes, format: str, drawn: random.Random) -> bytes:
    """One change of a file."""
    a, b = sorted(drawn.randrange(len(text) + 1) for _ in range(2))
    b = min(b, a + drawn.choice([1, 2, 4, 8, 64]))
    kind = drawn.randrange(8)
    if kind == 0 and text:
        a = min(a, len(text) - 1)
        return text[:a] + bytes([text[a] ^ 1 << drawn.randrange(8)]) + text[a + 1 :]
    if kind == 1:
        return text[:a] + text[b:]
    if kind == 2:
        return text[:b] + text[a:b] * drawn.choice([1, 1, 3]) + text[b:]
    if kind == 3:
        return text[:a] + drawn.randbytes(drawn.choice([1, 2, 8])) + text[b:]
    if kind == 4 and (found := [*re.finditer(rb"-?\d+(\.\d+)?", text)]):
        where = drawn.choice(found)
        return text[: where.start()] + drawn.choice(NUMBERS.split()).encode() + text[where.end() :]
    if kind == 5:
        words = [*WORDS.get(format, "").split(" "), *NUMBERS.split(), "\n", " "]
        return text[:a] + drawn.choice(words).encode() + text[drawn.choice([a, b]) :]
    if kind == 6:
        number = int(drawn.choice([0, 1, -1, 2**31, 2**31 - 1, 2**32, 2**62, -(2**63), drawn.getrandbits(16)]))
        size = drawn.choice([1, 2, 4, 8])
        return text[:a] + (number % 256**size).to_bytes(size, "little") + text[a + size :]
    c = drawn.randrange(len(other) + 1)
    return text[:a] + other[c:]


# --- running --------------------------------------------------------------------------------------------------------


class Coverage:
    """The steps from line to line that one input makes in gasla/graph."""

    def __init__(self) -> None:
        self.steps: set[tuple[CodeType, int, int]] = set()

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(WATCHED):
            return None
        last = 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                self.steps.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line

    def of(self, path: Path) -> tuple[set[tuple[CodeType, int, int]], BaseException | None]:
        """The steps of an input, and what is wrong with the reader, if anything."""
        self.steps, wrong = set(), None
        signal.alarm(SECONDS)
        sys.settrace(self._enter)
        try:
            read(path)
        except ALLOWED:
            pass
        except (Exception, Hang) as error:
            wrong = error
        finally:
            sys.settrace(None)
            signal.alarm(0)
        return self.steps, wrong


def _hang(number: int, frame: Any) -> None:
    raise Hang(f"took over {SECONDS} s")


def fuzz(format: str, seconds: float, work: Path, failures: Path, seed: int) -> None:
    """Fuzz one reader for some time, in this process; the inputs that reach new steps stay in `work`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _hang)
    drawn, coverage = random.Random(seed), Coverage()
    seen: set[Any] = set()
    reasons: set[str] = set()
    kept: list[Input] = []
    path = work / f"a{suffix(format)}"
    until, count = time.monotonic() + seconds, 0
    waiting = [*seeds(format)]
    while time.monotonic() < until:
        data = waiting.pop() if waiting else mutated(drawn.choice(kept), drawn.choice(kept), format, drawn)
        try:
            save(data, path)
        except (OSError, ValueError, UnicodeError):  # a name that no file or archive can have
            continue
        steps, wrong = coverage.of(path)
        count += 1
        if wrong is not None:
            trace = traceback.extract_tb(wrong.__traceback__)
            reason = f"{type(wrong).__name__} at {trace[-1].filename}:{trace[-1].lineno}"
            if reason not in reasons:
                reasons.add(reason)
                report(format, data, failures, "".join(traceback.format_exception(wrong)))
        if not kept or (steps - seen and sum(map(len, data.values())) < 4 * LONGEST):
            seen |= steps
            kept.append(data)
            target = work / f"{len(kept):05}"
            target.write_bytes(packed(data))
    print(
        f"{format}: {count} inputs, {len(kept)} kept, {len(seen)} steps, {len(reasons)} kinds of failures", flush=True
    )


def report(format: str, data: Input, failures: Path, text: str) -> None:
    """Store the input of a failure, and print what happened."""
    failures.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(packed(data)).hexdigest()[:8]
    save(data, failures / f"{format}-{name}{suffix(format)}")
    print(f"{format}: failure {name}\n{text}", flush=True)


def keep(format: str, work: Path) -> None:
    """Put the smallest inputs that reach the most steps into the corpus."""
    signal.signal(signal.SIGALRM, _hang)
    coverage, path = Coverage(), work / f"a{suffix(format)}"
    found = []
    for each in sorted(work.glob("0*")):
        data = load(each)
        save(data, path)
        steps, _ = coverage.of(path)
        if len(packed(data)) <= LONGEST:
            found.append((data, steps))
    folder = CORPUS / format
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    reached: set[Any] = set()
    for _ in range(MOST_KEPT):
        data, steps = max(found, key=lambda one: (len(one[1] - reached), -len(packed(one[0]))), default=({}, set()))
        if not steps - reached:
            break
        reached |= steps
        content = data[""] if "" in data else packed(data)
        ending = f"{suffix(format)}.zip" if format == "folder" else suffix(format)
        (folder / f"{hashlib.sha256(content).hexdigest()[:8]}{ending}").write_bytes(content)


def main() -> None:
    """Fuzz each format in a process, which is started again if it dies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(formats()))
    parser.add_argument("--seconds", type=float, default=60, help="for each format")
    parser.add_argument("--keep", action="store_true", help="store the inputs in tests/data/fuzz")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    processes = multiprocessing.get_context("spawn")
    failed = False
    for format in given.formats or formats():
        with tempfile.TemporaryDirectory() as name:
            work, until, seed = Path(name), time.monotonic() + given.seconds, given.seed
            while (left := until - time.monotonic()) > 1:
                seed += 1
                process = processes.Process(target=fuzz, args=(format, left, work, given.failures, seed))
                process.start()
                process.join(left + 10 * SECONDS)
                if process.exitcode == 0:
                    break
                process.kill()
                path = work / f"a{suffix(format)}"
                report(format, load(path), given.failures, f"the process ended with {process.exitcode}")
            if given.keep:
                keep(format, work)
    failed = given.failures.exists() and any(given.failures.iterdir())
    sys.exit(f"failures are in {given.failures}" if failed else 0)


if __name__ == "__main__":
    main()
