"""A program's loop, launched: to its end in one call of Python, and again with what it was passed before.

To take twenty arguments apart costs 5 to 10 us, when a kernel has just used all caches, and so does a dozen lines of
Python. So what a loop was passed is kept on a page, and what is decided around it is compiled.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.cpu.atomics import load, words_at
from gasla.cpu.blocks import entry_point
from gasla.cpu.threads import (
    CONTROL_SIZE,
    CROWD,
    HIRED,
    STOP,
    TOGETHER,
    are_awake,
    helper,
    launching,
    run,
    wanted_threads,
)

# Slots of a run's control array, beside those of threads.py: where a loop stopped, to go on from there.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
SORTED, BACKWARD = 53, 54  # of a schedule
SOURCE = 55  # the vertex that is active first, or -1: then others have been listed
ENTRIES = 56  # edges of the graph
NUMBER, UNTIL = 57, 58  # of threads wanted when the run was bound; edges to look at before others are woken, or -1
ENDED = 59  # of a run in one call: whether it has come to its end, or -1 if another number of threads is wanted now
PAGE = 60  # where to keep what the loop is passed
assert PAGE < CONTROL_SIZE

# A loop called so, in place of a thread's number: to go to its end, if it can be in one call, as `control` says; and to
# do nothing, but have what it was passed kept.
AGAIN, KEEP = -3, -4

# A page: the loop's part (see threads.py); how many words it was passed; how many of these are to be the data of arrays
# that are new in each call, and which; then the words.
PART, SIZE, FRESH, PLACES = range(4)
THREADS = 2  # the number of threads, among the words
POINTER = 4  # an array's data, among its own words
HEAD = object.__basicsize__  # of a NumPy array in Python, whose data's address comes next


@helper
def _run_to_end(part: int, arguments: int, way: int, threads: int, control: np.ndarray) -> None:  # pragma: no cover
    """Have a loop run: alone as long as it is not worth waking others, then on all threads.

    It has not ended where it is work for so long (`ENOUGH`) that Python should hear Ctrl-C meanwhile, nor where there
    are fewer workers than it takes. If another number of threads is wanted by now, nothing happens.
    """
    if way == KEEP:
        _keep(part, arguments, control[PAGE])
        return
    if way != AGAIN:
        run(part, arguments, way, threads, control)
        return
    given, enough = words_at(arguments, THREADS + 1), control[ENOUGH]
    control[WAY] = control[FILLED] = control[ENDED] = 0
    if wanted_threads() != control[NUMBER]:
        control[ENDED] = -1
        return
    crowd = words_at(control[CROWD], 2)
    if threads > 1 and crowd[HIRED] < threads:
        return
    alone = control[UNTIL] >= 0 and not are_awake(crowd, threads)
    while True:
        control[ENOUGH] = control[UNTIL] if alone else enough
        given[THREADS] = crew = 1 if alone else threads
        run(part, arguments, TOGETHER, crew, control)
        active = control[ACTIVE] + control[PUT_OFF]
        control[ENDED] = active == 0 or control[DONE] != 0 or control[ITERATION] >= control[LAST]
        if control[ENDED] != 0 or not alone or load(control, STOP) != 0:
            return
        alone = False


@helper
def _keep(part: int, arguments: int, address: int) -> None:  # pragma: no cover - compiled
    """Copy what a loop was passed to a page, if it is as much as was expected."""
    page, size = words_at(address, PLACES), words_at(arguments, 1)[0]
    if page[SIZE] == size:
        given, kept = words_at(arguments, size), words_at(address + 8 * (PLACES + page[FRESH]), size)
        for i in range(size):
            kept[i] = given[i]
        page[PART] = part


launched = launching(_run_to_end)


@entry_point
def go(way, threads, control, address):
    """Call a loop with what a page keeps. Of new arrays it has the addresses in Python, when this is called AGAIN."""
    page = words_at(address, PLACES)
    places, words = address + 8 * PLACES, address + 8 * (PLACES + page[FRESH])
    given = words_at(words, page[SIZE])
    if way == AGAIN:
        for place in words_at(places, page[FRESH]):
            given[place] = words_at(given[place] + HEAD, 1)[0]
    given[THREADS] = threads
    _run_to_end(page[PART], words, way, threads, control)


Call = tuple[Callable[..., Any], Sequence[Any]]  # a loop, and what it is passed after the control array


class Page:
    """What a loop is passed, kept: `call` does the same as the call given. Some arrays may be new in each."""

    def __init__(self, call: Call, team: int, control: np.ndarray, fresh: Sequence[int] = ()) -> None:
        loop, arguments = call
        self._arguments, given = [*arguments], [control, *arguments]
        self._loop = loop  # whose code `go` calls by its address
        sizes = [POINTER + 1 + 2 * x.ndim if isinstance(x, np.ndarray) else 1 for x in given]
        starts = THREADS + 1 + np.cumsum([0, *sizes])  # of each among the words
        first = PLACES + len(fresh)
        self._page = page = np.zeros(first + starts[-1], np.int64)
        page[SIZE], page[FRESH] = starts[-1], len(fresh)
        page[PLACES:first] = starts[1:][[*fresh]] + POINTER
        control[PAGE] = page.ctypes.data
        loop(KEEP, team, control, *arguments)
        self._starts = first + starts[1:]
        self._words = page.data  # of which Python soon writes one
        self._fresh, self._places = fresh, [int(self._starts[k]) + POINTER for k in fresh]  # where their data are
        is_copied = page[PART] != 0 and page[first + starts[0] + POINTER] == control.ctypes.data
        self.is_kept = is_copied and ctypes.c_void_p.from_address(id(page) + HEAD).value == page.ctypes.data
        self.call: Call = (go, (page.ctypes.data,)) if self.is_kept else (loop, self._arguments)
        for k in fresh if self.is_kept else ():
            self._arguments[k] = None  # theirs whose they are

    def renew(self, number: int, array: np.ndarray) -> None:
        """Pass an array in place of a fresh one, of its shape; the page does not keep it."""
        if self.is_kept:
            self._words[self._places[number]] = id(array)
        else:
            self._arguments[self._fresh[number]] = array

    def put(self, k: int, array: np.ndarray) -> None:
        """Pass another array of the same kind."""
        self._arguments[k] = array
        words = array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides
        end = self._starts[k] + POINTER + 1 + 2 * array.ndim
        self._page[end - len(words) : end] = words
