"""Checks of arguments that several public functions take, such as vertices, numbers, flags and edge weights."""

import math
import operator
import reprlib
import sys
from collections.abc import Hashable, Iterable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from gasla.arrays import module_of, moved
from gasla.graph.edge_values import first_edge
from gasla.graph.exchange.vertex_names import OfVertices, as_numbers, translate_vertex, translate_vertices
from gasla.graph.graph import Graph, whole_graph
from gasla.graph.validate import as_array, for_names, range_of

NO_LIMIT = 2**62  # a number of iterations that stands for no limit, as it is more than any run can take
LARGEST = sys.float_info.max
MOST_SEED = 2**64 - 1
TRUE_OR_FALSE = (bool, np.bool_)


def in_host_memory(name: str, graph: Any) -> Graph:
    """Return the graph that is an argument of a function which takes only graphs in host memory.

    Raise TypeError for any other graph. `name` is the name of that function, for the error.
    """
    graph = whole_graph(graph)
    if graph.engine != "cpu":
        raise TypeError(f"{name} takes a graph in host memory, and this one is on the {graph.engine}: graph.to('cpu')")
    return graph


def is_one_vertex(graph: Graph, given: Any) -> bool:
    """Return whether an argument is one vertex, not several. A tuple is one vertex if it is the name of a vertex."""
    if isinstance(given, tuple) and graph.naming is not None and graph.naming.find(given) is not None:
        return True
    return isinstance(given, str) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0


def several_vertices(graph: Graph, name: str, given: Any, one: str = "source") -> list[int]:
    """Return an argument that is a list or an array of vertices, by ids or names, as a list of ids in the same order.

    Raise an error for anything else. `name` is the argument's name in the error, and `one` a word for a single vertex,
    such as "source".
    """
    require_several(name, given)
    description = f"{name}: {one}"
    return [translate_vertex(graph, v, description) for v in translate_vertices(graph, given, name, one)]


def require_several(name: str, given: Any) -> None:
    """Raise TypeError if an argument is one vertex, where a list or an array of vertices is expected."""
    is_array = hasattr(given, "__iter__") or hasattr(given, "__dlpack__")
    if isinstance(given, str | bytes) or not is_array or getattr(given, "ndim", 1) == 0:
        argument = given.item() if hasattr(given, "item") else given
        raise TypeError(
            f"{name} is {reprlib.repr(argument)}; expected several vertices, by ids or names, as a list or an array"
        )


def check_functions(**given: Any) -> None:
    """Raise TypeError for any argument that is neither a function nor None. Keywords are the arguments' names."""
    for name, function in given.items():
        if function is not None and not callable(function):
            raise TypeError(f"{name} is {reprlib.repr(function)}; expected a function, or None")


def are_names(given: Any) -> bool:
    """Return whether an argument holds names of vertices instead of their numbers.

    Names are strings or tuples. A set counts as names, as numbers never come in a set.
    """
    if isinstance(given, set | frozenset):
        return True
    array = given if isinstance(given, list | tuple) or getattr(given, "shape", None) else ()
    return not isinstance(given, dict) and len(array) > 0 and all(isinstance(v, str | tuple) for v in array)


def vertex_ids(graph: OfVertices, name: str, given: Any) -> Any:
    """Return an argument that holds vertices as an array of vertex ids on the graph's device.

    The vertices are ids or names, and may repeat. Raise an error for any that is not in the graph; `name` is the
    argument's name in the error.
    """
    require_several(name, given)
    ids = as_array(name, translate_vertices(graph, given, name))
    ids = ids if ids.size else ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} is {reprlib.repr(given)}, {ids.dtype}{ids.shape}; expected a one-dimensional array of vertices"
            f"{for_names(ids)}"
        )
    for extreme_id in map(int, range_of(ids)) if len(ids) else ():
        if not 0 <= extreme_id < graph.n:
            raise ValueError(f"{name} has vertex {extreme_id}, outside a graph of {graph.n} vertices")
    xp: Any = module_of(graph.device)
    return xp.ascontiguousarray(moved(ids, graph.device), dtype=graph.id_dtype)


