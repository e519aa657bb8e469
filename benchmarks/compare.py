"""Compare gasla on the CPU with other libraries, and each time ratio with its upper bound.

python -m benchmarks.compare [--graphs rmat20,ny] [--algorithms bfs,sssp] [--peers scipy,graphblas] [--json FILE]

`--algorithms semirings` measures matrix-vector products: plus_times against SciPy, other semirings against plus_times.
`--algorithms programs` measures user-written programs against the library's functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks import products, programs
from benchmarks.script import command
from gasla.bench import cells, graphs, peers, tasks
from gasla.bench.cells import Cell
from gasla.bench.limits import ceilings
from gasla.bench.reports import table
from gasla.bench.reports.report import Report
from gasla.cli.bench import names

GRAPHS = ("rmat20", "urand20", "grid20", "ny")
GROUPS = (*(name for name in tasks.COMPARED if name != "levels"), "semirings", "programs")
ROUNDS = 8  # one per source
BUDGET = 20.0  # seconds per cell

SETS = ("maximal_independent_set", "greedy_color", "maximal_matching", "weighted_matching")

ALIKE = {"jaccard": 0.7, "adamic_adar": 0.7, "top_k_similar": 0.7}

# The largest acceptable ratio of gasla's time to the best peer's.
BARS: dict[str, dict[str, float]] = {
    "rmat18": {
        **{"multi_source_bfs": 0.20, "aggregate_features": 0.60, "core_number": 0.70, "hits": 0.50},
        **{"strong_components": 1.0, "katz": 0.40, "eigenvector": 0.40, "label_propagation": 0.70},
        **{"minimum_spanning_forest": 0.40, "louvain_communities": 0.35, "pagerank_nibble": 0.30},
        **{"bipartite": 1.0, "bridges": 1.0, "articulation_points": 1.0, "modularity": 1.0},
        **dict.fromkeys(SETS, 1.0),
    },
    "grid18": {
        **{"aggregate_features": 0.60, "core_number": 0.40, "hits": 0.30, "strong_components": 3.0},
        **{"katz": 0.30, "eigenvector": 0.30, "bipartite": 0.70, "bridges": 0.70, "articulation_points": 0.70},
        **{"modularity": 1.0, "label_propagation": 0.70, "minimum_spanning_forest": 0.60, "louvain_communities": 0.35},
        **{"k_truss": 1.0, "pagerank_nibble": 0.30},
        **dict.fromkeys(SETS, 0.6),
    },
    "rmat20": {"bfs": 0.60, "sssp": 0.25, "pagerank": 1.0, "components": 0.35, "triangles": 0.60, "betweenness": 1.0},
    "urand20": {"bfs": 0.70, "sssp": 0.60, "pagerank": 1.0, "components": 0.35},
    "grid20": {"bfs": 0.80, "sssp": 0.25, "pagerank": 0.90, "components": 0.25, "triangles": 0.20, "betweenness": 0.35},
    "rmat16": {"k_truss": 0.8},
    "rmat12": {"four_cliques": 1.0},
    "rmat14": {"topological_order": 3.0, "longest_path": 1.0, **ALIKE},
    "grid16": {"topological_order": 1.5, "longest_path": 1.0, **ALIKE},
    "ny": {"bfs": 0.85, "sssp": 0.35, "pagerank": 1.0, "components": 0.55, "triangles": 0.25, "betweenness": 0.60},
}
BARS_PRODUCTS = {"mxv": 1.0, "mxm": 1.0, "mxm_masked": 0.5}  # on any graph
BAR_SEMIRING = 1.15  # other semirings relative to plus_times
BAR_LOG_SUM_EXP = 2.6  # needs one exponential per entry and one logarithm per row
BAR_PROGRAM = 1.10  # a user-written program relative to the library's function


def bar(cell: Cell) -> float | None:
    """The largest acceptable ratio of a cell."""
    family, _, member = cell.algorithm.partition(" ")
    if family == "mxv" and member:
        return {"plus_times": BARS_PRODUCTS["mxv"], "logaddexp_plus": BAR_LOG_SUM_EXP}.get(member, BAR_SEMIRING)
    if family == "own":
        return BAR_PROGRAM
    return BARS.get(cell.graph, {}).get(cell.algorithm, BARS_PRODUCTS.get(cell.algorithm))


def measure(
    graph: graphs.BenchmarkGraph, groups: Iterable[str], rivals: Iterable[str], settings: cells.Settings
) -> Iterator[Cell]:
    """The cells of one graph: algorithms, products over semirings, user-written programs."""
    groups = list(groups)
    yield from cells.measure(graph, [name for name in groups if name in tasks.TASKS], rivals, settings)
    if "semirings" in groups:
        yield from products.measure(graph, settings)
    if "programs" in groups:
        yield from programs.measure(graph, settings)


def verdict(cell: Cell) -> str:
    """Whether the ratio is acceptable, as text."""
    limit = bar(cell)
    if cell.ratio is None or limit is None:
        return ""
    return f"{'ok' if cell.ratio <= limit else 'OVER'} ({limit:.2f})"


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, measure, and optionally write a JSON file; returns 1 if an answer was wrong."""
    defaults = {"graphs": ",".join(GRAPHS), "algorithms": ",".join(GROUPS), "rounds": ROUNDS, "budget": BUDGET}
    parser = command(__doc__, "json", **defaults)
    parser.add_argument("--peers", type=names, default=peers.installed("cpu"), help="comma-separated (%(default)s)")
    options = parser.parse_args(arguments)
    settings = cells.Settings(options.rounds, options.budget, ceilings.measure("cpu"))
    rivals = [name for name in options.peers if name != cells.GASLA]

    def measured(graph: graphs.BenchmarkGraph) -> Iterator[Cell]:
        return measure(graph, options.algorithms, rivals, settings)

    loaded = map(graphs.load, options.graphs)
    return 0 if table.show(Report.begin(settings.ceilings), loaded, measured, options.json, verdict) else 1


if __name__ == "__main__":
    raise SystemExit(main())
