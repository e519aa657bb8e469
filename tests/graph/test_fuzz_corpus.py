"""Inputs that tools/fuzz_readers.py found, each reaching other lines of a reader: they are read, or refused by name.

Each is read in two ways, which agree, and by another reader, which finds the same.
"""

import io
import random
import runpy
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gasla import Graph
from tests.helpers import ROOT
from tests.oracles.file_contents import difference, file_contents

pytest.importorskip("pyarrow")
FUZZER = runpy.run_path(str(ROOT / "tools" / "fuzz_readers.py"))
REFUSED = {"edges": 2, "csv": 4, "parquet": 2, "feather": 2}  # of the fuzzer's first inputs: ambiguous, or with nulls
INPUTS = sorted((ROOT / "tests" / "data" / "fuzz").glob("*/*"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_input_is_read_or_refused(path: Path, tmp_path: Path) -> None:
    format = path.parent.name
    if path.suffix == ".zip":  # a folder
        path, archive = tmp_path / path.stem, path
        path.mkdir()
        zipfile.ZipFile(io.BytesIO(archive.read_bytes())).extractall(path)
    else:
        path, kept = tmp_path / path.name, path
        shutil.copyfile(kept, path)
    FUZZER["read"](path, format, FUZZER["contents"](FUZZER["load"](path)))


def test_the_corpus_is_small_and_of_formats_that_are_read() -> None:
    assert INPUTS
    assert {path.parent.name for path in INPUTS} <= {*FUZZER["formats"]()}
    assert sum(path.stat().st_size for path in INPUTS) < 120_000


@pytest.mark.parametrize("format", FUZZER["formats"]())
def test_another_reader_finds_the_same_and_nothing_else(format: str, tmp_path: Path) -> None:
    """In all that the fuzzer starts from: a lost edge, another weight and another attribute differ."""
    path, compared = tmp_path / f"a{FUZZER['suffix'](format)}", 0
    refused = 0
    for data in FUZZER["seeds"](format):
        FUZZER["save"](data, path)
        found = FUZZER["outcome"](path)
        if isinstance(found, Exception):
            refused += 1
            continue
        graph, possible = found[-1], file_contents(path, format)
        compared += 1
        assert difference(graph, possible) == ""
        for wrong in altered(graph):
            assert difference(wrong, possible) != "", wrong
    assert compared >= 5 and refused == REFUSED.get(format, 0)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("gml", "graph [ directed 1 node [ id 1 ] node [ id 2 ] edge [ source 1 target 02.0 ] ]"),  # 2.0 is node 2
        ("mtx", "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 18446 %%MatrixMarket"),
    ],
)
def test_another_reader_finds_the_same_in_rare_forms(format: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{FUZZER['suffix'](format)}"
    path.write_text(text)
    graph = FUZZER["outcome"](path)[-1]
    assert graph.m == 1
    assert difference(graph, file_contents(path, format)) == ""


def test_the_fuzzer_changes_any_array() -> None:
    """Texts of negative numbers have no unsigned type, and an array without entries has no last one."""
    for array in (np.array(["-1"]), np.zeros(0)):
        for seed in range(100):
            changed = FUZZER["changed_array"](FUZZER["npy"](array), random.Random(seed))
            assert np.load(io.BytesIO(changed)).ndim in (1, 2)


def altered(graph: Graph) -> list[Graph]:
    """Graphs that differ from one."""
    made = [graph.with_values(np.full(graph.m, 77))] if graph.m else []
    made += [graph.select(np.arange(graph.m) != graph.m // 2)] if graph.m else []
    made += [graph.with_edge_attributes({name: np.full(graph.m, 99)}) for name in graph.edge_attributes]
    return made
