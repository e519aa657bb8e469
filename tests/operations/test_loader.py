"""Batches for learning: the same as samples asked for one by one, whatever runs ahead; and threads that always end."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep
from types import ModuleType, SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import gasla
from gasla import datasets, verify
from gasla.graph.graph import Graph
from gasla.operations import loader as loading
from gasla.operations.loader import made_ahead

GRAPH = Graph(datasets.rmat(7))
TIMED = GRAPH.with_edge_attributes(time=np.arange(GRAPH.m) % 50)
X = np.arange(3.0 * GRAPH.n, dtype=np.float32).reshape(-1, 3)
IDS = np.random.default_rng(0).permutation(GRAPH.n)[:50]
PAIRS = np.random.default_rng(1).integers(0, GRAPH.n, (2, 50))
SHOP = gasla.TypedGraph({("u", "buys", "i"): [[0, 0, 1, 2], [0, 2, 2, 1]], ("u", "knows", "u"): [[0], [1]]}, {"i": 4})


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "gasla loader"]


@pytest.mark.parametrize(
    "options", [{}, {"direction": "out", "replace": True}, {"disjoint": True}, {"at": np.arange(50), "window": 30}]
)
def test_batches_are_samples_of_all_vertices_in_turn(options: dict[str, Any]) -> None:
    graph = TIMED if "at" in options else GRAPH
    for shuffle in (False, True):
        batches = gasla.loader(graph, IDS, [4, 2], batch_size=16, features=X, shuffle=shuffle, seed=3, **options)
        assert len(batches) == 4
        seen = []
        for sample, places, features in batches:
            given = {"direction": "in"} | options
            if "at" in options:
                given["at"] = options["at"][places]
            verify.sample_neighbors(graph, IDS[places], [4, 2], sample, **given)
            np.testing.assert_array_equal(features["x"], X[sample.vertices])
            seen.append(places)
        assert [len(places) for places in seen] == [16, 16, 16, 2]
        order = np.concatenate(seen)
        assert sorted(order.tolist()) == [*range(50)] and (order.tolist() == [*range(50)]) != shuffle


def test_epochs_differ_and_are_the_same_whatever_runs_ahead() -> None:
    def epochs(ahead: int) -> list[list[Any]]:
        batches = gasla.loader(GRAPH, IDS, [3], batch_size=20, shuffle=True, ahead=ahead, seed=5)
        return [[(b.places.tolist(), b.sample.edge_ids.tolist()) for b in batches] for _ in range(2)]

    first, second = epochs(0)
    assert first != second
    for ahead in (1, 2, 9):
        assert epochs(ahead) == [first, second]


def test_loops_in_one_another_do_not_disturb_each_other() -> None:
    batches = gasla.loader(GRAPH, IDS, [3], batch_size=25)
    pairs = [(one.places[0], other.places[0]) for one in batches for other in batches]
    assert pairs == [(0, 0), (0, 25), (25, 0), (25, 25)]


def test_features_are_arrays_mapped_files_and_paths(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    given = {"a": X, "b": mapped, "c": str(tmp_path / "x.npy"), "d": tmp_path / "x.npy", "y": np.arange(GRAPH.n)}
    for batch in gasla.loader(GRAPH, IDS, [3], batch_size=20, features=given):
        assert [*batch.features] == [*given]
        for name in "abcd":
            assert type(batch.features[name]) is np.ndarray
            np.testing.assert_array_equal(batch.features[name], X[batch.sample.vertices])
        assert batch.features["y"].tolist() == batch.sample.vertices.tolist()
    (batch,) = gasla.loader(GRAPH, IDS, [3], features=X[:, 0])
    assert batch.features["x"].ndim == 1
    (batch,) = gasla.loader(GRAPH, IDS, [3])
    assert batch.features == {}


def test_no_more_than_wanted_is_made_ahead() -> None:
    made, most = list[int](), list[int]()

    def make(number: int) -> int:
        made.append(number)
        return number

    for number in made_ahead(make, 20, 3):
        sleep(0.002)
        most.append(len(made) - number)
    assert made == [*range(20)] and max(most) <= 4


@pytest.mark.parametrize("ahead", [0, 2])
def test_errors_of_the_thread_are_raised_in_the_loop(ahead: int) -> None:
    def make(number: int) -> int:
        if number == 3:
            raise MemoryError("the fourth batch")
        return number

    batches, seen = made_ahead(make, 9, ahead), list[int]()
    with pytest.raises(MemoryError, match="the fourth batch"):
        seen.extend(batches)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, None])
def test_the_thread_ends_with_the_loop(error: type[BaseException] | None) -> None:
    """By break, by an error and by Ctrl-C, also while the thread waits for room."""
    batches = gasla.loader(GRAPH, IDS, [3], batch_size=1, features=X)
    try:
        for batch in batches:
            if batch.places[0] == 3:
                sleep(0.01)
                if error is not None:
                    raise error("in the loop")
                break
    except (KeyboardInterrupt, ValueError) as raised:
        assert str(raised) == "in the loop"  # noqa: PT017
    assert not [thread for thread in threading.enumerate() if thread.name == "gasla loader"]


def test_a_loop_that_is_never_begun_or_left_open_leaves_no_thread() -> None:
    batches = gasla.loader(GRAPH, IDS, [3], batch_size=1)
    begun, never = iter(batches), iter(batches)
    next(begun)
    del begun, never


def test_ctrl_c_ends_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the thread makes a batch that takes long."""
    made = threading.Event()

    def interrupted(queue: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "_next", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(made_ahead(lambda number: made.wait(0.05), 5, 2))


def test_batches_run_in_the_context_of_the_loop() -> None:
    with gasla.engines.interpreted():
        assert [*made_ahead(lambda number: gasla.engines.compiles(), 2, 1)] == [False, False]


class Tensor(SimpleNamespace):
    def __len__(self) -> int:
        return len(self.array)


class Torch(ModuleType):
    """As much of PyTorch as batches need: arrays by DLPack."""

    @staticmethod
    def from_dlpack(array: Any) -> Any:
        return Tensor(array=np.from_dlpack(array))


def test_tensors_share_the_memory_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch("torch"))
    batches = [*gasla.loader(TIMED, IDS, [3, 2], batch_size=20, features=X, at=30, as_="torch")]
    plain = [*gasla.loader(TIMED, IDS, [3, 2], batch_size=20, features=X, at=30)]
    for one, other in zip(batches, plain, strict=True):
        assert one.sample.vertex_counts == other.sample.vertex_counts
        for name in ("vertices", "edge_index", "edge_ids", "batch"):
            np.testing.assert_array_equal(getattr(one.sample, name).array, getattr(other.sample, name))
        np.testing.assert_array_equal(one.features["x"].array, other.features["x"])
        np.testing.assert_array_equal(one.places.array, other.places)
    (batch,) = gasla.loader(GRAPH, IDS, [3], as_="torch")
    assert batch.sample.batch is None


