"""Save the answers of all functions that take a graph, or compare those of two machines.

python tools/answers.py FILE.npz [--no-compiler] [--only=bfs,sssp]
python tools/answers.py FILE.npz OTHER.npz   list the answers that differ, and by how much

Each function is called with its defaults on two graphs, some on a third. `--only` names functions, separated by commas.
With `--no-compiler`, a call that compiles a kernel fails: all code must have been shipped.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import gasla
from gasla.compiler.function import Compiled
from gasla.shipping import calls

MOST = 1_000_000  # entries of an array that are kept: a complement has sixty times as many


def main() -> None:
    """Do what the arguments say."""
    files, options = ([a for a in sys.argv[1:] if a.startswith("--") == is_option] for is_option in (False, True))
    if len(files) == 2:
        sys.exit(compare(*files))
    if "--no-compiler" in options:
        Compiled._compile = refuse  # type: ignore[assignment, method-assign]
    warnings.simplefilter("ignore")
    flights = calls.large()[1].matrix.copy()
    flights.data = np.round(flights.data, 3)  # distances, of which NumPy's sines may differ in the last bits
    kinds = {"small": calls.small()[0], "flights": calls.Kind(flights, "f8", False), "random": calls.large()[3]}
    only = {name for option in options if option.startswith("--only=") for name in option[7:].split(",")}
    np.savez_compressed(files[0], **dict[str, Any](answers(kinds, only or {*calls.names()})))


def refuse(function: Compiled, *_: Any) -> bytes:
    """Raise: in place of the compiler."""
    raise RuntimeError(f"{function.__name__} is not shipped")


def answers(kinds: dict[str, calls.Kind], names: set[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The numbers of each answer, or the error, by the name of the call."""
    for title, kind in kinds.items():
        for name in filter(names.__contains__, calls.names() if title != "random" else calls.FIRST):
            if title == "flights" and name.startswith("spectral"):
                continue  # of 4,491 components, so that any basis of as many vectors is right
            for number, call in enumerate(calls.calls(name, kind.graph(), options=False)):
                key = f"{name} of {title} ({number})".replace("/", " over ")
                try:
                    parts = [part[:MOST] if part.ndim else part for part in numbers_of(call())]
                except (ValueError, TypeError, RuntimeError) as error:
                    parts = [np.array(f"{type(error).__name__}: {error}")]
                for k, part in enumerate(parts):
                    yield f"{key} {k}", part
                print(key, *(part for part in parts if part.dtype.kind == "U"), flush=True)


def numbers_of(found: Any) -> Iterator[np.ndarray]:
    """The arrays and numbers that an answer consists of."""
    if isinstance(found, gasla.Graph):
        found = found.to_scipy()
    if sp.issparse(found):
        rows: Any = found
        rows = rows.tocsr()
        yield from (rows.indptr, rows.indices, rows.data)
    elif isinstance(found, np.ndarray | np.generic | int | float):
        yield np.asarray(found)
    elif isinstance(found, tuple | list):
        for item in found:
            yield from numbers_of(item)
    elif isinstance(found, dict):
        yield from numbers_of([*found.values()])
    elif dataclasses.is_dataclass(found):
        yield from numbers_of([getattr(found, field.name) for field in dataclasses.fields(found)])
    elif hasattr(found, "__dict__"):
        yield from numbers_of([value for name, value in vars(found).items() if not name.startswith("_")])


def compare(first: str, second: str) -> str | None:
    """Print the answers that differ; an error message if any but the last bits of floats do."""
    here, there = np.load(first), np.load(second)
    wrong = [f"{name} is in one file only" for name in {*here} ^ {*there}]
    for name in sorted({*here} & {*there}):
        a, b = here[name], there[name]
        if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
            continue
        if a.dtype.kind == "f" and a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True):
            differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
            error = np.max(np.abs(a[differs] - b[differs]) / np.abs(a[differs]), initial=0)
            print(f"{name}: {np.count_nonzero(differs)} of {a.size} floats differ, by at most {error:.1e}")
        else:
            wrong.append(f"{name}: {a.ravel()[:4]} … and {b.ravel()[:4]} …")
    print(f"{len(here.files)} arrays, {len(wrong)} of which differ by more than the last bits of floats")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    main()
