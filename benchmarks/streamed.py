"""A graph whose lists stay in host memory, beside the same graph on the card, by turns in one process.

python -m benchmarks.streamed [--graphs rmat22] [--graphs-module FILE] [--output FILE]

First the rates of the link: by copies, by a kernel that reads page-locked memory, by one that reads lists of 32 and 256
words in random order, and by warps that read 13 words each, one block of packed ids after the other. Then PageRank, a
search and shortest paths on the card, streamed, and compressed, answers compared; and the compressed graph
once more with all its words on the card. At last, with CuPy's pool limited to a quarter of the bytes of the graph, the
streamed ones once more.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command
from gasla.algorithms.traversal.bfs import LEVELS
from gasla.bench.runner import repeated
from gasla.graph.packed import PLACE
from gasla.graph.streamed import list_bytes
from gasla.host_memory import mapped, pinned

ITERATIONS, TURNS, SOURCES = 10, 3, 4
THREADS, BLOCKS = 256, 1056
READ = r"""
extern "C" __global__ void read_all(const unsigned* words, unsigned long long count, unsigned* sink) {
    unsigned sum = 0;
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        sum += words[i];
    }
    if (sum == 12345) *sink = sum;
}
extern "C" __global__ void read_lists(const unsigned* words, unsigned long long lists, unsigned length,
                                      unsigned* sink) {
    unsigned sum = 0;
    const unsigned long long warps = (unsigned long long)gridDim.x * blockDim.x / 32;
    const unsigned long long first = ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (unsigned long long i = first; i < lists; i += warps) {
        const unsigned long long at = (i * 0x9E3779B97F4A7C15ull >> 20) % lists * length;
        for (unsigned k = threadIdx.x % 32; k < length; k += 32) sum += words[at + k];
    }
    if (sum == 12345) *sink = sum;
}
extern "C" __global__ void read_blocks(const unsigned* words, unsigned long long blocks, unsigned length,
                                       unsigned* sink) {
    unsigned sum = 0;
    const unsigned long long warps = (unsigned long long)gridDim.x * blockDim.x / 32;
    const unsigned long long first = ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (unsigned long long i = first; i < blocks; i += warps)
        if (threadIdx.x % 32 < length) sum += words[i * length + threadIdx.x % 32];
    if (sum == 12345) *sink = sum;
}
"""


@cache
def link_rates() -> dict[str, float]:
    """Bytes per second from page-locked host memory to the card, the best of three each."""
    import cupy

    size = 1 << 30
    host = pinned(np.ones(size // 4, np.uint32))
    there, words, sink = cupy.empty(size // 4, np.uint32), mapped(host), cupy.zeros(1, np.uint32)
    module = cupy.RawModule(code=READ)
    whole, lists, blocks = (module.get_function(f"read_{what}") for what in ("all", "lists", "blocks"))
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: there.data.copy_from_host_async(host.ctypes.data, size, cupy.cuda.get_current_stream()),
        "kernel": lambda: whole((BLOCKS,), (THREADS,), (words, np.uint64(size // 4), sink)),
    }
    for length in (32, 256):
        arguments = words, np.uint64(size // 4 // length), np.uint32(length), sink
        calls[f"lists of {length}"] = partial(lists, (BLOCKS,), (THREADS,), arguments)
    for length in (13, 32):
        packed = words, np.uint64(size // 4 // length), np.uint32(length), sink
        calls[f"blocks of {length}"] = partial(blocks, (BLOCKS,), (THREADS,), packed)
    return {name: size / min(repeated(call, 4, device="gpu")) for name, call in calls.items()}


def pagerank(graph: gasla.Graph) -> Any:
    """Iterations of PageRank without weights."""
    return gasla.pagerank(graph, tol=0, max_iter=ITERATIONS, weighted=False).ranks


def weighted_pagerank(graph: gasla.Graph) -> Any:
    """Iterations of PageRank with weights."""
    return gasla.pagerank(graph, tol=0, max_iter=ITERATIONS).ranks


def searches(graph: gasla.Graph, sources: list[int], direction: Any = "auto") -> list[Any]:
    """A search from each source."""
    if direction == "auto":
        return [gasla.bfs(graph, source) for source in sources]
    return [
        gasla.run(LEVELS, graph, active=[source], level={source: 0}, direction=direction).level for source in sources
    ]


def close(answers: list[Any]) -> None:
    """All answers are equal up to rounding."""
    for other in answers[1:]:
        np.testing.assert_allclose(other.get(), answers[0].get(), rtol=1e-4)


def same(answers: list[Any]) -> None:
    """All answers, each of several arrays, are equal."""
    for others in answers[1:]:
        for one, other in zip(answers[0], others, strict=True):
            np.testing.assert_array_equal(other.get(), one.get())


def compare(
    script: Script, what: str, graphs: dict[str, gasla.Graph], call: Callable[[Any], Any], check: Any = same
) -> list[float]:
    """Say the milliseconds of a call on each graph; the answers must agree."""
    calls = {name: lambda _, graph=graph: call(graph) for name, graph in graphs.items()}
    return [*script.contest(what, calls, TURNS, check=check).values()]


def onto_card(graph: gasla.Graph) -> list[Any]:
    """Let kernels read the words of packed ids on the card; returns the arrays, to be kept as long."""
    import cupy

    held = []
    for packed in {id(lists.packed): lists.packed for lists in (graph.out, graph.in_)}.values():
        held.append(cupy.asarray(packed.words))
        packed.groups[:, PLACE] += np.uint64((held[-1].data.ptr - packed.words.ctypes.data) % 2**64)
    return held


def say_trace(script: Script, graph: gasla.Graph, source: int) -> None:
    """Say the iterations of a search: vertices, edges, direction."""
    result = gasla.run(LEVELS, graph, active=[source], level={source: 0}, trace=True)
    assert result.trace is not None
    for row in result.trace:
        script.say(f"    {row}")


def measure(script: Script, name: str) -> None:
    """All figures of one graph."""
    import cupy

    began = time.perf_counter()
    loaded = script.load(name)
    card, sources = loaded.graph, loaded.sources[:SOURCES]
    facts = card.is_symmetric, card.has_mirrored_values, card.is_simple  # the host need not find them again
    made = time.perf_counter()
    card.to("cpu")
    copied = time.perf_counter()
    streamed = gasla.Graph(card, device="gpu", stream=True)
    locked = time.perf_counter()
    compressed = gasla.Graph(card, device="gpu", stream="compressed")
    packed: Any = compressed.in_.packed
    script.say(
        f"{name}: n {card.n:,}, m {card.m:,}, symmetric, mirrored, simple {facts}; {made - began:.1f} s to make, "
        f"{copied - made:.1f} s to the host, {locked - copied:.1f} s into page-locked memory, "
        f"{time.perf_counter() - locked:.1f} s to pack; "
        f"{8 * packed.words.nbytes / len(packed):.2f} bits per id in host memory, "
        f"{8 * packed.nbytes / len(packed):.2f} in all"
    )
    link = link_rates()
    script.say("link, GB/s: " + ", ".join(f"{what} {rate / 1e9:.1f}" for what, rate in link.items()))
    graphs = {"card": card, "streamed": streamed, "compressed": compressed}
    best = max(link["copy"], link["kernel"])
    for what, call, width in (("PageRank", pagerank, 4), ("weighted PageRank", weighted_pagerank, 8)):
        _, plain, thin = compare(script, f"{what}, {ITERATIONS} iterations", graphs, call, close)
        saved = 4 - packed.words.nbytes / len(packed)
        for label, seconds, size in (("streamed", plain, width), ("compressed", thin, width - saved)):
            rate = card.m * ITERATIONS / seconds
            script.say(
                f"    {label}: {rate / 1e9:.2f} G edges/s, {rate * size / best:.0%} of the link's {best / 1e9:.1f} GB/s"
            )
    for direction in ("auto", "push", "pull"):
        call = partial(searches, sources=sources, direction=direction)
        times = compare(script, f"{len(sources)} searches, {direction}", graphs, call)
        reached = card.m / 2 * len(sources)
        script.say(
            f"    {', '.join(f'{reached / t / 1e9:.1f}' for t in times)} GTEPS at most, if all edges are reached"
        )
    say_trace(script, streamed, sources[0])
    compare(script, f"{len(sources)} shortest paths", graphs, lambda g: [gasla.sssp(g, s) for s in sources])
    compare(script, "components", graphs, lambda g: [gasla.connected_components(g).labels])
    script.say(str(gasla.explain(LEVELS, compressed)))
    held = onto_card(compressed)
    there = {"card": card, "card, packed": compressed}
    compare(script, f"PageRank, {ITERATIONS} iterations", there, pagerank, close)
    compare(script, f"{len(sources)} searches", there, lambda g: searches(g, sources))
    answers = [pagerank(streamed).get(), *(one.get() for one in searches(streamed, sources))]
    need = list_bytes(card.lists, card.values)
    host = streamed.to("cpu")
    del loaded, card, graphs, there, streamed, compressed, packed, held
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    in_a_quarter(script, host, need, sources, answers)


def in_a_quarter(script: Script, host: gasla.Graph, need: int, sources: list[int], answers: list[Any]) -> None:
    """The same with CuPy's pool limited to a quarter of the graph's bytes."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.set_limit(size=need // 4)
    try:
        try:
            gasla.Graph(host, device="gpu")
        except MemoryError as error:
            script.say(f"limited to {need // 4:,} bytes: {error}")
        graph = gasla.Graph(host, device="gpu", stream=True)
        for one, other in zip(answers, [pagerank(graph), *searches(graph, sources)], strict=True):
            np.testing.assert_allclose(other.get(), one, rtol=1e-4)
        script.say(f"limited to {need // 4:,} bytes: the same answers, {pool.total_bytes():,} bytes of the card taken")
    finally:
        pool.set_limit(size=0)


def main() -> None:
    """Measure, and print."""
    parser = command(__doc__, "graphs_module", "output", graphs="rmat22")
    parser.set_defaults(device="gpu")
    script = Script(parser)
    for name in script.options.graphs:
        measure(script, name)


if __name__ == "__main__":
    main()
