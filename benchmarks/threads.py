"""Requests of several threads to one graph, a shortest path each, with Python's lock and without.

python -m benchmarks.threads [--graphs ny] [--threads 1 2] [--requests 200] [--rounds 5] [--output FILE]

Each thread asks for one path after another, between pseudorandom vertices, on one kernel thread
(`GASLA_NUM_THREADS=1`), as the guide says for services. Prints requests per second, the median of the rounds, and the
50th and 99th percentile of the time of a request. A free-threaded Python is measured with its lock (`PYTHON_GIL=1`) and
without, each round in a new process, by turns; any other Python with its lock only.
"""

from __future__ import annotations

import json
import sys
import sysconfig
import threading
import time
from functools import partial
from itertools import chain
from statistics import median
from typing import Any

import numpy as np

import gasla
from benchmarks.script import Script, command, new_process
from gasla.bench import graphs
from gasla.bench.runner import by_turns

WARM = 20  # requests before those that are timed


def asked(graph: gasla.Graph, threads: int, requests: int, seed: int) -> tuple[float, list[float]]:
    """Have each thread make so many requests; the seconds of all, and of each."""
    pairs = np.random.default_rng(seed).integers(0, graph.n, (threads, requests, 2)).tolist()
    begin, seconds = threading.Barrier(threads + 1), list[list[float]]([[] for _ in range(threads)])

    def ask(number: int) -> None:
        begin.wait()
        for source, target in pairs[number]:
            began = time.perf_counter()
            gasla.shortest_path(graph, source, target)
            seconds[number].append(time.perf_counter() - began)

    team = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
    for thread in team:
        thread.start()
    begin.wait()
    began = time.perf_counter()
    for thread in team:
        thread.join()
    return time.perf_counter() - began, list(chain.from_iterable(seconds))


def one_round(name: str, threads: list[int], requests: int, seed: int) -> None:
    """Print the seconds of a round in this process, for each number of threads, as JSON."""
    graph = graphs.load(name).graph
    asked(graph, max(threads), WARM, seed)
    print(json.dumps([asked(graph, count, requests, seed) for count in threads]))


def main(arguments: list[str] | None = None) -> None:
    """Measure on each graph."""
    parser = command(__doc__, "output", "json", "commit", graphs=["ny"], rounds=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (%(default)s)")
    parser.add_argument("--requests", type=int, default=200, help="requests of each thread in a round (%(default)s)")
    script = Script(parser, arguments)
    given: Any = script.options
    is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    locks = {"with the lock": "1", "without the lock": "0"} if is_free else {"with the lock": ""}
    script.say(f"Python {sys.version}")
    for name in given.graphs:
        rounds: dict[str, list[list[tuple[float, list[float]]]]] = {lock: [] for lock in locks}

        def measure(lock: str, number: int, name: str = name, rounds: Any = rounds) -> None:
            call = f"from benchmarks.threads import one_round; one_round({name!r}, {given.threads}, {given.requests}, "
            environment = {"GASLA_NUM_THREADS": "1"} | ({"PYTHON_GIL": locks[lock]} if is_free else {})
            rounds[lock].append(json.loads(new_process("-W", "ignore", "-c", f"{call}{number})", **environment)))

        by_turns({lock: partial(measure, lock) for lock in locks}, given.rounds, given.budget)
        for k, threads in enumerate(given.threads):
            for lock, found in rounds.items():
                rate = median(threads * given.requests / each[k][0] for each in found)
                times = np.array([one for each in found for one in each[k][1]])
                p50, p99 = np.percentile(times, [50, 99])
                script.say(
                    f"{name:8}{threads:3} threads, {lock:18}{rate:9.0f} requests/s"
                    f"{1e3 * p50:10.3f} ms p50{1e3 * p99:10.3f} ms p99",
                    graph=name, threads=threads, lock=lock, requests_per_second=rate, p50=p50, p99=p99,
                )  # fmt: skip


if __name__ == "__main__":
    main()
