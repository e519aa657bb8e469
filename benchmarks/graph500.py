"""Run Graph500: generate an edge list, build the graph, search it from 64 roots, validate, and print TEPS.

    python -m benchmarks.graph500 --scale 20 [--device gpu | --cards all | --ranks 2] [--roots 64] [--seed 1]
        [--output FILE]
    mpiexec -n 4 python -m benchmarks.graph500 --scale 20 --mpi

The graph has 2**scale vertices. Kernel 1 makes the graph from the edge list; over ranks, every process has the edge
list, and kernel 1 also divides the graph. Kernel 2 is breadth-first search, kernel 3 shortest paths; both return a
tree. Each search is validated against the edge list, untimed and on the device of that list. If one is invalid the
output says why and has no figures, and the exit code is 1.

Graph500 Benchmarks 1 ("Search") and 2 ("Shortest Path"), version 2.0, 2017: https://graph500.org/?page_id=12.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import gasla
import semirings
from benchmarks import on_ranks
from benchmarks.on_ranks import Place
from benchmarks.script import Script, command
from gasla.arrays import Device, array_module, device_of, moved
from gasla.bench import peers
from gasla.bench.runner import timed
from gasla.distributed import BlockArray

A, B, C = 0.57, 0.19, 0.19
EDGE_FACTOR = 16
ROOTS = 64
PART = 1 << 17  # edges that a thread validates at once
QUARTILES = ("min", "firstquartile", "median", "thirdquartile", "max")

Array = Any  # NumPy's or CuPy's


# --- the edge list ----------------------------------------------------------------------------------------------------


class Edges(NamedTuple):
    """The input of kernel 1: undirected edges, among them loops and parallel edges, in random order."""

    src: Array  # int64
    dst: Array
    weights: Array  # float32, in [0, 1)

    def on(self, device: Device) -> Edges:
        """The same arrays on a device."""
        return Edges(*(moved(array, device) for array in self))


def kronecker(scale: int, edge_factor: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The ends of Kronecker edges, with vertices in the order of the recursion, drawn on all threads."""
    with ThreadPoolExecutor(gasla.get_num_threads()) as threads:
        parts = list(threads.map(lambda own: _kronecker_part(scale, own), rng.spawn(edge_factor)))
    src, dst = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    return src, dst


