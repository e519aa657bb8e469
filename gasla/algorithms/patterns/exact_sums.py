"""Sums over vertices or edges that may exceed 64 bits and are returned as Python integers."""

from math import comb, prod
from typing import Any

import numpy as np

from gasla.arrays import array_module, moved

LARGEST = 1 << 62  # a product is added in int64 if, times the number of products, it is below this bound


def sum_of_products(*factors: Any) -> int:
    """Return the sum over all entries of the product of some arrays of int64 that are 0 or more.

    Products that are too large to be added in int64, which only hubs have, are added as Python integers.

    Examples
    --------
    >>> sum_of_products(np.array([2**40, 3]), np.array([2**40, 5])) == 2**80 + 15
    True
    """
    sizes = prod(factor.astype(np.float64) for factor in factors)
    is_small = sizes * max(len(sizes), 1) < LARGEST
    # products that do not fit have wrapped around, so they count 0 here, and are added as Python integers below
    fitting = array_module(is_small).where(is_small, prod(factors), 0)
    large = [moved(factor[~is_small], "cpu").tolist() for factor in factors]
    return int(fitting.sum()) + sum(map(prod, zip(*large)))


def sum_of_choices(values: Any, r: int) -> int:
    """Return the sum over some values of the number of ways to choose r of so many items.

    Examples
    --------
    >>> sum_of_choices(np.array([4, 3, 1]), 2)
    9
    """
    if not len(values):
        return 0
    counts = moved(array_module(values).bincount(values), "cpu")
    return sum(comb(value, r) * int(counts[value]) for value in np.flatnonzero(counts).tolist())
