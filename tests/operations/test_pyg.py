"""`gasla.backends.pyg` with PyTorch Geometric itself: its loaders make the batches that gasla samples."""

import runpy
from typing import Any

import numpy as np
import pytest

import gasla
from gasla import datasets, verify
from gasla.backends.pyg import NeighborSampler
from gasla.graph.graph import Graph
from tests.helpers import ROOT

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
pyg: Any = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
GRAPH = Graph(datasets.rmat(7)).with_edge_attributes(time=np.arange(Graph(datasets.rmat(7)).m) % 50)
EDGES = torch.from_numpy(GRAPH.to_edge_index())
BUYS, SOLD = ("u", "buys", "i"), ("i", "sold to", "u")


def data() -> Any:
    return pyg.data.Data(x=torch.arange(GRAPH.n)[:, None], edge_index=EDGES, num_nodes=GRAPH.n)


def shop() -> tuple[Any, gasla.TypedGraph]:
    rng, made = np.random.default_rng(1), pyg.data.HeteroData()
    made["u"].x, made["i"].x = torch.arange(30)[:, None], torch.arange(20)[:, None]
    made[BUYS].edge_index = torch.from_numpy(np.array([rng.integers(0, 30, 90), rng.integers(0, 20, 90)]))
    made[SOLD].edge_index = made[BUYS].edge_index.flip(0)
    return made, gasla.TypedGraph.from_hetero_data(made)


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"at": 30}])
def test_batches_of_nodes(options: dict[str, Any]) -> None:
    ids, given = torch.arange(0, 120, 3), dict(options)
    times = torch.full((40,), given.pop("at")) if "at" in given else None
    loader = pyg.loader.NodeLoader(
        data(), NeighborSampler(GRAPH, [4, 2], seed=3, **given), input_nodes=ids, input_time=times, batch_size=16
    )
    seen = list[int]()
    for batch in loader:
        chosen = ids[batch.input_id].numpy()
        assert batch.x[:, 0].tolist() == batch.n_id.tolist()
        trees = getattr(batch, "batch", None)
        sample = batch.n_id.numpy(), batch.edge_index.numpy(), batch.e_id.numpy()
        counts = batch.num_sampled_nodes, batch.num_sampled_edges, None if trees is None else trees.numpy()
        verify.sample_neighbors(GRAPH, chosen, [4, 2], (*sample, *counts), direction="in", **options)
        seen += chosen.tolist()
    assert seen == ids.tolist()


def test_batches_of_edges_with_negatives() -> None:
    loader = pyg.loader.LinkLoader(
        data(), NeighborSampler(GRAPH, [3, 2]), edge_label_index=EDGES[:, :40], batch_size=20, neg_sampling="binary"
    )
    for number, batch in enumerate(loader):
        right = EDGES[:, 20 * number : 20 * number + 20]
        assert batch.edge_label.tolist() == [1] * 20 + [0] * 20
        assert torch.equal(batch.n_id[batch.edge_label_index[:, :20]], right)
        assert torch.equal(batch.n_id[batch.edge_index], EDGES[:, batch.e_id])


def test_batches_of_types() -> None:
    made, graph = shop()
    for batch in pyg.loader.NodeLoader(made, NeighborSampler(graph, [3, 2]), input_nodes=("i", None), batch_size=7):
        for kind in "ui":
            assert batch[kind].x[:, 0].tolist() == batch[kind].n_id.tolist()
        for name in (BUYS, SOLD):
            ends = [batch[kind].n_id[end] for kind, end in zip((name[0], name[2]), batch[name].edge_index)]
            assert torch.equal(torch.stack(ends), made[name].edge_index[:, batch[name].e_id])
    links = pyg.loader.LinkLoader(
        *(made, NeighborSampler(graph, [3, 2])),
        edge_label_index=(BUYS, made[BUYS].edge_index[:, :20]),
        batch_size=10,
        neg_sampling=pyg.sampler.NegativeSampling("triplet", 2),
    )
    for number, batch in enumerate(links):
        assert torch.equal(
            batch["u"].n_id[batch["u"].src_index], made[BUYS].edge_index[0, 10 * number : 10 * number + 10]
        )
        assert batch["i"].dst_neg_index.shape == (10, 2)


def test_calls_have_draws_of_their_own() -> None:
    sampler = NeighborSampler(GRAPH, [2])
    index = pyg.sampler.NodeSamplerInput(None, torch.arange(50))
    first, second = (sampler.sample_from_nodes(index).edge.tolist() for _ in range(2))
    assert first != second and NeighborSampler(GRAPH, [2]).sample_from_nodes(index).edge.tolist() == first


@pytest.mark.thorough
def test_the_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(ROOT / "examples" / "graphsage.py"))["main"]
    assert main("11", "6") > 0.3  # of eight classes
    assert "% of an epoch" in capsys.readouterr().out


def test_errors_come_before_any_batch() -> None:
    with pytest.raises(TypeError, match="weighted is 1; expected True or False"):
        NeighborSampler(GRAPH, [2], weighted=1)
    with pytest.raises(ValueError, match="direction is 'up'"):
        NeighborSampler(GRAPH, [2], direction="up")