def test_data_has_the_names_of_pytorch_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ModuleType("torch_geometric.data")
    data.Data = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", Torch("torch"))
    monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", data)
    (found,) = gasla.loader(GRAPH, IDS, [3, 2], features={"x": X, "y": X[:, 0]}, as_="pyg")
    (right,) = gasla.loader(GRAPH, IDS, [3, 2])
    assert found.batch_size == 50 and not hasattr(found, "batch")
    assert (found.num_sampled_nodes, found.num_sampled_edges) == (right.sample.vertex_counts, right.sample.edge_counts)
    np.testing.assert_array_equal(found.n_id.array, right.sample.vertices)
    np.testing.assert_array_equal(found.edge_index.array, right.sample.edge_index)
    np.testing.assert_array_equal(found.y.array, X[right.sample.vertices, 0])
    (trees,) = gasla.loader(GRAPH, IDS, [3, 2], disjoint=True, as_="pyg")
    assert trees.batch.array.max() == 49


@pytest.mark.skipif("torch" in sys.modules, reason="torch was imported by another test")
def test_torch_is_not_imported_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, package in (("torch", "torch"), ("torch_geometric.data", "torch-geometric")):
        monkeypatch.setitem(sys.modules, name, None)
        assert len([*gasla.loader(GRAPH, IDS, [3])]) == 1
        as_: Any = "torch" if package == "torch" else "pyg"
        with pytest.raises(ImportError, match=f"batches for {package} need it: pip install {package}"):
            gasla.loader(GRAPH, IDS, [3], as_=as_)


