"""Inputs that tools/fuzz_readers.py found, each reaching other lines of a reader: they are read, or refused by name.

Each is read in two ways, which agree.
"""

import io
import runpy
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.helpers import ROOT

pytest.importorskip("pyarrow")
FUZZER = runpy.run_path(str(ROOT / "tools" / "fuzz_readers.py"))
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
