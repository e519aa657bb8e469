"""Samples of typed graphs: against plain Python, against samples of plain graphs, and hostile input."""

import pickle
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare

import gasla
from gasla import datasets, verify
from gasla.graph.graph import Graph
from gasla.graph.typed_graph import Relation, TypedGraph
from semirings import hash as hashed
from tests.operations.test_temporal_sampling import drawn

BUYS, KNOWS, SOLD, MADE = ("u", "buys", "i"), ("u", "knows", "u"), ("i", "sold to", "u"), ("m", "made", "i")
SHOP = TypedGraph({BUYS: [[0, 0, 1], [0, 2, 2]], KNOWS: [[0], [1]]}, {"i": 4})


@st.composite
def typed(draw: st.DrawFn) -> TypedGraph:
    """Up to four relations between three types, some without edges or vertices, with times in several types."""
    sizes = {kind: draw(st.integers(0, 3)) for kind in "uim"}
    names = draw(st.lists(st.sampled_from([BUYS, KNOWS, SOLD, MADE]), min_size=1, unique=True))
    edges, times = dict[Relation, Any](), dict[Relation, Any]()
    for name in names:
        a, b = sizes[name[0]], sizes[name[2]]
        each = draw(st.lists(st.tuples(st.integers(0, a - 1), st.integers(0, b - 1)), max_size=8)) if a and b else []
        kind = draw(st.sampled_from([np.int32, np.int64]))
        edges[name] = np.array(each, kind).reshape(-1, 2).T
        some = draw(st.lists(st.integers(-3, 3), min_size=len(each), max_size=len(each)))
        times[name] = {"time": np.array(some, draw(st.sampled_from(["i1", "f4"])))}
    return TypedGraph(edges, sizes).with_edge_attributes(times)


def by_hand(
    graph: TypedGraph, ids: dict[str, Any], k: Any, at: Any, direction: str, seed: int, replace: bool, is_last: bool
) -> tuple[dict[str, Any], dict[Relation, Any]]:
    """The (root, vertex) pairs of each type, and the edges of each relation, by Python's lists."""
    roots = [(kind, v) for kind in graph.sizes for v in ids.get(kind, [])]
    vertices: dict[str, Any] = {kind: [] for kind in graph.sizes}
    for root, (kind, v) in enumerate(roots):
        vertices[kind].append((0 if at is None else root, v))
    number = {kind: {key: i for i, key in enumerate(each)} for kind, each in vertices.items()}
    begin, edges = dict.fromkeys(vertices, 0), {name: list[Any]() for name in graph.relations}
    for layer in range(len(next(iter(k.values())))):
        drew, end = list[Any](), {kind: len(each) for kind, each in vertices.items()}
        for r, name in enumerate(graph.relations):
            own, other = (name[0], name[2]) if direction == "out" else (name[2], name[0])
            times = graph[name].edge_attributes["time"].tolist()
            index = graph.edge_index(name).T.tolist()
            for i in range(begin[own], end[own]):
                root, v = vertices[own][i]
                lists = [(times[e], e, ends[direction == "out"]) for e, ends in enumerate(index)
                         if ends[direction != "out"] == v]  # fmt: skip
                if at is not None:
                    lists = sorted(one for one in lists if one[0] <= at[root])
                word = int(hashed(np.uint64(seed), r)) if r else seed
                for _, e, x in drawn(lists, i, k[name][layer], word, replace, is_last):
                    drew.append((name, other, i, e, (root, x)))
        for name, other, i, e, key in drew:
            at_ = number[other].setdefault(key, len(vertices[other]))
            if at_ == len(vertices[other]):
                vertices[other].append(key)
            edges[name].append((i, at_, e))
        begin = end
    return vertices, edges


