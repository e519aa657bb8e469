"""Batches for machine learning: samples around some vertices at a time, with features, made ahead in a thread.

The thread makes a limited number of batches before the user's loop asks for them. It ends when the loop ends, in
whatever way. An error in the thread is raised in the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from importlib import import_module
from inspect import signature
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread, current_thread
from typing import Any, Literal, TypeVar, get_args

import numpy as np

import semirings
from gasla.graph.arguments import check_choice, check_flags, whole_number
from gasla.graph.typed_graph import Relation, TypedGraph
from gasla.operations.batches import Batch, EdgeBatch, Edges, Plain, Typed, Vertices
from gasla.operations.edge_samples import By
from gasla.operations.samples import TypedSample
from gasla.operations.sampling import sampler_of, seed_word
from gasla.rows import Row

As = Literal["numpy", "torch", "pyg"]
T = TypeVar("T")
# Number of seconds after which a wait is interrupted to check for Ctrl-C. Once CUDA is loaded, Ctrl-C does not end a
# wait without a timeout.
PERIOD = 0.1


class Loader:
    """An iterable that yields batches: samples around vertices or edges, with features.

    It is made by `gasla.loader`. Each loop over it is an epoch.
    """

    def __init__(self, seeds: Vertices | Edges, size: int, how: tuple[bool, int, int, Callable[[Any], Any]]) -> None:
        self._seeds, self._size, self._epoch = seeds, size, 0
        self._shuffle, self._ahead, self._seed, self._convert = how
        seeds.prepare()  # called only for its checks, so that invalid options raise errors before the loop begins

    def __len__(self) -> int:
        """Return the number of batches."""
        return -(-len(self._seeds) // self._size)

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of the next epoch."""
        epoch, seed_bits = self._epoch, seed_word(self._seed)
        self._epoch += 1
        order = np.arange(len(self._seeds))
        if self._shuffle:
            order = np.argsort(semirings.hash(seed_bits, epoch, order), kind="stable")
        make_batch = self._seeds.prepare()

        def batch(number: int) -> Any:
            seed_positions = order[number * self._size : (number + 1) * self._size]
            return self._convert(make_batch(seed_positions, int(semirings.hash(seed_bits, epoch, number, 1))))

        return made_ahead(batch, len(self), self._ahead)


