"""The reduction over rows of the GPU, run on the CPU: a warp of 32 threads, compiled with checks of every access."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAGS = ("-std=c++20", "-g", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize(
    ("body", "offset", "value"),
    [(0, "int", "long long"), (1, "long long", "int"), (2, "int", "unsigned char")],
    ids=["sum", "ordered", "early exit"],
)
def test_rows_on_an_emulated_warp(body: int, offset: str, value: str, tmp_path: Path) -> None:
    program = tmp_path / "rows"
    includes = [f"-I{HERE.parent / 'gasla' / 'gpu' / 'kernels'}", f"-I{HERE / 'emulation'}"]
    defines = [f"-DBODY={body}", f"-DOFFSET={offset}", f"-DVALUE={value}"]
    source = str(HERE / "emulation" / "rows.cpp")
    subprocess.run(["g++", *FLAGS, *includes, *defines, source, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