@settings(max_examples=25, deadline=None)
@given(typed(), st.integers(0, 2**64 - 1), st.sampled_from(["uniform", "replaced", "last"]), st.data())
def test_samples_are_those_of_plain_draws(graph: TypedGraph, seed: int, way: str, data: st.DataObject) -> None:
    timed, direction = way == "last" or data.draw(st.booleans()), data.draw(st.sampled_from(["in", "out"]))
    ids = {
        kind: data.draw(st.lists(st.integers(0, size - 1), max_size=3, unique=not timed)) if size else []
        for kind, size in graph.sizes.items()
    }
    total, depth = sum(map(len, ids.values())), data.draw(st.integers(1, 3))
    at = data.draw(st.lists(st.integers(-4, 4), min_size=total, max_size=total)) if timed else None
    k = {name: data.draw(st.lists(st.integers(0, 3), min_size=depth, max_size=depth)) for name in graph.relations}
    options: dict[str, Any] = {"direction": direction, "replace": way == "replaced"}
    if at is not None:
        parts, ends = {}, np.cumsum([len(each) for each in ids.values()])
        for (kind, each), end in zip(ids.items(), ends):
            parts[kind] = np.array(at[end - len(each) : end], np.int64)
        options |= {"at": parts, "strategy": "last" if way == "last" else "uniform"}
    found = gasla.sample_neighbors(graph, ids, k, seed=seed, **options)
    verify.sample_neighbors(graph, ids, k, found, **options)
    vertices, edges = by_hand(graph, ids, k, at, direction, seed, way == "replaced", way == "last")
    for kind, each in vertices.items():
        batch = np.zeros(len(each), int) if found.batch is None else found.batch[kind]
        assert list(zip(batch.tolist(), found.vertices[kind].tolist())) == each
        assert sum(found.vertex_counts[kind]) == len(each) and found.vertices[kind].dtype == graph.id_dtype
    for name, each in edges.items():
        ends = found.edge_index[name] if direction == "out" else found.edge_index[name][::-1]
        assert list(zip(*ends.tolist(), found.edge_ids[name].tolist())) == each
        assert sum(found.edge_counts[name]) == len(each) and len(found.edge_counts[name]) == depth
    assert (found.batch is None) == (at is None)


@pytest.mark.parametrize("options", [{}, {"replace": True}, {"weighted": True}, {"disjoint": True}, {"at": 40}])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_one_relation_of_one_type_gives_the_sample_of_its_graph(options: dict[str, Any], kind: Any) -> None:
    rng, base = np.random.default_rng(1), Graph(datasets.rmat(8))
    src, dst = (end.astype(kind) for end in base.edges())
    graph = Graph.from_edges(src, dst, rng.random(base.m), n=base.n).with_edge_attributes(time=np.arange(base.m) % 99)
    ids = rng.permutation(graph.n)[:40]
    plain = gasla.sample_neighbors(graph, ids, [5, 3], seed=4, **options)
    only = TypedGraph({("v", "to", "v"): graph})
    found = gasla.sample_neighbors(only, {"v": ids}, [5, 3], seed=4, **options)
    np.testing.assert_array_equal(found.vertices["v"], plain.vertices)
    np.testing.assert_array_equal(found.edge_index["v", "to", "v"], plain.edge_index)
    np.testing.assert_array_equal(found.edge_ids["v", "to", "v"], plain.edge_ids)
    assert found.vertex_counts["v"] == plain.vertex_counts and found.edge_counts["v", "to", "v"] == plain.edge_counts
    for one, other in zip(found.blocks, plain.blocks, strict=True):
        block = one["v", "to", "v"]
        assert block[:2] == other[:2]
        np.testing.assert_array_equal(block.edge_index, other.edge_index)


def test_draws_of_each_relation_are_fair_and_of_their_own() -> None:
    star = np.array([np.zeros(5, int), np.arange(5)])
    graph = TypedGraph({("a", "x", "b"): star, ("a", "y", "b"): star})
    found = gasla.sample_neighbors(graph, {"a": np.zeros(8000, int)}, [1], disjoint=True, seed=2)
    x, y = (found.edge_ids["a", name, "b"] for name in "xy")
    assert len(x) == len(y) == 8000
    assert chisquare(np.bincount(5 * x + y, minlength=25)).pvalue > 1e-3  # uniform, and independent of each other


@pytest.mark.thorough
def test_no_edge_of_ten_million_draws_is_after_its_time() -> None:
    rng, base = np.random.default_rng(0), Graph(datasets.rmat(12))
    edges = np.array(base.edges())
    names: list[Relation] = [("a", "to", "b"), ("b", "to", "a"), ("a", "by", "a")]
    times = {name: rng.integers(0, 1000, base.m) for name in names}
    graph = TypedGraph(dict.fromkeys(names, edges), {"a": base.n, "b": base.n})
    graph = graph.with_edge_attributes({name: {"time": each} for name, each in times.items()})
    ids, total = rng.integers(0, base.n, 3000), 0
    for seed in range(22):
        at = rng.integers(0, 1000, 3000)
        options = {"at": {"a": at}, "window": 500, "direction": "in", "seed": seed, "replace": True}
        found = gasla.sample_neighbors(graph, {"a": ids}, [90, 2], **options)
        assert found.batch is not None
        for name in names:
            until = at[found.batch[name[2]][found.edge_index[name][1]]]
            each = times[name][found.edge_ids[name]]
            assert (each <= until).all() and (each >= until - 500).all()
            total += len(each)
    assert total > 10**7


