"""Distributed graphs: measurements on this machine, and predictions of a performance model for larger ones.

    python -m benchmarks.ranks measure --ranks 1 2 4 --scale 16 [--output FILE]       needs mpiexec
    python -m benchmarks.ranks simulate

With fewer cores than ranks, wall time is meaningless; therefore CPU time outside of MPI, rounds, and bytes are measured
per rank.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from math import comb, exp
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gasla
from benchmarks.script import Script, command, markdown
from gasla import distributed
from gasla.bench.graphs import load
from gasla.distributed.mpi_ranks import MPICommunicator

# --- the model -------------------------------------------------------------------------------------------------------

GB = 1e9


class Machine(NamedTuple):
    """Parameters of the model: a rank and the network between ranks."""

    name: str
    cached_rate: float  # edges gathered per second, if a rank's vertex values fit in the cache
    uncached_rate: float  # edges gathered per second, if they don't
    cache: float  # bytes
    search_rate: float  # edges of the graph per second in a search, which stops at the first active neighbor
    superstep: float  # seconds per superstep besides edges and messages
    memory: float  # bytes
    group: int  # ranks per host
    rate_within_host: float  # bytes per second that a rank can send within its host
    rate_between_hosts: float  # bytes per second that a rank can send to other hosts
    latency: float  # seconds of an empty exchange
    latency_per_rank: float  # additional seconds per participating rank


MACHINES = [
    # PageRank in float64 on one H100 (results/gpu-2026-11-28-cards.txt): rmat24 gathers 134 G edges per second, rmat26,
    # whose values take 537 MB, 44 G; half of it, on one of two cards, 85 G. Search: rmat24 and rmat28. NVLink between
    # eight GPUs, 400 Gb/s per GPU between hosts, each at three quarters of the nominal rate. A superstep of peers is a
    # barrier of 5 us and what its phases take.
    Machine("H100", 134e9, 44e9, 500e6, 1.0e12, 12e-6, 80e9, 8, 300e9, 37e9, 12e-6, 0.1e-6),
    # Two cores of the machine of docs/performance.md; half the rate for values outside of the cache is an assumption.
    # 100 Gb/s per host, MPI. Time of a superstep as measured on a long path with one rank.
    Machine("2 cores", 1.1e9, 0.55e9, 30e6, 2.4e9, 120e-6, 64e9, 1, 9e9, 9e9, 6e-6, 1.0e-6),
]
RANKS = (1, 2, 4, 8, 64, 1024)
PER_VERTEX = 32  # directed edges: 16 drawn, each stored both ways
SUPERSTEPS = 8  # per search
SEARCH_BYTES = 0.3  # bytes per mirror that a search sends in total
PAGERANK_BYTES = 8  # bytes per mirror that an iteration of PageRank sends, and bytes gathered per edge
UNEVEN = 1.05  # edges of the largest rank divided by the mean


def largest_share(scale: int, ranks: int) -> float:
    """The fraction of the edges on the largest rank; at least the longest neighbor list, as lists are not split."""
    return max(UNEVEN / ranks if ranks > 1 else 1.0, 0.76**scale)


def mirrors(scale: int, ranks: int) -> float:
    """The expected number of mirrors on a rank, for R-MAT with a = .57, b = c = .19.

    A vertex whose id has k ones among `scale` bits has the expected fraction .76^(scale - k) .24^k of all edges. A rank
    with a random 1 / ranks of the edges has a mirror of it with probability 1 - exp(-degree / ranks).
    """
    m = PER_VERTEX * 2.0**scale
    seen = sum(
        comb(scale, ones) * (1 - exp(-m * 0.76 ** (scale - ones) * 0.24**ones / ranks)) for ones in range(scale + 1)
    )
    return seen * (ranks - 1) / ranks


def exchange_seconds(machine: Machine, ranks: int, sent: float) -> float:
    """The time of an exchange in which each rank sends `sent` bytes in total, evenly to all others."""
    if ranks == 1:
        return 0.0
    far = max(0, ranks - machine.group) / (ranks - 1)
    wire = max(sent * far / machine.rate_between_hosts, sent * (1 - far) / machine.rate_within_host)
    return machine.latency + machine.latency_per_rank * (ranks - 1) + wire


def memory(scale: int, ranks: int) -> float:
    """Bytes per rank: edges in both directions, vertices and mirrors with three fields."""
    share, n = largest_share(scale, ranks), 2.0**scale
    return 8 * PER_VERTEX * n * share + 20 * (n / ranks + mirrors(scale, ranks))


def pagerank_seconds(machine: Machine, scale: int, ranks: int) -> float:
    """The time of an iteration of PageRank."""
    edges = PER_VERTEX * 2.0**scale * largest_share(scale, ranks)
    state = PAGERANK_BYTES * (2.0**scale / ranks + mirrors(scale, ranks))
    rate = machine.cached_rate if state <= machine.cache else machine.uncached_rate
    return edges / rate + machine.superstep + exchange_seconds(machine, ranks, PAGERANK_BYTES * mirrors(scale, ranks))


def search_seconds(machine: Machine, scale: int, ranks: int) -> float:
    """The time of a breadth-first search."""
    edges = PER_VERTEX * 2.0**scale * largest_share(scale, ranks)
    sent = SEARCH_BYTES * mirrors(scale, ranks) / SUPERSTEPS
    return edges / machine.search_rate + SUPERSTEPS * (machine.superstep + exchange_seconds(machine, ranks, sent))


def simulate(scales: list[int]) -> str:
    """Tables of times in milliseconds, with speedups over the smallest number of ranks that can hold the graph."""
    text = (
        "Assumptions: edges are distributed evenly to within 5%; every rank sends the same amount to each other rank; "
        f"nothing overlaps; a search takes {SUPERSTEPS} supersteps and sends {SEARCH_BYTES} bytes per mirror in total, "
        f"PageRank {PAGERANK_BYTES} per mirror and iteration; {PER_VERTEX} edges per vertex. A dash means that the "
        "graph does not fit in the memory of that many ranks.\n"
    )
    for machine in MACHINES:
        rows = []
        for what, seconds in (("search", search_seconds), ("PageRank, an iteration", pagerank_seconds)):
            for scale in scales:
                times = {r: seconds(machine, scale, r) for r in RANKS if memory(scale, r) <= machine.memory}
                first = next(iter(times.values()), 0)
                shown = (_cell(times.get(ranks), first) for ranks in RANKS)
                rows.append([f"{what}, rmat{scale}", f"{PER_VERTEX * 2.0**scale:.1e}", *shown])
        head = ["", "edges", *(f"{ranks:,}" for ranks in RANKS)]
        text += f"\n**{machine.name}** (ms, speed-up)\n\n{markdown(head, rows)}"
    return text


def _cell(seconds: float | None, first: float) -> str:
    if seconds is None:
        return "–"
    return f"{1e3 * seconds:.3g}" + (f" ({first / seconds:.3g})" if seconds != first else "")


# --- measurement ------------------------------------------------------------------------------------------------------


class Spent(NamedTuple):
    """The cost of a call on one rank."""

    cpu: float  # CPU seconds outside of rounds
    waited: float  # seconds in rounds
    rounds: int
    sent: int  # bytes sent to other ranks


def job(scale: int, weak: bool) -> None:
    """Runs under mpiexec; rank 0 prints the costs of each call on all ranks."""
    spent = {"cpu": 0.0, "wall": 0.0, "rounds": 0, "sent": 0}
    meet = MPICommunicator.meet

    def watched(self: Any, kind: int, parts: Any) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        found = meet(self, kind, parts)
        spent["cpu"] += time.process_time() - cpu
        spent["wall"] += time.perf_counter() - wall
        spent["rounds"] += 1
        spent["sent"] += sum(len(part) for rank, part in enumerate(parts) if rank != self.rank)
        return found

    MPICommunicator.meet = watched  # type: ignore[method-assign]
    with distributed.Cluster() as cluster:
        name = f"rmat{scale + (cluster.size.bit_length() - 1 if weak else 0)}"
        side = f"grid{scale}"
        start = int(load(name).sources[0])
        calls: dict[str, tuple[str, Callable[[Any], Any]]] = {
            "bfs": (name, lambda g: gasla.bfs(g, start)),
            "pagerank, 10 iterations": (name, lambda g: gasla.pagerank(g, weighted=False, tol=0, max_iter=10)),
            "sssp": (side, lambda g: gasla.sssp(g, 0)),
        }
        graphs = {title: distributed.Graph(load(title).graph) for title in (name, side)}
        for title, (which, call) in calls.items():
            call(graphs[which])  # compiles
            cluster.each(_meet)
            before = dict(spent)
            cpu = time.process_time()
            call(graphs[which])
            own = time.process_time() - cpu - (spent["cpu"] - before["cpu"])
            mine = Spent(own, spent["wall"] - before["wall"], *(int(spent[k] - before[k]) for k in ("rounds", "sent")))
            everyone = [mine] if cluster.size == 1 else cluster.each(_allgather, mine)[0]
            if cluster.here[0] == 0:
                report = {"graph": which, "call": title, "ranks": cluster.size, "spent": everyone}
                print(json.dumps(report), flush=True)


def _meet(rank: Any) -> None:
    rank.communicator.barrier()


def _allgather(rank: Any, mine: Spent) -> list[list[float]]:
    return [found.tolist() for found in rank.communicator.allgather(np.array(mine, float))]


def measure(ranks: list[int], scale: int) -> Iterator[list[str]]:
    """Return the rows of a table of strong and weak scaling."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if mpiexec is None:
        raise SystemExit("mpiexec is missing: pip install 'gasla[mpi]'")
    quiet = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "GASLA_NUM_THREADS": "1"}
    own = [sys.executable, "-m", "benchmarks.ranks", "job", "--scale", str(scale)]
    for way, more in (("strong", []), ("weak", ["--weak"])):
        alone: dict[str, float] = {}
        for count in ranks:
            command = [mpiexec, "--oversubscribe", "-n", str(count), *own, *more]
            found = subprocess.run(command, env=os.environ | quiet, check=True, capture_output=True, text=True).stdout
            for said in (json.loads(line) for line in found.splitlines() if line.startswith("{")):
                every = [Spent(*one) for one in said["spent"]]
                most, sent = max(one.cpu for one in every), sum(one.sent for one in every) / count
                share = most / alone.setdefault(said["call"], most)
                figures = [f"{most:.4f}", f"{share:.2f}", f"{int(every[0].rounds):,}", f"{sent:,.0f}"]
                yield [way, said["graph"], said["call"], str(count), *figures]


def main() -> None:
    """Parse the command line, and measure or simulate."""
    parser = command(__doc__, "output")
    parser.add_argument("what", choices=("measure", "simulate", "job"))
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--scales", type=int, nargs="+", default=[24, 28, 32, 35])
    parser.add_argument("--weak", action="store_true")
    given = parser.parse_args()
    if given.what == "job":
        job(given.scale, given.weak)
    elif given.what == "simulate":
        print(simulate(given.scales))
    else:
        head = ["", "graph", "call", "ranks", "CPU s, the most", "of one rank's", "rounds", "bytes a rank"]
        Script(parser).say(markdown(head, measure(given.ranks, given.scale)))


if __name__ == "__main__":
    main()
