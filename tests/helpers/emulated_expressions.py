"""Printed CUDA on the CPU: expressions over arrays, compiled by g++, which ends the process at undefined behavior."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.helpers import ROOT
from tests.helpers.semirings_engines import Columns, Program, _outputs, cuda_source

HEADER = ROOT / "tests" / "helpers" / "emulation" / "expressions.hpp"
# Division of floats by zero is defined in CUDA.
FLAGS = ("-std=c++17", "-w", "-O0", "-shared", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off")
CHECKS = ("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize=float-divide-by-zero", "-fno-sanitize-recover=all")


def run_emulated(programs: Sequence[Program], inputs: Sequence[Columns]) -> list[Columns]:
    """The results of each program on its inputs."""
    loops = "".join(
        f"""
extern "C" void run{number}(long long size, void** at) {{
    for (long long n = 0; n < size; ++n) {{
        blockIdx.x = n;
        kernel{number}(size, {_arguments(number, program)});
    }}
}}"""
        for number, program in enumerate(programs)
    )
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "expressions.cpp", Path(folder) / "expressions.so"
        source.write_text(f'#include "{HEADER}"\n{cuda_source(programs)}{loops}\n')
        subprocess.run(["g++", *FLAGS, *CHECKS, str(source), "-o", str(built)], check=True)
        library = ctypes.CDLL(str(built))
        answers = []
        for number, (program, columns) in enumerate(zip(programs, inputs, strict=True)):
            outputs = _outputs(program, columns)
            arrays = [*map(np.ascontiguousarray, columns), *outputs]
            places = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
            getattr(library, f"run{number}")(ctypes.c_longlong(len(columns[0])), places)
            answers.append(outputs)
    return answers


def _arguments(number: int, program: Program) -> str:
    """The arrays of a kernel, of the types that it takes."""
    count = len(program.parameters) + len(program.results)
    return ", ".join(f"Pointer{{at[{k}]}}" for k in range(count))
