"""Jobs of several processes for tests/distributed/test_clusters.py.

A process runs `python -m tests.helpers.cluster_jobs WAY JOB [SEED]`.

The way is "mpi" (under mpiexec), "dask" (a LocalCluster of two workers) or "dask-mpi" (under mpiexec, dask-mpi).
"""

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

import gasla
import semirings
from gasla import distributed
from gasla.distributed import mpi_ranks
from gasla.distributed.cluster import Cluster
from gasla.distributed.communicator import RankError

LONG = 10**9
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are begun deaf to it


def content(superstep: int, source: int, target: int, size: int) -> np.ndarray:
    return np.full(size, (source * 7 + target + superstep) % 256, np.uint8)


def talk(rank: Any, rounds: int, seed: int) -> int:
    """Messages of many lengths, none and large ones too, arrive as they were sent."""
    c = rank.communicator
    lengths = random.Random(seed)
    for superstep in range(rounds):
        c.superstep = superstep
        most = lengths.choice([0, 1, 496, 497, 20_000, 300_000])
        sizes = [[lengths.randint(0, most) for _ in range(c.size)] for _ in range(c.size)]
        got = c.exchange([content(superstep, c.rank, there, sizes[c.rank][there]) for there in range(c.size)])
        c.barrier()
        c.allgather(np.zeros(1000))  # what has come stays as it is until the next exchange
        for source in range(c.size):
            assert np.array_equal(got[source], content(superstep, source, c.rank, sizes[source][c.rank]))
    found = c.allgather(np.arange(c.rank + 1) * 0.5)
    assert [x.tolist() for x in found] == [(np.arange(there + 1) * 0.5).tolist() for there in range(c.size)]
    part = c.split(c.rank % 2)
    mates = [int(x[0]) for x in part.allgather(np.array([c.rank]))]
    assert mates == [there for there in range(c.size) if there % 2 == c.rank % 2] and part.size == len(mates)
    rank.kept["rounds"] = rounds
    return int(c.rank)


def fail(rank: Any, how: str, superstep: int) -> None:
    """The last rank fails in a superstep; the others would go on for ever."""
    c = rank.communicator
    for c.superstep in range(LONG):
        if c.superstep == superstep and c.rank == c.size - 1:
            print("failing", time.time(), flush=True)
            if how == "raise":
                raise ValueError("a bad thing")
            if how == "memory":
                raise MemoryError("there is no more")
            if how == "early":
                return
            if how == "stop":
                signal.raise_signal(signal.SIGINT)
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        c.exchange([np.full(600 * (c.superstep % 2), c.rank, np.uint8)] * c.size)


def refuse(rank: Any) -> None:
    raise KeyError("all alike")


def caught(cluster: Cluster, function: Callable[..., Any], *arguments: Any) -> BaseException:
    try:
        cluster.each(function, *arguments)
    except (Exception, KeyboardInterrupt) as error:
        return error
    raise AssertionError("no error")


def job_good(cluster: Cluster, seed: int) -> None:
    """What goes well, and errors that all ranks hear of, after which they go on."""
    here = list(cluster.here)
    assert cluster.each(talk, 30, seed) == here
    refused = caught(cluster, refuse)
    assert isinstance(refused, KeyError) and not hasattr(refused, "__notes__")
    last = cluster.size - 1
    for how in ("raise", "memory", "early"):
        error = caught(cluster, fail, how, 5)
        text = " ".join([str(error), *getattr(error, "__notes__", ())])
        if how == "early":
            assert isinstance(error, RankError) and "rank" in text and "the end of a call" in text, text
        else:
            own = {"raise": ValueError, "memory": MemoryError}[how]
            assert type(error) is (own if last in here else RankError), repr(error)
            assert f"rank {last} of {cluster.size} on {os.uname().nodename}, superstep 5" in text, text
    assert cluster.each(lambda rank: rank.kept["rounds"]) == [30] * len(here)
    cluster.forget("rounds")
    assert cluster.each(lambda rank: rank.kept) == [{}] * len(here)