def test_hard_shapes() -> None:
    nobody = Graph.from_edges([], [], n=0)
    assert [*gasla.loader(nobody, [], [2], features=np.zeros((0, 2)))] == [] and len(gasla.loader(nobody, [], [2])) == 0
    lonely = Graph.from_edges([], [], n=1)
    (batch,) = gasla.loader(lonely, [0, 0, 0], [2, 2], features=np.ones(1), disjoint=True)
    assert batch.features["x"].tolist() == [1, 1, 1] and batch.sample.edge_index.shape == (2, 0)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: gasla.loader(GRAPH, IDS, 5), TypeError, r"k is 5; expected a list .* such as \[5\]"),  # type: ignore[arg-type]
        (lambda: gasla.loader(GRAPH, IDS, [5], batch_size=0), ValueError, "batch_size is 0; expected 1 or more"),
        (lambda: gasla.loader(GRAPH, IDS, [5], ahead=-1), ValueError, "ahead is -1; expected 0 or more"),
        (lambda: gasla.loader(GRAPH, [1, 2, 1], [5]), ValueError, "ids has vertex 1 twice; expected distinct"),
        (lambda: gasla.loader(GRAPH, IDS, [5], features=X[1:]), ValueError, r"features 'x' have shape \(127, 3\); exp"),
        (lambda: gasla.loader(GRAPH, IDS, [5], features={1: X}), TypeError, "features has the name 1; expected a str"),
        (lambda: gasla.loader(GRAPH, IDS, [5], features="none.npy"), FileNotFoundError, "none.npy"),
        (lambda: gasla.loader(GRAPH, IDS, [5], as_="jax"), ValueError, "as_ is 'jax'; expected one of"),  # type: ignore[arg-type]
        (lambda: gasla.loader(GRAPH, IDS, [5], rows=3), TypeError, "loader has no 'rows'; expected options of"),
        (lambda: gasla.loader(GRAPH, IDS, [5], fanout=3), TypeError, "loader has no 'fanout'; expected options of"),
        (lambda: gasla.loader(GRAPH, IDS, [5], shuffle=1), TypeError, "shuffle is 1; expected True or False"),  # type: ignore[arg-type]
        (lambda: gasla.loader(GRAPH, IDS, [5], at=3), ValueError, "'time' is no edge attribute"),
        (
            lambda: gasla.loader(TIMED, IDS, [5], at=[3, 4]),
            ValueError,
            r"at has shape \(2,\); expected one time, or one",
        ),
        (lambda: gasla.loader(GRAPH), TypeError, "neither ids nor edges are given; expected one of them"),
        (lambda: gasla.loader(GRAPH, IDS, [5], edges=[0]), TypeError, "ids and edges are given; expected one of them"),
        (lambda: gasla.loader(GRAPH, IDS), TypeError, "k is missing; expected a list"),
        (lambda: gasla.loader(GRAPH, IDS, [5], negatives=1), ValueError, "labels, negatives and by are of edges"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=PAIRS.T), ValueError, r"shape \(50, 2\); expected .*: pass edges.T"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=[0.5]), ValueError, r"edges have type float64 and shape \(1,\); exp"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=[0, 10**6]), ValueError, r"edges\[1\] is 1000000; expected a number"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=[[0], [128]]), ValueError, r"edges\[1\] has vertex 128, outside"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=PAIRS, labels=[1]), ValueError, r"labels have shape \(1,\); exp"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=PAIRS, negatives=-1), ValueError, "negatives is -1; expected 0"),
        (lambda: gasla.loader(GRAPH, k=[5], edges=PAIRS, by="rank"), ValueError, "by is 'rank'; expected one of"),  # type: ignore[arg-type]
        (lambda: gasla.loader(SHOP, k=[5], edges=PAIRS), TypeError, "edges is a ndarray; expected a mapping from one"),
        (lambda: gasla.loader(SHOP, k=[5], edges={}), TypeError, "edges has 0 relations; expected a mapping from one"),
        (lambda: gasla.loader(GRAPH, IDS, [5], seed=2**64), ValueError, "expected an integer of at most 64 bits"),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_batches_of_typed_graphs_are_their_samples() -> None:
    features = {"u": {"x": X[:3], "y": np.arange(3)}, "i": X[:4, 0]}
    seen = []
    for sample, places, rows in gasla.loader(SHOP, {"i": [2, 1, 0]}, [3, 2], batch_size=2, features=features):
        right = gasla.sample_neighbors(SHOP, {"i": np.array([2, 1, 0])[places]}, [3, 2], direction="in")
        for kind in "ui":  # all edges are drawn
            assert sample.vertices[kind].tolist() == right.vertices[kind].tolist()
        np.testing.assert_array_equal(rows["u"]["x"], X[sample.vertices["u"]])
        assert rows["u"]["y"].tolist() == sample.vertices["u"].tolist() and rows["i"]["x"].ndim == 1
        seen += places.tolist()
    assert seen == [0, 1, 2]
    times = {name: {"time": np.arange(one.m)} for name, one in SHOP.relations.items()}
    timed = SHOP.with_edge_attributes(times)
    for sample, places, _ in gasla.loader(timed, {"i": [2, 2, 1]}, [3], batch_size=2, at=[0, 2, 3]):
        until = np.array([0, 2, 3])[places][sample.batch["i"][sample.edge_index["u", "buys", "i"][1]]]
        assert (sample.edge_ids["u", "buys", "i"] <= until).all()
    for ids, message in (({"i": [0], "u": [0]}, "ids has 2 types; expected one"), ({"x": [0]}, "'x' is no type")):
        with pytest.raises(ValueError, match=message):
            gasla.loader(SHOP, ids, [3])
    with pytest.raises(TypeError, match="features is a ndarray; expected a mapping from type"):
        gasla.loader(SHOP, {"i": [0]}, [3], features=X)


