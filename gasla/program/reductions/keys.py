"""Reductions by key: at each receiver values come together key by key, and the one whose score is greatest is chosen.

This is what a program's `key` and `choose` mean, in types and expressions that all engines go by. A key below 0 is
none: its edge takes no part.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import semirings
from semirings import Expr, Monoid, Symbol, TupleType

NONE = -1  # the key that is chosen where there is no edge


@dataclass(frozen=True, eq=False)
class Keyed:
    """The types that a keyed program computes with. What is gathered is a tuple: the key, its total, its scores."""

    key: np.dtype  # int32 or int64
    total: np.dtype
    scores: tuple[np.dtype, ...]
    is_single: bool  # whether choose returns one score, and no tuple
    nothing: tuple[Any, ...]  # what is gathered where there is no edge: no key, the identity, the least scores

    @property
    def gathered_type(self) -> TupleType:
        """The type of what is gathered."""
        return TupleType((self.key, self.total, *self.scores))

    def fields(self, gathered: Any) -> dict[str, Any]:
        """What apply sees of it."""
        key, total, *scores = gathered
        return {"key": key, "total": total, "score": scores[0] if self.is_single else tuple(scores)}

    @functools.cached_property
    def better(self) -> Expr:
        """Whether a key is to be chosen before the best so far, of the symbols in `better_symbols`.

        Scores are compared one after another, then the smaller key wins: so it doesn't matter in which order keys come.
        NaN is below every number.
        """
        key, best_key, *scores = self.better_symbols
        found: Any = key < best_key
        for score, best in reversed(list(zip(scores[::2], scores[1::2], strict=True))):
            greater, same = score > best, score == best
            if score.dtype.kind == "f":
                greater, same = (
                    greater | ((best != best) & (score == score)),
                    same | ((best != best) & (score != score)),
                )
            found = greater | (same & found)
        result: Expr = (best_key < 0) | found
        return result

    @property
    def better_symbols(self) -> list[Symbol]:
        """`key`, `best_key`, and for each score `score_0`, `best_score_0` and so on: the parameters of `better`."""
        pairs = [(Symbol(f"score_{i}", kind), Symbol(f"best_score_{i}", kind)) for i, kind in enumerate(self.scores)]
        return [Symbol("key", self.key), Symbol("best_key", self.key), *(symbol for pair in pairs for symbol in pair)]


def check_complete(where: str, names: set[str]) -> None:
    """Refuse a program that has only some of the functions."""
    for name, needs, why in (
        ("key", "gather", "there is nothing to reduce for each key"),
        ("key", "choose", "nothing says which key a vertex takes"),
        ("choose", "key", "there are no keys to choose from"),
    ):
        if name in names and needs not in names:
            raise ValueError(f"{where} has {name} and no {needs}: {why}; write {needs}, or remove {name}")


def check_values(where: str, monoid: Monoid, gathered: Any) -> None:
    """Refuse what can't be reduced by key."""
    if not monoid.commutative:
        raise ValueError(
            f"{where} reduces by key with {monoid.name}, which minds the order of values; expected a monoid that "
            "commutes, such as semirings.plus"
        )
    if not monoid.is_neutral:
        raise ValueError(f"{where} reduces by key with {monoid.name}, which has no identity; expected one that has")
    if isinstance(gathered, tuple) or not isinstance(gathered.type, np.dtype):
        what = "a tuple" if isinstance(gathered, tuple) else f"a vector of type {gathered.type}"
        raise TypeError(f"{where}.gather returned {what} and reduces by key; expected one number an edge")


def key_type(where: str, key: Any) -> np.dtype:
    """The type that keys are held in: it holds those that the program makes, and -1."""
    found = getattr(key, "type", None)
    if getattr(found, "kind", "") not in tuple("iu") or found == np.uint64:
        what = "a tuple" if isinstance(key, tuple) else f"{key}, of type {found}"
        raise TypeError(
            f"{where}.key returned {what}; expected a whole number that int64 holds, or one below 0 for no key"
        )
    return np.dtype(np.int64 if found in (np.int64, np.uint32) else np.int32)


def as_keyed(where: str, monoid: Monoid, total: np.dtype, key: np.dtype, chosen: Any) -> Keyed:
    """The types of a keyed program, from what its functions return."""
    scores: Sequence[Expr] = chosen if isinstance(chosen, tuple) else (chosen,)
    for score in scores:
        if getattr(score.type, "kind", "") not in tuple("iuf"):
            raise TypeError(
                f"{where}.choose returned {score}, of type {score.type}; expected a number, or a tuple of numbers, "
                "which are compared one after another"
            )
    kinds = tuple(score.dtype for score in scores)
    nothing = NONE, monoid.identity(total), *(semirings.max.identity(kind) for kind in kinds)
    return Keyed(key, total, kinds, not isinstance(chosen, tuple), nothing)
