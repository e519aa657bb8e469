"""Fuzz the readers of graph files: inputs that reach new lines of gasla/graph are kept and mutated further.

python tools/fuzz_readers.py [FORMAT ...] [--seconds 60] [--keep]

Each input is read in a process of its own per format, with little memory, and read again in another way (`ways`): with
other arguments, in small blocks, or by `gasla.io.convert`. What is read is compared with what another reader finds in
the file (tests/oracles/file_contents.py). Any exception but those of ALLOWED, a crash, a hang, a graph whose lists do
not fit together, two ways that differ, and contents that differ are failures; their inputs go to the folder
`--failures`.
`--keep` stores the smallest inputs that together reach the most lines in tests/data/fuzz, which the tests read.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from pyarrow import feather, parquet  # noqa: E402

import gasla  # noqa: E402
from gasla.graph import io as readers  # noqa: E402
from gasla.graph.io import files  # noqa: E402
from tests.oracles.file_contents import READERS, difference, file_contents  # noqa: E402

CORPUS = ROOT / "tests" / "data" / "fuzz"
ALLOWED = (ValueError, TypeError, OSError, MemoryError)
WATCHED = str(ROOT / "gasla" / "graph")
LONGEST, MOST_KEPT = 2000, 12  # bytes of an input, and inputs per format, in the corpus
LARGEST = 100_000  # vertices of a graph that is compared with its file
MEMORY, SECONDS = 4 << 30, 20  # of one input; seconds of CPU time
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
TEXTS = {  # forms that `write` does not write
    "mtx": [
        "%%MatrixMarket matrix coordinate integer symmetric\n% said\n3 3 3\n2 1 5\n3 2 -7\n3 3 1\n",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 .5\n3 1 2e3\n",
        "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 18446744073709551615\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n\n4 3\n4 4\n",
    ],
    "edges": [
        "# Nodes: 4 Edges: 3\n0\t1\n1\t2\n3\t0\n",
        "0 1 2.5\n1 2 3 # said\n% more\n2 0 -1\n",
        "from to cost\na b 1\nb c 2\nb b 3\n",
        "x,y\n0,1\n1,2\n",
        "0;1;4\n1;0;5\n",
        "7000000001 7000000002\n7000000002 7000000003\n",
    ],
    "gr": ["c said\np sp 3 2\na 1 2 5\na 3 1 7\n", "p tw 4 3\nc said\n1 2\n3 2\n4 4\n", "p sp 2 1\na 1 2 -9\n"],
    "metis": [
        "% said\n3 2\n2\n1 3\n2\n",
        "3 2 1\n2 5\n1 5 3 7\n2 7\n",
        "3 2 011 2\n1 2 2 5\n3 4 1 5 3 7\n5 6 2 7\n",
        "3 1 100\n9 2\n8 1\n7\n",
    ],
    "graphml": [
        '<?xml version="1.0"?><graphml><key id="k" for="edge" attr.name="weight" attr.type="double"/>'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b">'
        '<data key="k">2</data></edge><edge source="b" target="b"/></graph></graphml>'
    ],
    "gml": [
        'graph [ node [ id 0 label "a" x 1.5 ] node [ id 1 label "b&#233;" x 2 ] '
        "edge [ source 0 target 1 weight 2 ] edge [ source 1 target 1 weight 3 ] ]",
        "graph [ multigraph 1 node [ id 5 ] node [ id 7 ] edge [ source 5 target 7 ] edge [ source 5 target 7 ] ]",
    ],
    "csv": [
        "src,dst,weight\n0,1,2.5\n1,2,3\n",
        'from;to;cost\n"a;b";c;1\nc;"d ""e""";2\n',
        "# said\n0,1\n1,2\n2,0\n",
        "a|b|c\nx|y|2020-01-01\ny|z|2021-02-03\n",
        "\ufeffsrc\tdst\r\n1\t2\r\n2\t1\r\n",
        "2020-01-01,2020-01-02,1\n2020-01-02,2020-01-01,2\n",
        "true,false\nfalse,true\n",
        "id,src,dst,weight\n9,7000000001,3,1\n8,3,4,\n",
    ],
}
Input = dict[str, bytes]  # the files of a folder or the members of an archive; one file has the name ""


class Failure(Exception):
    """A graph that was read and is wrong."""


