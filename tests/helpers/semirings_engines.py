"""Evaluate printed expressions over arrays, many at a time: as compiled Python, and as CUDA (compiled anywhere)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gasla.cpu.runtime import modules
from semirings import Expr, Symbol, TupleType, VectorType
from semirings.printers import cuda, python
from semirings.types import has_wide, parts_of

Columns = list[np.ndarray]


@dataclass(frozen=True)
class Program:
    """A function to print: its parameters and results."""

    parameters: Sequence[Symbol]
    results: tuple[Expr, ...]


def leaves(kind: Any) -> list[np.dtype]:
    """The scalar types a value of this type consists of: one array holds each."""
    if isinstance(kind, VectorType):
        return [kind.scalar] * kind.length
    if isinstance(kind, TupleType):
        return [leaf for item in kind.items for leaf in leaves(item)]
    return [kind]


def _load(kind: Any, names: list[str], style: Any) -> str:
    """A value of this type put together from its leaves, taken off `names`; a row of an array if it is wide."""
    if isinstance(kind, VectorType) and kind.is_wide and style is python:
        of_first = names[0]
        del names[: kind.length]
        return of_first
    if isinstance(kind, VectorType):
        parts = [names.pop(0) for _ in range(kind.length)]
        return f"({', '.join(parts)},)" if style is python else f"{style.ctype(kind)}{{{{{', '.join(parts)}}}}}"
    if isinstance(kind, TupleType):
        parts = [_load(item, names, style) for item in kind.items]
        return f"({', '.join(parts)},)" if style is python else f"{style.ctype(kind)}{{{', '.join(parts)}}}"
    return names.pop(0)


def _stores(kind: Any, value: str, style: Any) -> list[str]:
    """Each leaf of a value, as text."""
    if isinstance(kind, VectorType):
        return [f"{value}[{i}]" if style is python else f"{value}.item[{i}]" for i in range(kind.length)]
    if isinstance(kind, TupleType):
        parts = [f"{value}[{i}]" if style is python else f"{value}.item{i}" for i in range(len(kind.items))]
        return [leaf for item, part in zip(kind.items, parts, strict=True) for leaf in _stores(item, part, style)]
    return [value]


def _shape(program: Program) -> tuple[list[np.dtype], list[np.dtype]]:
    """The leaves of the parameters and of the results."""
    inputs = [leaf for parameter in program.parameters for leaf in leaves(parameter.type)]
    return inputs, [leaf for result in program.results for leaf in leaves(result.type)]


def _given(program: Program, columns: Columns) -> Columns:
    """The columns, but for a wide vector that of its first leaf has them all side by side."""
    given, at = [np.ascontiguousarray(column) for column in columns], 0
    for part in (part for parameter in program.parameters for part in parts_of(parameter.type)):
        count = len(leaves(part))
        if has_wide(part):
            given[at] = np.stack(columns[at : at + count], axis=1)
        at += count
    return given


def _outputs(program: Program, inputs: Columns) -> Columns:
    return [np.empty(len(inputs[0]), leaf) for leaf in _shape(program)[1]]


def python_source(programs: Sequence[Program]) -> str:
    """A module with a loop over arrays for each program: ``kernel0``, ``kernel1`` …."""
    parts = ["from gasla.compiler.function import compiled\n", python.PRELUDE]
    for number, program in enumerate(programs):
        inputs, outputs = _shape(program)
        names = [f"x{i}[n]" for i in range(len(inputs))]
        arguments = ", ".join(_load(parameter.type, names, python) for parameter in program.parameters)
        values = [
            store for i, result in enumerate(program.results) for store in _stores(result.type, f"result[{i}]", python)
        ]
        arrays = [f"x{i}" for i in range(len(inputs))] + [f"y{i}" for i in range(len(outputs))]
        room = [f"room{i}" for i in range(len(_room(program)))]
        arrays += room
        arguments = ", ".join([*filter(None, [arguments]), *room])
        parts += [
            "\n@compiled\n" + python.function(f"f{number}", program.parameters, program.results),
            f"\n@compiled\ndef kernel{number}({', '.join(arrays)}):",
            "    for n in range(len(y0)):",
            f"        result = f{number}({arguments})",
            *(f"        y{i}[n] = {value}" for i, value in enumerate(values)),
        ]
    return "\n".join(parts) + "\n"


def _room(program: Program) -> Columns:
    """Where the function puts the wide vectors of its results."""
    parts = [part for result in program.results for part in parts_of(result.type)]
    return [np.empty(part.length, part.scalar) for part in parts if has_wide(part)]


def run_cpu(programs: Sequence[Program], inputs: Sequence[Columns]) -> list[Columns]:
    """The results of each program on its inputs."""
    module = modules.load(python_source(programs), "printed")
    answers = []
    for number, (program, columns) in enumerate(zip(programs, inputs, strict=True)):
        outputs = _outputs(program, columns)
        given = _given(program, columns)
        getattr(module, f"kernel{number}")(*given, *outputs, *_room(program))
        answers.append(outputs)
    return answers


def cuda_source(programs: Sequence[Program]) -> str:
    """The same as CUDA kernels, a thread an element."""
    parts = [cuda.PRELUDE]
    for number, program in enumerate(programs):
        inputs, outputs = _shape(program)
        names = [f"x{i}[n]" for i in range(len(inputs))]
        arguments = ", ".join(_load(parameter.type, names, cuda) for parameter in program.parameters)
        arrays = [f"const {cuda.ctype(leaf)}* x{i}" for i, leaf in enumerate(inputs)]
        arrays += [f"{cuda.ctype(leaf)}* y{i}" for i, leaf in enumerate(outputs)]
        # One function a result: a struct holds at most MAX_TUPLE items, and vectors and tuples are returned too.
        stores, position = [], 0
        for i, result in enumerate(program.results):
            parts.append(cuda.function(f"f{number}_{i}", program.parameters, result))
            stores.append(f"    const {cuda.ctype(result.type)} r{i} = f{number}_{i}({arguments});")
            for store in _stores(result.type, f"r{i}", cuda):
                stores.append(f"    y{position}[n] = {store};")
                position += 1
        parts += [
            f'extern "C" __global__ void kernel{number}(long long size, {", ".join(arrays)}) {{',
            "    const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;",
            "    if (n >= size) return;",
            *stores,
            "}\n",
        ]
    return "\n".join(parts)


def compile_cuda(source: str, architecture: str) -> bytes:
    """Machine code for an architecture such as sm_90, or PTX for compute_90, by NVRTC: needs no GPU."""
    nvrtc = pytest.importorskip("cupy", reason="NVRTC comes with CuPy").cuda.nvrtc
    program = nvrtc.createProgram(source, "printed.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"-arch={architecture}", "-std=c++17", "--fmad=false"])
    except nvrtc.NVRTCError:
        raise AssertionError(nvrtc.getProgramLog(program) + source) from None
    code = (nvrtc.getPTX if architecture.startswith("compute") else nvrtc.getCUBIN)(program)
    nvrtc.destroyProgram(program)
    return code


def run_cuda(programs: Sequence[Program], inputs: Sequence[Columns]) -> list[Columns]:
    """The results of each program on its inputs, computed on the GPU."""
    import cupy

    # CuPy's RawModule would flush subnormal numbers to zero: it always adds -ftz=true.
    module = cupy.cuda.function.Module()
    module.load(compile_cuda(cuda_source(programs), f"sm_{cupy.cuda.Device().compute_capability}"))
    answers = []
    for number, (program, columns) in enumerate(zip(programs, inputs, strict=True)):
        outputs = [cupy.asarray(output) for output in _outputs(program, columns)]
        size = len(columns[0])
        arrays = (np.int64(size), *map(cupy.asarray, columns), *outputs)
        module.get_function(f"kernel{number}")(((size + 127) // 128,), (128,), arrays)
        answers.append([output.get() for output in outputs])
    return answers


def awkward(dtype: np.dtype) -> np.ndarray:
    """Values of a type that tend to break arithmetic, with some ordinary ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        ends = [limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, np.inf, -np.inf, np.nan]
        edges = [127.5, 128.0, -128.5, -129.0, 255.9, 256.0, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64]
        plain = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.5, 3.0, -7.0, 0.1, 1e-5, 1e5]
        return np.array([*plain, *edges, *ends], dtype)
    ends = np.iinfo(dtype)
    bits = dtype.itemsize * 8
    values = [0, 1, 2, 3, 5, 7, bits - 1, bits, bits + 1, 100, ends.max, ends.max - 1, ends.max // 2]
    values += [ends.max // 2 + 1] if dtype.kind == "u" else [-1, -2, -3, -7, -bits, ends.min, ends.min + 1]
    return np.array(values, dtype)


def assert_same(actual: np.ndarray, expected: np.ndarray, what: str, rounding: int = 0) -> None:
    """Equal types and values, NaN equal to NaN; floats may differ by `rounding` units in the last place."""
    assert actual.dtype == expected.dtype, f"{what}: type {actual.dtype}, expected {expected.dtype}"
    wrong = actual != expected
    if actual.dtype.kind == "f":
        wrong &= ~(np.isnan(actual) & np.isnan(expected))
        if rounding:
            limits = np.finfo(actual.dtype)  # the largest float and infinity are one rounding apart
            near, right = (np.clip(value, -limits.max, limits.max) for value in (actual, expected))
            with np.errstate(over="ignore"):
                error = np.abs(near - right) / np.spacing(np.maximum(np.abs(right), limits.tiny))
            wrong &= ~(error <= rounding)
    assert not wrong.any(), (
        f"{what}: {actual[wrong][:5]} where {expected[wrong][:5]} is right, at {np.flatnonzero(wrong)[:5]}"
    )
