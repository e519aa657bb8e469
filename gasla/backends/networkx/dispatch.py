"""What this backend offers, which calls it takes, and which of these are worth a conversion.

A function is offered with the conditions under which NetworkX's answer can be given; each says why where it can't. What
shows only once a graph is converted, a function says by NotImplementedError: NetworkX then does the call itself.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

import networkx as nx

from gasla.arrays import Device
from gasla.backends.networkx.conversion import PLAIN, Converted, Unconverted

Condition = Callable[[Mapping[str, Any]], str | None]
Function = TypeVar("Function", bound=Callable[..., Any])
PARTS = {"cutoff", "depth_limit", "ebunch", "nodes"}  # who gives one of these, often sees little of a graph
PAIR = {"source", "target"}  # or both of these
NEVER = 2**62  # nodes and edges of graphs that are converted already, or not worth it


@dataclass(frozen=True)
class Offer:
    """A function as it is offered."""

    function: Callable[..., Any]
    signature: inspect.Signature
    conditions: tuple[Condition, ...]
    least: int  # nodes and edges of a graph that is worth converting
    choice: str | None  # why answers may be others than NetworkX's, which is then right only if asked for


OFFERED: dict[str, Offer] = {}


def register(*conditions: Condition, least: int, choice: str | None = None) -> Callable[[Function], Function]:
    """Offer a function under conditions, by itself for graphs of so many nodes and edges or more."""

    def note(function: Function) -> Function:
        @wraps(function)
        def called(G: Converted | Unconverted, *args: Any, device: Device | None = None, **kwargs: Any) -> Any:
            G = G.convert() if isinstance(G, Unconverted) else G
            return function(G.on(device or _usual_device()), *args, **kwargs)

        OFFERED[function.__name__] = Offer(called, _with_device(function), conditions, least, choice)
        return function

    return note


def _with_device(function: Callable[..., Any]) -> inspect.Signature:
    """What a function takes: its own parameters, and where it is to run."""
    own = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return own.replace(parameters=[*own.parameters.values(), device])


def _usual_device() -> Device:
    """Where functions run unless a call says otherwise."""
    usual: Device = getattr(nx.config.backends.get("gasla"), "device", "cpu")
    return usual


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call gets NetworkX's answer; else why not."""
    offer = OFFERED.get(name)
    if offer is None:
        return f"{name} is not offered"
    try:
        bound = offer.signature.bind(*args, **kwargs)
    except TypeError as error:
        return f"arguments: {error}"
    bound.apply_defaults()
    G = bound.args[0]
    if not isinstance(G, Converted) and type(G) not in PLAIN:
        return f"a subclass of NetworkX's graphs ({type(G).__name__})"
    return next((why for condition in offer.conditions if (why := condition(bound.arguments))), True)


def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call is sooner answered with the conversion than by NetworkX; else why not."""
    offer = OFFERED[name]
    if offer.choice is not None:
        return f'{offer.choice}: say backend="gasla"'
    bound = offer.signature.bind(*args, **kwargs)
    G = bound.args[0]
    if isinstance(G, Converted) or _is_converted(G):
        return True
    given = {name for name, value in bound.arguments.items() if value is not None}
    if parts := given & PARTS or (PAIR if given >= PAIR else set()):
        return f"only a part of the graph, by {' and '.join(sorted(parts))}"
    if _size(G, offer.least) < offer.least:
        return f"a graph of fewer than {offer.least} nodes and edges"
    return True


def _is_converted(G: Any) -> bool:
    """Whether NetworkX keeps a conversion of the graph."""
    cached = getattr(G, "__networkx_cache__", None) or {}
    return any(isinstance(graph, Converted) for graph in cached.get("backends", {}).get("gasla", {}).values())


def _size(G: Any, enough: int) -> int:
    """The numbers of nodes and entries of neighbors together, as far as it takes to have enough."""
    found = len(G)
    rows = iter(G._adj.values())
    while found < enough and (some := list(islice(rows, 1000))):
        found += sum(map(len, some))
    return found


def by_name(parameter: str) -> Condition:
    """The name of an attribute, or None; a function would be called for every edge."""

    def condition(given: Mapping[str, Any]) -> str | None:
        return f"{parameter} is a function" if callable(given[parameter]) else None

    return condition


def number(parameter: str) -> Condition:
    """A number, or None."""

    def condition(given: Mapping[str, Any]) -> str | None:
        found = given[parameter]
        is_number = isinstance(found, int | float) and found == found
        return None if found is None or is_number else f"{parameter} is no number"

    return condition


def only(parameter: str, *values: Any) -> Condition:
    """One of some values."""

    def condition(given: Mapping[str, Any]) -> str | None:
        found = given[parameter]
        if any(found is value or (type(found) is type(value) and found == value) for value in values):
            return None
        return f"{parameter} is given" if values == (None,) else f"{parameter} is other than {_spoken(values)}"

    return condition


def when(reason: str, holds: Callable[[Mapping[str, Any]], bool]) -> Condition:
    """Not where something holds of the arguments."""
    return lambda given: reason if holds(given) else None


def _spoken(values: tuple[Any, ...]) -> str:
    return " or ".join(map(repr, values))


def is_directed(given: Mapping[str, Any]) -> bool:
    """Whether the graph is directed."""
    return bool(given["G"].is_directed())


def is_multigraph(given: Mapping[str, Any]) -> bool:
    """Whether the graph may have parallel edges."""
    return bool(given["G"].is_multigraph())