SAME, CONVERTED, OPENED = "in small blocks", "by convert", "by open"  # ways that must return the same as `read`


class Hang(BaseException):
    """An input that takes too long; no reader catches it."""


def formats() -> list[str]:
    """All formats that gasla and another reader read."""
    return [name for name in readers.FORMATS if name in READERS]


def suffix(format: str) -> str:
    """A suffix of file names of a format."""
    return readers.FORMATS[format].suffixes[0]


def ways(format: str) -> list[dict[str, Any] | str]:
    """The ways to read a file a second time: other arguments of `read`, which may answer otherwise, or the same."""
    more: list[dict[str, Any] | str] = []
    if format in ("csv", "edges"):
        more = [{"names": True}, {"names": False}, {"on_bad_rows": "skip"}, {"src": 1, "dst": 0, "separator": ","}]
    elif format in readers.TABLES:
        more = [{"names": True}, {"names": False}]
    elif format == "npz":
        more = [OPENED]
    return [SAME, CONVERTED, *more] if format != "folder" else [SAME]


def read(path: Path, format: str, content: bytes) -> None:
    """Read a file or folder in two ways, the second by its content, and check what they return."""
    first = outcome(path)
    if not isinstance(first, Exception):
        compare(path, format, first[-1])
    way = (choice := ways(format))[zlib.crc32(content) % len(choice)]
    if isinstance(way, dict):
        outcome(path, **way)
        return
    second = {SAME: in_small_blocks, CONVERTED: converted, OPENED: opened}[way](path)
    refused = [each for each in (first, second) if isinstance(each, Exception)]
    if refused:
        is_text = format not in (*readers.TABLES, "npz") or format == "csv"  # of others, each looks at its own notes
        if is_text and len(refused) == 1 and not isinstance(refused[0], MemoryError):
            raise Failure(f"read returns {first!r}, and {way} {second!r}") from refused[0]
        return
    for what, one, other in zip(("n", "names", "edges", "weights"), first, second):
        if not equal(one, other):
            raise Failure(f"{what} are {one} by read, and {other} {way}")


def compare(path: Path, format: str, graph: gasla.Graph) -> None:
    """Compare a graph with what another reader finds in its file, unless that reader refuses the file."""
    if graph.n > LARGEST:
        return
    traced = sys.gettrace()
    sys.settrace(None)  # what the other reader reaches does not count
    try:
        possible = file_contents(path, format)
    except Exception:
        return
    finally:
        sys.settrace(traced)
    if possible and (why := difference(graph, possible)):
        raise Failure(f"{why}, by another reader of {graph}")


