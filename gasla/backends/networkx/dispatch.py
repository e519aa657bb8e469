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
# arguments that restrict a call to a part of the graph, for which converting the whole graph doesn't pay off
PARTS = {"cutoff", "depth_limit", "ebunch", "nodes"}
PAIR = {"source", "target"}  # arguments that, if both are passed, restrict a call to a part of the graph
# A minimum size that no graph reaches. It is for functions that are so fast that converting a graph never pays off.
NEVER = 2**62


@dataclass(frozen=True)
class Offer:
    """A function that this backend offers to NetworkX, and the conditions under which its calls run on gasla."""

    function: Callable[..., Any]
    signature: inspect.Signature
    conditions: tuple[Condition, ...]
    least: int  # minimum number of nodes and edges from which on converting a graph pays off
    # The reason why results may differ from NetworkX's, or None if they don't. A function with a reason runs on gasla
    # only if the call or a setting asks for it.
    choice: str | None


class Declined(Exception):
    """Raised when gasla declines a call that a composed function (a NetworkX function that `compose` registered) made.

    NetworkX would catch a NotImplementedError from the inner call, and might run that call itself on the backend's
    graph, which it can't read. So this exception passes through NetworkX, and `compose` converts it to a
    NotImplementedError of the composed function.
    """


class _Composing(threading.local):
    depth = 0  # number of composed functions (see `compose`) that run in this thread at present, one within another


OFFERED: dict[str, Offer] = {}
_composing = _Composing()
_has_warned = False  # whether this process has warned once that NetworkX reuses converted graphs
# NetworkX would print a warning of 15 lines in every call that reuses a converted graph. `_warn_of_cache` replaces it
# by a short one.
warnings.filterwarnings("ignore", r"(?s)Note: conversions to backend graphs.*'gasla' backend", UserWarning)


def register(
    *conditions: Condition, least: int, choice: str | None = None, name: str | None = None
) -> Callable[[Function], Function]:
    """Return a decorator that registers a function of this backend under its name in NetworkX.

    NetworkX calls the function only for graphs of at least `least` nodes and edges, and if all conditions hold. `name`
    is the function's name in NetworkX, if the Python function is called otherwise.
    """

    def decorate(function: Function) -> Function:
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

    return decorate


def compose(
    theirs: Any, *conditions: Condition, least: int, choice: str | None = None, check: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Register a NetworkX function that runs unchanged on this backend's graphs, since it only calls gasla's functions.

    If it returns an iterator that calls these functions later, `check` raises NotImplementedError beforehand, while
    NetworkX can still run the call itself.
    """

    def function(G: Converted, *args: Any, **kwargs: Any) -> Any:
        if check is not None:
            check(G, *args, **kwargs)
        _composing.depth += 1
        try:
            return theirs.orig_func(G, *args, **kwargs)  # Functions that this call makes run on the device of `G`.
        except Declined as refusal:
            raise NotImplementedError(str(refusal)) from None
        finally:
            _composing.depth -= 1

    function.__name__, function.__doc__ = theirs.name, (theirs.__doc__ or "").strip().partition("\n")[0]
    function.__signature__ = inspect.signature(theirs.orig_func)  # type: ignore[attr-defined]
    return register(*conditions, least=least, choice=choice)(function)


def _signature_with_device(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, extended by the parameter `device`, which NetworkX's functions don't have."""
    original = inspect.signature(function)
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None)
    return original.replace(parameters=[*original.parameters.values(), device])


def _setting(name: str, default: Any) -> Any:
    """Return the value of a setting in `nx.config.backends.gasla`, or the default if the setting is missing."""
    return getattr(nx.config.backends.get("gasla"), name, default)


def _warn_of_cache(G: Converted) -> None:
    """Warn that NetworkX reuses a converted graph, because it does not notice all changes of the original graph.

    gasla warns once in a process, when a graph is used for the second time. NetworkX's own warning would come in every
    call.
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
    """Return True if gasla's result of a call is the same as NetworkX's, else the reason as text."""
    return _report_refusal(name, _can_run(name, args, kwargs))


def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if gasla is faster than NetworkX, including the conversion of the graph, else the reason as text."""
    return _report_refusal(name, _should_run(name, args, kwargs))


def _report_refusal(name: str, answer: bool | str) -> bool | str:
    """Return the answer of `can_run` or `should_run` unchanged. If it is a reason, add it to the report of calls."""
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
    """Return whether NetworkX has cached a conversion of this graph to the graph class of this backend."""
    cached = getattr(G, "__networkx_cache__", None) or {}
    return any(isinstance(graph, Converted) for graph in cached.get("backends", {}).get("gasla", {}).values())


def _size(G: Any, enough: int) -> int:
    """Return the number of nodes and adjacency entries of a graph. Counting stops once the number reaches `enough`."""
    size = len(G)
    rows = iter(G._adj.values())
    while size < enough and (rows_block := list(islice(rows, 1000))):
        size += sum(map(len, rows_block))
    return size


def by_name(parameter: str) -> Condition:
    """Return the condition that an argument of a call is the name of an attribute or None, but not a function.

    A function of edges would have to be called for every edge, which is slow.
    """

    def condition(call_arguments: Mapping[str, Any]) -> str | None:
        return f"{parameter} is a function" if callable(call_arguments[parameter]) else None

    return condition


def number(parameter: str) -> Condition:
    """Return the condition that an argument of a call is a number other than NaN, or None."""

    def condition(call_arguments: Mapping[str, Any]) -> str | None:
        value = call_arguments[parameter]
        is_number = isinstance(value, int | float) and value == value
        return None if value is None or is_number else f"{parameter} is no number"

    return condition


def only(parameter: str, *values: Any) -> Condition:
    """Return the condition that an argument of a call equals one of these values and has the same type."""

    def condition(given: Mapping[str, Any]) -> str | None:
        argument = given[parameter]
        if any(argument is value or (type(argument) is type(value) and argument == value) for value in values):
            return None
        if values == (None,):
            return f"{parameter} is given"
        return f"{parameter} is other than {' or '.join(map(repr, values))}"

    return condition


def when(reason: str, holds: Callable[[Mapping[str, Any]], bool]) -> Condition:
    """Return a condition that declines a call for a reason if `holds` is true for the arguments of the call."""
    return lambda call_arguments: reason if holds(call_arguments) else None


def is_directed(call_arguments: Mapping[str, Any]) -> bool:
    """Return whether the graph among the arguments of a call is directed."""
    return bool(call_arguments["G"].is_directed())


def is_multigraph(call_arguments: Mapping[str, Any]) -> bool:
    """Return whether the graph among the arguments of a call may have parallel edges."""
    return bool(call_arguments["G"].is_multigraph())


UNDIRECTED = when("a directed graph", is_directed)
DIRECTED = when("an undirected graph", lambda given: not is_directed(given))
SIMPLE = when("a multigraph", is_multigraph)
ALL_NODES = when("a part of the nodes", lambda given: given["nodes"] is not None)