def test_blocks_pass_messages_between_types() -> None:
    """Of two layers of sums over all relations, against products with whole matrices."""
    rng = np.random.default_rng(4)
    sizes, names = {"u": 7, "i": 5}, [BUYS, KNOWS, SOLD]
    edges = {name: np.array([rng.integers(0, sizes[end], 20) for end in (name[0], name[2])]) for name in names}
    graph, x = TypedGraph(edges, sizes), {kind: rng.random((size, 3)) for kind, size in sizes.items()}
    sample = gasla.sample_neighbors(graph, {"i": [3, 1], "u": [6]}, [99, 99], direction="in")
    rows = {kind: x[kind][sample.vertices[kind]] for kind in x}
    whole = dict(x)
    for blocks in sample.blocks:
        sums = {name: block.aggregate(rows[name[0]], "sum") for name, block in blocks.items()}
        rows = {kind: sum(each for name, each in sums.items() if name[2] == kind) for kind in x}
    for _ in range(2):
        after = {kind: np.zeros_like(each) for kind, each in whole.items()}
        for name, (src, dst) in edges.items():
            np.add.at(after[name[2]], dst, whole[name[0]][src])
        whole = after
    np.testing.assert_allclose(rows["i"], whole["i"][[3, 1]])
    np.testing.assert_allclose(rows["u"], whole["u"][[6]])


def test_features_are_aggregated_over_each_relation() -> None:
    rng = np.random.default_rng(4)
    matrix = csr_array((rng.random(20), rng.integers(0, 5, (2, 20))), shape=(6, 5))
    graph, x = TypedGraph({BUYS: matrix, KNOWS: csr_array(np.eye(6)[::-1])}), {"u": rng.random((6, 2))}
    found = gasla.aggregate_features(graph, x)
    np.testing.assert_allclose(found[BUYS], matrix.T @ x["u"])
    np.testing.assert_allclose(found[KNOWS], x["u"][::-1])
    assert gasla.aggregate_features(graph, {"u": np.arange(6)}, "max", weighted=False)[BUYS].shape == (5,)
    assert gasla.aggregate_features(graph, {"i": np.zeros(5)}) == {}
    with pytest.raises(ValueError, match=r"features\['u'\] have shape \(5,\); expected \(6, k\)"):
        gasla.aggregate_features(graph, {"u": np.zeros(5)})
    with pytest.raises(TypeError, match="features is a ndarray; expected a mapping from type"):
        gasla.aggregate_features(graph, np.zeros(6))


def test_relations_are_given_as_arrays_matrices_and_graphs() -> None:
    matrix = csr_array(([2.0, 3.0], ([0, 1], [2, 0])), shape=(2, 4))
    for edges in (matrix, Graph.from_bipartite(matrix), [[0, 1], [2, 0]]):
        made = TypedGraph({BUYS: edges, MADE: np.zeros((2, 0), int)}, {"i": 4, "m": 1})
        assert dict(made.sizes) == {"u": 2, "i": 4, "m": 1}
        assert made.edge_index(BUYS).tolist() == [[0, 1], [2, 0]]
        assert gasla.negative_edges(made[BUYS], 6).min(axis=1).tolist() == [0, 2]  # all pairs across without an edge
    assert TypedGraph({KNOWS: csr_array(np.eye(3))}).sizes == {"u": 3}
    weighted = TypedGraph({BUYS: csr_array(([0.0, 3.0], ([0, 0], [0, 1])), shape=(1, 2))})
    assert gasla.sample_neighbors(weighted, {"u": [0]}, [2], weighted=True).vertices["i"].tolist() == [1]
    again = pickle.loads(pickle.dumps(weighted))
    assert again.relations.keys() == weighted.relations.keys() and again.sizes == weighted.sizes
    lone = TypedGraph({BUYS: np.zeros((2, 0), int)})
    assert gasla.sample_neighbors(lone, {}, [3, 2]).vertex_counts == {"u": [0, 0, 0], "i": [0, 0, 0]}


