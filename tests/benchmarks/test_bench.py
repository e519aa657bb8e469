"""`gasla bench`: right answers are timed and wrong ones aren't, files are written and read back, ceilings are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gasla
from gasla.bench import cells, graphs, peers, runner, tasks
from gasla.bench.limits import ceilings, floors
from gasla.bench.reports import machine, plot, provenance, report, table
from gasla.cli import bench as cli_bench
from gasla.cli import main

pytestmark = pytest.mark.thorough

CEILINGS = ceilings.Ceilings(
    "gpu", {1 << 20: 6e12, 1 << 28: 3e12}, {1 << 20: 125e9, 1 << 26: 49e9}, {1 << 20: 1e11}, barrier=1.1e-6
)
QUICK = cells.Settings(rounds=1, budget=1.0, ceilings=CEILINGS)
SOURCES = [13, 4, 10]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(runner, "PAUSE", 0)


def test_what_is_said_of_the_commit() -> None:
    """A copy of a checkout has no git to ask, or one that knows of something else."""
    found = provenance.provenance("cpu", "abc")
    assert (found["commit"], found["uncommitted_changes"]) == ("abc", False)


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graph_is_kept_and_read_back_the_same() -> None:
    made, read = graphs.load("grid8"), graphs.load("grid8")
    assert made.sources == read.sources
    assert (made.matrix != read.matrix).nnz == 0
    assert set(made.pattern.data) == {1}
    assert made.fingerprint == gasla.datasets.fingerprint(gasla.datasets.grid(8))


def test_unknown_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no benchmark graph 'star3'"):
        graphs.load("star3")


@pytest.mark.slow
def test_a_graph_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("0 1\n1 0\n2 2\n1 2\n")
    graph = graphs.load(str(tmp_path / "mine.txt"))
    assert graph.name == "mine"
    np.testing.assert_array_equal(graph.matrix.toarray() > 0, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert (graph.matrix != graph.matrix.T).nnz == 0
    assert sorted(graph.sources) == [0, 1, 2]


def test_what_a_source_reaches() -> None:
    matrix = gasla.datasets.grid(4)
    graph = graphs.BenchmarkGraph("grid4", matrix)
    assert graph.sources == gasla.datasets.sources(matrix)
    assert graph.reach(graph.sources[0]).edges == matrix.nnz  # it is connected
    assert graph.on("cpu") is graph


def test_scattered_or_not() -> None:
    assert graphs.load("urand12").is_scattered
    assert not graphs.load("grid12").is_scattered
    assert not graphs.load("rmat12").is_scattered  # most edges lead to a few vertices


# --- answers ----------------------------------------------------------------------------------------------------------


def test_depths_of_parents() -> None:
    parents = np.array([1, 1, 0, -9999, 5, 4])  # 1 is the source; 3 was not reached; 4 and 5 name each other
    assert peers.depths(parents, 1).tolist() == [1, 0, 2, -1, -1, -1]
    path = np.maximum(np.arange(1000) - 1, 0)
    assert peers.depths(path, 0).tolist() == list(range(1000))
    for no_tree in ([0, 2, 1], [0, 1, 1], [0, 3, 1, -1]):
        assert peers.depths(np.array(no_tree), 0)[1] == -1


@pytest.mark.parametrize(
    ("algorithm", "a", "b", "same"),
    [
        ("components", [5, 5, 2], [0, 0, 9], True),
        ("components", [5, 5, 2], [0, 1, 1], False),
        ("sssp", [0, 2, 1.7e308], [0, 2, np.inf], True),
        ("pagerank", [0.2, 0.2], [0.5, 0.5], True),
        ("betweenness", [7, 1, 4], [0, 2, 8], True),  # vertex 0 is the source
        ("triangles", 3, 4, False),
    ],
)
def test_results_that_differ_are_named(algorithm: str, a: object, b: object, same: bool) -> None:
    found = tasks.disagreements(algorithm, {"gasla": np.array(a), "other": np.array(b)}, [0], "gasla")
    assert found == ({} if same else {"other": "wrong: differs from gasla"})


def test_who_is_wrong() -> None:
    found = {"gasla": 3, "scipy": 4, "igraph": 3, "networkit": 5}
    assert set(tasks.disagreements("triangles", found, [0], None)) == {"scipy", "networkit"}
    assert set(tasks.disagreements("triangles", found, [0], "scipy")) == {"gasla", "igraph", "networkit"}
    assert set(tasks.disagreements("triangles", {"gasla": 3, "scipy": 4}, [0], None)) == {"gasla"}
    overflowing = {"gasla": [1.0, 2.0], "igraph": [0.0, np.nan]}
    assert tasks.disagreements("betweenness", overflowing, [0], "gasla") == {"igraph": "overflows"}


def test_whatever_is_measured_has_a_method_and_a_floor() -> None:
    own = peers.make("gasla-cpu", graphs.load("grid6"))
    for name, task in tasks.TASKS.items():
        assert callable(getattr(own, name))
        assert name in floors.COUNTS
        assert task.several is None or task.starts == "sources"


def spoiled(answer: Any) -> Any:
    """An answer one part of which is another's."""
    if isinstance(answer, tuple):
        return type(answer)(spoiled(answer[0]), *answer[1:])
    if isinstance(answer, list):
        return answer[1:]  # paths, without the shortest
    if isinstance(answer, gasla.Graph):
        return gasla.Graph.from_edges(answer.out.owners(), answer.out.owners(), n=answer.n)
    if isinstance(answer, gasla.Sparse):
        return replace(answer, data=answer.data * 2)
    if np.ndim(answer) == 0:
        return not answer if isinstance(answer, bool) else answer + 1
    if answer.ndim == 2 and len(answer) == 2:
        return answer[[0, 0]]  # pairs of vertices: both ends the same
    ascends = answer.ndim == 1 and answer.dtype.kind != "b" and (answer[1:] > answer[:-1]).all()  # a set of ids
    return answer[:-1] if ascends else answer[::-1].copy()