def loader(
    graph: Any,
    ids: Any = None,
    k: Any = None,
    *,
    edges: Any = None,
    labels: Any = None,
    negatives: int = 0,
    by: By = "uniform",
    batch_size: int = 1024,
    features: Any = None,
    shuffle: bool = False,
    as_: As = "numpy",
    ahead: int = 2,
    seed: int = 0,
    **options: Any,
) -> Loader:
    """Make batches of vertices or edges with samples of neighbors and features around them, ahead in a thread.

    Parameters
    ----------
    graph : Graph, SciPy sparse array, or TypedGraph
        In host memory. `A[i, j]` is the edge i -> j.
    ids : array of ids or names
        The vertices to learn from, divided into batches. They may repeat where trees are disjoint. Of a typed graph,
        those of one type, by its name: ``{"paper": train}``. None if there are `edges`.
    k : list of int, or of a typed graph also mapping from relation to list
        Number of neighbors for each layer, as in `gasla.sample_neighbors`.
    edges : (2, count) array of ids or names, or (count,) array of numbers of edges, optional
        The edges to learn from, in place of `ids`: sources and targets, which need not be edges of the graph; or
        numbers of edges of this graph, such as a set of `gasla.split_edges`. Of a typed graph, those of one relation,
        with ends numbered within their types: ``{("user", "buys", "item"): train}``.
    labels : (count, …) array of numbers, optional
        The label of each of `edges`; by default, with `negatives`, 1 as float32.
    negatives : int
        Number of pairs without an edge for each of `edges`, as of `gasla.negative_edges`, with the time of the edge and
        label 0. Without times, those of a batch are distinct if drawn uniformly.
    by : "uniform" or "degree"
        How these are drawn.
    batch_size : int
        Number of vertices or edges of each batch, 1 or more; the last one may have fewer.
    features : array, path of a ``.npy`` file, or dict of these, optional
        A row for each vertex of the graph. A file is mapped, not read: only the rows of a batch come to memory. Arrays
        of `numpy.memmap`, and tensors of other libraries in host memory, serve as well. One array is named "x". Of a
        typed graph, a dict from type to these.
    shuffle : bool
        Whether each epoch has the vertices or edges in a random order of its own.
    as_ : "numpy", "torch" or "pyg"
        Whether batches have arrays, or tensors of PyTorch, which share their memory; or are `Data` of PyTorch
        Geometric, with `x` and other features by name, `edge_index`, `n_id`, `e_id`, `batch_size`, `input_id`,
        `num_sampled_nodes`, `num_sampled_edges`, and for disjoint trees `batch`; of a typed graph, `HeteroData` with
        the same for each type and relation. With `edges`, they have `edge_label_index` and `edge_label`, and
        `batch_size` is the number of edges; in `HeteroData`, the relation of the edges has these.
    ahead : int
        Number of batches to make before they are asked for; with 0 there is no thread.
    seed : int
        At most 64 bits. The same seed gives the same epochs, whatever `ahead` is.
    **options
        `direction`, by default "in", `weighted`, `replace`, `at`, `time`, `window`, `strategy` and `disjoint` of
        `gasla.sample_neighbors`; `at` is one time, or one for each of `ids`
        or of `edges`, for both ends of an edge.

    Returns
    -------
    Loader
        A loop over it is an epoch: it yields a `Batch` (`sample`, `places` in `ids`, `features`), `Data` or
        `HeteroData`. With `edges`, it yields an `EdgeBatch` (`sample`, `places` in `edges`, `features`, `pairs` of
        numbers of the sample, `labels`): first the edges, then the pairs without one. Its length is the number of
        batches.

    Raises
    ------
    TypeError, ValueError
        As in `gasla.sample_neighbors` and `gasla.negative_edges`; if features have no row for each vertex, or labels
        for each edge; if there are both or neither of `ids` and `edges`; or the graph is on a GPU.
    ImportError
        If PyTorch or PyTorch Geometric is asked for and not installed.

    Notes
    -----
    The thread ends when the loop does: after the last batch, by ``break``, by an error, or by Ctrl-C. What fails in the
    thread is raised in the loop. Up to `ahead` batches and the current one are in memory at a time.

    An edge to learn from that is in the graph may be drawn for the sample of its own ends. With `at` before its time it
    is not; or the graph is one without it, such as of another set of `gasla.split_edges`.

    Sampling and the gathering of rows release Python's lock, so a model trains while the next batches are made.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> ring = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> x = np.arange(8.0).reshape(4, 2)
    >>> for sample, places, rows in gasla.loader(ring, [0, 1, 3], [1, 1], batch_size=2, features=x):
    ...     print(places, sample.vertices, rows["x"][:, 0])
    [0 1] [0 1 3 2] [0. 2. 6. 4.]
    [2] [3 2 1] [6. 4. 2.]

    Two edges, and a pair without an edge for each:

    >>> for batch in gasla.loader(ring, k=[1], edges=[[0, 2], [1, 3]], negatives=1):
    ...     print(batch.sample.vertices[batch.pairs], batch.labels)
    [[0 2 3 1]
     [1 3 1 0]] [1. 1. 0. 0.]
    """
    seed_bits, size, ahead_count = (
        int(seed_word(seed)),
        whole_number("batch_size", batch_size),
        whole_number("ahead", ahead, 2**20),
    )
    if size == 0:
        raise ValueError("batch_size is 0; expected 1 or more")
    check_flags(shuffle=shuffle)
    check_choice("as_", as_, get_args(As))
    check_choice("by", by, get_args(By))
    if (ids is None) == (edges is None):
        raise TypeError(f"{'neither ids nor' if ids is None else 'ids and'} edges are given; expected one of them")
    if k is None:
        raise TypeError("k is missing; expected a list with a number for each layer, such as [10, 5]")
    negatives = whole_number("negatives", negatives)
    if edges is None and (labels is not None or negatives or by != "uniform"):
        raise ValueError("labels, negatives and by are of edges; expected edges=, too, or none of them")
    option_names = {
        name for name, parameter in signature(sampler_of).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
    }
    if unknown := options.keys() - option_names:
        raise TypeError(f"loader has no {min(unknown)!r}; expected options of sample_neighbors")
    options = {"direction": "in", **options}
    source = (Typed if isinstance(graph, TypedGraph) else Plain)(graph, k, features)
    seeds: Vertices | Edges = (
        Vertices(source, ids, options) if edges is None else Edges(source, edges, options, labels, negatives, by)
    )
    make_converter = {
        "numpy": lambda: _return_unchanged,
        "torch": _torch_converter,
        "pyg": lambda: _pyg_converter(seeds.relation),
    }[as_]()
    return Loader(seeds, size, (bool(shuffle), ahead_count, seed_bits, make_converter))


