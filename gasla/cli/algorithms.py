"""The six algorithms as commands: their options, what is said of an answer, how it is checked and saved."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla import verify
from gasla.cli import text
from gasla.cli.data import Named
from gasla.progress import track

Array = NDArray[Any]


class Algorithm:
    """What the command line has to know of one algorithm."""

    name: ClassVar[str]
    help: ClassVar[str]
    function: ClassVar[str]  # its name in gasla
    parameters: ClassVar[tuple[str, ...]] = ()  # of the function, that are options of the same names

    def add_options(self, parser: ArgumentParser) -> None:
        """Options of this algorithm alone."""

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        """What the options ask the function for."""
        return {name: getattr(options, name) for name in self.parameters}

    def run(self, graph: Any, **arguments: Any) -> Any:
        """Compute the answer."""
        return getattr(gasla, self.function)(graph, **arguments)

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        """Raise `verify.VerificationError` if the answer is wrong."""
        raise NotImplementedError

    def columns(self, answer: Any) -> dict[str, Array]:
        """The arrays to save, by name."""
        raise NotImplementedError

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        """What a person wants to know of the answer."""
        raise NotImplementedError

    def iterations(self, answer: Any) -> int | None:
        """How many rounds it took, where the answer tells."""
        return None

    def edges(self, graph: Any, answer: Any, **arguments: Any) -> int:
        """Stored directed edges whose source was reached: all of them, but for searches."""
        return int(graph.m)


class Search(Algorithm):
    """A search from one vertex."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", metavar="VERTEX", help="where to start (default: the vertex of most out-edges)")
        parser.add_argument("--parents", action="store_true", help="also find each vertex's predecessor")

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        if options.source is not None:
            source = graph.vertex(options.source)
        elif graph.graph.n:
            source = int(np.argmax(graph.graph.out_degrees))
        else:
            raise ValueError("a graph without vertices has no source")
        return {**super().arguments(graph, options), "source": source}


def _edges_from(graph: Any, reached: Array) -> int:
    return int(graph.out_degrees[reached].sum(dtype=np.int64))


class Bfs(Search):
    """Breadth-first search."""

    name = function = "bfs"
    help = "how many edges each vertex is away from a source"
    parameters = ("parents", "depth_limit")

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--depth-limit", type=text.count, metavar="N", help="go no further than this")

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        levels, parents = _pair(answer)
        verify.bfs(graph, arguments["source"], levels, parents, depth_limit=arguments["depth_limit"])

    def columns(self, answer: Any) -> dict[str, Array]:
        return _named(answer, "level", "parent")

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        levels, _ = _pair(answer)
        counts = np.bincount(levels[levels >= 0]).tolist()
        yield f"{sum(counts):,} of {graph.graph.n:,} vertices reached from {graph.label(arguments['source'])}"
        names, counts = text.shortened([str(level) for level in range(len(counts))], counts, 20)
        yield from text.histogram([f"level {name}" for name in names], counts, "vertices")

    def iterations(self, answer: Any) -> int:
        return int(_pair(answer)[0].max(initial=0))

    def edges(self, graph: Any, answer: Any, **arguments: Any) -> int:
        return _edges_from(graph, _pair(answer)[0] >= 0)


class Sssp(Search):
    """Single-source shortest paths."""

    name = function = "sssp"
    help = "how far each vertex is from a source, edges having lengths"
    parameters = ("parents", "delta")

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--delta", type=float, metavar="X", help="width of a bucket (default: from the weights)")

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        verify.sssp(graph, arguments["source"], *_pair(answer))

    def columns(self, answer: Any) -> dict[str, Array]:
        return _named(answer, "distance", "parent")

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        distances, _ = _pair(answer)
        reached = np.isfinite(distances)
        yield f"{reached.sum():,} of {graph.graph.n:,} vertices reached from {graph.label(arguments['source'])}"
        if np.ptp(distances[reached]) > 0:
            counts, edges = np.histogram(distances[reached], bins=10)
            names = [f"{a:,.6g} to {b:,.6g}" for a, b in pairwise(edges)]
            yield from text.histogram(names, counts.tolist(), "vertices")
        yield "farthest:"
        yield from text.ranking(graph, np.where(reached, distances, -np.inf), min(options.top, int(reached.sum())))

    def edges(self, graph: Any, answer: Any, **arguments: Any) -> int:
        return _edges_from(graph, np.isfinite(_pair(answer)[0]))