VERIFIED = [name for name, task in tasks.TASKS.items() if task.verify is not None]
QUICK_ONES = ("bfs", "levels", "sssp", "components", "pagerank", "mxv")


@pytest.mark.parametrize(
    "algorithm", [name if name in QUICK_ONES else pytest.param(name, marks=pytest.mark.slow) for name in VERIFIED]
)
def test_right_answers_are_taken_and_wrong_ones_are_seen(algorithm: str) -> None:
    graph = graphs.load("rmat6")
    sources = tasks.sources_of(graph, algorithm)
    call = tasks.bind(tasks.Gasla(graph), algorithm, graph.sources, sources)
    answer = call(0)
    sources = graph.sources if tasks.TASKS[algorithm].starts == "source" else sources
    assert tasks.broken(graph, algorithm, answer, sources) == ""
    assert tasks.broken(graph, algorithm, spoiled(answer), sources) != ""


# --- timing -----------------------------------------------------------------------------------------------------------


def test_only_who_takes_turns_makes_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(runner, "PAUSE", 0.5)
    monkeypatch.setattr(runner.time, "sleep", pauses.append)
    monkeypatch.setattr(runner, "finish", lambda device: None)
    for names, device in (("a", "cpu"), ("ab", "cpu"), ("ab", "gpu")):
        runner.by_turns({name: lambda number: None for name in names}, 1, device=device)
    assert pauses == [0, 0.5, 0.5, 0, 0]


def test_rounds_take_turns_and_drop_the_hopeless() -> None:
    order: list[str] = []

    def contestant(name: str, seconds: float) -> Callable[[int], object]:
        return lambda number: (order.append(name), runner.time.sleep(seconds))

    calls = {"a": contestant("a", 0.001), "slow": contestant("slow", 0.05), "own": contestant("own", 0.05)}
    seconds = runner.by_turns(calls, rounds=3, budget=10, keep={"own"})
    assert {name: len(times) for name, times in seconds.items()} == {"a": 3, "slow": 1, "own": 3}
    assert order[:3] == ["a", "slow", "own"]