def outcome(path: Path, **arguments: Any) -> tuple[Any, ...] | Exception:
    """The number of vertices, names, edges, weights and the graph that `read` returns, checked; or its refusal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checked(gasla.as_graph(gasla.io.read(path, **arguments)))
    except ALLOWED as error:
        return error


def converted(path: Path) -> tuple[Any, ...] | Exception:
    """As `outcome`, by way of a folder that `convert` writes from small blocks."""
    target = path.with_name("converted.gasla")
    try:
        with warnings.catch_warnings(), small_blocks():
            warnings.simplefilter("ignore")
            return checked(gasla.io.convert(path, target, memory=1000))
    except ALLOWED as error:
        return error


def opened(path: Path) -> tuple[Any, ...] | Exception:
    """As `outcome`, of the file mapped into memory."""
    try:
        return checked(gasla.io.open(path))
    except ALLOWED as error:
        return error


def in_small_blocks(path: Path) -> tuple[Any, ...] | Exception:
    """As `outcome`, with text read a few lines at a time."""
    with small_blocks():
        return outcome(path)


@contextmanager
def small_blocks() -> Iterator[None]:
    """Read text a few lines at a time."""
    usual, files.PART = files.PART, 8
    try:
        yield
    finally:
        files.PART = usual


def checked(graph: gasla.Graph) -> tuple[Any, ...]:
    """The number of vertices, names, edges by rows, and weights of a graph, whose lists fit together; and the graph."""
    for lists in (graph.out, graph.in_):
        offsets, ids = np.asarray(lists.indptr), np.asarray(lists.indices)
        fits = len(offsets) == graph.n + 1 and offsets[0] == 0 and offsets[-1] == len(ids) == graph.m
        if not fits or np.any(np.diff(offsets) < 0) or np.any((ids < 0) | (ids >= graph.n)):
            raise Failure(f"the lists of {graph} do not fit together")
    values = graph.values
    if values is not None and len(values) != graph.m:
        raise Failure(f"{graph} has {len(values)} values")
    src, dst = (np.asarray(ends) for ends in graph.edges())
    ones = np.ones(graph.m) if values is None else np.asarray(values)
    order = np.lexsort((ones, dst, src))
    return graph.n, graph.names, np.stack([src, dst])[:, order], ones[order], graph


def equal(one: Any, other: Any) -> bool:
    """Whether two parts of outcomes are equal; NaN equals NaN."""
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


# --- inputs ---------------------------------------------------------------------------------------------------------


def seeds(format: str) -> Iterator[Input]:
    """Small graphs in a format, all of them valid."""
    src, dst = np.array([0, 0, 1, 2, 2, 3]), np.array([1, 1, 2, 0, 2, 0])
    plain = gasla.Graph.from_edges(src, dst, np.array([1, 2.5, -3, 0, 4, 1]), n=4)
    two_way = gasla.Graph.from_edges([0, 1, 1, 2], [1, 0, 2, 1], np.array([2, 2, 3, 3]))
    more = plain.with_edge_attributes({"time": np.arange(6, dtype=np.int32), "cost": src / 4})
    large = gasla.Graph.from_edges(src, dst, 2**60 + src, n=7)
    table = pa.table({"a": ["x", "yy", "x"], "b": ["yy", "x", "zé"], "c": [1.0, 2.0, 3.0]})
    named = gasla.Graph.from_table(table, weight="c")
    for graph in (plain, two_way, large, more, named, more.with_vertex_attributes({"height": np.arange(4) / 2})):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, f"a{suffix(format)}")
            try:
                gasla.io.write(path, graph)
            except ALLOWED:  # the format does not hold this graph
                continue
            yield load(path)
    yield from ({"": text.encode()} for text in TEXTS.get(format, ()))
    yield from (each for made, each in other_forms(plain) if made == format)


def other_forms(graph: gasla.Graph) -> Iterator[tuple[str, Input]]:
    """Pairs of a binary format and a file in a form that `write` does not write."""
    matrix = graph.to_scipy()
    for form in ("csr", "csc", "coo", "dia", "bsr"):
        for is_packed in (True, False):
            stream = io.BytesIO()
            sp.save_npz(stream, matrix.asformat(form), compressed=is_packed)
            with zipfile.ZipFile(stream) as archive:
                yield "npz", {name: archive.read(name) for name in archive.namelist()}
            if not is_packed:
                yield "npz", {"": stream.getvalue()}
    whole = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
    yield "folder", {f"{name}.npy": npy(array) for name, array in whole.items()}
    ends = {"src": pa.array([0, 1, 2], pa.int32()), "dst": pa.array([2, 1, 0], pa.uint64())}
    tables = [
        pa.table(ends | {"day": pa.array([1, 2, 3], pa.timestamp("s")), "on": pa.array([True, False, None])}),
        pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode(), "b": pa.array(["y", None, "z"])}),
        pa.table({name: pa.chunked_array([ids, ids.slice(1)]) for name, ids in ends.items()}),
    ]
    for table in tables:
        for packing in ("lz4", "uncompressed"):
            stream = io.BytesIO()
            feather.write_feather(table, stream, compression=packing)
            yield "feather", {"": stream.getvalue()}
        for settings in ({"row_group_size": 1}, {"compression": "none", "use_dictionary": False}):
            stream = io.BytesIO()
            parquet.write_table(table, stream, **settings)
            yield "parquet", {"": stream.getvalue()}


def npy(array: Any) -> bytes:
    """The content of a file of NumPy."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


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


def contents(data: Input) -> bytes:
    """What the second way to read an input depends on."""
    return b"".join(each for _, each in sorted(data.items()))


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
        elif data[name].startswith(b"\x93NUMPY") and drawn.random() < 0.7:
            data[name] = changed_array(data[name], drawn)
        else:
            data[name] = changed(data[name], drawn.choice(sorted(other.values())), format, drawn)
    return data