def _kronecker_part(scale: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """The ends of one edge per vertex; each bit is drawn on its own."""
    count = 1 << scale
    src, dst = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for bit in range(scale):
        lower = rng.random(count, np.float32) > A + B
        right = rng.random(count, np.float32) > np.where(lower, C / (1 - A - B), A / (A + B))
        src |= lower.astype(np.int64) << bit
        dst |= right.astype(np.int64) << bit
    return src, dst


def edge_list(scale: int, seed: int = 1) -> Edges:
    """The edge list of the benchmark: vertices are renamed, and edges shuffled."""
    rng = np.random.default_rng(seed)
    src, dst = kronecker(scale, EDGE_FACTOR, rng)
    names, order = rng.permutation(1 << scale), rng.permutation(len(src))
    return Edges(names[src[order]], names[dst[order]], rng.random(len(src), np.float32))


# --- kernels ----------------------------------------------------------------------------------------------------------


def construct(edges: Edges) -> gasla.Graph:
    """Kernel 1: the undirected graph; of parallel edges the lightest. The number of vertices is found here."""
    graph = gasla.Graph.from_edges(edges.src, edges.dst, edges.weights).symmetrized(semirings.min)
    graph.in_, graph.in_values, graph.in_degrees  # noqa: B018  # what searches read belongs to the construction
    assert graph.has_symmetric_values
    return graph


def draw_roots(edges: Edges, count: int = ROOTS, seed: int = 1) -> list[int]:
    """Random distinct vertices with an edge to another vertex; fewer if there are not as many."""
    proper = edges.src != edges.dst
    is_joined = np.zeros(max(edges.src.max(), edges.dst.max()) + 1, bool)
    is_joined[edges.src[proper]] = is_joined[edges.dst[proper]] = True
    joined = np.flatnonzero(is_joined)
    rng = np.random.default_rng([seed, 500])
    drawn: list[int] = rng.choice(joined, min(count, len(joined)), replace=False).tolist()
    return drawn


class Tree(NamedTuple):
    """The output of a search."""

    parents: Array  # the root is its own parent, and vertices outside of the tree have -1
    distances: Array | None = None  # of shortest paths


def search(graph: Any, root: int) -> tuple[Array]:
    """Kernel 2."""
    return (gasla.bfs(graph, root, parents=True).parents,)


def shortest_paths(graph: Any, root: int) -> tuple[Array, Array]:
    """Kernel 3."""
    distances, parents = gasla.sssp(graph, root, parents=True)
    return parents, distances


# --- validation -------------------------------------------------------------------------------------------------------


def for_validation(edges: Edges) -> Edges:
    """The same edges sorted by the first end, so that its values are read in order; ids are int32 if they fit."""
    xp: Any = array_module(edges.src)
    is_small = len(edges.src) == 0 or max(edges.src.max(), edges.dst.max()) < 2**31
    src, dst = (ends.astype(np.int32) if is_small else ends for ends in (edges.src, edges.dst))
    order = xp.argsort(src)
    return Edges(src[order], dst[order], edges.weights[order])


def problem(edges: Edges, root: int, tree: Tree) -> str:
    """The rule of the benchmark that the output of a search breaks; "" if none. All arrays are on one device."""
    parents, distances = tree
    xp: Any = array_module(parents)
    n, inside = len(parents), parents >= 0
    if parents[root] != root:
        return f"the parent of the root {root} is {parents[root]}; expected the root"
    if not (parents < n).all():
        return f"the parent of a vertex is {parents.max()}; expected a vertex below {n}"
    levels = peers.depths(parents, root)
    if (levels[inside] < 0).any():
        return "the tree has a cycle, or a vertex whose parent is outside of it"
    if distances is None:
        depths = xp.where(inside, levels, -2)  # so far from every level that an edge out of the tree is too long
    else:
        if distances[root] != 0 or not xp.isfinite(distances[inside]).all() or xp.isfinite(distances[~inside]).any():
            return "distances are finite outside of the tree, or not in it, or not 0 at the root"
        depths = xp.where(inside, distances, np.finfo(distances.dtype).max / 2)
    hangs = ~inside
    hangs[root] = True
    if wrong := _problem_of_edges(edges, parents, depths, hangs):
        return wrong
    if (v := _first(~hangs)) >= 0:
        return f"no edge joins vertex {v} and its parent {parents[v]}{'' if distances is None else ' at its distance'}"
    return ""


def _problem_of_edges(edges: Edges, parents: Array, depths: Array, hangs: Array) -> str:
    """The rule that an edge breaks; marks in `hangs` the vertices that an edge joins to their parents.

    On a CPU all threads take parts of the list that are small enough for what is computed to stay in a cache.
    """
    if not isinstance(parents, np.ndarray):
        return _problem_of_part(edges, parents, depths, hangs)
    parts = [Edges(*(array[i : i + PART] for array in edges)) for i in range(0, len(edges.src), PART)]
    with ThreadPoolExecutor(gasla.get_num_threads()) as threads:
        found = threads.map(lambda part: _problem_of_part(part, parents, depths, hangs), parts)
        return next(filter(None, found), "")


def _problem_of_part(edges: Edges, parents: Array, depths: Array, hangs: Array) -> str:
    """The same for a part of the list. `depths` are levels, or distances; outside of the tree they are far from all."""
    src, dst, weights = edges
    at_src, at_dst = depths.take(src), depths.take(dst)
    is_weighted = depths.dtype.kind == "f"
    if is_weighted:
        at_src, at_dst = at_src.astype(np.float64), at_dst.astype(np.float64)
        too_long = abs(at_src - at_dst) > weights + _rounding(depths, at_src, at_dst)
    else:
        too_long = abs(at_src - at_dst) > 1
    if (e := _first(too_long)) >= 0:
        u, v = int(src[e]), int(dst[e])
        if (parents[u] < 0) != (parents[v] < 0):
            return f"the tree has only one end of the edge {u} - {v}; expected a whole component"
        if is_weighted:
            return f"the distances of the edge {u} - {v} differ by more than its weight {weights[e]}"
        return f"the levels of the edge {u} - {v} are {depths[u]} and {depths[v]}"
    for child, parent, low, high in ((src, dst, at_dst, at_src), (dst, src, at_src, at_dst)):
        joined = array_module(src).flatnonzero(parents.take(child) == parent)
        if is_weighted:
            low, high = low[joined], high[joined]
            joined = joined[abs(low + weights[joined] - high) <= _rounding(depths, low, high)]
        hangs[child[joined]] = True  # a loop joins no vertex but the root, which hangs anyway
    return ""


def _rounding(depths: Array, one: Array, other: Array) -> Array:
    """The error of one sum, in the type of the distances, whose result is one of the two."""
    bound: Array = float(np.finfo(depths.dtype).eps) * array_module(depths).maximum(one, other)
    return bound


def _first(bad: Array) -> int:
    """The first position that is marked; -1 if none is."""
    return int(bad.argmax()) if bad.any() else -1


# --- figures ----------------------------------------------------------------------------------------------------------


class Searches(NamedTuple):
    """Seconds of each search, and the number of input edges in the component that it traversed."""

    seconds: list[float]
    edges: list[int]

    def lines(self, kernel: str) -> list[str]:
        """The figures of a kernel in the benchmark's format."""
        seconds, edges = np.array(self.seconds), np.array(self.edges, np.float64)
        found = [*_statistics(f"{kernel}_", "time", seconds), *_statistics(f"{kernel}_", "nedge", edges)]
        return [*found, *_rates(f"{kernel}_", edges / seconds)]


def _statistics(kernel: str, what: str, values: Array) -> list[str]:
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    found = zip((*QUARTILES, "mean", "stddev"), (*_quartiles(values), values.mean(), deviation))
    return [f"{kernel}{name}_{what}: {value:.17e}" for name, value in found]


def _rates(kernel: str, rates: Array) -> list[str]:
    """Quartiles, harmonic mean and its standard error (N. Norris, 1940)."""
    mean = len(rates) / (1 / rates).sum()
    error = np.sqrt(((1 / rates - 1 / mean) ** 2).sum()) / max(len(rates) - 1, 1) * mean**2
    found = zip((*QUARTILES, "harmonic_mean", "harmonic_stddev"), (*_quartiles(rates), mean, error))
    return [f"{kernel}{name}_TEPS: {value:.17e}" for name, value in found]


def _quartiles(values: Array) -> Array:
    return np.quantile(values, [0, 0.25, 0.5, 0.75, 1])


class Invalid(Exception):
    """A search whose output breaks a rule."""


def measure(
    kernel: Callable[..., Any], graph: Any, edges: Edges, roots: list[int], device: Device | None = None
) -> Searches:
    """Search from all roots on a device, by default the graph's, after one untimed search.

    Each output is validated on the device of the edge list.
    """
    device, there = device or graph.device, device_of(edges.src)
    degrees = array_module(edges.src).bincount(edges.src, minlength=graph.n)
    found = Searches([], [])
    kernel(graph, roots[0])
    for root in roots:
        seconds, arrays = timed(partial(kernel, graph, root), device)
        found.seconds.append(seconds)
        gathered = [array.compute() if isinstance(array, BlockArray) else array for array in arrays]
        tree = Tree(*(moved(array, there) for array in gathered))
        if wrong := problem(edges, root, tree):
            raise Invalid(f"{kernel.__name__} from {root}: {wrong}")
        found.edges.append(int(degrees[tree.parents >= 0].sum()))
    return found


def run(scale: int, place: Place | None = None, roots: int = ROOTS, seed: int = 1) -> list[str]:
    """All kernels; returns the lines of the output."""
    place = place or Place("cpu", "cpu", lambda graph: graph)
    edges = edge_list(scale, seed)
    given = edges.on("cpu" if place.is_divided else place.device)
    place.put(construct(Edges(*(array[:1000] for array in given))))  # imports and compiles
    building, graph = timed(lambda: place.put(construct(given)), place.device)
    chosen, sorted_edges = draw_roots(edges, roots, seed), for_validation(given)
    head = [f"SCALE: {scale}", f"edgefactor: {EDGE_FACTOR}", f"NBFS: {len(chosen)}"]
    lines = [*head, f"construction_time: {building:.17e}"]
    for name, kernel in (("bfs", search), ("sssp", shortest_paths)):
        lines += measure(kernel, graph, sorted_edges, chosen, place.device).lines(name)
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, run, and print the figures; returns 1 if a search is invalid."""
    parser = command(__doc__, "output")
    parser.add_argument("--scale", type=int, required=True)
    on_ranks.add_options(parser)
    parser.add_argument("--roots", type=int, default=ROOTS, help="number of searches; results need 64 (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    script = Script(parser, arguments)
    options = script.options
    with on_ranks.opened(script) as place:
        try:
            lines = run(options.scale, place, options.roots, options.seed)
        except Invalid as error:
            script.say(f"No results: {error}")
            return 1
        script.say("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