def test_rounds_end_with_the_budget_and_what_prepares_is_not_timed() -> None:
    calls: list[str] = []

    def before(name: str) -> None:
        calls.append(f"before {name}")
        runner.time.sleep(0.05)

    found = runner.by_turns({"a": lambda number: calls.append(f"a{number}")}, 9, budget=0, least=2, before=before)
    assert calls == ["before a", "a0", "before a", "a1"]
    assert len(found["a"]) == 2 and max(found["a"]) < 0.05
    assert len(runner.repeated(lambda: None, 3)) == 3


def test_wrong_answers_are_reported_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graphs.load("grid6")
    wrong, broken = peers.make("scipy", graph), peers.make("scipy", graph)
    monkeypatch.setattr(wrong, "components", lambda: np.arange(64))
    monkeypatch.setattr(broken, "components", lambda: 1 / 0)
    contestants = {"gasla": peers.make("gasla-cpu", graph), "other": wrong, "third": broken}
    found = cells.cell(graph, contestants, "components", QUICK)
    assert found.entries["other"] == ("wrong: differs from gasla", [])
    assert found.entries["third"] == ("failed: ZeroDivisionError: division by zero", [])
    assert len(found.entries["gasla"].seconds) == 1
    assert (found.wrong, found.best) == ("", None)
    assert "other: wrong" in table.line(found)


def test_a_wrong_answer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graphs.load("grid6")
    own = peers.make("gasla-cpu", graph)
    task = tasks.TASKS["sssp"]._replace(call=lambda graph, source: np.zeros(64, np.float32))
    monkeypatch.setitem(tasks.TASKS, "sssp", task)
    found = cells.cell(graph, {"gasla": own, "scipy": peers.make("scipy", graph)}, "sssp", QUICK)
    assert found.wrong.startswith("wrong: vertex ")
    assert found.seconds() is None
    assert found.seconds("scipy") is not None


def test_what_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_PRODUCTS", 10)
    graph = graphs.load("grid4")
    (found,) = cells.measure(graph, ["mxm"], [], QUICK)
    assert (found.seconds(), found.wrong) == (None, "") and "left out" in found.entries["gasla"].note


def test_figures_of_a_cell() -> None:
    """Medians over the calls of each source, then over the sources; the ratio is to the best peer."""
    entries = {"gasla": cells.Entry("", [1.0, 4.0, 3.0, 4.0]), "a": cells.Entry("", [5.0]), "b": cells.Entry("", [8.0])}
    found = cells.Cell("g", "cpu", "bfs", "gasla", [4_000_000_000, 8_000_000_000], entries, floors.Floor(0.3, "bytes"))
    assert found.medians("gasla") == [2.0, 4.0]
    assert found.seconds() == 3.0
    assert found.gteps() == 2.0
    assert (found.best, found.ratio, found.share) == ("a", 0.6, pytest.approx(0.1))
    line = "g bfs 3,000 2.00 10.0% bytes 5,000 a 0.600 also b 8,000"
    assert table.line(found).split() == line.split()


def test_a_users_functions(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import gasla\n"
        "def far(graph, source): return gasla.bfs(graph, source).max()\n"
        "def broken(graph): raise OSError('no')\n"
        "def _helper(graph): pass\n"
        "def other(x, y): pass\n"
    )
    functions = cells.functions_of(file)
    assert set(functions) == {"far", "broken"}
    far, broken = cells.function_cells(graphs.load("grid6"), functions, QUICK)
    assert far.gteps() > 0
    assert "failed: OSError('no')" in broken.wrong
    file.write_text("x = 1")
    with pytest.raises(ValueError, match="no function f\\(graph\\)"):
        cells.functions_of(file)


# --- ceilings ---------------------------------------------------------------------------------------------------------


def check_ceilings(found: ceilings.Ceilings) -> None:
    rates = [rate for kind in (found.copy, found.gather, found.atomics) for rate in kind.values()]
    assert np.isfinite(rates).all()
    assert min(rates) > 1e5
    assert 0 < found.barrier < 1


def test_ceilings_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings.Cpu, "BYTES", 1 << 20)
    monkeypatch.setattr(ceilings.Cpu, "READS", 1 << 16)
    monkeypatch.setattr(ceilings.Cpu, "ADDS", 1 << 14)
    monkeypatch.setattr(ceilings.Cpu, "WAITS", 16)
    check_ceilings(ceilings.measure("cpu", (1 << 16, 1 << 18)))


