"""The command `gasla bench`, which times gasla and compares it with other libraries and with the limits of the
hardware.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gasla.arrays import Device
from gasla.cli import compute, data
from gasla.names import meant
from gasla.progress import bar

DESCRIPTION = """\
Measure algorithms on graphs. Prints one line per algorithm and graph: the time, GTEPS, the fraction of the hardware
limit, and the fastest peer. Calls of all contestants are interleaved. Before timing, gasla's answer is verified and
peers' answers are compared with it; a wrong answer is reported and not timed.

graphs      ny (roads of New York), openflights, or a family and a scale, such as rmat20 for 2**20 vertices: rmat,
            kron, urand (uniform), grid, rgg (random geometric). Made once from fixed seeds, and stored in the cache.
            Or a file, read as an undirected graph, with weights replaced by pseudorandom numbers from 1 to 255
algorithms  bfs (with parents), levels (without), sssp, pagerank (20 iterations), components, triangles, betweenness
            and edge_betweenness (from 4 sources); strong_components and condensation (of a random half of the
            edges); core_number, hits (20 iterations); maximal_independent_set, greedy_color, maximal_matching,
            weighted_matching, bipartite_matching (of the double cover);
            multi_source_bfs, nearest_source, closeness and harmonic (from 64),
            multi_source_shortest_paths (from 8); topological_order and longest_path (of each edge once, from the
            smaller vertex to the larger);
            personal_pageranks (of 8 sources at once); katz and eigenvector (to 1e-6); shortest_path, maximum_flow,
            minimum_cut, k_shortest_paths (5) (between the first two sources); ego_graph (radius 2); bipartite, bridges,
            articulation_points; minimum_spanning_forest; aggregate_features (64 per vertex); label_propagation,
            louvain_communities, leiden_communities; modularity (of groups of consecutive ids); edge_support,
            clustering, k_truss (k = 6);
            directed_clustering (neighborhoods, of a random half of the edges), synchronous_labels (10 iterations);
            four_cliques; jaccard, adamic_adar and shared_nearest_neighbors (of the ends of each edge);
            top_k_similar (10), square_clustering, scan_statistics; spectral_embedding (one vector);
            geolocate (from every eighth vertex);
            eccentricity; k_hop_counts (3 hops) and effective_diameter (64 registers);
            earliest_arrival and fastest_durations (of edges with pseudorandom times);
            pagerank_nibble; random_walks and node2vec_walks (16 steps, about n walkers), sample_neighbors (10 per
            vertex, about n vertices); negative_edges (n pairs), split_edges, walk_pairs (of n / 16 walks); layout; mxv,
            mxm (the matrix squared), mxm_masked (triangles per edge)
peers       graphblas, scipy, igraph, networkit (on the CPU), cusparse, cugraph (on the GPU), gasla-cpu (gasla on the
            CPU, with --device gpu), or "all" for all installed peers of the device; missing ones are left out
