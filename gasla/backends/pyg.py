"""gasla's sampler for the loaders of PyTorch Geometric, `NodeLoader` and `LinkLoader`, which take it as their sampler.

PyTorch Geometric calls it for each batch, in as many worker processes as the loader has. `gasla.loader` needs neither,
and makes batches ahead in a thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gasla
import semirings
from gasla.graph.arguments import in_host_memory
from gasla.graph.typed_graph import TypedGraph

try:
    from torch import from_dlpack as tensor
    from torch.utils.data import get_worker_info
    from torch_geometric.sampler import BaseSampler, HeteroSamplerOutput, SamplerOutput
    from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample
except ImportError:  # If PyTorch Geometric is missing, `NeighborSampler` raises an error that says how to install it.
    BaseSampler = object


class NeighborSampler(BaseSampler):
    """A `BaseSampler` of PyTorch Geometric that samples by `gasla.sample_neighbors`.

    Parameters
    ----------
    graph : Graph, SciPy sparse array, or TypedGraph
        In host memory, with the vertices and edges of the data that the loader takes features from.
    k : list of int, or of a typed graph also mapping from relation to list
        Number of neighbors for each layer.
    seed : int
        At most 64 bits. Each call of each worker has draws of its own.
    **options
        `direction`, by default "in", `weighted`, `replace`, `time`, `window`, `strategy` and `disjoint` of
        `gasla.sample_neighbors`. Times of seeds come from the loader (`input_time`, `edge_label_time`); then trees are
        disjoint.

    Raises
    ------
    ImportError
        If PyTorch Geometric is not installed.
    TypeError, ValueError
        As in `gasla.sample_neighbors`.

    Examples
    --------
    >>> import gasla
    >>> from gasla.backends.pyg import NeighborSampler
    >>> from torch_geometric.data import Data  # doctest: +SKIP
    >>> from torch_geometric.loader import NodeLoader  # doctest: +SKIP
    >>> edges = torch.tensor([[0, 1, 2], [1, 2, 0]])  # doctest: +SKIP
    >>> sampler = NeighborSampler(gasla.Graph.from_edge_index(edges), [5, 5])  # doctest: +SKIP
    >>> loader = NodeLoader(Data(x=torch.eye(3), edge_index=edges), sampler, batch_size=2)  # doctest: +SKIP
    """

    def __init__(self, graph: Any, k: Any, *, seed: int = 0, **options: Any) -> None:
        if BaseSampler is object:
            raise ImportError("NeighborSampler needs PyTorch Geometric: pip install torch torch-geometric")
        super().__init__()
        self.graph = graph if isinstance(graph, TypedGraph) else in_host_memory("NeighborSampler", graph)
        self.k, self.seed, self.options, self.calls = k, seed, {"direction": "in", **options}, 0
        no_seeds: Any = {} if isinstance(graph, TypedGraph) else []
        gasla.sample_neighbors(self.graph, no_seeds, k, seed=seed, **self._checkable_options())

    def _checkable_options(self) -> dict[str, Any]:
        """Return the options that are valid without times of seeds, which are checked before any batch is sampled."""
        return {name: each for name, each in self.options.items() if name in ("direction", "weighted", "replace")}

    def sample_from_nodes(self, index: Any, **_: Any) -> Any:
        """Return a sample of the neighborhoods of a batch of nodes. `NodeLoader` calls this method."""
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: Any, neg_sampling: Any = None) -> Any:
        """Return a sample of the neighborhoods of both ends of a batch of edges. `LinkLoader` calls this method.

        PyTorch Geometric draws negative edges, and adds them to the batch.
        """
        sizes = dict(self.graph.sizes) if isinstance(self.graph, TypedGraph) else self.graph.n
        disjoint = bool(self.options.get("disjoint", False)) or index.time is not None
        return edge_sample(index, self._sample, sizes, disjoint, neg_sampling=neg_sampling)

    def _sample(self, seed: Any, seed_time: Any = None) -> Any:
        """Return the sampled neighborhoods of some nodes as an output object of PyTorch Geometric."""
        worker = info.id if (info := get_worker_info()) is not None else 0
        call_seed = int(semirings.hash(np.uint64(self.seed % 2**64), worker, self.calls))
        self.calls += 1
        ids, times = _arrays(seed), _arrays(seed_time)
        sampled: Any = gasla.sample_neighbors(self.graph, ids, self.k, at=times, seed=call_seed, **self.options)
        node, edge, batch = (_tensors(each) for each in (sampled.vertices, sampled.edge_ids, sampled.batch))
        rows, columns = (
            _tensors({name: each[end] for name, each in sampled.edge_index.items()})
            if isinstance(sampled.edge_index, dict)
            else tensor(sampled.edge_index[end])
            for end in (0, 1)
        )
        output_class = HeteroSamplerOutput if isinstance(sampled.edge_index, dict) else SamplerOutput
        return output_class(node, rows, columns, edge, batch, sampled.vertex_counts, sampled.edge_counts)


def _arrays(given: Any) -> Any:
    """Return a tensor as a NumPy array, a dictionary of tensors as a dictionary of arrays, or None for None."""
    if isinstance(given, dict):
        return {name: each.numpy() for name, each in given.items()}
    return None if given is None else given.numpy()


def _tensors(given: Any) -> Any:
    """Return an array as an int64 tensor, a dictionary of arrays as a dictionary of tensors, or None for None."""
    if isinstance(given, dict):
        return {name: _tensors(each) for name, each in given.items()}
    return None if given is None else tensor(given.astype(np.int64, copy=False))
