"""Batches for learning: neighbors of some vertices at a time and the features of these, made ahead in a thread.

The thread makes a bounded number of batches before they are asked for. It ends with the loop over them, however that
ends, and what it raises is raised in the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from importlib import import_module
from inspect import signature
from os import PathLike
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread, current_thread
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

import semirings
from gasla.graph.arguments import check_choice, check_flags, in_host_memory, vertex_ids, whole_number
from gasla.graph.typed_graph import TypedGraph
from gasla.graph.validate import as_array
from gasla.operations.samples import NeighborSample, TypedSample
from gasla.operations.sampling import TypedSampler, layers_of, repeats, sample_layers, sampler_of, seed_word, typed_ids

Array = np.ndarray[Any, Any]
As = Literal["numpy", "torch", "pyg"]
Draw = Callable[[Array, Array, int], NeighborSample | TypedSample]  # from positions, the vertices there, and a seed
T = TypeVar("T")
PERIOD = 0.1  # seconds between two looks for Ctrl-C, which does not end a wait without a timeout once CUDA is loaded


class Batch(NamedTuple):
    """A sample around some vertices, and the features of its vertices.

    Attributes
    ----------
    sample : NeighborSample or TypedSample
        As of `sample_neighbors`; it begins with the vertices of the batch.
    places : array of int64
        The positions of the vertices of the batch among the `ids` of the loader: labels are ``y[places]``.
    features : dict of arrays
        The rows of each of the loader's features for `sample.vertices`; of a typed graph, a dict for each type.
    """

    sample: Any
    places: Any
    features: dict[str, Any]


class Loader:
    """Batches of vertices with samples around them; made by `gasla.loader`. Each loop over it is an epoch."""

    def __init__(
        self,
        ids: Array,
        size: int,
        how: tuple[bool, int, int, Callable[[Batch], Any]],
        prepare: Callable[[], Draw],
        rows_of: Callable[[Any], dict[str, Any]],
    ) -> None:
        self._ids, self._size, self._prepare, self._rows_of, self._epoch = ids, size, prepare, rows_of, 0
        self._shuffle, self._ahead, self._seed, self._convert = how
        prepare()  # check the options now

    def __len__(self) -> int:
        """Return the number of batches."""
        return -(-len(self._ids) // self._size)

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches of the next epoch."""
        epoch, word = self._epoch, seed_word(self._seed)
        self._epoch += 1
        order = np.arange(len(self._ids))
        if self._shuffle:
            order = np.argsort(semirings.hash(word, epoch, order), kind="stable")
        draw = self._prepare()

        def batch(number: int) -> Any:
            places = order[number * self._size : (number + 1) * self._size]
            seed = int(semirings.hash(word, epoch, number, 1))
            sample = draw(places, self._ids[places], seed)
            return self._convert(Batch(sample, places, self._rows_of(sample.vertices)))

        return made_ahead(batch, len(self), self._ahead)


