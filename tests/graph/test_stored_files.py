"""Files that earlier releases wrote are read, and files of later formats are refused by name.

tests/data has a folder per release. `python -m tests.graph.test_stored_files FOLDER` writes one with the files of this
release; run it once per release, and never again for a release that is out.
"""

import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import distributed, io
from tests.helpers import ROOT
from tests.helpers.programs import Hops

RELEASES = sorted(path for path in (ROOT / "tests" / "data").iterdir() if path.name[0].isdigit())


def plain() -> gasla.Graph:
    """A directed graph with a loop, a parallel edge and a vertex without edges."""
    return gasla.Graph.from_edges([0, 0, 1, 2, 2], [1, 1, 2, 0, 2], np.array([1, 2.5, -3, 0, 4]), n=4)


def with_attributes() -> gasla.Graph:
    times = np.array([3, 1, 4, 1, 5], np.int32)
    return plain().with_edge_attributes({"time": times}).with_vertex_attributes({"height": np.arange(4) / 2})


def named() -> gasla.Graph:
    """An undirected graph with names, of which every vertex has an edge: tables can store it."""
    table = {
        "from": ["Oslo", "Bergen", "Oslo", "Voss"],
        "to": ["Bergen", "Oslo", "Voss", "Oslo"],
        "km": [463, 463, 350, 350],
    }
    pa = pytest.importorskip("pyarrow")
    return gasla.Graph.from_table(pa.table(table), weight="km")


def long_path() -> gasla.Graph:
    return gasla.Graph.from_edges(np.arange(9), np.arange(1, 10), n=10)


MAKERS = {
    "plain.npz": plain, "attributes.npz": with_attributes, "named.npz": named, "named.parquet": named,
    "numbered.feather": plain, "named.gasla": named, "directed.gasla": with_attributes,
}  # fmt: skip


def checkpointed(folder: Path, steps: int, resume: bool) -> tuple[list[int], list[int]]:
    """The iterations of a run over two ranks that stops after so many, and the hops that it found."""
    seen: list[int] = []

    def look(result: Any) -> None:
        seen.append(result.iterations)

    with distributed.Cluster(threads=2), distributed.Checkpoint(folder, every=3, resume=resume):
        graph = distributed.Graph(long_path())
        options: dict[str, Any] = {"active": [0], "hops": {0: 0}, "max_iterations": steps}
        result = gasla.run(Hops, graph, callback=look, compile=False, **options)
        return seen, result.hops.compute().tolist()


def write(folder: Path) -> None:
    """Write all files of this release."""
    folder.mkdir(parents=True)
    for name, make in MAKERS.items():
        io.write(folder / name, make())
    checkpointed(folder / "checkpoint", 5, resume=False)


def parts(graph: gasla.Graph) -> dict[str, Any]:
    """All that a file may hold of a graph, with edges sorted by their ends."""
    src, dst = graph.edges()
    names = None if graph.names is None else graph.names.tolist()
    order = np.lexsort((dst, src))
    values = None if graph.values is None else graph.values[order].tolist()
    return {
        "n": graph.n, "edges": [src[order].tolist(), dst[order].tolist()], "values": values, "names": names,
        "edge": {name: column[order].tolist() for name, column in graph.edge_attributes.items()},
        "vertex": {name: column.tolist() for name, column in graph.vertex_attributes.items()},
    }  # fmt: skip


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
@pytest.mark.parametrize("name", MAKERS)
def test_a_file_of_an_earlier_release_is_read(release: Path, name: str) -> None:
    if name.endswith((".parquet", ".feather")):
        pytest.importorskip("pyarrow")
    found, expected = parts(gasla.as_graph(io.read(release / name))), parts(MAKERS[name]())
    if name.endswith(".feather"):  # tables hold no attributes of vertices
        expected["vertex"] = {}
    assert found == expected


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_checkpoint_of_an_earlier_release_is_resumed(release: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(release / "checkpoint", tmp_path / "checkpoint")
    seen, hops = checkpointed(folder, 100, resume=True)
    assert seen[0] == 3  # where the state was saved: earlier supersteps are not repeated
    assert hops == [*range(10)]


def test_this_release_has_files() -> None:
    """Or its first development version, until the release is out."""
    version = gasla.__version__.split(".")[:2]
    assert ".".join(version) in {path.name for path in RELEASES}
    assert sum(path.stat().st_size for release in RELEASES for path in release.rglob("*") if path.is_file()) < 60_000


LATER = "upgrade gasla"


def dated() -> gasla.Graph:
    return plain().with_edge_attributes(day=np.zeros(plain().m, "M8[D]"))


def test_a_later_npz_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gasla.graph.io.npz.VERSION", 4)
    io.write(tmp_path / "a.npz", dated())
    monkeypatch.undo()
    with pytest.raises(
        io.FormatError, match=f"has version 4 of the npz format, and this gasla reads version 3; {LATER}"
    ):
        io.read(tmp_path / "a.npz")


def test_an_npz_has_the_earliest_version_that_holds_it(tmp_path: Path) -> None:
    """So that earlier releases read files without names or dates, and refuse those that they would lose."""
    for name, graph, version in [("a.npz", with_attributes(), 1), ("b.npz", named(), 2), ("c.npz", dated(), 3)]:
        io.write(tmp_path / name, graph)
        with np.load(tmp_path / name) as arrays:
            assert arrays["gasla/version"] == version


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_a_later_table_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("gasla.graph.io.edge_tables.VERSION", 7)
    io.write(tmp_path / name, plain())
    monkeypatch.undo()
    with pytest.raises(io.FormatError, match=f"version 7 of the table format.*; {LATER}"):
        io.read(tmp_path / name)


@pytest.mark.parametrize(("version", "hint"), [(9, LATER), (0, "is the file damaged"), ("1", "is the file damaged")])
def test_a_later_folder_is_refused(version: Any, hint: str, tmp_path: Path) -> None:
    io.write(tmp_path / "a.gasla", plain())
    about = tmp_path / "a.gasla" / "graph.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": version}))
    with pytest.raises(io.FormatError, match=f"has version {version!r} of the folder format.*; {hint}"):
        io.open(tmp_path / "a.gasla")


def test_a_later_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpointed(tmp_path, 5, resume=False)
    current = tmp_path / "current.json"
    current.write_text(json.dumps(json.loads(current.read_text()) | {"version": 2}))
    with pytest.raises(Exception, match=r"current\.json has version 2 of checkpoints, and this gasla reads version 1"):
        checkpointed(tmp_path, 5, resume=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))


def test_damaged_attributes_of_an_npz_are_not_passed_over(tmp_path: Path) -> None:
    path, damaged = tmp_path / "a.npz", tmp_path / "b.npz"
    io.write(path, with_attributes())
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(damaged, "w") as archive:
        for name in whole.namelist():
            content = whole.read(name)
            archive.writestr(name, content[1:] if name.startswith("attributes/edge/") else content)
    with pytest.raises(io.FormatError, match=r"is damaged \(attributes/edge/\w+ is no array\)"):
        io.read(damaged)


def test_metadata_of_a_parquet_file_agree_with_themselves(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    io.write(path, gasla.Graph.from_edges([0], [1], n=7))
    before, after = (b"gasla.vertices\x18\x01" + digit for digit in (b"7", b"2"))
    assert path.read_bytes().count(before) == 1  # the other copy is encoded
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(io.FormatError, match=r"is damaged: b'gasla.vertices' is b'7' in one place and b'2' in another"):
        io.read(path)
    with pytest.raises(io.FormatError, match=r"is damaged: b'gasla.vertices'"):
        io.convert(path, tmp_path / "a.gasla")