class Cheapest(gasla.VertexProgram):
    """Shortest paths. A worker of Dask's gets it by value: it stands in a script."""

    cost = gasla.vertex(np.int64, init=10**9)
    weight = gasla.edge(np.int64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.cost + edge.weight

    def apply(self, vertex, gathered):
        return {"cost": semirings.minimum(vertex.cost, gathered)}


def job_graph(cluster: Cluster, seed: int) -> None:
    """Graphs from files, chunks and Dask collections have the results of one process; an odd seed compiles."""
    src, dst, length = np.random.default_rng(seed).integers(1, 60, (3, 500))
    one = gasla.Graph.from_edges(src, dst, length, n=61)
    chunks = ((src[part], dst[part], length[part]) for part in np.array_split(np.arange(500), 4))
    graphs = [distributed.Graph(one), distributed.Graph.from_edges(chunks, n=61)]
    with tempfile.TemporaryDirectory() as folder:
        for i, part in enumerate(np.array_split(np.arange(500), 3)):
            rows = zip(src[part], dst[part], length[part], strict=True)
            Path(folder, f"{i}.txt").write_text("".join(f"{u} {v} {w}\n" for u, v, w in rows))
        graphs.append(distributed.Graph.from_files(f"{folder}/*.txt", n=61))  # the first rank says which
        cluster.each(_wait)  # or a folder may be gone while another rank reads
        Path(folder, "2.txt").write_text("0 1 2\nx y z\n")
        broken = caught_by(distributed.Graph.from_files, f"{folder}/*.txt")
        assert "2.txt, line 2: vertex 'x'" in str(broken), repr(broken)
    one_speaks_for_all = len(cluster.here) == cluster.size
    if one_speaks_for_all:
        import dask.array as da
        import dask.dataframe as dd
        import pandas as pd

        table = dd.from_pandas(pd.DataFrame({"src": src, "dst": dst, "km": length}), npartitions=5, sort=False)
        graphs.append(distributed.Graph(table, weight="km", n=61))
        graphs.append(distributed.Graph(table.persist(), weight="km", n=61))
        pairs = distributed.Graph(da.from_array(np.stack([src, dst], 1), chunks=(99, 2)), n=61)
        assert (pairs.n, pairs.m) == (one.n, one.m)
    options: Any = {"active": [3], "cost": {3: 0}, "compile": seed % 2 == 1}
    wanted = gasla.run(Cheapest, one, **options).cost
    for graph in graphs:
        assert (graph.n, graph.m) == (one.n, one.m)
        found = gasla.run(Cheapest, graph, **options).cost
        assert np.array_equal(found.compute(), wanted)
        if one_speaks_for_all:
            assert np.array_equal(found.to_dask_array().compute(), wanted)


def job_attributes(cluster: Cluster, seed: int) -> None:
    """Edge attributes, functions of them, and paths in time give what one process gives."""
    rng = np.random.default_rng(seed)
    one = gasla.Graph.from_edges(*rng.integers(0, 60, (2, 500)), n=60)
    one = one.with_edge_attributes(time=rng.integers(0, 20, 500), price=rng.integers(0, 9, 500).astype(np.float32))
    spread = distributed.Graph.from_graph(one)
    weighted = [graph.with_edge_attributes(fee=_fee).weighted_by("fee") for graph in (one, spread)]
    options: Any = {"active": [3], "cost": {3: 0}, "compile": False}
    for direction in ("in", "out"):
        kind = type("Cheapest", (Cheapest,), {"direction": direction})
        wanted, found = (gasla.run(kind, graph, **options).cost for graph in weighted)
        assert np.array_equal(found.compute(), wanted)
    assert np.array_equal(np.unique(spread.edge_attributes["price"]), np.unique(one.edge_attributes["price"]))
    with gasla.engines.interpreted():
        for name in ("earliest_arrival", "latest_departure", "fastest_durations"):
            wanted, found = (getattr(gasla, name)(graph, 3, duration=1) for graph in (one, spread))
            assert np.array_equal(found, wanted), name


def job_errors(cluster: Cluster, seed: int) -> None:
    """Each process gets the error of a plain graph, and ranks go on: every third error is tried."""
    from tests.helpers.errors import ERRORS, GRAPHS
    from tests.helpers.roads import end_of

    made = {name: distributed.Graph(graph) for name, graph in GRAPHS.items()}
    with gasla.engines.interpreted():
        for wrong in ERRORS[seed % 3 :: 3]:
            expected, found = (end_of(wrong.call, graph)[0] for graph in (GRAPHS[wrong.graph], made[wrong.graph]))
            assert expected.startswith(wrong.error) and found == expected, (wrong, expected, found)
        for name in ("plain", "two parts"):
            levels = [gasla.multi_source_bfs(graph, [0, 1]) for graph in (GRAPHS[name], made[name])]
            assert np.array_equal(*map(np.asarray, levels)), name


def _fee(edges: Any) -> Any:
    return edges["time"] + edges["price"].astype(np.int64)


def _wait(rank: Any) -> None:
    rank.communicator.barrier()


def caught_by(function: Callable[..., Any], *arguments: Any) -> BaseException:
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("no error")


def job_alone(cluster: Cluster, seed: int) -> None:
    """A single rank is a cluster, too."""
    assert cluster.each(talk, 30, seed) == [0]
    assert isinstance(caught(cluster, refuse), KeyError)


def job_slow(cluster: Cluster, seed: int) -> None:
    """A rank raises while others are at work for long."""

    def work(rank: Any) -> None:
        if rank.communicator.rank == 0:
            print("failing", time.time(), flush=True)
            raise ValueError("a bad thing")
        time.sleep(60)

    cluster.each(work)


def job_outside(cluster: Cluster, seed: int) -> None:
    """A process raises outside of any call, while others are in one."""
    if 0 in cluster.here:
        print("failing", time.time(), flush=True)
        raise ValueError("a bad thing")
    cluster.each(talk, LONG, 0)


def job_leaves(cluster: Cluster, seed: int) -> None:
    """A process leaves while others are in a call."""
    if 0 not in cluster.here:
        print("failing", time.time(), flush=True)
        cluster.each(talk, LONG, 0)


def job_fail(cluster: Cluster, seed: int) -> None:
    """A rank fails in some way at some moment, and nobody catches it."""
    moment = random.Random(seed)
    how = moment.choice(["raise", "memory", "stop", "early"])
    error = caught(cluster, fail, how, moment.randrange(300))
    print("caught", time.time(), flush=True)  # a cluster of Dask's takes its time to end
    raise error


def job_kill(cluster: Cluster, seed: int) -> None:
    """A rank is killed at some moment."""
    moment = random.Random(seed).randrange(1, 300)
    try:
        cluster.each(fail, "kill", moment)
    except RankError as error:  # only a client of Dask's lives to see it
        print("caught", time.time(), type(error).__name__, error, flush=True)
        assert type(caught(cluster, refuse)).__name__ == "WorkerLost"


def job_interrupt(cluster: Cluster, seed: int) -> None:
    """Ctrl-C comes to the client, and the ranks are there for the next call."""
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, random.Random(seed).uniform(0.05, 0.5))
    assert isinstance(caught(cluster, fail, "never", LONG), KeyboardInterrupt)
    assert cluster.each(talk, 3, seed) == list(cluster.here)