def loader(
    graph: Any,
    ids: Any,
    k: Any,
    *,
    batch_size: int = 1024,
    features: Any = None,
    shuffle: bool = False,
    as_: As = "numpy",
    ahead: int = 2,
    seed: int = 0,
    **options: Any,
) -> Loader:
    """Make batches of vertices with samples of neighbors and features around them, ahead in a thread.

    Parameters
    ----------
    graph : Graph, SciPy sparse array, or TypedGraph
        In host memory. `A[i, j]` is the edge i -> j.
    ids : array of ids or names
        The vertices to learn from, divided into batches. They may repeat where trees are disjoint. Of a typed graph,
        those of one type, by its name: ``{"paper": train}``.
    k : list of int, or of a typed graph also mapping from relation to list
        Number of neighbors for each layer, as in `gasla.sample_neighbors`.
    batch_size : int
        Number of vertices of each batch, 1 or more; the last one may have fewer.
    features : array, path of a ``.npy`` file, or dict of these, optional
        A row for each vertex of the graph. A file is mapped, not read: only the rows of a batch come to memory. Arrays
        of `numpy.memmap`, and tensors of other libraries in host memory, serve as well. One array is named "x". Of a
        typed graph, a dict from type to these.
    shuffle : bool
        Whether each epoch has the vertices in a random order of its own.
    as_ : "numpy", "torch" or "pyg"
        Whether batches have arrays, or tensors of PyTorch, which share their memory; or are `Data` of PyTorch
        Geometric, with `x` and other features by name, `edge_index`, `n_id`, `e_id`, `batch_size`, `input_id`,
        `num_sampled_nodes`, `num_sampled_edges`, and for disjoint trees `batch`; of a typed graph, `HeteroData` with
        the same for each type and relation.
    ahead : int
        Number of batches to make before they are asked for; with 0 there is no thread.
    seed : int
        At most 64 bits. The same seed gives the same epochs, whatever `ahead` is.
    **options
        `direction`, by default "in", `weighted`, `replace`, `at`, `time`, `window`, `strategy` and `disjoint` of
        `gasla.sample_neighbors`; `at` is one time, or one for each of `ids`.

    Returns
    -------
    Loader
        A loop over it is an epoch: it yields a `Batch` (`sample`, `places` in `ids`, `features`), `Data` or
        `HeteroData`. Its length is the number of batches.

    Raises
    ------
    TypeError, ValueError
        As in `gasla.sample_neighbors`; if features have no row for each vertex, or the graph is on a GPU.
    ImportError
        If PyTorch or PyTorch Geometric is asked for and not installed.

    Notes
    -----
    The thread ends when the loop does: after the last batch, by ``break``, by an error, or by Ctrl-C. What fails in the
    thread is raised in the loop. Up to `ahead` batches and the current one are in memory at a time.

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
    """
    word, size, count = (
        int(seed_word(seed)),
        whole_number("batch_size", batch_size),
        whole_number("ahead", ahead, 2**20),
    )
    if size == 0:
        raise ValueError("batch_size is 0; expected 1 or more")
    check_flags(shuffle=shuffle)
    check_choice("as_", as_, get_args(As))
    known = {name for name, each in signature(sampler_of).parameters.items() if each.kind is each.KEYWORD_ONLY}
    if unknown := options.keys() - known:
        raise TypeError(f"loader has no {min(unknown)!r}; expected options of sample_neighbors")
    options = {"direction": "in", **options}
    parts = _typed if isinstance(graph, TypedGraph) else _plain
    ids, prepare, rows_of = parts(graph, ids, k, features, options)
    if not options.get("disjoint", False) and options.get("at") is None and len(np.unique(ids)) < len(ids):
        raise repeats(ids)
    convert = {"numpy": lambda: _same, "torch": _to_torch, "pyg": _to_pyg}[as_]()
    return Loader(ids, size, (bool(shuffle), count, word, convert), prepare, rows_of)


Parts = tuple[Array, Callable[[], Draw], Callable[[Any], dict[str, Any]]]  # ids, how to draw, and rows of vertices


def _plain(graph: Any, ids: Any, k: Any, features: Any, options: Mapping[str, Any]) -> Parts:
    """What a loader needs of a graph without types."""
    graph, layers = in_host_memory("loader", graph), layers_of(k)
    if layers is None:
        raise TypeError(f"k is {k!r}; expected a list with a number for each layer, such as [{k!r}]")
    ids, rows = vertex_ids(graph, "ids", ids), _features(graph.n, features)

    def prepare() -> Draw:
        sampler = sampler_of(graph, len(ids), 0, **options)
        return lambda places, some, seed: sample_layers(sampler.of(places, seed), some, layers)

    return ids, prepare, lambda vertices: {name: each.take(vertices, axis=0) for name, each in rows.items()}


def _typed(graph: TypedGraph, ids: Any, k: Any, features: Any, options: Mapping[str, Any]) -> Parts:
    """What a loader needs of a typed graph."""
    for relation in graph.relations.values():
        in_host_memory("loader", relation)
    each = typed_ids(graph, ids)
    if len(ids) != 1:
        raise ValueError(f"ids has {len(ids)} types; expected one, such as {{{next(iter(graph.sizes))!r}: [0, 1]}}")
    ((kind, _),) = ids.items()
    given = {} if features is None else features
    if not isinstance(given, Mapping):
        raise TypeError(f"features is a {type(given).__name__}; expected a mapping from type to the features of it")
    rows = {one: _features(graph.vertices(one).n, some) for one, some in given.items()}
    none = {one: some[:0] for one, some in each.items()}

    def prepare() -> Draw:
        sampler = TypedSampler(graph, k, len(each[kind]), 0, options)
        return lambda places, some, seed: sampler.of(places, seed).sample(none | {kind: some})

    def rows_of(vertices: Mapping[str, Array]) -> dict[str, Any]:
        return {
            one: {name: every.take(vertices[one], axis=0) for name, every in some.items()} for one, some in rows.items()
        }

    return each[kind], prepare, rows_of