def chosen_sources(graph: Graph, sources: Iterable[Hashable] | None, k: int | None, seed: Any) -> list[int]:
    """Return the vertices that an algorithm starts from: `sources`, `k` random vertices, or all vertices.

    Vertices in `sources` must be distinct, and stay in the order given. Random vertices ascend. If `sources` and `k`
    are both None, all vertices are returned.
    """
    if sources is not None and k is not None:
        raise ValueError("sources and k were both given; expected one of them")
    if sources is not None:
        ids = several_vertices(graph, "sources", sources)
        if len(set(ids)) != len(ids):
            raise ValueError("a vertex appears twice among the sources; expected each once")
        return ids
    if k is None:
        return as_numbers(graph, list(range(graph.n)))
    if not 0 < whole_number("k", k) <= graph.n:
        raise ValueError(f"k is {k}; expected 1 to {graph.n}, the number of vertices")
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise TypeError(
            f"seed is {reprlib.repr(seed)}; expected None, a whole number, 0 or more, or a NumPy Generator"
        ) from None
    return as_numbers(graph, sorted(rng.choice(graph.n, int(k), replace=False).tolist()))


def check_flags(**flags: Any) -> None:
    """Raise TypeError for any argument that is neither True nor False. Keywords are the arguments' names."""
    for name, flag in flags.items():
        if flag is not True and flag is not False and not isinstance(flag, np.bool_):
            raise TypeError(f"{name} is {reprlib.repr(flag)}; expected True or False")


def check_choice(name: str, given: Any, words: Iterable[str]) -> None:
    """Raise ValueError unless an argument is one of the strings in `words`, which the error lists."""
    choices = [*words]
    if not isinstance(given, str) or given not in choices:
        raise ValueError(f"{name} is {reprlib.repr(given)}; expected one of {', '.join(map(repr, choices))}")


def real_number(name: str, given: Any, least: float = 0, most: float = LARGEST, *, above: bool = False) -> float:
    """Return a numeric argument as a float. Raise an error unless it is from `least` to `most`.

    With `above`, the number must be greater than `least`.
    """
    # Floats and integers of Python are the usual case. They are tested first, because this test takes the least time.
    is_real = type(given) in (float, int) or (
        given.dtype.kind in "iuf" and given.ndim == 0 if hasattr(given, "dtype") else isinstance(given, Real)
    )
    if not is_real or isinstance(given, bool):
        raise TypeError(f"{name} is {reprlib.repr(given)}; expected a number")
    try:
        converted = float(given)
    except OverflowError:
        converted = math.inf if given > 0 else -math.inf
    if not (least < converted if above else least <= converted) or not converted <= most:
        description = "a finite number" if math.isinf(converted) else "a number"
        raise ValueError(
            f"{name} is {reprlib.repr(given)}; expected {description}{_describe_range(least, most, above)}"
        )
    return converted


def _describe_range(smallest: float, largest: float, above: bool) -> str:
    """Return the allowed range of a number as text for an error message, where it follows the words "a number"."""
    if largest < LARGEST:
        return f" above {smallest:g}, and {largest:g} at most" if above else f" from {smallest:g} to {largest:g}"
    if above:
        return f" above {smallest:g}"
    return f", {smallest:g} or more" if smallest > -LARGEST else ""


def whole_number(name: str, given: Any, most: int | None = None) -> int:
    """Return an argument as an int.

    Raise an error unless it is a whole number from 0 to `most` (None for no maximum).
    """
    try:
        converted = operator.index(given)
    except TypeError:
        converted = None
    if converted is None or isinstance(given, TRUE_OR_FALSE):
        raise TypeError(f"{name} is {reprlib.repr(given)}; expected a whole number")
    if converted < 0:
        raise ValueError(f"{name} is {reprlib.repr(converted)}; expected 0 or more")
    if most is not None and converted > most:
        raise ValueError(f"{name} is {reprlib.repr(converted)}; expected {most} at most")
    return converted


