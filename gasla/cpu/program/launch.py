"""A program's loop, launched: to its end in one call of Python, and again with what it was passed before.

To take twenty arguments apart costs 5 to 10 us, when a kernel has just used all caches, and so does a dozen lines of
Python. So what a loop was passed is kept on a page, and what is decided around it is compiled.
"""

# mypy: disable-error-code="no-untyped-def"
import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasla.cpu.runtime.blocks import entry_point
from gasla.cpu.runtime.intrinsics import launching, words_at
from gasla.cpu.runtime.threads import (
    CONTROL_SIZE,
    CROWD,
    NEXT_CREW,
    PASSED,
    TOGETHER,
    are_awake,
    run,
    time_apart,
    wanted_threads,
)
from gasla.cpu.runtime.workers import CROWD_SIZE, HIRED, helper

# Slots of a run's control array, beside those of threads.py: where a loop stopped, to go on from there.
ITERATION, LAST, ACTIVE, EDGE_SUM, REMAINING, FORM, WAY, DONE, TOTAL, PUT_OFF, WORK, ENOUGH, FILLED = range(40, 53)
SORTED, BACKWARD = 53, 54  # of a schedule
SOURCE = 55  # the vertex that is active first, or -1: then others have been listed
ENTRIES = 56  # edges of the graph
NUMBER = 57  # of threads wanted when the run was bound
ENDED = 58  # of a run in one call: whether it has come to its end, or -1 if another number of threads is wanted now
PAGE = 59  # where to keep what the loop is passed
WAITS = 60  # when one thread is to begin alone: where others are likely to get no core; and also where they sleep
FOR_CORES, IF_OTHERS_SLEEP = 1, 2
UNTIL = 61  # vertices and edges that one looks at alone, where there are many at once, before others are woken
MISSED = 62  # how many these are so far
THIN, LASTING = 63, 64  # vertices and edges of a thin iteration; so many in a row are one thread's
BEGAN = 65  # the iteration that the log begins with
assert BEGAN < CONTROL_SIZE

# A loop called so, in place of a thread's number: to go to its end, if it can be in one call, as `control` says; and to
# do nothing, but have what it was passed kept.
AGAIN, KEEP = -3, -4

# A page: the loop's part (see threads.py); how many words it was passed; how many of these are to be the data of arrays
# that are new in each call, and which; then the words.
PART, SIZE, FRESH, PLACES = range(4)
POINTER = 4  # an array's data, among its own words
HEAD = object.__basicsize__  # of a NumPy array in Python, whose data's address comes next


@helper
def _run_to_end(part: int, arguments: int, way: int, threads: int, control: np.ndarray) -> None:  # pragma: no cover
    """Have a loop run: begun alone where others sleep, if it may be.

    It has not ended where it is work for so long (`ENOUGH`) that Python should hear Ctrl-C meanwhile, nor where there
    are fewer workers than it takes. If another number of threads is wanted by now, nothing happens.
    """
    if way == KEEP:
        _keep(part, arguments, control[PAGE])
        return
    crowd = words_at(control[CROWD], CROWD_SIZE)
    if way == AGAIN:
        control[WAY] = control[FILLED] = control[ENDED] = control[NEXT_CREW] = control[BEGAN] = 0
        if wanted_threads(crowd) != control[NUMBER]:
            control[ENDED] = -1
            return
        if threads > 1 and crowd[HIRED] < threads:
            return
    if threads > 1 and control[NEXT_CREW] == 0 and control[WAITS] != 0:
        asleep = control[WAITS] == IF_OTHERS_SLEEP and not are_awake(crowd, threads)
        control[NEXT_CREW] = 1 if asleep or time_apart(control) > control[ENTRIES] else threads
    run(part, arguments, TOGETHER if way == AGAIN else way, threads, control)
    active = control[ACTIVE] + control[PUT_OFF]
    control[ENDED] = active == 0 or control[DONE] != 0 or control[ITERATION] >= control[LAST]


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
    _run_to_end(page[PART], words, way, threads, control)


Call = tuple[Callable[..., Any], Sequence[Any]]  # a loop, and what it is passed after the control array


class Page:
    """What a loop is passed, kept: `call` does the same as the call given. Some arrays may be new in each."""

    def __init__(self, call: Call, team: int, control: np.ndarray, fresh: Sequence[int] = ()) -> None:
        loop, arguments = call
        self._arguments, given = [*arguments], [control, *arguments]
        self._loop = loop  # whose code `go` calls by its address
        sizes = [POINTER + 1 + 2 * x.ndim if isinstance(x, np.ndarray) else 1 for x in given]
        starts = PASSED + 1 + np.cumsum([0, *sizes])  # of each among the words
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
