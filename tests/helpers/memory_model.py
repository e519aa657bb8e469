"""All executions of a few threads that C's memory model allows, for programs of a few accesses.

The model is RC11 without sequential consistency, whose axioms are written here as in the paper, with the release
sequences of C++20. An execution says from which write each read takes its value (rf) and in which order the writes of a
location come (mo). It is allowed if no read contradicts what happens before it, and changes are atomic.

O. Lahav, V. Vafeiadis, J. Kang, C.-K. Hur, D. Dreyer: Repairing sequential consistency in C/C++11. PLDI 2017.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

ACQUIRES, RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")


class Event(NamedTuple):
    """An access. A change of a word (`fetch_add`) reads and writes."""

    thread: int  # -1: the initial value
    place: str
    read: int | None
    written: int | None
    order: str  # "plain" if it is no atomic


class Registers(dict[str, int]):
    """A thread's variables as attributes; None if one is not set."""

    def __getattr__(self, name: str) -> int | None:
        return self.get(name)


class Trace(NamedTuple):
    """What a thread does if its reads have certain values."""

    events: list[Event]
    registers: Registers


def is_possible(
    initial: Mapping[str, int], threads: Sequence[str], outcome: Callable[..., bool | None], races: bool = True
) -> bool:
    """Whether an allowed execution has the outcome, a function of the threads' registers; with `races`, or a race.

    A thread's text calls ``load_acquire("x")``, ``store_release("x", 1)``, ``fetch_add_relaxed("x", 1)`` and so on, and
    `read("x")` and `write("x", 1)` for plain accesses.
    """
    domains = {place: {value} for place, value in initial.items()}
    for _ in range(len(threads) + 1):  # each round, values that follow from those of the last
        traces = [[*_traces(number, text, domains)] for number, text in enumerate(threads)]
        for trace in itertools.chain(*traces):
            for event in trace.events:
                if event.written is not None:
                    domains[event.place].add(event.written)
    first = [Event(-1, place, None, value, "relaxed") for place, value in initial.items()]
    for chosen in itertools.product(*traces):
        events = first + [event for trace in chosen for event in trace.events]
        wanted = bool(outcome(*(trace.registers for trace in chosen)))
        if (wanted or races) and any(wanted or has_race for has_race in _executions(events)):
            return True
    return False


def _traces(number: int, text: str, domains: Mapping[str, set[int]]) -> Iterator[Trace]:
    """What a thread may do: one trace for each choice of the values that it reads."""
    choices: list[int] = []
    while True:
        trace, sizes = _run(number, text, domains, choices)
        yield trace
        while choices and choices[-1] + 1 == sizes[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


def _run(number: int, text: str, domains: Mapping[str, set[int]], choices: list[int]) -> tuple[Trace, list[int]]:
    """A thread's trace if its reads take the chosen values, and how many values each could have taken.

    Choices that are not made yet are appended: the first value of each.
    """
    events: list[Event] = []
    sizes: list[int] = []

    def access(place: str, change: Any, write: int | None, order: Any) -> int | None:
        if change is None:
            events.append(Event(number, place, None, write, order))
            return None
        if len(sizes) == len(choices):
            choices.append(0)
        found = sorted(domains[place])[choices[len(sizes)]]
        sizes.append(len(domains[place]))
        events.append(Event(number, place, found, change(found), order(found) if callable(order) else order))
        return found

    registers = Registers()
    exec(text, _names(access), registers)
    return Trace(events, registers), sizes


def _names(access: Callable[..., int | None]) -> dict[str, Any]:
    """The functions that a thread's text calls."""
    names: dict[str, Any] = {
        "read": lambda place: access(place, lambda _: None, None, "plain"),
        "write": lambda place, value: access(place, None, value, "plain"),
    }

    def swap(order: str) -> Callable[[str, int, int], bool]:
        weaker = {"acq_rel": "acquire", "release": "relaxed"}.get(order, order)  # if it changes nothing

        def of(place: str, old: int, new: int) -> bool:
            return old == access(
                place, lambda x: new if x == old else None, None, lambda x: order if x == old else weaker
            )

        return of

    for order in ("relaxed", "acquire", "release", "acq_rel"):
        names[f"load_{order}"] = lambda place, order=order: access(place, lambda _: None, None, order)
        names[f"store_{order}"] = lambda place, value, order=order: access(place, None, value, order)
        names[f"fetch_add_{order}"] = lambda place, by, order=order: access(place, lambda x: x + by, None, order)
        names[f"fetch_or_{order}"] = lambda place, bits, order=order: access(place, lambda x: x | bits, None, order)
        names[f"fetch_and_{order}"] = lambda place, bits, order=order: access(place, lambda x: x & bits, None, order)
        names[f"compare_and_swap_{order}"] = swap(order)
    return names


def _executions(events: list[Event]) -> Iterator[bool]:
    """The executions of these events that the model allows; each as whether it has a data race."""
    numbers = range(len(events))
    writes: dict[str, list[int]] = {}
    for i in numbers:
        if events[i].written is not None:
            writes.setdefault(events[i].place, []).append(i)
    readers = [i for i in numbers if events[i].read is not None]
    sources = [[j for j in writes[events[i].place] if j != i and events[j].written == events[i].read] for i in readers]
    orders = [[(of[0], *rest) for rest in itertools.permutations(of[1:])] for of in writes.values()]
    before = {(i, j) for i in numbers for j in numbers if i < j and events[i].thread in (-1, events[j].thread)}
    before -= {(i, j) for i, j in before if events[j].thread == -1}
    for chosen in itertools.product(*sources):
        came_from = dict(zip(readers, chosen))
        for order in itertools.product(*orders):
            if (race := _check(events, before, came_from, order)) is not None:
                yield race


def _check(
    events: list[Event], before: set[tuple[int, int]], source: dict[int, int], order: Sequence[tuple[int, ...]]
) -> bool | None:
    """Whether an execution has a data race; None if the model does not allow it."""
    rank = {i: k for of in order for k, i in enumerate(of)}
    rf = {(j, i) for i, j in source.items()}
    mo = {(i, j) for of in order for i, j in itertools.combinations(of, 2)}
    rb = {(i, k) for i, j in source.items() for of in order if j in of for k in of[of.index(j) + 1 :] if k != i}
    if any(events[i].written is not None and rank[i] != rank[j] + 1 for i, j in source.items()):
        return None  # atomicity
    if _has_cycle(before | rf):
        return None  # out of thin air
    synchronized = set()
    for i, j in source.items():
        if events[i].order in ACQUIRES:
            while True:
                if events[j].order in RELEASES:
                    synchronized.add((j, i))
                if j not in source or events[j].written is None:
                    break
                j = source[j]  # a change continues the release sequence of the write that it reads
    happens = _closure(before | synchronized)
    seen = _closure(rf | mo | rb)
    if any(i == j or (j, i) in seen for i, j in happens):
        return None  # coherence
    return any(
        events[i].place == events[j].place
        and events[i].thread != events[j].thread
        and "plain" in (events[i].order, events[j].order)
        and (events[i].written is not None or events[j].written is not None)
        and not {(i, j), (j, i)} & happens
        for i, j in itertools.combinations(range(len(events)), 2)
    )


def _closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The transitive closure."""
    found = set(pairs)
    while True:
        more = {(i, k) for i, j in found for j2, k in found if j == j2} - found
        if not more:
            return found
        found |= more


def _has_cycle(pairs: set[tuple[int, int]]) -> bool:
    return any(i == j for i, j in _closure(pairs))