def made_ahead(make: Callable[[int], T], count: int, ahead: int) -> Iterator[T]:
    """Yield what the function `make` returns for the numbers from 0 to `count` - 1, computed ahead in a thread.

    The thread computes up to `ahead` results before the caller asks for them.
    """
    if ahead == 0:
        yield from map(make, range(count))
        return
    slots, ended, results = Semaphore(ahead), Event(), SimpleQueue[tuple[Any, BaseException | None]]()

    def work() -> None:
        try:
            for batch_number in range(count):
                slots.acquire()
                if ended.is_set():
                    return
                results.put((make(batch_number), None))
        except BaseException as error:
            results.put((None, error))

    thread = Thread(target=copy_context().run, args=(work,), name="gasla loader", daemon=True)
    try:  # The `try` begins before the thread starts, because Ctrl-C may come between any two lines.
        thread.start()
        for _ in range(count):
            item, error = _next(results)
            if error is not None:
                raise error
            slots.release()
            yield item
    finally:
        ended.set()
        slots.release()
        # Garbage collection may close this generator while it runs in the thread itself. As the thread can't wait for
        # its own end, only another thread waits here.
        if thread.ident is not None and thread is not current_thread():
            thread.join()


def _next(results: SimpleQueue[T]) -> T:
    while True:
        try:
            return results.get(timeout=PERIOD)
        except Empty:
            continue


# --- conversion of batches to tensors of PyTorch, and to data of PyTorch Geometric ------------------------------------


def _return_unchanged(batch: Any) -> Any:
    return batch


def _import_module(name: str, package: str) -> Any:
    """Import a module of another library, such as "torch", into whose objects batches are converted.

    If it is missing, the error says how to install the library, whose name is `package`.
    """
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"batches for {package} need it: pip install {package}") from None


def _map_arrays(function: Callable[[Any], Any], nested_arrays: Any) -> Any:
    """Apply a function to each array of a batch, whose arrays are in nested dicts, and return dicts of the results.

    None remains None.
    """
    if isinstance(nested_arrays, dict):
        return {name: _map_arrays(function, value) for name, value in nested_arrays.items()}
    return None if nested_arrays is None else function(nested_arrays)


def _torch_converter() -> Callable[[Any], Any]:
    """Return a function that replaces the arrays of a batch by PyTorch tensors that share their memory."""
    tensor = _import_module("torch", "torch").from_dlpack

    def convert(batch: Batch | EdgeBatch) -> Batch | EdgeBatch:
        names = "vertices", "edge_index", "edge_ids", "batch"
        sample = batch.sample._replace(**{name: _map_arrays(tensor, getattr(batch.sample, name)) for name in names})
        other_tensors = {
            name: _map_arrays(tensor, field) for name, field in batch._asdict().items() if name != "sample"
        }
        return batch._replace(sample=sample, **other_tensors)

    return convert


def _pyg_converter(relation: Relation | None) -> Callable[[Any], Any]:
    """Return a function that converts a batch to `Data` or `HeteroData` of PyTorch Geometric.

    For a batch of edges of a typed graph, `relation` is the relation of these edges.
    """
    module, convert_to_torch = _import_module("torch_geometric.data", "torch-geometric"), _torch_converter()

    def to_data(batch: Batch | EdgeBatch) -> Any:
        seed_count, batch = len(batch.places), convert_to_torch(batch)
        sample, seed_positions, features = batch[:3]
        seeds = {"input_id": seed_positions, "batch_size": seed_count}
        if isinstance(batch, EdgeBatch):
            seeds["edge_label_index"] = batch.pairs
            if batch.labels is not None:
                seeds["edge_label"] = batch.labels
        if isinstance(sample, TypedSample):
            data = _fill_hetero_data(module.HeteroData(), sample, features)
            type_name = relation or next(type_name for type_name, counts in sample.vertex_counts.items() if counts[0])
            for name, seed_data in seeds.items():
                data[type_name][name] = seed_data
            return data
        trees = {} if sample.batch is None else {"batch": sample.batch}
        return module.Data(
            **features,
            **trees,
            **seeds,
            edge_index=sample.edge_index,
            n_id=sample.vertices,
            e_id=sample.edge_ids,
            num_sampled_nodes=sample.vertex_counts,
            num_sampled_edges=sample.edge_counts,
        )

    return to_data


def _fill_hetero_data(data: Any, sample: TypedSample, features: Mapping[str, Mapping[str, Any]]) -> Any:
    """Fill a `HeteroData` of PyTorch Geometric with the vertices, edges and features of a sample, and return it."""
    for type_name, vertices in sample.vertices.items():
        data[type_name].num_nodes = len(vertices)
        by_name = {
            "n_id": vertices,
            "num_sampled_nodes": sample.vertex_counts[type_name],
            **features.get(type_name, {}),
        }
        if sample.batch is not None:
            by_name["batch"] = sample.batch[type_name]
        for name, value in by_name.items():
            data[type_name][name] = value
    for relation, index in sample.edge_index.items():
        data[relation].edge_index, data[relation].e_id = index, sample.edge_ids[relation]
        data[relation].num_sampled_edges = sample.edge_counts[relation]
    return data


ROW = Row(
    loader,
    method="batches made ahead, features gathered in parallel: SALIENT (Kaler et al., MLSys 2022)",
    longer="Batches are made in a thread of Python, each by several calls.",
)