def known_pairs(graph: Graph) -> set[tuple[int, int]]:
    return {*zip(*(side.tolist() for side in graph.edges()))}


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"by": "degree"}, {"at": np.arange(50), "window": 30}])
@pytest.mark.parametrize("negatives", [0, 3])
def test_batches_of_edges_are_samples_of_their_ends(options: dict[str, Any], negatives: int) -> None:
    graph, labels = TIMED, np.arange(100, 150)
    how = {"batch_size": 16, "features": X, "labels": labels, "negatives": negatives, "shuffle": True, "seed": 3}
    batches, seen = gasla.loader(graph, k=[4, 2], edges=PAIRS, **how, **options), list[int]()
    by, drawing = options.get("by", "uniform"), {"direction": "in"} | {k: options[k] for k in options if k != "by"}
    for sample, places, features, pairs, own in batches:
        count = len(places)
        assert pairs.shape == (2, count * (1 + negatives)) and pairs.dtype == np.int64
        ends = sample.vertices[pairs]
        np.testing.assert_array_equal(ends[:, :count], PAIRS[:, places])
        assert own.tolist() == [*labels[places], *[0] * (count * negatives)]
        rows = np.concatenate([places, np.repeat(places, negatives)])
        if "at" in options:
            drawing["at"] = at = options["at"][np.tile(rows, 2)]
            verify.negative_edges(graph, count * negatives, ends[:, count:].astype(int), at=options["at"][rows[count:]])
        else:
            verify.negative_edges(graph, count * negatives, ends[:, count:].astype(int), by=by)
        is_tree = sample.batch is not None
        starts = ends.ravel() if is_tree else np.unique(ends)
        assert is_tree == ("at" in options or "disjoint" in options)
        verify.sample_neighbors(graph, starts, [4, 2], sample, **drawing)
        if "at" in options:  # no edge after the time of its tree
            roots = sample.batch[sample.edge_index[1]]
            assert (graph.edge_attributes["time"][sample.edge_ids] <= at[roots]).all()
        np.testing.assert_array_equal(features["x"], X[sample.vertices])
        seen += places.tolist()
    assert sorted(seen) == [*range(50)] and len(batches) == 4