def test_graphs_with_types_of_vertices_and_edges_are_split() -> None:
    G = nx.MultiDiGraph()
    for name, kind in (("ann", "u"), ("tea", "i"), ("bob", "u"), ("jam", "i"), ("cy", "u")):
        G.add_node(name, type=kind)
    for u, v, relation, day in (("ann", "tea", "buys", 3), ("bob", "tea", "buys", 1), ("ann", "bob", "knows", 2)):
        G.add_edge(u, v, relation=relation, day=day, weight=day / 2)
    made = TypedGraph.from_networkx(G, attributes=["day"])
    assert dict(made.sizes) == {"u": 3, "i": 2} and {*made.relations} == {BUYS, KNOWS}
    assert made.names("u").tolist() == ["ann", "bob", "cy"]  # type: ignore[union-attr]
    assert made.edge_index(BUYS).tolist() == [[0, 1], [0, 0]]
    assert made[BUYS].values.tolist() == [1.5, 0.5]  # type: ignore[union-attr]
    found = gasla.sample_neighbors(made, {"i": ["tea"]}, [5], direction="in", at=2, time="day")
    assert made.names("u")[found.vertices["u"]].tolist() == ["bob"]  # type: ignore[index]
    both = TypedGraph.from_networkx(nx.Graph(G), weight=None)
    assert both.edge_index(("i", "buys", "u")).tolist() == [[0, 0], [0, 1]]
    G.add_node("zoe")
    with pytest.raises(ValueError, match="'zoe' has no 'type'; expected a type for each node"):
        TypedGraph.from_networkx(G)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: TypedGraph({}), TypeError, "expected a mapping of one or more"),
        (lambda: TypedGraph({("a", "b"): [[0], [0]]}), TypeError, "expected three strings"),  # type: ignore[dict-item]
        (lambda: TypedGraph({BUYS: [[0.5], [0]]}), ValueError, r"are float64\(2, 1\); expected integers"),
        (lambda: TypedGraph({BUYS: [[0, 1]]}), ValueError, r"are int64\(1, 2\); expected integers of shape \(2, m\)"),
        (lambda: TypedGraph({BUYS: [[5], [0]]}, {"u": 3}), ValueError, "have 6 vertices of type 'u'; expected 3"),
        (lambda: TypedGraph({BUYS: [[-1], [0]]}, {"u": 3}), ValueError, "sources of .* are -1 to -1; expected 0 to 2"),
        (lambda: TypedGraph({BUYS: csr_array((3, 2)), KNOWS: csr_array((4, 4))}), ValueError, "have 3 vertices of ty"),
        (
            lambda: TypedGraph({KNOWS: csr_array((3, 2))}),
            ValueError,
            r"has shape \(3, 2\); expected a row for each 'u'",
        ),
        (lambda: TypedGraph({BUYS: Graph(csr_array((3, 3)))}), ValueError, "does not know its sides; expected one of"),
        (lambda: TypedGraph({BUYS: [[0], [0]]}, {"i": -1}), ValueError, r"sizes\['i'\] is -1; expected"),
        (lambda: TypedGraph({KNOWS: Graph.from_networkx(nx.DiGraph([("a", "b")]))}), ValueError, "names of its own"),
        (lambda: SHOP["u", "sells", "i"], KeyError, "is no relation; there are"),
        (lambda: SHOP.vertices("x"), ValueError, "'x' is no type of vertices; there are 'u', 'i'"),
        (lambda: gasla.sample_neighbors(SHOP, [0], [1]), TypeError, "ids is a list; expected a mapping from types"),  # type: ignore[call-overload]
        (lambda: gasla.sample_neighbors(SHOP, {"x": [0]}, [1]), ValueError, "'x' is no type of vertices"),
        (
            lambda: gasla.sample_neighbors(SHOP, {"i": [4]}, [1]),
            ValueError,
            r"ids\['i'\] has vertex 4, outside a graph",
        ),
        (lambda: gasla.sample_neighbors(SHOP, {"i": [1, 1]}, [1]), ValueError, "ids has vertex 1 twice"),
        (lambda: gasla.sample_neighbors(SHOP, {"i": [1]}, 3), TypeError, r"k is 3; expected a list .* such as \[3\]"),  # type: ignore[call-overload]
        (
            lambda: gasla.sample_neighbors(SHOP, {"i": [1]}, {BUYS: [1]}),
            ValueError,
            "k has no numbers for .'u', 'knows'",
        ),
        (lambda: gasla.sample_neighbors(SHOP, {}, {BUYS: [1], KNOWS: [1, 2]}), ValueError, "k has 1 and 2 layers"),
        (lambda: gasla.sample_neighbors(SHOP, {}, {MADE: [1]}), KeyError, "is no relation"),
        (
            lambda: gasla.sample_neighbors(SHOP, {"i": [1]}, [1], at=3),
            ValueError,
            "has no edge attribute 'time'; expec",
        ),
        (
            lambda: gasla.sample_neighbors(SHOP, {"i": [1], "u": [0]}, [1], at=[3, 4]),
            TypeError,
            "at is one array for vertices of 2 types; expected a mapping",
        ),
        (lambda: gasla.sample_neighbors(SHOP, {"i": [1]}, [1], at={"i": [3, 4]}), ValueError, r"at\['i'\] has 2 times"),
        (lambda: TypedGraph.from_graph(csr_array((2, 2)), ["a", "b"]), ValueError, "the graph has no edges"),
        (lambda: TypedGraph.from_graph(csr_array((2, 2)), ["a"]), ValueError, "types has 1 entries; expected 2"),
        (lambda: TypedGraph.from_graph(csr_array((1, 1)), [3]), TypeError, r"types\[0\] is 3; expected a string"),  # type: ignore[list-item]
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_the_verifier_tells_what_is_wrong() -> None:
    star: dict[Relation, Any] = {BUYS: [[0, 1, 2, 3], [0, 0, 0, 1]], KNOWS: [[1, 2], [0, 0]]}
    graph = TypedGraph(star).with_edge_attributes({BUYS: {"time": [1, 2, 3, 0]}, KNOWS: {"time": [9, 9]}})

    def check(found: Any, **options: Any) -> None:
        verify.sample_neighbors(graph, {"i": [0]}, [2], found, direction="in", **options)

    right = gasla.sample_neighbors(graph, {"i": [0]}, [2], direction="in", seed=3)
    check(right)
    early = gasla.sample_neighbors(graph, {"i": [0]}, [2], direction="in", at=2)
    check(early, at=2, strategy="last")
    check(early, at={"i": 2})
    for found, options, message in (
        (right, {"at": 9}, "has no batch; expected the opposite"),
        (early, {"at": 1}, "has not 1 edges of"),
        (early, {"at": 3, "strategy": "last"}, "has not 2 edges of"),
        (right._replace(vertices=right.vertices | {"u": right.vertices["u"][::-1]}), {}, "an end of the edges of"),
        (right._replace(vertices=right.vertices | {"i": np.array([1])}), {}, "do not begin with the given ones"),
        (right._replace(edge_counts=right.edge_counts | {BUYS: [1]}), {}, "expected 1 layers"),
        (right._replace(vertex_counts=right.vertex_counts | {"u": [1, 1]}), {}, "vertices by layer; expected 2"),
    ):
        with pytest.raises(verify.VerificationError, match=message):
            check(found, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"replace": True}, {"weighted": True}, {"at": 700, "strategy": "last"}])
def test_gpu_gives_the_same(options: dict[str, Any]) -> None:
    rng, base = np.random.default_rng(2), Graph(datasets.rmat(9))
    src, dst = base.edges()
    across = csr_array((rng.random(base.m), (src, dst)), shape=(base.n, base.n + 3))
    graph = TypedGraph({BUYS: across, KNOWS: csr_array(across[:, : base.n])})
    graph = graph.with_edge_attributes(
        {name: {"time": np.arange(one.m) % 999} for name, one in graph.relations.items()}
    )
    ids = {"i": rng.permutation(base.n)[:100], "u": [5, 3]}
    expected = gasla.sample_neighbors(graph, ids, [6, 4], direction="in", seed=7, **options)
    found = gasla.sample_neighbors(graph.to("gpu"), ids, [6, 4], direction="in", seed=7, **options)
    assert found.vertex_counts == expected.vertex_counts and found.edge_counts == expected.edge_counts
    for kind in graph.sizes:
        np.testing.assert_array_equal(found.vertices[kind].get(), expected.vertices[kind])
    for name in graph.relations:
        np.testing.assert_array_equal(found.edge_index[name].get(), expected.edge_index[name])
        np.testing.assert_array_equal(found.edge_ids[name].get(), expected.edge_ids[name])