def most_iterations(name: str, given: Any) -> int:
    """Return an argument that limits the number of iterations of a run, after checks.

    Larger values than `NO_LIMIT`, which stands for no limit, become `NO_LIMIT`.
    """
    return min(whole_number(name, given), NO_LIMIT)


def check_weights(graph: Graph, *, positive: bool = False, shares: bool = False) -> bool:
    """Raise ValueError for weights that an algorithm can't use. Return whether any weight is negative.

    NaN and minus infinity are always errors. With `positive`, weights of 0 or less are errors too. With `shares` (the
    algorithm divides weights by their sum), negative and infinite weights are errors too.
    """
    return bool(weight_range(graph, positive=positive, shares=shares)[0] < 0)


def weight_range(graph: Graph, *, positive: bool = False, shares: bool = False) -> tuple[Any, Any]:
    """Return a lower and an upper bound of the weights of a graph, after the checks that `check_weights` makes.

    For bool and unsigned weights, these are usually the smallest and largest number of the type, so that the weights
    need not be read.

    On a GPU, a caller may have written to the weights since the last call. So one kernel reads them in each call, and
    if they changed, whatever was derived from them is discarded. In host memory (and with ``stream=True``) the range is
    cached, and whoever calls this function calls `notice_values` first.
    """
    dtype = graph.value_type
    if dtype is None or graph.m == 0:
        return 0, 1
    if dtype.kind in "bu" and not positive:
        return 0, 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
    bounds: Any = graph.value_range if graph.device == "cpu" else graph._noticed_range()
    # Both are NaN if any weight is NaN. Then none of the comparisons below holds, and an error is raised.
    smallest, largest = bounds[0].item(), bounds[1].item()
    if not (smallest > 0 if positive else smallest >= 0 and largest < np.inf if shares else smallest > -np.inf):
        edge, weight = first_edge(graph.values, partial(_is_unusable, positive, shares))
        expected = "a positive number" if positive else "a finite number, 0 or more" if shares else "a number"
        raise ValueError(f"the weight of edge {edge} is {weight}; expected {expected}")
    return smallest, largest


def _is_unusable(positive: bool, are_shares: bool, weights: Any) -> Any:
    """Return a boolean array that is True for weights that an algorithm can't use, such as NaN."""
    is_invalid = weights <= 0 if positive else (weights < 0) | (weights >= np.inf) if are_shares else weights <= -np.inf
    return is_invalid | (weights != weights)


def edge_probabilities(graph: Graph, probability: Any) -> Any:
    """Return the probability of each edge as a float64 array, after checks.

    A number `probability` holds for all edges. If it is None, the values of the graph are the probabilities.
    """
    xp: Any = module_of(graph.device)
    if probability is not None:
        return xp.full(graph.m, real_number("probability", probability, most=1))
    if graph.values is None:
        raise ValueError("probability is None, and the graph has no values; expected a probability, or values")
    check_weights(graph, shares=True)
    probabilities = graph.values.astype(np.float64)
    if graph.m and float(probabilities.max()) > 1:
        edge = int(probabilities.argmax())
        raise ValueError(f"the value of edge {edge} is {graph.values[edge]}; expected probabilities, 0 to 1")
    return probabilities


def has_negative(graph: Graph) -> bool:
    """Return whether any edge weight is negative. The answer is cached if the range of the weights is cached."""
    return check_weights(graph) if graph._reads_values_each_time else graph.kept("negative", check_weights)


def float_type(graph: Graph) -> np.dtype:
    """Return the dtype for sums of edge values: the values' own dtype if it is floating-point, otherwise float64."""
    dtype = graph.value_type
    return dtype if dtype is not None and dtype.kind == "f" else np.dtype(np.float64)


def score_type(weights: np.dtype | None, dtype: Any) -> np.dtype:
    """Return the dtype of scores, such as PageRank's.

    It is `dtype` if given, otherwise the dtype of the weights if that is floating-point, otherwise float64.
    """
    if dtype is None:
        return weights if weights is not None and weights.kind == "f" else np.dtype(np.float64)
    try:
        score_dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype is {reprlib.repr(dtype)}; expected float32 or float64") from None
    if score_dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype is {score_dtype}; expected float32 or float64")
    return score_dtype