class PageRank(Algorithm):
    """PageRank."""

    name = function = "pagerank"
    help = "how important each vertex is by the importance of those that lead to it"
    parameters = ("alpha", "tol", "max_iter", "weighted")

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--alpha", type=float, default=0.85, metavar="X", help="damping (default: 0.85)")
        parser.add_argument("--tol", type=float, default=1e-6, metavar="X", help="L1 tolerance (default: 1e-6)")
        parser.add_argument(
            "--max-iter", type=text.count, default=100, metavar="N", help="iterations at most (default: 100)"
        )
        parser.add_argument("--unweighted", dest="weighted", action="store_false", help="all edges count the same")

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        del arguments["max_iter"]
        verify.pagerank(graph, answer.ranks, **arguments)

    def columns(self, answer: Any) -> dict[str, Array]:
        return {"rank": answer.ranks}

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        state = "converged" if answer.converged else "did NOT converge"
        yield f"{state} after {answer.iterations} iterations, residual {answer.residual:.3g}; the highest ranks:"
        yield from text.ranking(graph, answer.ranks, options.top)

    def iterations(self, answer: Any) -> int:
        return int(answer.iterations)


class Components(Algorithm):
    """Weakly connected components."""

    name = "components"
    help = "which vertices hang together, whatever the direction of edges"
    function = "connected_components"

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        verify.components(graph, answer.labels, answer.count)

    def columns(self, answer: Any) -> dict[str, Array]:
        return {"component": answer.labels}

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        sizes = np.bincount(answer.labels)
        yield f"{answer.count:,} components, {(sizes == 1).sum():,} of them single vertices; the largest:"
        _, first = np.unique(answer.labels, return_index=True)
        for place, c in enumerate(np.argsort(-sizes, kind="stable")[: options.top].tolist(), 1):
            yield f"{place:4}  {sizes[c]:>14,} vertices, among them {graph.label(int(first[c]))}"


class Triangles(Algorithm):
    """Triangle counting."""

    name = "triangles"
    help = "how many triangles there are, and through each vertex; direction is ignored"
    function = "triangle_count"

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        return {"per_vertex": True}

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        verify.triangles(graph, answer.total, answer.per_vertex)

    def columns(self, answer: Any) -> dict[str, Array]:
        return {"triangles": answer.per_vertex}

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        yield f"{answer.total:,} triangles; the vertices in most of them:"
        yield from text.ranking(graph, answer.per_vertex, options.top)


class Betweenness(Algorithm):
    """Betweenness centrality."""

    name = "betweenness"
    help = "which part of all shortest paths runs through each vertex"
    function = "betweenness_centrality"
    parameters = ("weighted",)

    def add_options(self, parser: ArgumentParser) -> None:
        some = parser.add_mutually_exclusive_group()
        some.add_argument("--source", nargs="+", metavar="VERTEX", help="only paths from these (default: from all)")
        some.add_argument("-k", type=int, metavar="N", help="only paths from so many, drawn by lot")
        parser.add_argument("--seed", type=text.count, default=0, metavar="N", help="seed of the lot (default: 0)")
        parser.add_argument("--weighted", action="store_true", help="edges have lengths")

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        sources = None
        if options.source is not None:
            sources = np.array([graph.vertex(name) for name in options.source])
        elif options.k is not None:
            if not 0 < options.k <= graph.graph.n:
                raise ValueError(f"-k {options.k}: expected a number from 1 to {graph.graph.n}, the vertices there are")
            sources = np.random.default_rng(options.seed).choice(graph.graph.n, options.k, replace=False)
        return {**super().arguments(graph, options), "sources": sources}

    def check(self, graph: Any, answer: Any, **arguments: Any) -> None:
        verify.betweenness(graph, answer, **arguments)

    def columns(self, answer: Any) -> dict[str, Array]:
        return {"betweenness": answer}

    def summary(self, graph: Named, answer: Any, options: Namespace, **arguments: Any) -> Iterator[str]:
        sources = arguments["sources"]
        yield f"shortest paths from {graph.graph.n if sources is None else sources.size:,} sources run through:"
        yield from text.ranking(graph, answer, options.top)

    def edges(self, graph: Any, answer: Any, **arguments: Any) -> int:
        sources = range(graph.n) if arguments["sources"] is None else arguments["sources"].tolist()
        return sum(_edges_from(graph, gasla.bfs(graph, s) >= 0) for s in track(sources, "sources"))


def _pair(answer: Any) -> tuple[Array, Array | None]:
    """Values and parents, whether or not parents were asked for."""
    return answer if isinstance(answer, tuple) else (answer, None)


def _named(answer: Any, values: str, parents: str) -> dict[str, Array]:
    return dict(zip((values, parents), answer)) if isinstance(answer, tuple) else {values: answer}


ALGORITHMS: tuple[Algorithm, ...] = (Bfs(), Sssp(), PageRank(), Components(), Triangles(), Betweenness())
