"""Records the CUDA sources that gasla's functions need, on a machine without a GPU, while the functions run on the CPU.

The CPU engine runs all programs, products and primitives. For each of them, the recorder stores the sources that the
GPU engine would compile, for graphs of every shape, with ids and offsets of 32 bits.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

import semirings
from gasla import engines
from gasla.gpu.primitive import cliques, drain_levels, forest, intersections, neighbors, sampling
from gasla.gpu.product import dense, numeric, products, symbolic
from gasla.gpu.program import generate, levels, phases, rows, variants, walk_runs
from gasla.gpu.program.plan import Variant
from gasla.gpu.program.variants import Shape
from gasla.gpu.runtime import min_max
from gasla.graph import lists_gpu
from gasla.graph.transform import segmented_reduce
from gasla.operations import primitives
from gasla.program.terms import trace
from semirings import Semiring

INT = np.dtype(np.int32)
SIZE = INT.itemsize
SHARED = {"sm_80": 163 << 10, "sm_90": 227 << 10}
"""The architectures whose code a wheel contains, and the bytes of shared memory that a block may have on each."""
SHAPES = [
    Shape(is_small=True, has_bounded_degree=True, longest_row=1),
    Shape(is_small=True),
    Shape(),  # a graph with skewed degrees
    Shape(has_bounded_degree=True, longest_row=1),  # a random graph
    Shape(has_bounded_degree=True, is_local=True, lanes=1, longest_row=1),  # a road network
    Shape(has_bounded_degree=True, is_local=True, lanes=2, longest_row=1),  # a mesh
    Shape(is_relabelled=True),  # a graph with skewed degrees and millions of edges
]
# the numbers of threads per row for which kernels of products are recorded; PACKED means that rows are packed together
LANES = rows.PACKED, 1, 2, 4, 8
Noted = dict[str, list[dict[str, None]]]
"""CUDA sources by architecture, and by the number in SHAPES of the first shape that needs them.