@pytest.mark.gpu
def test_ceilings_of_the_gpu() -> None:
    check_ceilings(ceilings.measure("gpu"))


def test_the_kernels_compile() -> None:
    pytest.importorskip("cupy")
    from gasla.gpu.runtime.compile import compile_source

    assert compile_source(ceilings.SOURCE, "compute_90")


def test_rates_by_size() -> None:
    """On data of a size between two measured ones, the higher rate is the ceiling."""
    assert CEILINGS.rate("gather", 1e3) == 125e9
    assert CEILINGS.rate("gather", 1 << 25) == 125e9
    assert CEILINGS.rate("gather", 1 << 30) == 49e9
    assert ceilings.Ceilings.from_dict(CEILINGS.as_dict()) == CEILINGS


def test_a_floor_names_what_counts_most() -> None:
    """What counts most is named, and barriers come on top."""
    scattered = floors.Work(1 << 22, 1 << 27, True, CEILINGS)
    local = floors.Work(1 << 24, 1 << 26, False, CEILINGS)
    assert floors.ITERATION(scattered, []).cause == "random reads"
    assert floors.ITERATION(scattered, []).seconds == pytest.approx(2**27 / 125e9 + 1.1e-6)
    assert floors.ITERATION(local, []).cause == "bytes"
    deep = [graphs.Reach(1 << 24, 1 << 26, 6000)]
    assert floors.LEVELS(local, deep).cause == "barriers"
    assert floors.LEVELS(local, deep).seconds > 6.6e-3
    assert floors.dependencies(local, 8 * deep).seconds > 8 * floors.relaxed(local, deep).seconds / 2


OF_NO_PEER = (
    *(name for name in tasks.ALGORITHMS if name not in tasks.COMPARED),
    *("depth_first_order", "number_of_shortest_paths", "article_rank", "salsa", "influence_maximization", "k_core"),
    *("is_biconnected", "chain_decomposition", "transitivity", "average_clustering", "subgraph_matches", "fastrp"),
    *("weisfeiler_lehman_colors", "global_minimum_cut", "overlap", "sorensen", "cosine", "resource_allocation"),
    *("preferential_attachment",),
    *("random_walks", "node2vec_walks", "sample_neighbors", "square_clustering"),
    *("negative_edges", "split_edges", "walk_pairs", "directed_clustering", "synchronous_labels"),
)
# What neither SciPy nor igraph has.
OF_OTHER_PEERS = (
    *OF_NO_PEER,
    *("edge_support", "k_truss", "katz", "pagerank_nibble"),
    *("maximal_independent_set", "maximal_matching", "weighted_matching"),
    *("adamic_adar", "top_k_similar", "layout", "spectral_embedding", "scan_statistics", "bipartite_matching"),
    *("shared_nearest_neighbors", "geolocate"),
    *("earliest_arrival", "fastest_durations", "eccentricity", "k_hop_counts", "effective_diameter"),
    "k_shortest_paths",
)

# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "measure", lambda device: replace(CEILINGS, device=device))


FEW = ("bfs", "levels", "triangles", "random_walks", "mxv")


