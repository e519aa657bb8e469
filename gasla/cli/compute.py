"""What the commands for algorithms do, such as `gasla bfs`: read the graph, compute, check, save and print the
answer.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

from gasla.arrays import Device, module_of, moved
from gasla.cli import data, text
from gasla.cli.verbs import ALGORITHMS, Verb
from gasla.cli.views import Answered, traversed
from gasla.graph.exchange import vertex_table
from gasla.graph.graph import Graph
from gasla.progress import bar

TEPS = (
    "stored directed edges whose source was reached, divided by the time of the call "
    "with the graph already built and compiled"
)


def add_commands(commands: Any) -> None:
    """Add a command for each algorithm to the parser of the command line."""
    for verb in ALGORITHMS:
        parser = commands.add_parser(verb.name, help=verb.help, description=verb.help)
        parser.set_defaults(run=partial(run, verb))
        verb.add_options(parser)
        add_options(parser)
        if verb.verifier is not None:
            check_help = "verify the answer, or a sample of it; exit code 1 if it is wrong"
            parser.add_argument("--check", action="store_true", help=check_help)


def add_options(parser: ArgumentParser) -> None:
    """Add the options that the commands of all algorithms have."""
    data.add_reading(parser)
    parser.add_argument("--output", "-o", metavar="FILE", help=f"save the answer to a file: {', '.join(data.TABLES)}")
    parser.add_argument("--stats", action="store_true", help="print sizes, iterations, edges, times and TEPS")
    add_device(parser)
    stream_help = "use the GPU, but keep the graph in host memory: for graphs larger than the GPU's"
    parser.add_argument("--stream", action="store_true", help=stream_help)
    parser.add_argument("--top", type=text.count, default=10, metavar="N", help="lines of output (default: 10)")


def add_device(parser: ArgumentParser) -> None:
    """Add the options `--device` and `--threads`, which all commands that compute have."""
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="device to use (default: cpu)")
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all cores)")


def run(verb: Verb, options: Namespace) -> int:
    """Run the command of one algorithm with the given options. Return the exit code."""
    target = None if options.output is None else data.check_table(options.output, len(verb.columns(options)))
    device: Device = "gpu" if options.stream else options.device
    use_device(device, options.threads)
    times: dict[str, float] = {}
    with bar(f"reading {options.graph}"):
        start = perf_counter()
        named = data.load(options, verb.edge_attributes(options))
        times["read"] = perf_counter() - start
    arguments = verb.arguments(named, options)
    graph = Graph(named.graph, device=device, stream=options.stream)
    for call in ("first call", "call") if options.stats else ("call",):
        with bar(f"computing {verb.name}"):
            start = perf_counter()
            answer = on_host(verb.call(graph, arguments))
            times[call] = perf_counter() - start
    answered = Answered(named, arguments, verb.named(named.graph, answer), options.top)
    lines = [verb.heading(answered), *verb.view(answered)]
    if options.stats:
        with bar("counting edges"):
            lines += ["", *statistics(verb, answered, times)]
    if getattr(options, "check", False):
        with bar("checking"):
            verb.check(named.graph, arguments, answered.answer)
        lines.append("check: the answer is correct")
    if target is not None:
        with bar(f"writing {target}"):
            if answered.pairs is None:
                data.write_table(target, verb.saved(answered.answer, named.graph), named)
            else:
                ends = zip(("src", "dst"), map(named.graph.name, answered.pairs))
                columns = {title: answered[name] for name, title in verb.answers.items()}
                vertex_table.write(vertex_table.check_file(target), {**dict(ends), **columns})
        lines.append(f"wrote {target}")
    print("\n".join(lines))
    return 0


def on_host(answer: Any) -> Any:
    """Return an answer whose arrays are NumPy arrays and whose graphs are on the CPU.

    An answer is an array, a number or a graph, or a list or tuple of answers.
    """
    if isinstance(answer, Graph):
        return answer.to("cpu")
    if isinstance(answer, list):
        return [*map(on_host, answer)]
    if isinstance(answer, tuple):
        return type(answer)(*map(on_host, answer))
    return moved(answer, "cpu")


def statistics(verb: Verb, answered: Answered, times: dict[str, float]) -> Iterator[str]:
    """Yield the lines that `--stats` prints, with sizes, iterations, edges, times, TEPS, and the hardware and
    software.
    """
    graph, edges = answered.graph, (verb.edges or traversed)(answered)
    rows: dict[str, object] = {"vertices": graph.n, "edges": graph.m, "bytes held": graph.nbytes}
    if (iterations := verb.iterations(answered)) is not None:
        rows["iterations"] = int(iterations)
    rows["edges traversed"] = edges
    rows |= {f"time to {name}" if name == "read" else f"time of {name}": f"{t:.6f} s" for name, t in times.items()}
    rows["TEPS"] = f"{edges / times['call']:,.0f}  ({TEPS})"
    rows["measured with"] = provenance()
    yield from text.aligned(rows)


def provenance() -> str:
    """Return a line with the versions of packages, the number of threads and the processor that times were measured
    with.
    """
    import platform

    import llvmlite
    import numpy as np

    import gasla
    from gasla.bench.reports.provenance import processor

    return (
        f"gasla {gasla.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"llvmlite {llvmlite.__version__}, {gasla.get_num_threads()} threads, {processor()}"
    )


def use_device(device: Device, threads: int | None) -> None:
    """Set the number of threads of kernels. Raise ValueError if there is no GPU, so that no graph is read in vain."""
    from gasla.cpu.runtime import cores
    from gasla.cpu.runtime.threads import set_num_threads

    try:
        module_of(device)
    except RuntimeError as error:
        raise ValueError(f"--device {device}: {error}") from None
    if threads is None:
        return
    core_count = cores.usable()
    if not 1 <= threads <= core_count:
        raise ValueError(f"--threads {threads}: expected 1 to {core_count}, the number of usable processors")
    set_num_threads(threads)