def _features(n: int, given: Any) -> dict[str, Array]:
    """The features by name, checked to have a row for each of n vertices."""
    if given is None:
        return {}
    found = dict[str, Array]()
    for name, each in given.items() if isinstance(given, Mapping) else [("x", given)]:
        if not isinstance(name, str):
            raise TypeError(f"features has the name {name!r}; expected a string")
        array = (
            np.load(each, mmap_mode="r") if isinstance(each, str | PathLike) else as_array(f"features {name!r}", each)
        )
        if not isinstance(array, np.ndarray) or array.ndim == 0 or len(array) != n:
            shape = getattr(array, "shape", None)
            raise ValueError(
                f"features {name!r} have shape {shape}; expected an array in host memory with a row for each of "
                f"{n} vertices"
            )
        found[name] = array.view(np.ndarray)  # a mapped file's own class would wrap the rows, too
    return found


def made_ahead(make: Callable[[int], T], count: int, ahead: int) -> Iterator[T]:
    """Yield what `make` returns for 0 to `count` - 1; a thread makes up to `ahead` before they are asked for."""
    if ahead == 0:
        yield from map(make, range(count))
        return
    room, ended, made = Semaphore(ahead), Event(), SimpleQueue[tuple[Any, BaseException | None]]()

    def work() -> None:
        try:
            for number in range(count):
                room.acquire()
                if ended.is_set():
                    return
                made.put((make(number), None))
        except BaseException as error:
            made.put((None, error))

    thread = Thread(target=copy_context().run, args=(work,), name="gasla loader", daemon=True)
    try:  # Ctrl-C may come between any two lines
        thread.start()
        for _ in range(count):
            item, error = _next(made)
            if error is not None:
                raise error
            room.release()
            yield item
    finally:
        ended.set()
        room.release()
        if thread.ident is not None and thread is not current_thread():  # where a collection may close this generator
            thread.join()


def _next(made: SimpleQueue[T]) -> T:
    while True:
        try:
            return made.get(timeout=PERIOD)
        except Empty:
            continue


# --- batches for others -----------------------------------------------------------------------------------------------


def _same(batch: Batch) -> Batch:
    return batch


def _module(name: str, package: str) -> Any:
    """Import a module that batches are made for; the ImportError says how to install it."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"batches for {package} need it: pip install {package}") from None


def _each(function: Callable[[Any], Any], given: Any) -> Any:
    """Apply a function to the arrays in nested dicts; None stays."""
    if isinstance(given, dict):
        return {name: _each(function, one) for name, one in given.items()}
    return None if given is None else function(given)


def _to_torch() -> Callable[[Batch], Batch]:
    """Return the function that turns the arrays of a batch into tensors, without a copy."""
    tensor = _module("torch", "torch").from_dlpack

    def converted(batch: Batch) -> Batch:
        names = "vertices", "edge_index", "edge_ids", "batch"
        sample = batch.sample._replace(**{name: _each(tensor, getattr(batch.sample, name)) for name in names})
        return Batch(sample, tensor(batch.places), _each(tensor, batch.features))

    return converted


def _to_pyg() -> Callable[[Batch], Any]:
    """Return the function that turns a batch into the `Data` or `HeteroData` of PyTorch Geometric."""
    module, tensors = _module("torch_geometric.data", "torch-geometric"), _to_torch()

    def converted(batch: Batch) -> Any:
        sample, places, features = tensors(batch)
        if isinstance(sample, TypedSample):
            return _filled(module.HeteroData(), sample, places, features)
        trees = {} if sample.batch is None else {"batch": sample.batch}
        return module.Data(
            **features,
            **trees,
            edge_index=sample.edge_index,
            n_id=sample.vertices,
            e_id=sample.edge_ids,
            input_id=places,
            batch_size=sample.vertex_counts[0],
            num_sampled_nodes=sample.vertex_counts,
            num_sampled_edges=sample.edge_counts,
        )

    return converted


def _filled(data: Any, sample: TypedSample, places: Any, features: Mapping[str, Mapping[str, Any]]) -> Any:
    """Fill a `HeteroData` with a sample around the vertices of one type."""
    for kind, vertices in sample.vertices.items():
        data[kind].num_nodes = len(vertices)
        found = {"n_id": vertices, "num_sampled_nodes": sample.vertex_counts[kind], **features.get(kind, {})}
        if sample.batch is not None:
            found["batch"] = sample.batch[kind]
        if sample.vertex_counts[kind][0]:
            found |= {"input_id": places, "batch_size": sample.vertex_counts[kind][0]}
        for name, each in found.items():
            data[kind][name] = each
    for relation, index in sample.edge_index.items():
        data[relation].edge_index, data[relation].e_id = index, sample.edge_ids[relation]
        data[relation].num_sampled_edges = sample.edge_counts[relation]
    return data