The sources are keys of a dict, which keeps their order.
"""


class Recorder:
    """An engine in place of the CPU engine, which does the work, while the CUDA sources that a GPU would need are
    recorded.
    """

    converts_weights = True  # as kernels of a GPU do

    def __init__(self) -> None:
        self._cpu = engines.engine("cpu")
        self.noted: Noted = {each: [{} for _ in SHAPES] for each in SHARED}
        for source in _common_sources():
            self._note(source)

    def sources(self, architecture: str) -> list[str]:
        """Return the CUDA sources that have been recorded for an architecture such as "sm_90".

        Sources that are needed for small graphs, the first of `SHAPES`, come first.
        """
        return merged([self.noted])[architecture]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cpu, name)

    def _note(self, source: str) -> None:
        for of_shapes in self.noted.values():
            of_shapes[0].setdefault(source)

    def prepare(
        self, program: Any, graph: Any, way: int, deterministic: bool = False, scheduled: bool = False
    ) -> engines.Runs:
        """Prepare runs of a program on the CPU, and record the program's CUDA source for graphs of every shape.

        A shape is what a kernel's variant is chosen by, such as whether the graph is small or has hubs.
        """
        kind: Any = type(program)
        for (architecture, shared), (rank, shape) in itertools.product(SHARED.items(), enumerate(SHAPES)):
            shape = shape._replace(most_shared=shared)
            variant = variants.choose(program, graph.id_dtype, INT, deterministic, scheduled, shape)
            self.noted[architecture][rank].setdefault(generate.module(kind, graph.id_dtype, variant).source)
        runs: Any = self._cpu.prepare(program, graph, way, deterministic, scheduled)
        noting: Any = _Recording(runs, in_turns=functools.partial(self._in_turns, deterministic))
        return noting

    def _in_turns(self, deterministic: bool, programs: Any, graph: Any) -> None:
        ids = graph.id_dtype
        for (architecture, shared), (rank, shape) in itertools.product(SHARED.items(), enumerate(SHAPES)):
            shape = shape._replace(most_shared=shared)
            chosen_variants = [variants.choose(each, ids, INT, deterministic, False, shape) for each in programs]
            joint = phases.Phases(programs, chosen_variants, ids)
            if joint.plans is not None:
                self.noted[architecture][rank].setdefault(joint.source)

    def staged(self, program: Any, graph: Any, fields: Mapping[str, Any]) -> Any:
        """Return a program's stages, such as `gather`, on the CPU, and record the CUDA source of the kernels for the
        stages.
        """
        kind: Any = type(program)
        self._note(generate.module(kind, graph.id_dtype, Variant(INT, staged=True)).source)
        return self._cpu.staged(program, graph, fields)

    def products(self) -> Any:
        """Return the CPU engine's matrix products. A call of a product also records the CUDA source of its kernels."""
        cpu_products: Any = self._cpu.products()
        return _Recording(cpu_products, ready=self._ready, ready_wide=self._ready_wide, of_matrices=self._of_matrices,
                       at_entries=self._at_entries)  # fmt: skip

    def _ready(self, lists: Any, terms: Any, masked: bool) -> None:
        for lanes in LANES:
            self._note(products.source(terms, products.Variant(masked, INT, INT, "unsigned int", lanes)))

    def _ready_wide(self, lists: Any, terms: Any, masked: bool) -> None:
        size = next((s.type for s in terms.symbols if s.name == "x"), INT).itemsize
        width = 1 if masked else min(dense.WIDTHS[0], dense.LOAD // size)
        for lanes in (2, 4, 8, 16, 32):  # the numbers of threads per row for dense matrices of 8 and more columns
            self._note(dense.source(terms, dense.Variant(masked, INT, INT, "unsigned int", lanes, width)))

    def note_sums(self, monoid: Any, parts: Any) -> None:
        """Record the CUDA source of a reduction by key, which a GPU runs as a product (`terms.reduce_lists`)."""
        if len(parts) == 1 and parts[0].ndim == 1 and monoid is not semirings.any:
            picks = Semiring(monoid, semirings.plus_second.multiply)
            self._ready(None, trace(picks, False, INT, parts[0].dtype, None), False)

    def _of_matrices(self, A: Any, B: Any, terms: Any, left_out: Any) -> None:
        self._note(symbolic.source())
        for way in symbolic.METHODS[0 if numeric.has_small(terms) else 1 :]:
            self._note(numeric.source(terms, (way,)))

    def _at_entries(self, A: Any, B: Any, terms: Any, mask: Any, outs: Any) -> None:
        self._of_matrices(A, B, terms, mask)

    def primitives(self) -> Any:
        """Return the CPU engine's primitives, which are algorithms with kernels of their own, such as triangle
        counting.

        A call of a primitive with several kernels also records their CUDA source.
        """
        of_cpu: Any = self._cpu.primitives()
        return _Recording(of_cpu, intersect=self._intersect, count_at_edges=self._count_at_edges, walk=self._walk,
                       count_common_neighbors=self._count_common_neighbors)  # fmt: skip

    def _intersect(self, graph: Any, sources: Any, targets: Any, weights: Any) -> None:
        self._note(intersections.source(SIZE, SIZE, weights is not None))

    def _count_common_neighbors(self, lists: Any, per_vertex: bool) -> None:
        self._note(neighbors.source(SIZE, SIZE, per_vertex))

    def _count_at_edges(self, graph: Any, lists: Any) -> None:
        self._note(neighbors.source(SIZE, SIZE, False, True))

    def _walk(self, walking: Any, starts: Any, steps: int, key: int, weights: Any) -> None:
        self._note(walk_runs.source(walking.plan, SIZE, weights is not None))


def merged(several: Iterable[Noted]) -> dict[str, list[str]]:
    """Combine the CUDA sources that several recorders have recorded, for each architecture, without duplicates.

    Sources that are needed for small graphs, the first of `SHAPES`, come first.
    """
    by_architecture: Noted = {each: [{} for _ in SHAPES] for each in SHARED}
    for noted, architecture in itertools.product(several, SHARED):
        for all_of_shape, of_shape in zip(by_architecture[architecture], noted[architecture], strict=True):
            all_of_shape |= of_shape
    return {
        each: list(dict.fromkeys(source for of_shape in by_architecture[each] for source in of_shape))
        for each in SHARED
    }


class _Recording:
    """An object with the same functions as another, of which some first record their arguments by a function in
    `before`.
    """

    def __init__(self, functions: Any, **before: Callable[..., None]) -> None:
        self._functions, self._before = functions, before

    def __getattr__(self, name: str) -> Any:
        function, note = getattr(self._functions, name), self._before.get(name)
        if note is None:
            return function

        def called(*arguments: Any) -> Any:
            note(*arguments)
            return function(*arguments)

        return called


def _common_sources() -> Iterator[str]:
    """Yield the CUDA sources that are recorded at once, because graphs need them whichever program runs.

    The sources of algorithms with a single kernel, such as sampling, are among them.
    """
    dtypes = [np.dtype(kind) for kind in (np.int32, np.int64, np.float32, np.float64)]
    yield from (lists_gpu.source(offset, SIZE, size) for offset in (SIZE, 8) for size in (4, 8))
    yield from map(min_max.source, dtypes)
    yield from map(min_max.source_of_totals, [np.dtype(np.bool_), *dtypes[:2]])
    yield from (rows.formatted(rows.SOURCE, offset, dtypes[0]) for offset in dtypes[:2])
    yield rows.formatted(rows.HUB_NEIGHBORS, dtypes[0], dtypes[0])
    yield levels.source(SIZE)
    yield from (forest.source(SIZE, SIZE, file) for file in ("forest", "components", "trees"))
    yield drain_levels.source(SIZE, SIZE)
    yield neighbors.source(SIZE, SIZE, False)
    yield intersections.source(SIZE, 8, False)
    yield sampling.source(SIZE, SIZE)
    yield cliques.source(SIZE, SIZE)


@contextmanager
def recording() -> Iterator[Recorder]:
    """Return a context manager whose `with` block runs all calls of the CPU engine through a `Recorder`.

    The recorder is what `as` gets. No other thread may call gasla in the block.
    """
    recorder, original_face, caches = (
        Recorder(),
        engines._face,
        (engines.engine, engines.runner, primitives._primitives_on),
    )
    engines._face = lambda package: recorder if package == "cpu" else original_face(package)
    original_has_loop = segmented_reduce.has_ufunc_loop

    def noting(monoid: Any, parts: Any) -> bool:
        recorder.note_sums(monoid, parts)
        return original_has_loop(monoid, parts)

    segmented_reduce.has_ufunc_loop = noting
    try:
        for cache in caches:
            cache.cache_clear()
        yield recorder
    finally:
        engines._face, segmented_reduce.has_ufunc_loop = original_face, original_has_loop
        for cache in caches:
            cache.cache_clear()
