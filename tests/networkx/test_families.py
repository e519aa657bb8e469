"""More functions of NetworkX's: trees, cores, matrices, degrees, distances, cuts, partitions; each in all its forms."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.networkx.test_backend import KINDS, check_kind, compare

nx = pytest.importorskip("networkx", minversion="3.6")

DEGREES = [
    "isolates", "average_neighbor_degree", "average_degree_connectivity", "degree_assortativity_coefficient",
    "degree_pearson_correlation_coefficient", "reciprocity", "overall_reciprocity", "is_regular", "s_metric",
]  # fmt: skip
DEPTH_FIRST = ["dfs_edges", "dfs_tree", "dfs_preorder_nodes", "dfs_postorder_nodes"]
SHAPES = ["is_tree", "is_forest", "is_arborescence", "is_branching", "is_eulerian"]
MATRICES = [
    "to_scipy_sparse_array", "to_numpy_array", "adjacency_matrix", "laplacian_matrix", "normalized_laplacian_matrix",
]  # fmt: skip
HOLES = ["constraint", "effective_size"]
BRIDGES = ["bridges", "has_bridges", "is_biconnected"]
CORES = ["k_core", "k_shell", "k_crust"]
DISTANCES = [
    "center", "barycenter", "global_efficiency", "harmonic_diameter", "wiener_index", "hyper_wiener_index",
    "schultz_index", "gutman_index", "local_efficiency", "floyd_warshall_numpy",
]  # fmt: skip
BY_WEIGHT = [name for name in DISTANCES if not name.endswith("_efficiency")]
LEVELS = ["trophic_levels", "trophic_differences", "trophic_incoherence_parameter"]
LENGTHS = ["bellman_ford_path_length", "astar_path_length"]
ORDERS = ["topological_sort", "dag_longest_path", "dag_longest_path_length"]
TREES = ["minimum_spanning_tree", "maximum_spanning_tree"]


def parts_of(G: Any, seed: int) -> list[set[Any]]:
    """A random partition of the nodes."""
    parts: list[set[Any]] = [set(), set(), set()]
    for node in G:
        parts[random.Random(f"{seed}{node}").randrange(3)].add(node)
    return [part for part in parts if part]


def light_calls(G: Any, seed: int) -> list[bool]:
    """Calls that compile little."""
    nodes = list(G)
    made = [compare(name, G) for name in [*DEGREES, *SHAPES, *MATRICES, *CORES]]
    made += [compare(name, G, weight=None) for name in MATRICES]
    made += [compare(name, G, dtype=kind) for kind in (float, int, "float32") for name in MATRICES[:3]]
    made += [compare(name, G, nodelist=nodes[::-1]) for name in MATRICES]
    made += [compare(name, G, nodelist=nodes[1::2]) for name in MATRICES[:2]]
    made += [compare(name, G, nodelist=odd) for odd in (nodes * 2, [*nodes, "nobody"], []) for name in MATRICES[:2]]
    made += [compare("to_scipy_sparse_array", G, format=kind) for kind in ("csc", "coo", "odd")]
    made += [compare("to_numpy_array", G, nonedge=np.nan, multigraph_weight=how) for how in (sum, min, max)]
    made += [compare(name, G, weight="weight") for name in DEGREES[1:5]]
    sides = ("in", "out", "in+out", "odd")
    made += [compare(name, G, source=x, target=y) for x in sides for y in sides for name in DEGREES[1:3]]
    made += [compare(name, G, x=x, y=y) for x in sides[:2] for y in sides[:2] for name in DEGREES[3:5]]
    made += [compare(name, G, nodes=nodes[::2]) for name in ("average_neighbor_degree", "reciprocity")]
    made += [compare("reciprocity", G, nodes[0])]
    for resolution in (1, 0.3):
        made += [compare("modularity", G, parts_of(G, seed), weight=weight) for weight in ("weight", None)]
        made += [compare("modularity", G, parts_of(G, seed), resolution=resolution)]
    made += [compare("modularity", G, [nodes[1:]]), compare("modularity", G, [nodes, nodes[:1]])]
    for k in (0, 1, 2, 9):
        made += [compare(name, G, k) for name in [*CORES, "k_corona"]]
    made += [compare("ego_graph", G, u, r) for u in [*nodes[:2], "nobody"] for r in (0, 1, 2)]
    made += [compare("ego_graph", G, nodes[0], center=False)]
    made += [compare("rich_club_coefficient", G, normalized=False)]
    made += [compare(name, G, u) for u in [*nodes[:2], None, "nobody"] for name in DEPTH_FIRST]
    made += [compare("immediate_dominators", G, u) for u in [*nodes[:2], "nobody"]]
    return made


def all_calls(G: Any, seed: int) -> list[bool]:
    """Calls that compile searches by weight and more."""
    nodes = list(G)
    made = [compare(name, G) for name in [*BRIDGES, *ORDERS, *DISTANCES, *HOLES, *TREES]]
    made += [compare(name, G, weight="weight") for name in [*BY_WEIGHT, *HOLES]]
    made += [compare(name, G, weight=weight) for name in LEVELS for weight in ("weight", None)]
    made += [compare(LEVELS[2], G, cannibalism=True), compare("floyd_warshall_numpy", G, nodes[::-1])]
    made += [compare(name, G, u, v) for name in LENGTHS for u in (*nodes[:2], "nobody") for v in (nodes[0], "nobody")]
    made += [compare("center", G, usebounds=True), compare("center", G, e=dict.fromkeys(nodes, 1))]
    made += [compare(name, G, weight=None) for name in [*ORDERS[1:], *TREES]]
    made += [compare(name, G, default_weight=3) for name in ORDERS[1:]]
    made += [compare("k_truss", G, k) for k in (0, 2, 3, 4, 5)]
    made += [compare("ego_graph", G, nodes[0], 1.5, distance="weight")]
    ends = [(u, v) for u in (*nodes[:2], "nobody") for v in (nodes[0], nodes[-1], "nobody")]
    made += [compare("all_simple_paths", G, u, v, cutoff) for u, v in ends for cutoff in (-1, 0, 1.5, 3)]
    for weight in (None, "weight"):
        for u in [*nodes[:2], "nobody"]:
            made += [compare("all_shortest_paths", G, u, nodes[-1], weight=weight)]
            made += [compare("single_source_all_shortest_paths", G, u, weight=weight)]
        made += [compare("all_pairs_all_shortest_paths", G, weight=weight)]
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_degrees_matrices_and_subgraphs_as_networkx(kind: type) -> None:
    check_kind(light_calls, kind, range(20))


@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_of_a_small_subgraph_come_in_networkx_order(kind: type) -> None:
    """In a multigraph, in the order of a set where the row has more than twice as many entries."""
    G = kind([(0, v) for v in range(1, 10)] + [(9, 0), (9, 8), (8, 9)])
    assert compare("ego_graph", G, 9)


@pytest.mark.slow  # compiles searches by weight, trusses and more
@pytest.mark.parametrize("kind", KINDS)
def test_all_as_networkx(kind: type) -> None:
    check_kind(all_calls, kind, range(60))


EVERY: list[Callable[[Any, int], list[bool]]] = [light_calls, all_calls]


@pytest.mark.slow  # likewise
@pytest.mark.parametrize("kind", KINDS)
def test_small_graphs(kind: type) -> None:
    names = [*DEGREES, *SHAPES, *MATRICES, *CORES, *BRIDGES, *ORDERS, *DISTANCES, *HOLES, *TREES, *LEVELS]
    for G in (kind(), kind([(0, 0)]), kind([("a", "b")]), nx.empty_graph(2, kind)):
        for name in names:
            compare(name, G)
        for calls in EVERY:
            if len(G):
                calls(G, 1)


@pytest.mark.thorough
def test_efficiency_of_large_neighborhoods(monkeypatch: pytest.MonkeyPatch) -> None:
    from gasla.backends.networkx.paths import distances

    monkeypatch.setattr(distances, "LARGE", 5)
    for seed in range(3):
        assert compare("local_efficiency", nx.gnp_random_graph(40, 0.3, seed=seed))


@pytest.mark.thorough
def test_other_answers_are_right() -> None:
    """Of functions that run by request alone."""
    G = nx.gnp_random_graph(40, 0.1, seed=1)
    some = nx.maximal_independent_set(G, [3], seed=2, backend="gasla")
    assert 3 in some and not G.subgraph(some).edges and nx.is_dominating_set(G, some)
    for nodes in (["nobody"], list(next(iter(G.edges)))):
        with pytest.raises(nx.NetworkXUnfeasible):
            nx.maximal_independent_set(G, nodes, backend="gasla")
    assert nx.is_maximal_matching(G, nx.maximal_matching(G, backend="gasla"))
    D = nx.gnp_random_graph(40, 0.04, seed=1, directed=True)
    ours, theirs = (nx.condensation(D, backend=backend) for backend in ("gasla", "networkx"))

    def by_members(C: Any) -> tuple[set[Any], set[Any]]:
        members = {node: frozenset(data["members"]) for node, data in C.nodes(data=True)}
        assert all(name in members[node] for name, node in C.graph["mapping"].items())
        return set(members.values()), {(members[u], members[v]) for u, v in C.edges}

    assert by_members(ours) == by_members(theirs)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_matchings_are_as_large_as_networkxs(kind: type) -> None:
    for seed in range(8):
        G = nx.relabel_nodes(nx.bipartite.random_graph(9, 12, 0.2, seed=seed), "v{}".format)
        G, top = kind(G), {f"v{i}" for i in range(9)}
        ours, theirs = (
            nx.bipartite.hopcroft_karp_matching(G, top, backend=backend) for backend in ("gasla", "networkx")
        )
        assert len(ours) == len(theirs) and all(ours[v] == u and G.has_edge(u, v) for u, v in ours.items())
        assert set(list(ours)[: len(ours) // 2]) <= top
    tree = nx.random_labeled_tree(30, seed=1)
    ours, theirs = (nx.bipartite.maximum_matching(tree, backend=backend) for backend in ("gasla", "networkx"))
    assert len(ours) == len(theirs)
    with pytest.raises(nx.AmbiguousSolution, match="Disconnected graph"):
        nx.bipartite.maximum_matching(nx.Graph([(0, 1), (2, 3)]), backend="gasla")
    for G, top_nodes in ((nx.cycle_graph(5), None), (nx.path_graph(4), [0, 1]), (nx.DiGraph([(0, 1)]), [0])):
        with pytest.raises(NotImplementedError):
            nx.bipartite.maximum_matching(G, top_nodes, backend="gasla")


def test_global_cuts_weigh_what_networkxs_weigh() -> None:
    for seed in range(12):
        G = nx.relabel_nodes(nx.gnp_random_graph(12, 0.4, seed=seed), "v{}".format)
        for i, (u, v) in enumerate(G.edges):
            G[u][v]["weight"] = (i * 7919 + seed) % 9 / (1 if seed % 2 else 4)
        if not nx.is_connected(G):
            with pytest.raises(nx.NetworkXError, match="not connected"):
                nx.stoer_wagner(G, backend="gasla")
            continue
        (value, sides), (theirs, _) = (nx.stoer_wagner(G, backend=backend) for backend in ("gasla", "networkx"))
        assert value == theirs and type(value) is type(theirs) and set(sides[0]) | set(sides[1]) == set(G)
        assert value == nx.cut_size(G, sides[0], sides[1], weight="weight") and sides[0] and sides[1]
    with pytest.raises(nx.NetworkXError, match="negative"):
        nx.stoer_wagner(nx.Graph([(0, 1, {"weight": -1})]), backend="gasla")
    with pytest.raises(nx.NetworkXError, match="less than two"):
        nx.stoer_wagner(nx.empty_graph(1), backend="gasla")


LIMITLESS: list[dict[str, Any]] = [{}, {"capacity": float("inf")}, {"capacity": 2**63}]


@pytest.mark.parametrize("first", LIMITLESS)
@pytest.mark.parametrize("last", [6, 2**60 + 1])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_integer_capacities_stay_integers(kind: Any, first: dict[str, Any], last: int) -> None:
    G = kind()
    G.add_edge("s", "a", **first)
    G.add_edge("a", "t", capacity=last)
    G.add_edge("a", "a", capacity=0.5)
    G.add_edge("t", "z", capacity=-0.5)
    for name in ("maximum_flow_value", "minimum_cut_value", "minimum_cut", "maximum_flow"):
        ours, theirs = (getattr(nx, name)(G, "s", "t", backend=backend) for backend in ("gasla", "networkx"))
        assert repr(ours) == repr(theirs) or (name == "minimum_cut" and ours == theirs)
    G.add_edge("a", "t", capacity=2.0**60)
    if "capacity" in first and first["capacity"] == 2**63:
        with pytest.raises(NotImplementedError):
            nx.maximum_flow_value(G, "s", "t", backend="gasla")


def test_paths_without_limit_beside_integers() -> None:
    G = nx.path_graph(4, create_using=nx.DiGraph)
    G.add_edge(0, 3, capacity=2**60 + 1)
    with pytest.raises(nx.NetworkXUnbounded):
        nx.maximum_flow_value(G, 0, 3, backend="gasla")
    G.add_edge(1, 2, capacity=7)
    assert nx.maximum_flow_value(G, 0, 3, backend="gasla") == 2**60 + 8
    assert nx.maximum_flow_value(G, 3, 0, backend="gasla", capacity=None) == 0
    with pytest.raises(nx.NetworkXUnbounded):
        nx.maximum_flow_value(G, 0, 3, backend="gasla", capacity=None)


def test_loops_do_not_make_a_global_cut_a_float() -> None:
    G = nx.Graph([(0, 1, {"weight": 3}), (1, 1, {"weight": 0.5})])
    assert repr(nx.stoer_wagner(G, backend="gasla")[0]) == "3"


@pytest.mark.thorough
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_eigenvalues_and_eigenvectors_as_networkx(kind: type, normalized: bool) -> None:
    """But for the sign. The weights of parallel edges add up; those of 0 are no edges; signs do not count."""
    options: dict[str, Any] = {"normalized": normalized, "method": "tracemin_lu", "seed": 3}
    for seed in range(6):
        G = kind(nx.connected_watts_strogatz_graph(20, 4, 0.3, seed=seed))
        rng = random.Random(seed)
        for *_, data in G.edges(data=True):
            data["weight"] = rng.choice([0, 1, -2.5])
        G.add_edge(0, 1, weight=0.5)
        G.add_edge(3, 3, weight=7)
        for weight in ("weight", None):
            ask = {"weight": weight, **options}
            ours, theirs = (nx.algebraic_connectivity(G, **ask, backend=one) for one in ("gasla", "networkx"))
            assert type(ours) is float and ours == pytest.approx(theirs, rel=1e-6)
            if theirs == 0:
                with pytest.raises(nx.NetworkXError, match="graph is not connected"):
                    nx.fiedler_vector(G, **ask, backend="gasla")
                continue
            ours, theirs = (nx.fiedler_vector(G, **ask, backend=backend) for backend in ("gasla", "networkx"))
            np.testing.assert_allclose(ours * np.sign(ours @ theirs), theirs, atol=1e-5)


def test_small_and_odd_graphs_have_networkxs_spectra() -> None:
    both = partial(nx.algebraic_connectivity, seed=1)
    for G in (nx.path_graph(2), nx.empty_graph(3), nx.complete_graph(3)):
        assert both(G, backend="gasla") == pytest.approx(both(G, backend="networkx"))
    assert nx.fiedler_vector(nx.path_graph(2), backend="gasla").tolist() == [1, -1]
    for function in (nx.algebraic_connectivity, nx.fiedler_vector):
        with pytest.raises(nx.NetworkXError, match="less than two nodes"):
            function(nx.empty_graph(1), backend="gasla")
        with pytest.raises(NotImplementedError):
            function(nx.path_graph(3), method="guess", backend="gasla")


@pytest.mark.parametrize("name", ["wiener_index", "hyper_wiener_index", "schultz_index", "gutman_index"])
@pytest.mark.parametrize("length", [1, 2**20, 2**31, 2**40, 2**50])
def test_sums_of_products_of_distances_are_exact(name: str, length: int) -> None:
    if not hasattr(nx, name):
        pytest.skip("this NetworkX has no such function")
    G = nx.path_graph(4)
    nx.set_edge_attributes(G, length, "weight")
    function = getattr(nx, name)
    assert function(G, weight="weight", backend="gasla") == function.orig_func(G, weight="weight")
