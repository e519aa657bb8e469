"""The functions that this backend offers, which of their calls it supports, and which calls are worth a conversion.

A function is registered with conditions on its arguments under which it returns what NetworkX returns. A condition that
is not met gives the reason. If the reason is only found in the converted graph, the function raises
NotImplementedError, and NetworkX runs the call itself.
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
PAIR = {"source", "target"}  # arguments that restrict a call to a part of the graph if both are given
NEVER = 2**62  # As the minimum size of graphs, this means that converting a graph for the function never pays off.


@dataclass(frozen=True)
class Offer:
    """A function that this backend offers to NetworkX, and the conditions for its calls."""

    function: Callable[..., Any]
    signature: inspect.Signature
    conditions: tuple[Condition, ...]
    least: int  # minimum number of nodes and edges for which converting a graph pays off
    # Why results may differ from NetworkX's, or None. Such a function runs only on request or by a setting.
    choice: str | None


class Declined(Exception):
    """Raised when a function declines a call that a composed function (see `compose`) made.

    It takes the place of NotImplementedError, which NetworkX would catch: it may then run the inner call itself on the
    backend's graph, which it can't read. `compose` converts it back for the composed function.
    """


class _Composing(threading.local):
    depth = 0  # number of composed functions that run in this thread, one within another


OFFERED: dict[str, Offer] = {}
_composing = _Composing()
_has_warned = False  # whether this process has warned that NetworkX reuses converted graphs
# NetworkX would print its own warning of 15 lines in every call, so it is replaced by `_warn_of_cache`.
warnings.filterwarnings("ignore", r"(?s)Note: conversions to backend graphs.*'gasla' backend", UserWarning)


def register(
    *conditions: Condition, least: int, choice: str | None = None, name: str | None = None
) -> Callable[[Function], Function]:
    """Return a decorator that registers a function of this backend.

    NetworkX calls it for graphs of at least `least` nodes and edges. `name` is the function's name in NetworkX, if the
    Python function is called otherwise.
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
        OFFERED[title] = Offer(called, _signature_with_device(function), conditions, least, choice)
        return function

    return note


def compose(
    theirs: Any, *conditions: Condition, least: int, choice: str | None = None, check: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Register a NetworkX function that runs unchanged on this backend's graphs.

    Its code only calls functions of this backend. If it returns an iterator that calls them later, `check` raises
    NotImplementedError beforehand, while NetworkX can still run the call itself.
    """

    def function(G: Converted, *args: Any, **kwargs: Any) -> Any:
        if check is not None:
            check(G, *args, **kwargs)
        _composing.depth += 1
        try:
            return theirs.orig_func(G, *args, **kwargs)  # functions that it calls run on the device of `G`
        except Declined as refusal:
            raise NotImplementedError(str(refusal)) from None
        finally:
            _composing.depth -= 1

    function.__name__, function.__doc__ = theirs.name, (theirs.__doc__ or "").strip().partition("\n")[0]
    function.__signature__ = inspect.signature(theirs.orig_func)  # type: ignore[attr-defined]
    return register(*conditions, least=least, choice=choice)(function)


def _signature_with_device(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with an additional parameter `device`."""
    original = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return original.replace(parameters=[*original.parameters.values(), device])


def _setting(name: str, default: Any) -> Any:
    """Return a setting from `nx.config.backends.gasla`, or the default if it is not set."""
    return getattr(nx.config.backends.get("gasla"), name, default)


def _warn_of_cache(G: Converted) -> None:
    """Warn that a converted graph is reused, although NetworkX does not notice all changes of the original.

    The warning comes once, when a graph is used for the second time. NetworkX's own comes in every call, and is longer.
    """
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
        stacklevel=_stack_level_of_caller(),
    )


def _stack_level_of_caller() -> int:
    """Return the `stacklevel` for a warning that points to the caller's code, outside of NetworkX and gasla."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("networkx", "gasla")):
        frame, level = frame.f_back, level + 1
    return level


def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call can return NetworkX's result, else the reason as text."""
    return _report_refusal(name, _can_run(name, args, kwargs))


def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call is faster than NetworkX, conversion of the graph included, else the reason as text."""
    return _report_refusal(name, _should_run(name, args, kwargs))


def _report_refusal(name: str, answer: bool | str) -> bool | str:
    """Return the answer of `can_run` or `should_run`. Add a reason against running to the report."""
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
    arguments = {name for name, value in bound.arguments.items() if value is not None}
    if restrictions := arguments & PARTS or (PAIR if arguments >= PAIR else set()):
        return f"only a part of the graph, by {' and '.join(sorted(restrictions))}"
    if _size(G, offer.least) < offer.least:
        return f"a graph of fewer than {offer.least} nodes and edges"
    return True


def _is_converted(G: Any) -> bool:
    """Return whether NetworkX has cached a conversion of the graph for this backend."""
    cached = getattr(G, "__networkx_cache__", None) or {}
    return any(isinstance(graph, Converted) for graph in cached.get("backends", {}).get("gasla", {}).values())


def _size(G: Any, enough: int) -> int:
    """Return the number of nodes and adjacency entries of a graph. Counting stops when the number reaches `enough`."""
    size = len(G)
    rows = iter(G._adj.values())
    while size < enough and (rows_block := list(islice(rows, 1000))):
        size += sum(map(len, rows_block))
    return size


def by_name(parameter: str) -> Condition:
    """Return the condition that an argument is an attribute's name or None, and not a function of edges.

    A function would have to be called for every edge.
    """

    def condition(given: Mapping[str, Any]) -> str | None:
        return f"{parameter} is a function" if callable(given[parameter]) else None

    return condition


def number(parameter: str) -> Condition:
    """Return the condition that an argument is a number or None."""

    def condition(given: Mapping[str, Any]) -> str | None:
        value = given[parameter]
        is_number = isinstance(value, int | float) and value == value
        return None if value is None or is_number else f"{parameter} is no number"

    return condition


def only(parameter: str, *values: Any) -> Condition:
    """Return the condition that an argument is one of some values."""

    def condition(given: Mapping[str, Any]) -> str | None:
        argument = given[parameter]
        if any(argument is value or (type(argument) is type(value) and argument == value) for value in values):
            return None
        if values == (None,):
            return f"{parameter} is given"
        return f"{parameter} is other than {' or '.join(map(repr, values))}"

    return condition


def when(reason: str, holds: Callable[[Mapping[str, Any]], bool]) -> Condition:
    """Return the condition that declines a call for this reason if `holds(arguments)` is true."""
    return lambda given: reason if holds(given) else None


def is_directed(given: Mapping[str, Any]) -> bool:
    """Return whether the graph among the arguments of a call is directed."""
    return bool(given["G"].is_directed())


def is_multigraph(given: Mapping[str, Any]) -> bool:
    """Return whether the graph among the arguments of a call may have parallel edges."""
    return bool(given["G"].is_multigraph())


UNDIRECTED = when("a directed graph", is_directed)
DIRECTED = when("an undirected graph", lambda given: not is_directed(given))
SIMPLE = when("a multigraph", is_multigraph)
ALL_NODES = when("a part of the nodes", lambda given: given["nodes"] is not None)
