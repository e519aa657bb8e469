"""Which functions this backend offers, which calls it supports, and which of these are worth a conversion.

A function is registered with conditions under which it can return NetworkX's result; each gives the reason otherwise.
If that only shows in the converted graph, the function raises NotImplementedError: NetworkX then runs the call itself.
"""

import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

import networkx as nx

from gasla.arrays import Device
from gasla.backends.networkx.conversion import PLAIN, Converted, Unconverted
from gasla.backends.networkx_calls import GASLA, REPORT

Condition = Callable[[Mapping[str, Any]], str | None]
Function = TypeVar("Function", bound=Callable[..., Any])
PARTS = {"cutoff", "depth_limit", "ebunch", "nodes"}  # arguments that restrict a call to a part of the graph
PAIR = {"source", "target"}  # arguments that restrict a call if both are given
NEVER = 2**62  # never worth a conversion; only graphs that are already converted


@dataclass(frozen=True)
class Offer:
    """A registered function."""

    function: Callable[..., Any]
    signature: inspect.Signature
    conditions: tuple[Condition, ...]
    least: int  # minimum of nodes + edges for which converting a graph pays off
    choice: str | None  # why results may differ from NetworkX's; then it only runs on request or by the setting


class Declined(Exception):
    """NotImplementedError of a call within a composed function (`compose`), which raises it in its own name.

    NetworkX would catch NotImplementedError, and may run the inner call on the backend's graph, which it can't read.
    """


class _Composing(threading.local):
    depth = 0  # number of composed functions that run in this thread, one within another


OFFERED: dict[str, Offer] = {}
_composing = _Composing()
_has_warned = False  # whether a warning said that NetworkX keeps converted graphs
# NetworkX's own text of 15 lines comes in every call.
warnings.filterwarnings("ignore", r"(?s)Note: conversions to backend graphs.*'gasla' backend", UserWarning)


def register(
    *conditions: Condition, least: int, choice: str | None = None, name: str | None = None
) -> Callable[[Function], Function]:
    """Return a decorator that registers a function.

    By default the function runs for graphs of at least `least` nodes and edges.

    `name` is NetworkX's, if it is not the function's.
    """

    def note(function: Function) -> Function:
        @wraps(function)
        def called(G: Converted | Unconverted, *args: Any, device: Device | None = None, **kwargs: Any) -> Any:
            with REPORT.measuring(title, GASLA):
                G = G.convert() if isinstance(G, Unconverted) else G
                _warn_of_cache(G)
                where = device or (G.device if G.is_placed else _setting("device", "cpu"))
                try:
                    return function(G.on(where), *args, **kwargs)
                except NotImplementedError as refusal:
                    if type(refusal) is not NotImplementedError:
                        raise
                    if _composing.depth:
                        raise Declined(str(refusal)) from None
                    raise NotImplementedError(
                        f"gasla declines this call of {title}: {refusal}; expected a call whose answer is NetworkX's; "
                        "leave out backend='gasla', and NetworkX computes it"
                    ) from None

        title = name or function.__name__
        OFFERED[title] = Offer(called, _with_device(function), conditions, least, choice)
        return function

    return note


