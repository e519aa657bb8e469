"""Compile the kernels of the library's own functions when a wheel is built, and store them in the wheel.

python -m gasla.shipping FOLDER [PROCESSOR]

The kernels are found by calling every function on small graphs of all sorts that the engine distinguishes, and by
running the examples in the docstrings. Each kernel is stored in the folder as `gasla.cache` stores it, and
`gasla.cache` looks for it there. For another PROCESSOR (aarch64), kernels are compiled twice: for this machine, which
calls them to find out which kernels are needed, and for the other processor.
"""

from __future__ import annotations

import doctest
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

SLOW = (
    "square", "closeness", "harmonic", "betweenness", "cliques", "similar", "project", "mxm", "flow", "cut", "matches",
    "fiedler", "spectral", "eccentricity", "complement", "line_graph",
)  # fmt: skip
"""Parts of the names of functions that take long on the largest graphs.

They are not called on these graphs, because the smaller network of flights already makes them compile all of their
code.
"""


def main() -> None:
    """Compile all kernels of the library into the folder that the command line names.

    If the folder has the kernels of the same source code for the same processor already, do nothing.
    """
    folder, processor = Path(sys.argv[1]).absolute(), (sys.argv[2:] or [platform.machine()])[0]
    is_here = processor == platform.machine()
    if sys.platform != "linux" or (is_here and not can_ship()):
        sys.exit("gasla: code is shipped for Linux on x86-64-v3 and armv8.2-a alone")
    stamp, text = folder / "made_of", f"{processor} {made_of()}"
    if stamp.is_file() and stamp.read_text() == text:
        print(f"gasla: the code that an earlier build has compiled into {folder} is used again")
        return
    import gasla
    from gasla.shipping import calls

    began = time.perf_counter()
    # If the folder has kernels of other source code, remove them.
    for name in ("kernels", "parts", "programs") if stamp.is_file() else ():
        shutil.rmtree(folder / name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"GASLA_QUIET": "1", "GASLA_NUM_THREADS": "2"}
    with tempfile.TemporaryDirectory() as elsewhere:
        os.environ["GASLA_CACHE_DIR"] = str(folder if is_here else elsewhere)
        with ProcessPoolExecutor(
            mp_context=get_context("spawn"), initializer=also_for, initargs=(processor, folder)
        ) as pool:
            tasks = [pool.submit(call, name) for name in calls.names()]
            tasks += [pool.submit(show, name) for name in gasla.__all__]
            for done in as_completed(tasks):
                done.result()
    (folder / "platforms").write_text("".join(f"{tag}\n" for tag in platforms(folder)))
    stamp.write_text(text)
    files = [path for path in folder.glob("*/*") if path.is_file()]
    size, seconds = sum(path.stat().st_size for path in files), time.perf_counter() - began
    print(f"gasla: {len(files)} files, {size / 1e6:.1f} MB, compiled in {seconds:.0f} s")


def also_for(processor: str, folder: Path) -> None:
    """Make this process compile every kernel that it needs a second time, for another processor.

    The code for the other processor is stored in `folder`, from which a wheel is made.
    """
    if processor == platform.machine():
        return
    from gasla import cache
    from gasla.compiler.function import Compiled, on_new_kernel
    from gasla.compiler.objects import target_of
    from gasla.cpu.runtime import vector_math

    target = target_of(processor)
    # Compiled code may call vector functions that this processor's C library has. The other processor lacks them, so
    # they are not used.
    vector_math.FORMS = ()

    def follow(function: Compiled, takes: tuple[Any, ...]) -> None:
        with cache.in_folder(folder):
            function.compile_for(takes, target)

    on_new_kernel.append(follow)


def platforms(folder: Path) -> list[str]:
    """Return the platform tags of a wheel that contains the compiled code in a folder.

    The code runs on the system that it was compiled on. It also runs on every Linux whose C library is recent enough,
    if that library has all functions that the code calls, by the table in `gasla.compiler.system`.
    """
    from gasla.cache import read
    from gasla.compiler.function import parts_of
    from gasla.compiler.objects import machine, undefined
    from gasla.compiler.system import FUNCTIONS, GLIBC

    kernels = [parts_of(read(folder, f"kernels/{path.name}"))[1] for path in folder.glob("kernels/*")]
    (processor,) = {machine(code) for codes in kernels for code in codes}
    needed = {name for codes in kernels for name in undefined(*codes)}
    portable = [f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{processor}"] if needed <= FUNCTIONS["linux"] else []
    return [f"linux_{processor}", *portable]


def can_ship() -> bool:
    """Return whether code that is compiled on this machine can be shipped in a wheel.

    It can if most machines with such a processor can run it.
    """
    from gasla.compiler.objects import common, host

    return sys.platform == "linux" and common() != host()


def made_of() -> str:
    """Return a hash of the source code of gasla and semirings. While it is the same, so is compiled code."""
    import hashlib

    package = Path(__file__).parents[1]
    files = sorted([*package.rglob("*.py"), *(package.parent / "semirings").rglob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def call(name: str) -> None:
    """Make the calls that belong to a name in `calls.names` on every graph, so that their code is compiled.

    Errors are ignored, as a function may refuse some graphs.
    """
    from gasla.cpu.runtime import threads
    from gasla.shipping import calls

    warnings.simplefilter("ignore")
    threads.compile_ahead()
    for kind in [*calls.small(), *calls.large(any(part in name for part in SLOW))]:
        for make in calls.calls(name, kind.graph(), kind.options):
            with suppress(ValueError, TypeError):
                make()


def show(name: str) -> None:
    """Run the examples in the docstring of a public name, so that the kernels which they use are compiled."""
    import gasla

    warnings.simplefilter("ignore")
    for test in doctest.DocTestFinder(recurse=False).find(getattr(gasla, name), name):
        doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
