"""`gasla bench`: how fast gasla is on this machine, beside its peers and beside what the machine can do."""

import argparse
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from gasla.arrays import Device
from gasla.cli import compute, data
from gasla.names import meant
from gasla.progress import bar

DESCRIPTION = """\
Measure algorithms on graphs: one line per algorithm and graph, with the time, GTEPS, the share of the machine's
ceiling, and the fastest peer. All contestants take turns in one run. gasla's answer is verified, and the others' are
compared with it, before anything is timed; a wrong answer is reported, not timed.

graphs      ny (roads of New York), openflights, or a family and a scale, such as rmat20 for 2**20 vertices: rmat,
            kron, urand (uniform), grid, rgg (random geometric). Made once from fixed seeds, and stored in the cache.
            Or a file; its edges are taken in both directions, with weights of 1 to 255
algorithms  bfs (with parents), levels (without), sssp, pagerank (20 iterations), components, triangles, betweenness
            and edge_betweenness (from 4 sources); strong_components and condensation (of a random half of the
            edges); core_number, hits (20 iterations); maximal_independent_set, greedy_color, maximal_matching,
            weighted_matching; multi_source_bfs, closeness and harmonic (from 64), multi_source_shortest_paths (from
            8); topological_order and longest_path (of each edge once, from the smaller vertex to the larger);
            personal_pageranks (of 8 sources at once); katz and eigenvector (to 1e-6); shortest_path, maximum_flow,
            minimum_cut (between the first two sources); ego_graph (of radius 2); bipartite, bridges,
            articulation_points; minimum_spanning_forest; aggregate_features (64 a vertex); label_propagation,
            louvain_communities; modularity (of groups by number); edge_support, clustering, k_truss (of 6);
            four_cliques; jaccard and adamic_adar (of each edge's ends); top_k_similar (10), square_clustering;
            pagerank_nibble; random_walks and node2vec_walks (16 steps of about n walkers), sample_neighbors (10 of
            each of these); mxv, mxm (the square), mxm_masked (closed wedges at edges)
peers       those of them that are installed, the others are left out: graphblas, scipy, igraph, networkit on the CPU,
            cusparse, cugraph on the GPU; gasla-cpu beside the GPU; or all that are installed for the device
"""

DEFAULT_GRAPHS = "rmat18,urand18,rgg18,grid18,ny"
ROUNDS = {"cpu": 8, "gpu": 56}  # on the GPU, whose calls are short, several for every source


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "bench",
        help="how fast gasla is here, beside its peers and the machine's ceilings",
        description=DESCRIPTION,
        epilog="TEPS: " + compute.TEPS + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--graphs", type=names, default=names(DEFAULT_GRAPHS), metavar="G,...", help=f"default: {DEFAULT_GRAPHS}")
    add("--algorithms", type=names, metavar="A,...", help="default: the six algorithms")
    add("--peers", type=names, default=[], metavar="P,...", help="default: none")
    add("--device", choices=("cpu", "gpu"), default="cpu", help="where gasla computes (default: cpu)")
    add("--functions", metavar="FILE", help="also time a Python file's functions f(graph) or f(graph, source)")
    add("--rounds", type=int, metavar="N", help="calls of each contestant at most (default: 8; on the GPU 56)")
    add("--budget", type=float, default=3.0, metavar="S", help="seconds a cell, answers aside (default: 3)")
    add("--threads", type=int, metavar="N", help="threads to use")
    add("--json", metavar="FILE", help="write every run, and with what it was taken")
    add("--plot", metavar="FILE", help="draw the figures: .png, .svg or .pdf (needs Matplotlib)")
    parser.set_defaults(run=run)


def names(text: str) -> list[str]:
    """The words of a comma-separated list."""
    return [name for name in text.split(",") if name]


def run(options: argparse.Namespace) -> int:
    """Measure, print the table, write what is asked for; 1 if an answer of gasla's was wrong."""
    if options.rounds is not None and options.rounds < 1:
        raise ValueError(f"--rounds {options.rounds}: expected 1 or more")
    if not options.budget > 0:
        raise ValueError(f"--budget {options.budget}: expected a positive number of seconds")
    if not options.graphs:
        raise ValueError("--graphs names no graph; expected some, such as rmat18,ny")
    json = data.check_target(options.json) if options.json else None
    picture = data.check_picture(options.plot, "--plot") if options.plot else None
    compute.check_device(options.device)
    if options.threads is not None:
        compute.set_threads(options.threads)
    from gasla.bench import cells, graphs, peers, tasks
    from gasla.bench.limits import ceilings
    from gasla.bench.reports import plot, table
    from gasla.bench.reports.report import Report

    for name in options.graphs:
        graphs.check(name)
    algorithms = check_names("--algorithms", options.algorithms or peers.ALGORITHMS, tasks.ALGORITHMS)
    rivals = choose_peers(options.peers, options.device)
    functions = cells.functions_of(Path(options.functions)) if options.functions else {}
    with bar("measuring the machine's ceilings"):
        settings = cells.Settings(
            options.rounds or ROUNDS[options.device], options.budget, ceilings.measure(options.device)
        )
    report = Report.begin(settings.ceilings)
    say(*table.introduction(report), "", table.HEADER)
    for name in options.graphs:
        graph = load_graph(name, options.device)
        for cell in report.measure(graph, partial(cells.measure, graph, algorithms, rivals, settings, functions)):
            say(table.line(cell))
            if json:  # now, so that a run which is stopped here keeps its cells
                report.write(json)
        if json:  # and whether the machine was disturbed
            report.write(json)
    say("", *table.explanation())
    if picture:
        plot.draw(report, picture)
    say(*(f"wrote {target}" for target in (json, picture) if target))
    return 1 if any(cell.wrong for cell in report.cells) else 0


def say(*lines: str) -> None:
    """Print lines now: the next one may take a while."""
    for line in lines:
        print(line, flush=True)


def load_graph(name: str, device: Device) -> Any:
    """The graph of this name, on that device."""
    from gasla.bench.graphs import load

    with bar(f"making {name}"):
        return load(name).on(device)


def check_names(option: str, given: Iterable[str], right: Iterable[str]) -> list[str]:
    """What was given, if it all exists."""
    given, right = list(given), list(right)
    if wrong := [name for name in given if name not in right]:
        raise ValueError(f"{option} {wrong[0]}: expected some of {', '.join(right)}{meant(wrong[0], right)}")
    return given


def choose_peers(wanted: list[str], device: Device) -> list[str]:
    """The peers to compare with, as far as they are installed; "all" means all of those."""
    from gasla.bench import peers

    if wanted == ["all"]:
        return peers.installed(device)
    there = [name for name in check_names("--peers", wanted, peers.PEERS) if peers.is_there(name)]
    for name in wanted:
        if name not in there:
            say(f"{name} is left out: {peers.PEERS[name].package} is not installed")
        elif device not in peers.PEERS[name].beside:
            raise ValueError(f"--peers {name}: it is there to be compared with on the GPU; add --device gpu")
    return there
