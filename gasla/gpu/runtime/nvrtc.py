"""Compiles CUDA source to machine code or PTX by NVRTC, in any thread. No GPU is needed."""

import functools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gasla.log import LOG

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


def compile_text(
    source: str, architecture: str, options: tuple[str, ...], headers: Mapping[str, str], name: str
) -> bytes:
    """Compile a CUDA source with the given options and headers. Return the machine code, or PTX.

    Raises
    ------
    RuntimeError
        With NVRTC's messages, if the source is wrong.
    """
    from cupy.cuda import nvrtc

    header_texts, header_names = ([text.encode() for text in each] for each in (headers.values(), headers))
    program, start_time = nvrtc.createProgram(source, name, header_texts, header_names), time.perf_counter()
    try:
        nvrtc.compileProgram(program, [f"-arch={architecture}", *options])
        LOG.debug("compiled %s for %s in %.3f s", name, architecture, time.perf_counter() - start_time)
        return bytes((nvrtc.getPTX if architecture.startswith("compute") else nvrtc.getCUBIN)(program))
    except nvrtc.NVRTCError:
        raise RuntimeError(f"NVRTC can't compile {name}:\n{nvrtc.getProgramLog(program)}") from None
    finally:
        nvrtc.destroyProgram(program)


@functools.cache
def threads() -> "ThreadPoolExecutor":
    """Return the pool of threads that compile CUDA sources. NVRTC can compile several sources at the same time."""
    from concurrent.futures import ThreadPoolExecutor  # imported here, because the import takes 10 ms

    return ThreadPoolExecutor(thread_name_prefix="gasla compiles")


def in_thread(function: Callable[..., bytes], *arguments: Any) -> "Future[bytes] | None":
    """Call a function that compiles a CUDA source in a background thread, with the given arguments.

    Return the function's future result, or None if no thread can be started: Python starts no threads once the main
    thread has ended, although other threads may still run.
    """
    try:
        return threads().submit(function, *arguments)
    except RuntimeError:
        return None