def job_gone(cluster: Cluster, seed: int) -> None:
    """A client is killed in the midst of a call: its ranks end, and leave the workers to others."""
    import subprocess

    from distributed import get_client

    client = get_client()
    code = (
        "import distributed, gasla.distributed.cluster as g\nfrom tests.helpers import cluster_jobs\n"
        f"with distributed.Client({client.scheduler.address!r}) as client, g.Cluster(client) as cluster:\n"
        "    print('begun', flush=True)\n    cluster.each(cluster_jobs.fail, 'never', 10**9)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"begun\n"
        while not any(client.processing().values()):
            time.sleep(0.01)
        time.sleep(0.2)
        other.kill()
    killed = time.monotonic()
    assert cluster.each(talk, 3, seed) == [0, 1]  # a worker has one thread
    assert time.monotonic() - killed < 5


def job_paused(cluster: Cluster, seed: int) -> None:
    """A worker that Dask has paused is an error, and the cluster is as before once it goes on."""
    from distributed import get_client, get_worker
    from distributed.core import Status

    def pause(rank: Any) -> None:
        if rank.communicator.rank == 1:
            get_worker().memory_manager.memory_pause_fraction = False  # which would wake it
            get_worker().status = Status.paused

    def wake(dask_worker: Any) -> None:
        dask_worker.status = Status.running

    cluster.each(pause)
    error = caught(cluster, talk, 3, seed)
    assert isinstance(error, MemoryError) and "rank 1 of 2" in str(error), repr(error)
    get_client().run(wake)
    assert cluster.each(talk, 3, seed) == [0, 1]


@contextmanager
def client_of(way: str) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    if way == "dask-mpi":
        with Client() as client:
            client.wait_for_workers(2)
            yield client
    else:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as workers,
            Client(workers) as client,
        ):
            yield client


def main(way: str, jobs: str, seed: int) -> None:
    if way == "dask-mpi":
        from dask_mpi import initialize

        initialize(dashboard=False)
    mpi_ranks._PIECE = 7001  # so that some messages go in several
    with nullcontext() if way == "mpi" else client_of(way) as client:
        for job in jobs.split(","):
            with Cluster(client) as cluster:
                globals()[f"job_{job}"](cluster, seed)
    print("ended well", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