def test_edges_may_be_a_set_of_split_edges_or_names() -> None:
    train, _ = gasla.split_edges(GRAPH, (0.5, 0.5), seed=1)
    right = np.stack([side[train] for side in GRAPH.edges()])
    for edges in (train, right, right.tolist()):
        (batch,) = gasla.loader(GRAPH, k=[1], edges=edges, batch_size=GRAPH.m, negatives=2)
        np.testing.assert_array_equal(batch.sample.vertices[batch.pairs[:, : len(train)]], right)
        assert batch.labels.dtype == np.float32 and batch.labels.tolist() == [1.0] * len(train) + [0.0] * 2 * len(train)
    named = Graph.from_networkx(nx.DiGraph([("ann", "bob"), ("bob", "eve")]))
    (batch,) = gasla.loader(named, k=[1], edges=[["ann"], ["eve"]])
    assert named.name(batch.sample.vertices[batch.pairs]).tolist() == [["ann"], ["eve"]] and batch.labels is None
    assert [*gasla.loader(GRAPH, k=[1], edges=[], negatives=2)] == []
    assert [*gasla.loader(GRAPH, k=[1], edges=np.zeros((2, 0), int), negatives=2)] == []
    full = Graph.from_edges(*np.nonzero(np.ones((3, 3))))
    with pytest.raises(ValueError, match="count is 9; expected 0 at most"):
        next(iter(gasla.loader(full, k=[1], edges=[0, 1, 2], negatives=3)))


def test_epochs_of_edges_differ_and_are_the_same_whatever_runs_ahead() -> None:
    def epochs(ahead: int) -> list[list[Any]]:
        batches = gasla.loader(GRAPH, k=[3], edges=PAIRS, negatives=1, shuffle=True, ahead=ahead, batch_size=20)
        return [[(b.sample.vertices[b.pairs].tolist(), b.sample.edge_ids.tolist()) for b in batches] for _ in "ab"]

    first, second = epochs(0)
    assert first != second and epochs(2) == [first, second]


@pytest.mark.parametrize("at", [None, np.array([3, 1, 2])])
@pytest.mark.parametrize("disjoint", [False, True])
def test_batches_of_edges_of_a_relation(at: Any, disjoint: bool) -> None:
    for relation, ends in ((("u", "buys", "i"), [[0, 1, 2], [0, 2, 3]]), (("u", "knows", "u"), [[0, 2, 1], [1, 1, 0]])):
        times = {name: {"time": np.arange(one.m)} for name, one in SHOP.relations.items()}
        graph, given = SHOP.with_edge_attributes(times), np.array(ends)
        options = {"negatives": 1, "at": at, "disjoint": disjoint, "features": {"u": X[:3]}}
        for batch in gasla.loader(graph, k=[3, 2], edges={relation: given}, batch_size=2, **options):
            places, vertices = batch.places, batch.sample.vertices
            found = np.stack([vertices[kind][row] for kind, row in zip(relation[::2], batch.pairs)])
            count = len(places)
            np.testing.assert_array_equal(found[:, :count], given[:, places])
            wrong = found[:, count:] + np.array(graph.starts(relation))[:, None]
            verify.negative_edges(graph[relation], count, wrong.astype(int), at=None if at is None else at[places])
            assert (batch.sample.batch is None) == (at is None and not disjoint)
            np.testing.assert_array_equal(batch.features["u"]["x"], X[vertices["u"]])
            if at is not None:  # each end has its tree: all sources, then all targets, in the order of the types
                roots = {kind: np.tile(at[np.tile(places, 2)], 2) for kind in "ui"}
                for name, index in batch.sample.edge_index.items():
                    until = roots["u"][batch.sample.batch[name[2]][index[1]]]
                    assert (batch.sample.edge_ids[name] <= until).all()
    numbers = gasla.loader(SHOP, k=[3], edges={("u", "buys", "i"): [3, 0]})
    (batch,) = numbers
    assert batch.sample.vertices["u"][batch.pairs[0]].tolist() == [2, 0]
    assert batch.sample.vertices["i"][batch.pairs[1]].tolist() == [1, 0]


