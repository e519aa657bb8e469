"""Tensors of other libraries as arguments, and results as their tensors, by DLPack.

A tensor here is an object with DLPack's two methods and nothing else. Where PyTorch and JAX are installed, theirs too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gasla
import semirings
from gasla import datasets
from gasla.arrays import imported
from gasla.graph.graph import Graph
from gasla.shipping import calls


class Tensor:
    """An array by DLPack's methods alone; a read-only array stays one."""

    def __init__(self, array: Any) -> None:
        self.array = np.array(array)

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class ReadOnly(Tensor):
    def __init__(self, array: Any) -> None:
        super().__init__(array)
        self.array.flags.writeable = False


def torch_tensor(array: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(np.array(array))


def tensor_with_gradient(array: Any) -> Any:
    tensor = torch_tensor(array)
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def jax_array(array: Any) -> Any:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(array)


MAKERS = [Tensor, ReadOnly, torch_tensor, tensor_with_gradient, jax_array]
GRAPH = Graph(datasets.rmat(6))
SRC, DST = GRAPH.edges()
WEIGHTS = np.random.default_rng(0).random(GRAPH.m)
X = np.random.default_rng(1).random((GRAPH.n, 3))
IDS = np.array([3, 0, 5])


class Cheapest(gasla.VertexProgram):
    cost = gasla.vertex(np.float64, init=np.inf)
    reduce = semirings.min

    def gather(self, src: Any, dst: Any, edge: Any) -> Any:
        return src.cost + 1

    def apply(self, vertex: Any, gathered: Any) -> Any:
        return {"cost": semirings.minimum(vertex.cost, gathered)}


class Wander(gasla.WalkProgram):
    tiredness = gasla.vertex(np.float64)

    def stop(self, vertex: Any) -> Any:
        return vertex.tiredness


INPUTS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "from_edges": lambda make: Graph.from_edges(make(SRC), make(DST), make(WEIGHTS)).out_values,
    "from_csr": lambda make: Graph.from_csr(make(GRAPH.out.indptr), make(GRAPH.out.indices), make(WEIGHTS)).values,
    "from_edge_index": lambda make: Graph.from_edge_index(make(np.stack([SRC, DST])), make(WEIGHTS)).out_values,
    "with_values": lambda make: GRAPH.with_values(make(WEIGHTS)).in_values,
    "select": lambda make: GRAPH.select(make(np.arange(9))).edges()[1],
    "subgraph": lambda make: GRAPH.subgraph(make(IDS)).origin.vertices,
    "contract": lambda make: GRAPH.contract(make(np.arange(GRAPH.n) % 7)).values,
    "aggregate_features": lambda make: gasla.aggregate_features(GRAPH, make(X)),
    "sample_neighbors": lambda make: gasla.sample_neighbors(GRAPH, make(IDS), [4, 2]).edge_index,
    "random_walks": lambda make: gasla.random_walks(GRAPH, make(IDS), 5),
    "walk": lambda make: gasla.walk(Wander, GRAPH, make(IDS), 5, tiredness=make(np.full(GRAPH.n, 0.3))),
    "walk_pairs": lambda make: gasla.walk_pairs(make(gasla.random_walks(GRAPH, IDS, 5)), 2),
    "pagerank": lambda make: gasla.pagerank(GRAPH, personalization=make(X[:, 0])).ranks,
    "mxv": lambda make: gasla.mxv(GRAPH, make(X[:, 0])),
    "vxm": lambda make: gasla.vxm(make(X[:, 1].copy()), GRAPH, mask=make(X[:, 0] > 0.5)),
    "run": lambda make: (
        gasla.run(
            Cheapest, GRAPH, active=make(IDS), cost=make(np.arange(GRAPH.n, dtype=np.float64)), compile=False
        ).cost
    ),
    "active mask": lambda make: (
        gasla.run(Cheapest, GRAPH, active=make(X[:, 0] > 0.5), cost=make(X[:, 1].copy()), compile=False).cost
    ),
    "reduce_by_key": lambda make: gasla.reduce_by_key(make(SRC), make(WEIGHTS), semirings.plus),
    "modularity": lambda make: gasla.modularity(GRAPH, make(np.arange(GRAPH.n) % 5)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", INPUTS)
def test_arguments_may_be_tensors(name: str, make: Callable[[Any], Any]) -> None:
    make(IDS)  # skips where the library is not installed
    np.testing.assert_array_equal(INPUTS[name](make), INPUTS[name](lambda array: array))


def test_memory_is_shared() -> None:
    tensor = Tensor(WEIGHTS)
    assert np.shares_memory(GRAPH.with_values(tensor).values, tensor.array)
    assert not imported(ReadOnly(WEIGHTS)).flags.writeable
    assert imported(WEIGHTS) is WEIGHTS and imported(3.5) == 3.5


class Strange(Tensor):
    dtype = "bfloat16"

    def __dlpack__(self, **options: Any) -> object:
        raise RuntimeError("Unsupported dtype in DLTensor.")


def test_tensors_of_other_types_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Strange of bfloat16, which can't be read by DLPack: Unsupported dtype"):
        gasla.aggregate_features(GRAPH, Strange(X))
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(GRAPH.n, dtype=torch.bfloat16), torch.eye(GRAPH.n).to_sparse()):
        with pytest.raises(
            TypeError, match=r"which can't be read by DLPack: .*expected a dense array of a type that Nu"
        ):
            gasla.aggregate_features(GRAPH, tensor)


def arrays_of(result: Any, depth: int = 3) -> list[np.ndarray]:
    """All arrays of a result: of tuples, lists, dicts, results of runs and graphs' edges."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, gasla.Result):
        result = list(result.state.values())
    if isinstance(result, dict):
        result = list(result.values())
    parts = result if isinstance(result, tuple | list) and depth else []
    return [array for part in parts for array in arrays_of(part, depth - 1)]


@pytest.mark.filterwarnings("ignore::gasla.ConvergenceWarning")  # of three iterations
@pytest.mark.slow  # calls, and so compiles, nearly everything
@pytest.mark.parametrize("name", [name for name in calls.names() if name not in calls.MORE])
def test_results_are_tensors(name: str) -> None:
    """PyTorch and JAX refuse read-only arrays; results of all functions can be written to."""
    graph = Graph(datasets.rmat(6)).symmetrized(semirings.max)
    if name == "fiedler_vector":
        labels = gasla.connected_components(graph).labels
        graph = graph.subgraph(np.flatnonzero(labels == np.bincount(labels).argmax()))
    if name in ("topological_order", "longest_path", "transitive_reduction"):
        src, dst = graph.edges()
        graph = Graph.from_edges(src[src < dst], dst[src < dst], n=graph.n)
    if name in ("project", "maximum_bipartite_matching"):  # bipartite; calls take the first half as a side
        half = graph.n // 2
        src, dst = graph.edges()
        graph = Graph.from_edges(src % half, half + dst % half, n=graph.n)
    for call in calls.calls(name, graph, options=False):
        for array in arrays_of(call()):
            np.testing.assert_array_equal(np.from_dlpack(_Unversioned(array)), array)


class _Unversioned(Tensor):
    """Asks an array as consumers of DLPack before 1.0 do, which can't be told that an array is read-only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__()


def test_results_become_tensors_of_pytorch_and_jax() -> None:
    sample = gasla.sample_neighbors(GRAPH, IDS, [4, 2], direction="in")
    results = [
        *sample[:3],
        gasla.random_walks(GRAPH, IDS, 5),
        gasla.negative_edges(GRAPH, 5),
        *gasla.split_edges(GRAPH),
    ]
    results += [block.edge_index for block in sample.blocks] + [gasla.aggregate_features(GRAPH, X)]
    for result in results:
        assert result.flags.writeable
    torch = pytest.importorskip("torch")
    for result in results:
        tensor = torch.from_dlpack(result)
        np.testing.assert_array_equal(tensor.numpy(), result)
        assert tensor.data_ptr() == result.ctypes.data
    jax = pytest.importorskip("jax")
    for result in results:
        np.testing.assert_array_equal(np.asarray(jax.numpy.asarray(result)), result)
