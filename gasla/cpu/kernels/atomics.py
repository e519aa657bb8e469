"""Reductions into arrays that other threads may reduce into at the same time.

The parameter `key` selects the function that combines two values (None for that of the gathered value), and `shared`
says whether there are several threads, so that the reduction must be atomic.
"""

from gasla.compiler.function import compiled
from gasla.compiler.template import Constant
from gasla.cpu.kernels.record import Run, plan
from gasla.cpu.runtime.intrinsics import compare_and_swap_relaxed, load_unordered, store_unordered


@compiled
def improve(run: Run, key: Constant, field, v, value, shared):
    """Reduce a value into `field[v]`, the item of vertex `v`, and return whether this changed the item.

    The item becomes `combine(field[v], value)`, where `key` selects the function. With `shared`, this is atomic.
    """
    while True:
        old = load_unordered(field, v)
        new = run.combine[key](old, value)
        if new == old or (new != new and old != old):
            return False
        if not shared:
            store_unordered(field, v, new)
            return True
        if compare_and_swap_relaxed(field, v, old, new):
            return True


@compiled
def accumulate(run: Run, key: Constant, field, v, value, shared):
    """Reduce a value into `field[v]`, the item of vertex `v`, and return the value that the item had before.

    The item becomes `combine(field[v], value)`, where `key` selects the function. With `shared`, this is atomic.
    """
    if not shared:
        old = field[v]
        field[v] = run.combine[key](old, value)
        return old
    while True:
        old = load_unordered(field, v)
        if (key is None and plan.final is not None and run.is_final(old)) or compare_and_swap_relaxed(
            field, v, old, run.combine[key](old, value)
        ):
            return old


@compiled
def combined(run: Run, key: Constant, part, parts):
    """Combine `parts` partial results of an aggregate, which are in the array `part`, in a fixed order.

    Return the total. `key` is the name of the aggregate, which selects the function that combines two values.
    """
    total = part[0]
    for i in range(1, parts):
        total = run.combine[key](total, part[8 * i])
    return total


@compiled
def copy_lanes(target, values, count):
    """Copy `count` items of a wide vector from one array to another."""
    for lane in range(count):
        target[lane] = values[lane]
