"""Train GraphSAGE on batches that gasla samples, and say what share of the time that takes (needs PyTorch Geometric).

    python examples/graphsage.py [SCALE] [EPOCHS]

The graph is a random geometric one of 2**SCALE vertices, with 32 features each. The class of a vertex is the largest of
the first eight features, averaged over its neighbors and over theirs: a vertex alone hardly shows it.
"""

import sys
from time import perf_counter

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GraphSAGE

import gasla

BATCH, FANOUT, WIDTH = 512, [15, 10], 64


def data(scale: int) -> tuple[gasla.Graph, np.ndarray, np.ndarray]:
    """A graph, and the features and classes of its vertices."""
    graph = gasla.Graph(gasla.generators.rgg(scale))
    x = np.random.default_rng(1).normal(size=(graph.n, 32)).astype(np.float32)
    mean = x[:, :8]
    for _ in range(2):
        mean = gasla.aggregate_features(graph, mean, "mean", weighted=False)
    return graph, x, mean.argmax(axis=1)


def main(scale: str = "14", epochs: str = "5") -> float:
    """Train, print the accuracy on other vertices and where the time goes, and return that accuracy."""
    torch.manual_seed(0)
    graph, x, y = data(int(scale))
    train, test = np.split(np.random.default_rng(2).permutation(graph.n), [graph.n // 2])
    model = GraphSAGE(32, WIDTH, num_layers=2, out_channels=8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    options = {"batch_size": BATCH, "features": {"x": x, "y": y}, "as_": "pyg"}
    batches = gasla.loader(graph, train, FANOUT, shuffle=True, **options)
    alone = gasla.loader(graph, train, FANOUT, ahead=0, **options)
    begin = perf_counter()
    for _ in alone:  # no thread, no model: what sampling and gathering features cost by themselves
        pass
    sampling, begin, waited = perf_counter() - begin, perf_counter(), 0.0
    for _ in range(int(epochs)):
        end = perf_counter()
        for batch in batches:
            waited += perf_counter() - end
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
            end = perf_counter()
    whole = (perf_counter() - begin) / int(epochs)
    right = 0
    with torch.no_grad():
        for batch in gasla.loader(graph, test, FANOUT, **options):
            guess = model(batch.x, batch.edge_index)[: batch.batch_size].argmax(dim=1)
            right += int((guess == batch.y[: batch.batch_size]).sum())
    wait = waited / int(epochs)
    print(f"an epoch of {len(batches)} batches takes {whole:.2f} s; {wait:.2f} s of it wait for batches")
    print(f"sampling and gathering alone take {sampling:.2f} s, {sampling / whole:.0%} of an epoch")
    print(f"accuracy on vertices that were not trained on: {right / len(test):.2f}")
    return right / len(test)


if __name__ == "__main__":
    main(*sys.argv[1:])