def vertex_numbers(graph: Graph, name: str, given: Any, *, least: float = -np.inf) -> Any:
    """Return an argument with one number for each vertex as a float64 array. All numbers must be finite.

    The argument is an array, or a dict of vertex to number, in which missing vertices have 0.
    """
    if isinstance(given, dict):
        ids, values = several_vertices(graph, name, given, "vertex"), _as_numbers(name, [*given.values()])
        if values.shape != (len(ids),):
            raise ValueError(f"{name} is {reprlib.repr(given)}; expected one number for each vertex that it names")
        numbers = np.zeros(graph.n)
        numbers[ids] = values
    else:
        numbers = _as_numbers(name, given)
    numbers = moved(numbers, graph.device).astype(np.float64, copy=False)
    if numbers.shape != (graph.n,):
        described = f"has shape {numbers.shape}" if numbers.ndim else f"is {numbers.item()!r}"
        raise ValueError(
            f"{name} {described}; expected ({graph.n},), one number per vertex, or a dict of vertex to "
            f"number, such as {_example_dict(graph, given)}, with 0 for all others"
        )
    is_invalid = ~((numbers >= least) & (abs(numbers) < np.inf))
    if bool(is_invalid.any()):
        v, expected = int(is_invalid.argmax()), "a finite number" + (f", {least:g} or more" if least > -np.inf else "")
        raise ValueError(f"{name} of vertex {v} is {numbers[v].item()}; expected {expected}")
    return numbers


def _example_dict(graph: Graph, argument: Any) -> str:
    """Return an example of a dict for an error message about an argument that should be a dict.

    If the caller gave a list of vertex ids instead, the example maps its first three ids to the number 1.
    """
    ids = argument[:3] if isinstance(argument, list) else []
    return str({v: 1 for v in ids if type(v) is int and 0 <= v < graph.n} or {0: 1})


def _as_numbers(name: str, argument: Any) -> Any:
    numbers = as_array(name, argument)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} is {reprlib.repr(argument)}; expected an array of numbers, or a dict of vertex to number"
        )
    return numbers


def new_edges(graph: Graph) -> tuple[Any, Any]:
    """Return the sources and targets of the edges that `Graph.changed` inserted into a graph.

    An algorithm needs them if its argument `start` is a result on the graph before: its run then continues from that
    result at these edges. Raise ValueError if the graph was not made by `Graph.changed`, or if edges were removed, too.
    """
    change = graph.change
    if change is None:
        raise ValueError(
            "start continues from a result on the graph before a change, and this graph was not changed; expected "
            "a graph made by before.changed(insert=...)"
        )
    if len(change.removed):
        raise ValueError(
            f"start can't be used after edges were removed, here {len(change.removed)}, because results may depend on "
            "them; leave it out"
        )
    return change.src, change.dst


def check_previous(graph: Graph, name: str, given: Any, dtype: np.dtype[Any]) -> Any:
    """Check the argument `start` of an algorithm, and return it: the result of an earlier call, to go on from.

    Raise TypeError unless it is an array of the expected dtype with an entry for each vertex. `name` is what the error
    calls the result.
    """
    xp = module_of(graph.device)
    if not isinstance(given, xp.ndarray) or given.shape != (graph.n,) or given.dtype != dtype:
        is_array = hasattr(given, "dtype") and hasattr(given, "shape")
        described = f"{type(given).__module__} {given.dtype}{given.shape}" if is_array else type(given).__name__
        raise TypeError(
            f"{name} is {described}; expected a {xp.__name__} array of {graph.n} {dtype}, as this function returns it"
        )
    return given


def check_source(name: str, given: Any, source: int) -> None:
    """Raise ValueError if a previous result of shortest paths has a distance other than 0 at the vertex `source`.

    `given`, this result, is then the result for another source. `name` is what the error calls the result.
    """
    if (value := given[source].item()) != 0:
        raise ValueError(f"{name} has {value} at the source {source}; expected 0: it is the result for another source")