"""

DEFAULT_GRAPHS = "rmat18,urand18,rgg18,grid18,ny"
# maximum number of timed calls; calls on a GPU are short, so more of them fit into the same time
ROUNDS = {"cpu": 8, "gpu": 56}


def add_commands(commands: Any) -> None:
    """Add the command `bench` to the parser of the command line."""
    parser = commands.add_parser(
        "bench",
        help="measure gasla on this machine, and compare it with other libraries",
        description=DESCRIPTION,
        epilog="TEPS: " + compute.TEPS + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--graphs", type=names, default=names(DEFAULT_GRAPHS), metavar="G,...", help=f"default: {DEFAULT_GRAPHS}")
    algorithms_help = "default: bfs,sssp,pagerank,components,triangles,betweenness"
    add("--algorithms", type=names, metavar="A,...", help=algorithms_help)
    add("--peers", type=names, default=[], metavar="P,...", help="libraries to compare with (default: none)")
    compute.add_device(parser)
    add("--functions", metavar="FILE", help="also time the functions f(graph) or f(graph, source) in a Python file")
    add("--rounds", type=int, metavar="N", help="maximum number of calls per contestant (default: 8; on the GPU 56)")
    add(
        "--budget", type=float, default=3.0, metavar="S", help="seconds per algorithm and graph for timing (default: 3)"
    )
    add("--json", metavar="FILE", help="write all times, and the hardware and software used, to a JSON file")
    add("--plot", metavar="FILE", help="plot the results: .png, .svg or .pdf (needs Matplotlib)")
    parser.set_defaults(run=run)


def names(text: str) -> list[str]:
    """Return the words of a list that is separated by commas."""
    return [name for name in text.split(",") if name]


def run(options: argparse.Namespace) -> int:
    """Run the measurements, print their table, and write the requested files. Return 1 if an answer of gasla was
    wrong.
    """
    if options.rounds is not None and options.rounds < 1:
        raise ValueError(f"--rounds {options.rounds}: expected 1 or more")
    if not options.budget > 0:
        raise ValueError(f"--budget {options.budget}: expected a positive number of seconds")
    if not options.graphs:
        raise ValueError("--graphs is empty; expected graphs such as rmat18,ny")
    json = data.check_target(options.json) if options.json else None
    picture = data.check_picture(options.plot, "--plot") if options.plot else None
    compute.use_device(options.device, options.threads)
    from gasla.bench import cells, graphs, peers, tasks
    from gasla.bench.limits import ceilings
    from gasla.bench.reports import plot, table
    from gasla.bench.reports.report import Report

    for name in options.graphs:
        graphs.check(name)
    files = {name: load_file(name, options.device) for name in options.graphs if Path(name).is_file()}
    algorithms = check_names("--algorithms", options.algorithms or peers.ALGORITHMS, tasks.ALGORITHMS)
    rivals = choose_peers(options.peers, options.device)
    functions = cells.functions_of(Path(options.functions)) if options.functions else {}
    with bar("measuring the machine's ceilings"):
        settings = cells.Settings(
            options.rounds or ROUNDS[options.device], options.budget, ceilings.measure(options.device)
        )
    report = Report.begin(settings.ceilings)
    loaded = (files.get(name) or load_graph(name, options.device) for name in options.graphs)

    def measure(graph: Any) -> Iterable[Any]:
        return cells.measure(graph, algorithms, rivals, settings, functions)

    no_wrong_answer = table.show(report, loaded, measure, json)
    if picture:
        plot.draw(report, picture)
    for target in filter(None, (json, picture)):
        print(f"wrote {target}")
    return 0 if no_wrong_answer else 1


def load_graph(name: str, device: Device) -> Any:
    """Load the benchmark graph with this name, and return it on a device."""
    from gasla.bench.graphs import load

    with bar(f"making {name}"):
        return load(name).on(device)


def load_file(name: str, device: Device) -> Any:
    """Load the benchmark graph in a file, and return it on a device.

    If the file can be read only with options that `gasla bench` lacks, the error says to convert the file with `gasla
    convert` first.
    """
    try:
        return load_graph(name, device)
    except ValueError as error:
        hint = "; these are options of gasla convert, which makes a file that bench can read"
        raise ValueError(f"{error}{hint * ('; pass ' in str(error))}") from None


def check_names(option: str, given: Iterable[str], right: Iterable[str]) -> list[str]:
    """Return the names that an option was given as a list. Raise ValueError if one is not among the allowed names
    `right`.
    """
    given, right = list(given), list(right)
    if wrong := [name for name in given if name not in right]:
        raise ValueError(f"{option} {wrong[0]}: expected names among {', '.join(right)}{meant(wrong[0], right)}")
    return given


def choose_peers(wanted: list[str], device: Device) -> list[str]:
    """Return those of the wanted peers that are installed. "all" stands for all installed peers of the device."""
    from gasla.bench import peers

    if wanted == ["all"]:
        return peers.installed(device)
    chosen = [name for name in check_names("--peers", wanted, peers.PEERS) if peers.is_installed(name)]
    for name in wanted:
        if name not in chosen:
            print(f"{name} is left out: {peers.PEERS[name].package} is not installed")
        elif device not in peers.PEERS[name].beside:
            raise ValueError(f"--peers {name}: available for comparison on the GPU only; add --device gpu")
    return chosen