def changed_array(content: bytes, drawn: random.Random) -> bytes:
    """A file of NumPy with another entry, length, type or shape; a damaged one as it is.

    Of changed bytes nearly all are in the header, or alter the length, which is refused before anything else is read.
    """
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return content
    kind = drawn.randrange(8)
    with np.errstate(all="ignore"), suppress(ValueError, TypeError, IndexError, OverflowError):
        if kind < 5 and array.size and array.dtype.kind in "iufb":
            number = drawn.choice([-1, 0, 1, 2, array.size, 100, 2**31 - 1, -(2**63), 2**63 - 1])
            array.reshape(-1)[drawn.randrange(array.size)] = np.array(number).astype(array.dtype)
        elif kind == 5:
            array = array.astype(drawn.choice(["i4", "i8", "u8", "f4", "f8", "?", ">i4", "U3"]))
        elif kind == 6:
            array = drawn.choice([array[:-1], np.concatenate([array, array[-1:]])])
        else:
            array = drawn.choice([array.reshape(1, -1), array.reshape(-1, 1), array[::-1]])
    return npy(array)


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

    def of(self, path: Path, format: str, data: Input) -> tuple[set[tuple[CodeType, int, int]], BaseException | None]:
        """The steps of an input, and what is wrong with the reader, if anything."""
        self.steps, wrong, content = set(), None, contents(data)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        sys.settrace(self._enter)
        try:
            read(path, format, content)
        except (Exception, Hang) as error:
            wrong = error
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        return self.steps, wrong


def _hang(number: int, frame: Any) -> None:
    raise Hang(f"took over {SECONDS} s")


def fuzz(format: str, seconds: float, work: Path, failures: Path, seed: int) -> None:
    """Fuzz one reader for some time, in this process; the inputs that reach new steps stay in `work`."""
    import resource  # the tests read the other functions on Windows, which lacks it

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _hang)
    warnings.simplefilter("ignore")
    drawn, coverage = random.Random(seed), Coverage()
    seen: set[Any] = set()
    reasons: set[str] = set()
    kept: list[Input] = []
    path = work / f"a{suffix(format)}"
    until, count = time.monotonic() + seconds, 0
    waiting = [*seeds(format), *map(load, sorted((CORPUS / format).glob("*")))]
    while time.monotonic() < until:
        data = waiting.pop() if waiting else mutated(drawn.choice(kept), drawn.choice(kept), format, drawn)
        try:
            save(data, path)
        except (OSError, ValueError, UnicodeError):  # a name that no file or archive can have
            continue
        steps, wrong = coverage.of(path, format, data)
        count += 1
        if wrong is not None:
            trace = traceback.extract_tb(wrong.__traceback__)
            said = re.sub(r"[^a-z ]+", "", f"{wrong}")[:40] if isinstance(wrong, Failure) else type(wrong).__name__
            reason = f"{said} at {trace[-1].filename}:{trace[-1].lineno}"
            if reason not in reasons:
                reasons.add(reason)
                report(format, data, failures, "".join(traceback.format_exception(wrong)))
        if not kept or (steps - seen and sum(map(len, data.values())) < 4 * LONGEST):
            seen |= steps
            kept.append(data)
            target = work / f"{len(kept):05}"
            target.write_bytes(packed(data))
    spent = time.process_time() / 60
    found = f"{len(kept)} kept, {len(seen)} steps, {len(reasons)} kinds of failures"
    print(f"{format}: {count} inputs in {spent:.1f} minutes of CPU time, {found}", flush=True)
    os._exit(0)  # threads of pyarrow may abort an ordinary exit where memory is limited


def report(format: str, data: Input, failures: Path, text: str) -> None:
    """Store the input of a failure, and print what happened."""
    failures.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(packed(data)).hexdigest()[:8]
    save(data, failures / f"{format}-{name}{suffix(format)}")
    print(f"{format}: failure {name}\n{text}", flush=True)


def keep(format: str, work: Path) -> None:
    """Put the smallest inputs that reach the most steps into the corpus."""
    signal.signal(signal.SIGPROF, _hang)
    coverage, path = Coverage(), work / f"a{suffix(format)}"
    found = []
    for each in sorted(work.glob("0*")):
        data = load(each)
        save(data, path)
        steps, _ = coverage.of(path, format, data)
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
