"""A stand-in for CuPy without a GPU: its arrays are in host memory, and mix with NumPy's no more than CuPy's do.

It has what CuPy has, by name, computed by NumPy. A NumPy array in place of one of its own is a TypeError, and so is
one of its arrays in a function of NumPy. Of kernels it has those that lists and ranges of values need.
"""

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gasla import arrays, host_memory
from gasla.gpu.runtime import min_max
from gasla.graph import lists_cpu, lists_gpu, streamed

FROM_HOST = ("array", "asarray", "ascontiguousarray")


class CardArray:
    """An array of the stand-in."""

    device = SimpleNamespace(id=0)

    def __init__(self, held: np.ndarray) -> None:
        self._held = held

    @property
    def data(self) -> Any:
        """Where it begins."""
        return SimpleNamespace(ptr=self._held.ctypes.data)

    def get(self) -> np.ndarray:
        """A copy in NumPy's hands."""
        return self._held.copy()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed; use .get()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._held, name)
        if not callable(found):
            return on_card(found)

        def call(*given: Any, **named: Any) -> Any:
            refuse_host(*given, *named.values())
            made = found(*map(plain, given), **named)
            return self if made is self._held else on_card(made)

        return call

    def __getitem__(self, index: Any) -> Any:
        refuse_host(index)
        return on_card(self._held[plain(index)])

    def __setitem__(self, index: Any, values: Any) -> None:
        refuse_host(index, values)
        self._held[plain(index)] = plain(values)

    def __len__(self) -> int:
        return len(self._held)

    def __int__(self) -> int:
        return int(self._held)

    def __bool__(self) -> bool:
        return bool(self._held)

    __index__ = __int__


def _operator(name: str) -> Callable[..., Any]:
    def call(own: CardArray, *others: Any) -> Any:
        refuse_host(*others)
        found = getattr(own._held, name)(*map(plain, others))
        return own if found is own._held else on_card(found)

    return call


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift", "floordiv"):
    for _form in (f"__{_name}__", f"__r{_name}__", f"__i{_name}__"):
        setattr(CardArray, _form, _operator(_form))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "invert"):
    setattr(CardArray, f"__{_name}__", _operator(f"__{_name}__"))
CardArray.__hash__ = None  # type: ignore[assignment]
CardArray.__module__ = "cupy"  # by which arrays on a card are known


def plain(x: Any) -> Any:
    """An array of the stand-in as NumPy's, with the same memory."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x._held if isinstance(x, CardArray) else x


def on_card(x: Any) -> Any:
    """Arrays and numbers of NumPy as arrays of the stand-in, as CuPy's functions return them."""
    if isinstance(x, tuple) and any(isinstance(one, np.ndarray) for one in x):
        return tuple(map(on_card, x))
    return CardArray(np.asarray(x)) if isinstance(x, np.ndarray | np.generic) else x


def refuse_host(*given: Any) -> None:
    """TypeError for an array of NumPy."""
    for one in given:
        if isinstance(one, (list, tuple)):
            refuse_host(*one)
        elif isinstance(one, np.ndarray):
            raise TypeError("got an array of NumPy; expected one on the card")


def _function(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(*given: Any, **named: Any) -> Any:
        named.pop("blocking", None)
        if name not in FROM_HOST:
            refuse_host(*given, *named.values())
        return on_card(function(*(plain(one) for one in given), **{key: plain(one) for key, one in named.items()}))

    return call


def without_gpu(patch: pytest.MonkeyPatch) -> ModuleType:
    """Let gasla find the stand-in for CuPy, and NumPy's forms of kernels."""
    real = pytest.importorskip("cupy")
    fake: Any = ModuleType("cupy")
    fake.ndarray = CardArray
    fake.add = SimpleNamespace(at=lambda to, places, x: np.add.at(plain(to), plain(places), plain(x)))
    fake.cuda = SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
        Device=lambda: SimpleNamespace(id=0),
    )
    for name in dir(real):
        if not name.startswith("_") and callable(getattr(np, name, None)) and not hasattr(fake, name):
            here = getattr(np, name)
            setattr(fake, name, here if isinstance(here, type) else _function(name))
    patch.setitem(sys.modules, "cupy", fake)
    patch.setattr(arrays, "require_gpu", lambda: fake)
    for module in (streamed, host_memory):
        patch.setattr(module, "free_bytes", lambda: 1 << 40)
    patch.setattr(lists_gpu, "Properties", lambda *lists: lists_cpu.Properties(*map(plain, lists)))
    patch.setattr(lists_gpu, "imbalance", lambda *lists: lists_cpu.imbalance(*map(plain, lists)))
    patch.setattr(min_max, "summary", lambda x: min_max.Summary(plain(x).min(), plain(x).max(), 0))
    found: ModuleType = fake
    return found