def test_data_of_edges_has_the_names_of_pytorch_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hetero(dict[Any, Any]):
        def __missing__(self, name: Any) -> Any:
            return self.setdefault(name, Store())

    class Store(SimpleNamespace):
        def __setitem__(self, name: str, each: Any) -> None:
            setattr(self, name, each)

    data = ModuleType("torch_geometric.data")
    data.Data, data.HeteroData = SimpleNamespace, Hetero  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", Torch("torch"))
    monkeypatch.setitem(sys.modules, "torch_geometric", ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", data)
    how: dict[str, Any] = {"k": [3, 2], "edges": PAIRS, "negatives": 1}
    (found,), (right,) = gasla.loader(GRAPH, as_="pyg", **how), gasla.loader(GRAPH, **how)
    np.testing.assert_array_equal(found.edge_label_index.array, right.pairs)
    np.testing.assert_array_equal(found.edge_label.array, right.labels)
    assert found.batch_size == 50 and found.input_id.array.tolist() == [*range(50)]
    (tensors,) = gasla.loader(GRAPH, as_="torch", **how)
    np.testing.assert_array_equal(tensors.pairs.array, right.pairs)
    name = "u", "buys", "i"
    how |= {"edges": {name: [2, 0]}}
    (found,), (right,) = gasla.loader(SHOP, as_="pyg", **how), gasla.loader(SHOP, **how)
    np.testing.assert_array_equal(found[name].edge_label_index.array, right.pairs)
    assert found[name].batch_size == 2 and found[name].edge_label.array.tolist() == [1, 1, 0, 0]
    assert not hasattr(found["u"], "batch_size") and not hasattr(found["i"], "input_id")
    (found,) = gasla.loader(SHOP, {"i": [2, 1]}, [3], as_="pyg")
    assert found["i"].batch_size == 2 and found["i"].input_id.array.tolist() == [0, 1]


def test_typed_batches_are_hetero_data() -> None:
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    (found,) = gasla.loader(SHOP, {"i": [2]}, [3, 2], features={"u": {"x": X[:3]}}, as_="pyg", disjoint=True)
    assert found["i"].batch_size == 1 and found["i"].input_id.tolist() == [0]
    assert found["u"].x.numpy().tolist() == X[found["u"].n_id.numpy()].tolist()
    assert found.edge_index_dict["u", "buys", "i"].tolist() == [[0, 1], [0, 0]]
    assert found["u", "knows", "u"].num_sampled_edges == [0, 1] and found["u"].batch.tolist() == [0, 0]
    data = SHOP.with_edge_attributes({("u", "buys", "i"): {"time": [4, 3, 2, 1]}}).to_hetero_data()
    back = gasla.TypedGraph.from_hetero_data(data)
    assert dict(back.sizes) == dict(SHOP.sizes) and back["u", "buys", "i"].edge_attributes["time"].tolist() == [
        4,
        3,
        2,
        1,
    ]
    for name in SHOP.relations:
        np.testing.assert_array_equal(back.edge_index(name), SHOP.edge_index(name))