@pytest.mark.usefixtures("quick_ceilings")
@pytest.mark.parametrize("names", [FEW, pytest.param(tasks.ALGORITHMS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_the_command_writes_figures_and_a_plot(
    names: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    what = ["--graphs", "rmat8", "--algorithms", ",".join(names), "--peers", "scipy,igraph", "--rounds", "1"]
    assert main(["bench", *what, "--json", str(file), "--plot", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "stored directed edges whose source was reached" in printed
    assert "random 4-byte reads" in printed
    read = report.Report.read(file)
    assert [(c.algorithm, n, e.note) for c in read.cells for n, e in c.entries.items() if e.note] == []
    assert [cell.algorithm for cell in read.cells] == [*names]
    assert all(cell.gteps() > 0 for cell in read.cells)
    assert all(cell.share > 0 for cell in read.cells)
    assert {cell.algorithm for cell in read.cells if not cell.best} == {"levels", *OF_OTHER_PEERS} & {*names}
    assert read.provenance["versions"]["numpy"] == np.__version__
    assert read.provenance["seeds"]["rounds"] == runner.SEED
    assert read.graphs["rmat8"]["fingerprint"] == gasla.datasets.fingerprint(gasla.datasets.rmat(8))
    assert read.ceilings == replace(CEILINGS, device="cpu")
    assert picture.read_bytes().startswith(b"\x89PNG")
    copy = tmp_path / "copy.json"
    read.write(copy)
    assert copy.read_text() == file.read_text()


@pytest.mark.usefixtures("quick_ceilings")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithms", "dijkstra"], "--algorithms dijkstra: expected names among bfs"),
        (["--peers", "networkx"], "--peers networkx: expected names among graphblas"),
        (["--peers", "gasla-cpu"], "add --device gpu"),
        (["--graphs", "star3"], "there is no benchmark graph 'star3'"),
        (["--plot", "figures.doc"], "figures.doc: unknown picture format; expected a name that ends in"),
    ],
)
def test_unsupported_input_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("quick_ceilings")
def test_peers_that_are_not_installed_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "is_installed", lambda name: name == "scipy")
    what = ["--graphs", "grid4", "--algorithms", "components", "--peers", "cugraph,scipy", "--rounds", "1"]
    assert main(["bench", *what]) == 0
    printed = capsys.readouterr().out
    assert "cugraph is left out: cugraph is not installed" in printed
    assert any(line.startswith("grid4") and "scipy" in line for line in printed.splitlines())
    monkeypatch.setattr(peers, "is_installed", lambda name: True)
    assert main(["bench", *what]) == 2
    assert "--peers cugraph: available for comparison on the GPU only; add --device gpu" in capsys.readouterr().err


def test_wrong_answers_are_drawn(tmp_path: Path) -> None:
    notes = {"gasla": "wrong: no", "scipy": "", "igraph": "failed: no"}
    entries = {name: cells.Entry(note, [] if note else [1.0]) for name, note in notes.items()}
    found = [cells.Cell("g", "cpu", "bfs", "gasla", [10], entries), cells.Cell("g", "cpu", "f", "gasla", [], entries)]
    plot.draw(report.Report(provenance.provenance("cpu"), {}, found), tmp_path / "a.svg")
    assert "wrong" in (tmp_path / "a.svg").read_text()


def test_a_disturbed_machine_is_named_in_the_plot(tmp_path: Path) -> None:
    found = [cells.Cell("g", "cpu", "bfs", "gasla", [10], {"gasla": cells.Entry("", [1.0])})]
    for stolen, is_named in ((0.5, True), (0.0, False)):
        notes = [{"measured": "g", "stolen": 0.9, "slowed": 0.0}, {"measured": "g", "stolen": stolen, "slowed": 0.0}]
        plot.draw(report.Report(provenance.provenance("cpu") | {"machine": notes}, {}, found), tmp_path / "a.svg")
        assert ("50% of the time stolen" in (tmp_path / "a.svg").read_text()) == is_named


@pytest.mark.usefixtures("quick_ceilings")
@pytest.mark.parametrize("text", ["# Nodes: 0 Edges: 0\n", "# Nodes: 3 Edges: 1\n1 1\n"])
def test_a_graph_without_edges_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert main(["bench", "--graphs", str(path), "--algorithms", "bfs", "--rounds", "1"]) == 2
    said = f"gasla: {path}: the graph has no edges besides self loops; expected edges to measure something\n"
    assert capsys.readouterr().err == said


@pytest.mark.usefixtures("quick_ceilings")
def test_what_was_measured_is_kept_when_a_run_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, load = tmp_path / "figures.json", cli_bench.load_graph

    def failing(name: str, device: Any) -> Any:
        if name == "grid6":
            raise ValueError("no such luck")
        return load(name, device)

    monkeypatch.setattr(cli_bench, "load_graph", failing)
    what = ["--graphs", "grid4,grid6", "--algorithms", "components", "--rounds", "1"]
    assert main(["bench", *what, "--json", str(file)]) == 2
    assert [cell.graph for cell in report.Report.read(file).cells] == ["grid4"]


@pytest.mark.usefixtures("quick_ceilings")
def test_files_are_read_before_anything_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.mtx"
    broken.write_text("%%MatrixMarket matrix")
    assert main(["bench", "--graphs", f"grid4,{broken}", "--algorithms", "components", "--rounds", "1"]) == 2
    assert "grid4" not in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.usefixtures("quick_ceilings")
def test_the_command_on_the_gpu(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    what = ["--graphs", "grid8", "--algorithms", "levels,pagerank", "--peers", "cusparse"]
    assert main(["bench", "--device", "gpu", *what, "--rounds", "1", "--json", str(file)]) == 0
    read = report.Report.read(file)
    assert [(c.algorithm, n, e.note) for c in read.cells for n, e in c.entries.items() if e.note] == []
    assert read.provenance["gpu"]


# --- the machine -----------------------------------------------------------------------------------------------------

SPIN, Spin = machine.spin.__wrapped__, machine.Spin  # which tests/conftest.py has replaced


def test_a_spin_tells_time_and_what_was_lost_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "WORK", 20_000)
    found = SPIN()
    assert 0 <= found.stolen < 1 and found.seconds > 0


@pytest.mark.parametrize(
    ("spins", "stat", "times"),
    [
        ([Spin(0.02, 1.0), Spin(0.0, 1.04)], [0, 0], 1),
        ([Spin(0.0, 1.0), Spin(0.2, 1.0), Spin(0.0, 1.0), Spin(0.0, 1.0)], [0, 0, 0, 0], 2),  # stolen at the end
        ([Spin(0.2, 1.0), Spin(0.0, 1.0), Spin(0.0, 1.0)], [0, 0], 1),  # only before anything was measured
        ([Spin(0.0, 1.0), Spin(0.0, 1.2)], [0, 0], 1),  # as clocks vary
        ([Spin(0.0, 1.0), Spin(0.0, 1.3), Spin(0.0, 1.0), Spin(0.0, 1.0)], [0, 0, 0, 0], 2),  # slower
        ([Spin(0.0, 1.0), Spin(0.0, 1.0), Spin(0.0, 1.0), Spin(0.0, 1.0)], [0, 30, 30, 31], 2),  # by a hypervisor
        ([Spin(0.2, 1.0)] * 6, [0, 0, 0, 0], 2),  # it stays so
    ],
)
def test_what_was_disturbed_is_measured_once_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spins: list[Spin], stat: list[int], times: int
) -> None:
    left, jiffies = list(spins), [[100 * k, 0, 0, 0, 0, 0, 0, stolen] for k, stolen in enumerate(stat)]
    monkeypatch.setattr(machine, "spin", lambda: left.pop(0))
    monkeypatch.setattr(machine, "_jiffies", lambda: jiffies.pop(0))
    monkeypatch.setattr(machine, "_fastest", float("inf"))
    monkeypatch.setattr(machine, "PAUSE", 0)
    notes: list[dict[str, Any]] = []
    assert list(machine.watch("grid4", lambda: ["cell"], notes)) == ["cell"] * times
    assert not left and len(notes) == times and {note["measured"] for note in notes} == {"grid4"}
    said = capsys.readouterr().err
    is_much = [note["stolen"] > 0.05 or note["slowed"] > 0.25 for note in notes]
    assert said.count("grid4: the machine was busy with other work") == sum(is_much)
    assert ("may be too high" in said) == is_much[-1]


def test_cells_of_a_disturbed_machine_are_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spins = [Spin(0.0, 1.0), Spin(0.5, 1.0), Spin(0.0, 1.0), Spin(0.0, 1.0)]
    monkeypatch.setattr(machine, "spin", lambda: spins.pop(0))
    found, graph = report.Report.begin(replace(CEILINGS, device="cpu")), graphs.load("grid4")
    assert len(list(found.measure(graph, partial(cells.measure, graph, ["levels"], [], QUICK)))) == 2
    found.write(tmp_path / "a.json")
    read = report.Report.read(tmp_path / "a.json")
    assert len(read.cells) == 1 and [note["stolen"] for note in read.provenance["machine"]] == [0.5, 0.0]
