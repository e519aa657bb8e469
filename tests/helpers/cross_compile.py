"""Compiles kernels for another system, and prints what their objects call.

python -m tests.helpers.cross_compile PLATFORM TRIPLE CALL...   (PLATFORM as `sys.platform` names it)

Kernels are compiled as there: their modules are imported with that system's row of the table of functions. They are not
run: a call returns at once, and leaves its arrays as they are. The calls are of `gasla.shipping.calls`, or
`threads` for what all programs share. The last line is the number of kernels.
"""

import sys
from contextlib import suppress

import llvmlite.binding as llvm

from gasla.compiler import objects, system

CALLED: set[str] = set()


def main() -> None:
    """Compile, and print the functions, one in each line."""
    platform, triple, *names = sys.argv[1:]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = triple, "", objects.PORTABLE["x86_64"][1] if triple.startswith("x86_64") else ""
    system.CURRENT = platform
    objects.host = lambda: target  # type: ignore[assignment]
    objects.common = lambda: target  # type: ignore[assignment]
    objects.Loaded = NotLoaded  # type: ignore[assignment,misc]

    from gasla.cpu.runtime import vector_math

    vector_math._library = lambda: None  # which none but Linux has
    for name in names:
        compile_for(name)
    print(*sorted(CALLED), NotLoaded.number, sep="\n")


class NotLoaded:
    """In place of objects in memory: notes what they call."""

    number = 0

    def __init__(self, *codes: bytes) -> None:
        NotLoaded.number += 1
        CALLED.update(objects.undefined(*codes))

    def address(self, name: str) -> int:
        """No address."""
        return 0


def compile_for(name: str) -> None:
    """Compile the kernels of a call, on small graphs."""
    from gasla.compiler.function import Call
    from gasla.cpu.runtime import threads, workers
    from gasla.shipping import calls

    left = 0

    def do_nothing(_: Call) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("a caller waits until a kernel has done something")
        return 0

    Call.__call__ = do_nothing  # type: ignore[method-assign]
    if name == "threads":
        left = 100
        workers.Worker(0)
        threads._set_up_probe()
        return
    for kind in calls.small()[:4]:
        for make in calls.calls(name, kind.graph(), kind.options):
            left = 100
            with suppress(Exception):  # a kernel that does nothing gives a wrong answer, and some callers notice
                make()


if __name__ == "__main__":
    main()
