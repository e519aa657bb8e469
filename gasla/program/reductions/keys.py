"""Reductions by key: the values of a vertex's edges are reduced separately for each key.

A program's `key` gives each edge a whole number, and `choose` gives each key of a vertex a score. The vertex gathers
the key with the greatest score. Edges with a key below 0 are skipped. This file has the types and expressions of both
functions, for all engines.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import semirings
from semirings import Expr, Monoid, Symbol, TupleType

NONE = -1  # the key that a vertex gathers if it has no edges with a key of 0 or more


@dataclass(frozen=True, eq=False)
class Keyed:
    """The types of the values in a program that reduces the values of a vertex's edges separately for each key.

    A vertex gathers a tuple of a key, the total of the key's values, and the key's scores.
    """

    key: np.dtype  # the dtype of keys, int32 or int64
    total: np.dtype
    scores: tuple[np.dtype, ...]
    is_single: bool  # whether the program's function choose returns a single number, not a tuple
    # what a vertex without edges gathers: the key -1, the identity of the monoid, and the smallest scores
    nothing: tuple[Any, ...]

    @property
    def gathered_type(self) -> TupleType:
        """The type of the gathered tuple of key, total and scores."""
        return TupleType((self.key, self.total, *self.scores))

    def fields(self, gathered: Any) -> dict[str, Any]:
        """Return the attributes of the argument `gathered` of apply: the key, the total and the score, by name."""
        key, value_total, *scores = gathered
        return {"key": key, "total": value_total, "score": scores[0] if self.is_single else tuple(scores)}

    @functools.cached_property
    def better(self) -> Expr:
        """The test whether a key of a vertex is better than the best of the keys before it.

        It is an expression of the symbols `better_symbols`. Scores are compared lexicographically. Of keys with equal
        scores the smaller one is better, so the order of comparisons does not matter. NaN is below every number.
        """
        key, best_key, *scores = self.better_symbols
        is_better: Any = key < best_key
        for score, best_score in reversed(list(zip(scores[::2], scores[1::2], strict=True))):
            greater, same = score > best_score, score == best_score
            if score.dtype.kind == "f":
                greater, same = (
                    greater | ((best_score != best_score) & (score == score)),
                    same | ((best_score != best_score) & (score != score)),
                )
            is_better = greater | (same & is_better)
        result: Expr = (best_key < 0) | is_better
        return result

    @property
    def better_symbols(self) -> list[Symbol]:
        """The symbols of the expression `better`: `key`, `best_key`, and `score_0`, `best_score_0` and so on."""
        pairs = [
            (Symbol(f"score_{i}", score_type), Symbol(f"best_score_{i}", score_type))
            for i, score_type in enumerate(self.scores)
        ]
        return [Symbol("key", self.key), Symbol("best_key", self.key), *(symbol for pair in pairs for symbol in pair)]


def check_values(where: str, monoid: Monoid, gathered: Any) -> None:
    """Raise an error if a program with the function `key` can't reduce values separately for each key.

    The reason is its monoid, or the type of what `gather` returns.
    """
    if not monoid.commutative:
        raise ValueError(
            f"{where} reduces by key with {monoid.name}, which depends on the order of values; expected a monoid that "
            "commutes, such as semirings.plus"
        )
    if not monoid.is_neutral:
        raise ValueError(f"{where} reduces by key with {monoid.name}, which has no identity; expected one that has")
    if isinstance(gathered, tuple) or not isinstance(gathered.type, np.dtype):
        description = "a tuple" if isinstance(gathered, tuple) else f"a vector of type {gathered.type}"
        raise TypeError(f"{where}.gather returned {description} and reduces by key; expected one number an edge")


def key_type(where: str, key: Any) -> np.dtype:
    """Return the dtype in which a program's keys are stored: int64 if what `key` returns needs it, else int32."""
    dtype = getattr(key, "type", None)
    if getattr(dtype, "kind", "") not in tuple("iu") or dtype == np.uint64:
        description = "a tuple" if isinstance(key, tuple) else f"{key}, of type {dtype}"
        raise TypeError(f"{where}.key returned {description}; expected a whole number within int64, below 0 for no key")
    return np.dtype(np.int64 if dtype in (np.int64, np.uint32) else np.int32)


def as_keyed(where: str, monoid: Monoid, total: np.dtype, key: np.dtype, chosen: Any) -> Keyed:
    """Return the types of a program that reduces by key: those of its keys, the keys' totals and the keys' scores.

    `chosen` is what the program's `choose` has returned for symbols.
    """
    scores: Sequence[Expr] = chosen if isinstance(chosen, tuple) else (chosen,)
    for score in scores:
        if getattr(score.type, "kind", "") not in tuple("iuf"):
            raise TypeError(
                f"{where}.choose returned {score}, of type {score.type}; expected a number, or a tuple of numbers, "
                "which are compared one after another"
            )
    score_dtypes = tuple(score.dtype for score in scores)
    nothing = NONE, monoid.identity(total), *(semirings.max.identity(dtype) for dtype in score_dtypes)
    return Keyed(key, total, score_dtypes, not isinstance(chosen, tuple), nothing)
