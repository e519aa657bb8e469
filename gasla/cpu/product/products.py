"""A product over a semiring: chooses its kernel for the types at hand, loads it, and runs it on all threads.

Threads take the rows in turn, some thousand entries' worth at once. A row is reduced by one thread, in an order that
its length and place decide, so the answer is the same bits for any number of threads. Offsets and indices are checked
as they are read, which costs less than a pass of its own: a matrix can be handed over again and again without being
validated each time.
"""

import dataclasses
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from gasla.cpu.product import images, lanes, rows
from gasla.cpu.runtime import modules, threads
from gasla.cpu.runtime.blocks import threads_for
from gasla.names import title
from gasla.operations.multiply import Image, Lists, Terms
from semirings import Expr, Symbol
from semirings.expr import in_order, rebuilt

GRAIN = 4096  # entries that a thread takes at once
OFTEN = 8  # entries a row from which a pass over x beforehand pays


def ready(lists: Lists, terms: Terms, masked: bool) -> Callable[[Any, Any, bool, tuple[Any, ...]], bool]:
    """What computes a product of a matrix, see `gasla.operations.multiply.Ready`."""
    directly = Direct(lists, terms, masked).multiply
    if terms.image and (taken := images.taken(terms.image, lists, title(terms.name))):
        return ByImage(lists, terms.image, taken, masked, directly).multiply
    return directly


class Direct:
    """A product of a matrix, its kernel and what that is passed."""

    def __init__(self, lists: Lists, terms: Terms, masked: bool) -> None:
        rows, stored, values = len(lists.indptr) - 1, len(lists.indices), lists.values
        self.asks_truth = stored > OFTEN * rows and asks_truth(terms)
        if self.asks_truth:
            terms = with_truth(terms)
        self.terms, self.height = terms, lanes.height(terms, stored > lanes.LONG * rows)
        self.kernel = module(terms, masked, self.height).multiply
        self.passes_x, self.share = terms.reads("x"), Share(rows, stored, lanes.GRAIN if self.height else GRAIN)
        self.width = lists.width
        self.arrays: tuple[Any, ...] = (lists.indptr, lists.indices)
        if terms.reads("value"):
            self.arrays += (values,)

    def multiply(self, x: Any, mask: Any, complement: bool, outs: tuple[Any, ...]) -> bool:
        """Fill `outs`."""
        share = self.share
        crew = threads_for(share.work)
        args: tuple[Any, ...] = (self.width, share.chunk(crew), int(complement), *self.arrays)
        if self.passes_x:
            # Once for each element and not for each entry, and a quarter of the bytes or less to look up.
            args += (x != 0 if self.asks_truth else x,)
        args += outs if mask is None else (mask, *outs)
        if self.height:
            args += lanes.scratch(self.terms, self.height, crew)
        return share.run(self.kernel, args, crew)


class ByImage:
    """The same by way of plus_times; directly if x has no images that are near enough to each other."""

    def __init__(self, lists: Lists, image: Image, taken: images.Taken, masked: bool, directly: Any) -> None:
        self.image, self.taken, self.directly = image, taken, directly
        self.kernel = _image_kernel(image, masked)
        self.share = Share(len(lists.indptr) - 1, len(lists.indices), GRAIN)
        self.width, self.arrays = lists.width, (lists.indptr, lists.indices, taken.values)

    def multiply(self, x: Any, mask: Any, complement: bool, outs: tuple[Any, ...]) -> bool:
        """Fill `outs`."""
        taken, share = self.taken, self.share
        crew = threads_for(share.work)
        room = images.workspace(self.image, x, taken, crew)
        args: tuple[Any, ...] = (self.width, share.chunk(crew), int(complement), *self.arrays, room.image_of_x)
        args += outs if mask is None else (mask, *outs)
        args += (taken.scales, taken.is_whole, x, *room[1:])
        is_inside = share.run(self.kernel, args, crew)
        is_misfit = room.shared.item(images.MISFIT)
        taken.spare.clear()
        taken.spare[crew, self.image.terms.out_type] = room
        return self.directly(x, mask, complement, outs) if is_misfit else is_inside


class Share:
    """Rows to share out among threads."""

    def __init__(self, rows: int, stored: int, grain: int) -> None:
        self.rows, self.work = rows, rows + stored
        self.least = rows * grain // max(stored, 1)  # rows that are work enough for a thread to come for
        self.is_short = self.work <= threads.SHORT

    def chunk(self, crew: int) -> int:
        """Rows that a thread takes at once."""
        return max(1, min(self.least, self.rows // (8 * crew)))

    def run(self, kernel: Any, args: tuple[Any, ...], crew: int) -> bool:
        """Run a kernel; False if the matrix points outside itself."""
        control = threads.new_control()
        threads.run_parallel(kernel, control, args, crew, short=self.is_short, loose=True)
        return control.item(threads.STOP) == 0


@functools.lru_cache(maxsize=1024)
def _image_kernel(image: Image, masked: bool) -> Any:
    """The kernel of a product by way of plus_times."""
    terms, name = image.terms, title(image.terms.name)
    read = ["indptr", "indices", *rows.optional(terms, masked)]
    functions = [*rows.functions(dataclasses.replace(terms, merged=None)), *images.merge(image)]
    text = images.head(image, name, "a product", functions) + images.product(image)
    text += rows.row_text(terms, masked, [*read, "work"], ["work[i - start] = total"])
    call = rows.row_call([*read, "work"], "begin", "begin + count")
    text += rows.kernel_text([*read, *rows.outs(terms), *images.NAMES], images.rows(call, masked), images.BEFORE)
    return modules.load(text, f"product_{name}").multiply


@functools.lru_cache(maxsize=1024)
def asks_truth(terms: Terms) -> bool:
    """Whether the product asks of x only whether it is zero."""
    users = [e for e in in_order([terms.product]) if any(map(_is_x, e.args))]
    return bool(users) and all(e.op == "cast" and e.type == np.dtype(bool) for e in users)


@functools.lru_cache(maxsize=1024)
def with_truth(terms: Terms) -> Terms:
    """Terms that are given the answer instead."""

    def answer(e: Expr, _: list[Expr]) -> Expr | None:
        return Symbol("x", bool) if e.op == "cast" and _is_x(e.args[0]) else None

    return dataclasses.replace(terms, product=rebuilt(terms.product, answer))


def _is_x(e: Expr) -> bool:
    return isinstance(e, Symbol) and e.name == "x"


@functools.lru_cache(maxsize=1024)
def module(terms: Terms, masked: bool, height: int) -> ModuleType:
    """The generated module for a product, compiled when it is first called."""
    name = title(terms.name)
    if height:
        given = ["indptr", "indices", *rows.optional(terms, masked)]
        text = lanes.source(terms, height, name, given, rows.outs(terms), masked)
    else:
        text = rows.source(terms, masked)
    return modules.load(text, f"product_{name}")