def compose(
    theirs: Any, *conditions: Condition, least: int, choice: str | None = None, check: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Register a function of NetworkX's that runs as it is, since its code only calls functions of this backend.

    If it returns an iterator that calls them later, `check` raises NotImplementedError in time.
    """

    def function(G: Converted, *args: Any, **kwargs: Any) -> Any:
        if check is not None:
            check(G, *args, **kwargs)
        _composing.depth += 1
        try:
            return theirs.orig_func(G, *args, **kwargs)  # calls within run on the device of `G`
        except Declined as refusal:
            raise NotImplementedError(str(refusal)) from None
        finally:
            _composing.depth -= 1

    function.__name__, function.__doc__ = theirs.name, (theirs.__doc__ or "").strip().partition("\n")[0]
    function.__signature__ = inspect.signature(theirs.orig_func)  # type: ignore[attr-defined]
    return register(*conditions, least=least, choice=choice)(function)


def _with_device(function: Callable[..., Any]) -> inspect.Signature:
    """Return the function's signature, with the parameter `device` added."""
    own = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return own.replace(parameters=[*own.parameters.values(), device])


def _setting(name: str, default: Any) -> Any:
    """Return a setting of `nx.config.backends.gasla`."""
    return getattr(nx.config.backends.get("gasla"), name, default)


def _warn_of_cache(G: Converted) -> None:
    """Warn once, in place of NetworkX's long warning in every call, that a kept conversion does not see all changes."""
    global _has_warned
    is_first, G.has_served = not G.has_served, True
    if is_first or _has_warned or "cache" in nx.config.warnings_to_ignore:
        return
    _has_warned = True
    warnings.warn(
        "gasla reuses a converted graph, which has not seen changes like G[u][v]['weight'] = 2 (those by methods, such "
        "as G.add_edge, it has): call G.__networkx_cache__.clear() after them. Said once; "
        "nx.config.warnings_to_ignore.add('cache') says it never",
        UserWarning,
        stacklevel=_level_of_user(),
    )


def _level_of_user() -> int:
    """Return the level of the first caller of the calling function that is neither NetworkX nor gasla."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("networkx", "gasla")):
        frame, level = frame.f_back, level + 1
    return level


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether a call can return NetworkX's result, else the reason."""
    return _noted(name, _can_run(name, args, kwargs))


def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return whether a call, conversion included, is faster than NetworkX, else the reason."""
    return _noted(name, _should_run(name, args, kwargs))


def _noted(name: str, answer: bool | str) -> bool | str:
    """Return an answer to `can_run` or `should_run`. If it is no, which is a text, put that reason into the report."""
    if isinstance(answer, str):
        REPORT.decline(name, answer)
    return answer


def _can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
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


def _should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    offer = OFFERED[name]
    if offer.choice is not None and not _setting("other_answers", False):
        return f'{offer.choice}: say backend="gasla", or set GASLA_OTHER_ANSWERS=1 for all calls'
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
    """Return whether NetworkX has a cached conversion of the graph."""
    cached = getattr(G, "__networkx_cache__", None) or {}
    return any(isinstance(graph, Converted) for graph in cached.get("backends", {}).get("gasla", {}).values())


def _size(G: Any, enough: int) -> int:
    """Count nodes and adjacency entries until there are enough."""
    size = len(G)
    rows = iter(G._adj.values())
    while size < enough and (some := list(islice(rows, 1000))):
        size += sum(map(len, some))
    return size


def by_name(parameter: str) -> Condition:
    """Require an attribute name or None. A function would have to be called for every edge."""

    def condition(given: Mapping[str, Any]) -> str | None:
        return f"{parameter} is a function" if callable(given[parameter]) else None

    return condition


def number(parameter: str) -> Condition:
    """Require a number or None."""

    def condition(given: Mapping[str, Any]) -> str | None:
        value = given[parameter]
        is_number = isinstance(value, int | float) and value == value
        return None if value is None or is_number else f"{parameter} is no number"

    return condition


def only(parameter: str, *values: Any) -> Condition:
    """Require one of some values."""

    def condition(given: Mapping[str, Any]) -> str | None:
        argument = given[parameter]
        if any(argument is value or (type(argument) is type(value) and argument == value) for value in values):
            return None
        if values == (None,):
            return f"{parameter} is given"
        return f"{parameter} is other than {' or '.join(map(repr, values))}"

    return condition


def when(reason: str, holds: Callable[[Mapping[str, Any]], bool]) -> Condition:
    """Return a condition that rejects a call, with this reason, if `holds` is true of its arguments."""
    return lambda given: reason if holds(given) else None


def is_directed(given: Mapping[str, Any]) -> bool:
    """Return whether the graph is directed."""
    return bool(given["G"].is_directed())


def is_multigraph(given: Mapping[str, Any]) -> bool:
    """Return whether the graph may have parallel edges."""
    return bool(given["G"].is_multigraph())


UNDIRECTED = when("a directed graph", is_directed)
DIRECTED = when("an undirected graph", lambda given: not is_directed(given))
SIMPLE = when("a multigraph", is_multigraph)
ALL_NODES = when("a part of the nodes", lambda given: given["nodes"] is not None)
