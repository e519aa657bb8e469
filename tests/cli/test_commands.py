"""The command line: what it prints and writes, and how it fails."""

import re
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import load_npz

import gasla
from gasla import datasets
from gasla.cli import main, verbs
from gasla.cli.verbs import Verb

ALGORITHMS = [verb.name for verb in verbs.ALGORITHMS]
UNCHECKED = {verb.name for verb in verbs.ALGORITHMS if verb.verifier is None}
NUMBER = [verb.name for verb in verbs.ALGORITHMS if not verb.answers]  # whose answer is one number or a few
ROWS = ("multi-source-bfs", "multi-source-shortest-paths", "temporal-reachability")  # whose answers have a row a source
ACYCLIC = ("topological-order", "longest-path", "transitive-reduction")  # what takes no graph with a cycle
TEMPORAL = [verb.name for verb in verbs.ALGORITHMS if "time" in verb.parameters]
SMALL = "0 1 2\n1 2 3.5\n2 0 1\n3 0 5\n1 3 1\n2 3 2\n5 6 1\n"  # 7 vertices; 4 has no edge


GRAPHS = {
    **dict.fromkeys(ACYCLIC, SMALL.replace("2 0 1", "0 2 1").replace("3 0 5", "0 3 5")),
    "fiedler-vector": SMALL + "3 4 1\n4 5 2\n",
    "maximum-bipartite-matching": "0 1 2\n2 1 1\n2 3 1\n5 6 1\n",
}  # for commands that do not take any graph


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command in this process."""

    def run(*arguments: object) -> Outcome:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text(SMALL)
    return path


def needed(name: str, folder: Path, n: int = 7) -> list[object]:
    """The options that a command needs for the small graph; files are written into the folder."""
    if name in TEMPORAL:
        return ["--columns", "0,1", "--time", "2"]
    if name in ("modularity", "partition-quality", "partition-table"):
        np.save(folder / "labels.npy", np.arange(n) // 3)
        return ["--labels", folder / "labels.npy"]
    if name == "geolocate":
        np.save(folder / "places.npy", np.where(np.arange(n)[:, None] < 2, [1.0, 2.0], np.nan))
        return ["--locations", folder / "places.npy"]
    return []


def complains(outcome: Outcome, *words: str) -> None:
    """Exit code 2, one line on standard error, nothing on standard output."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    (last,) = outcome.err.strip().splitlines()
    assert last.startswith("gasla"), outcome.err
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in last, (word, last)


def test_as_a_program_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-m", "gasla", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"gasla {gasla.__version__}\n"


@pytest.mark.thorough
def test_help_names_every_command(command: Callable[..., Outcome]) -> None:
    outcome = command("--help")
    assert outcome.code == 0
    others = [
        "table",
        "draw",
        "split-edges",
        "negative-edges",
        "nearest-neighbors-graph",
        "project",
        "info",
        "generate",
    ]
    others += ["convert", "demo", "bench"]
    for name in [*ALGORITHMS, *others]:
        assert name in outcome.out
        assert command(name, "--help").code == 0


@pytest.mark.parametrize("verb", verbs.ALGORITHMS, ids=lambda verb: verb.name)
def test_every_option_has_a_help_text(verb: Verb) -> None:
    parser = ArgumentParser()
    verb.add_options(parser)
    assert not [action.dest for action in parser._actions if not (action.help or "").partition("(default")[0].strip()]


def test_the_help_of_a_parameter_is_that_of_the_function_it_refers_to() -> None:
    here, there = verbs.descriptions(gasla.fiedler_vector), verbs.descriptions(gasla.spectral_embedding)
    assert here["tol"] == there["tol"] == "accuracy of the eigenvalues, relative to the largest"


def _family(one: Any) -> bool:
    return str(getattr(one, "__module__", "")).startswith("gasla.algorithms.")


def test_every_algorithm_has_a_command() -> None:
    found = {verb.function.__name__ for verb in verbs.ALGORITHMS}
    public = {name: getattr(gasla, name) for name in gasla.__all__}
    missing = {name for name, one in public.items() if _family(one) and callable(one)} - found
    # Those that give a picture, graphs, a tree, edges in an order or ranks of some, or take a function or two graphs.
    given = {
        "draw",
        "project",
        "assignment",
        "complement",
        "line_graph",
        "minimum_cost_flow",
        "randomized",
        "steiner_tree",
        "temporal_cycles",
        "top_k_pagerank",
    }
    assert missing == given | {"null_model", "is_isomorphic", "isomorphisms"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_is_checked_and_measured(command: Callable[..., Outcome], small: Path, name: str) -> None:
    small.write_text(GRAPHS.get(name, SMALL))
    options = needed(name, small.parent)
    outcome = command(name, small, *options, *["--check"] * (name not in UNCHECKED), "--stats")
    assert outcome.code == 0, outcome
    assert outcome.err == ""
    assert ("check: the answer is correct" in outcome.out) == (name not in UNCHECKED)
    assert "stored directed edges whose source was reached" in outcome.out
    assert "vertices            7\n" in outcome.out
    assert "NumPy" in outcome.out


def test_what_has_no_property_is_not_checked(command: Callable[..., Outcome]) -> None:
    assert sorted(UNCHECKED) == [
        *("average-clustering", "count-cliques", "count-cycles", "count-matches", "fastrp", "is-biconnected"),
        "k-truss",
        *("motif-counts", "square-clustering", "subgraph-matches", "temporal-motif-counts", "top-k-similar"),
        *("transitivity", "triadic-census", "weisfeiler-lehman-colors", "weisfeiler-lehman-hash"),
    ]
    complains(command("count-cliques", "openflights", "--check"), "there is no option '--check'")


REFUSED = {
    **dict.fromkeys(ACYCLIC, "the graph has the cycle"),
    **dict.fromkeys(TEMPORAL, "'time' is no edge attribute"),
    "fiedler-vector": "components; expected one",
    "maximum-bipartite-matching": "the graph is not bipartite",
    **dict.fromkeys(("modularity", "partition-quality", "partition-table"), "--labels is missing"),
    "geolocate": "--locations is missing",
}  # on the airports, without further options


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.slow
def test_every_algorithm_on_the_airports(command: Callable[..., Outcome], name: str) -> None:
    options = ["--source", "JFK"] if name in ("bfs", "sssp", "betweenness", *ROWS) else []
    options += ["--alpha", "0.001"] if name == "katz" else []
    outcome = command(name, "openflights", *options, "--top", "3", *["--check"] * (name not in UNCHECKED))
    if name in REFUSED:
        return complains(outcome, REFUSED[name])
    assert outcome.code == 0, outcome
    if name in ("pagerank", "triangles", "betweenness"):
        assert len([line for line in outcome.out.splitlines() if line[:4].strip().isdigit()]) == 3


@pytest.mark.parametrize("name", ["bfs openflights", "bench"])
def test_there_is_no_gpu(command: Callable[..., Outcome], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("CuPy found no NVIDIA GPU")

    monkeypatch.setattr("gasla.arrays.require_gpu", missing)
    complains(command(*name.split(), "--device", "gpu"), "--device gpu: CuPy found no NVIDIA GPU")
    complains(command("bfs", "openflights", "--stream"), "--device gpu: CuPy found no NVIDIA GPU")


@pytest.mark.thorough
def test_summaries_say_what_a_person_wants_to_know(command: Callable[..., Outcome], small: Path) -> None:
    bfs = command("bfs", small, "--source", 3).out
    assert "4 of 7 vertices reached from vertex 3" in bfs
    assert "level 0  1 vertices" in bfs
    assert "4 of 7" in command("sssp", small, "--source", 0).out
    assert "3 components, 1 of them single" in command("components", small).out
    assert "4 triangles" in command("triangles", small).out
    assert "converged after" in command("pagerank", small).out
    assert "Amsterdam, Netherlands" in command("triangles", "openflights").out


@pytest.mark.thorough
def test_features_from_a_file(command: Callable[..., Outcome], small: Path) -> None:
    features, target = small.with_name("features.npy"), small.with_name("answer.csv")
    np.save(features, np.arange(21.0).reshape(7, 3))
    outcome = command("aggregate-features", small, "--features", features, "--reduce", "max", "--check", "-o", target)
    assert outcome.code == 0, outcome
    assert "max over in-neighbors" in outcome.out
    assert target.read_text().splitlines()[0] == "vertex,feature 0,feature 1,feature 2"
    features.with_suffix(".txt").write_text("1\n2\n3\n")
    complains(command("aggregate-features", small, "--features", features.with_suffix(".txt")), "expected (7, k)")
    features.with_suffix(".txt").write_text("one\n")
    complains(command("aggregate-features", small, "--features", features.with_suffix(".txt")), "expected numbers")
    complains(command("aggregate-features", small, "--features", "missing.npy"), "missing.npy")


@pytest.mark.thorough
def test_orders_of_acyclic_graphs_are_written_and_cycles_named(command: Callable[..., Outcome], small: Path) -> None:
    complains(command("topological-order", small), "the graph has the cycle 0 → 1 → 2 → 0; expected an acyclic one")
    small.write_text("0 1 2\n1 2 3.5\n0 2 1\n3 2 2\n")
    order = command("topological-order", small, "--check", "--stats")
    assert "3 levels; the first vertices in order:" in order.out
    assert "check: the answer is correct" in order.out
    longest = command("longest-path", small, "--check", "--top", 2, "-o", small.with_name("answer.csv"))
    assert "the longest path has 3 vertices and length 5.5:" in longest.out
    assert "and 1 more, to vertex 2" in longest.out
    assert small.with_name("answer.csv").read_text().splitlines()[:3] == ["vertex,length,parent", "0,0.0,0", "1,2.0,0"]
    assert "and length 2:" in command("longest-path", small, "--unweighted", "--check").out


def test_groups_are_counted_whatever_their_labels(command: Callable[..., Outcome], small: Path) -> None:
    small.write_text("5 0\n5 1\n0 1\n3 4\n")
    found = command("label-propagation", small, "--method", "synchronous", "--max-iter", 1, "--check").out
    assert "5 communities, 4 of them single vertices; the largest:" in found  # labels 1, 0, 2, 4, 3, 0
    assert "2 vertices, among them vertex 1" in found


@pytest.mark.thorough
def test_strong_components_are_counted_and_written(command: Callable[..., Outcome], small: Path) -> None:
    target = small.with_name("answer.csv")
    found = command("strong-components", small, "--check", "-o", target).out
    assert "4 components, 3 of them single vertices; the largest:" in found
    assert "4 vertices, among them vertex 0" in found
    assert target.read_text().splitlines()[5:] == ["4,1", "5,2", "6,3"]


@pytest.mark.thorough
def test_cores_are_counted_and_written(command: Callable[..., Outcome], small: Path) -> None:
    assert "the main core is the 3-core, with 4 vertices; highest core numbers:" in command("core-number", small).out
    target = small.with_name("answer.csv")
    core = command("k-core", small, "--k", 1, "--check", "--top", 2, "-o", target).out
    assert "6 of 7 vertices are in the 1-core, among them" in core
    assert "\n      vertex 0\n      vertex 1\n" in core
    assert target.read_text().splitlines()[:2] == ["vertex,member", "0,True"]
    assert "4 of 7 vertices are in the main core" in command("k-core", small).out
    assert "0 of 7 vertices are in the 9-core\n" in command("k-core", small, "--k", 9, "--check").out
    complains(command("k-core", small, "--k", "-1"), "--k")


@pytest.mark.thorough
def test_walks_are_counted_and_checked(command: Callable[..., Outcome], small: Path) -> None:
    outcome = command("random-walks", small, "--starts", "0", "5", "0", "--length", "3", "--check")
    assert "3 walks, 7 steps in total; 1 walks ended early" in outcome.out, outcome
    complains(command("random-walks", small, "--starts", "9"), "9")


@pytest.mark.thorough
def test_a_spanning_forest_is_weighed_and_written(command: Callable[..., Outcome], small: Path) -> None:
    target = small.with_name("answer.csv")
    found = command("minimum-spanning-forest", small, "--check", "-o", target).out
    assert "4 edges of total weight 5.0 join 7 vertices into 3 trees" in found
    assert target.read_text().splitlines()[:6] == ["vertex,tree_edges", "0,2", "1,2", "2,1", "3,1", "4,0"]


@pytest.mark.thorough
def test_distances_that_are_all_alike_have_no_histogram(command: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("0 1 5\n")
    assert command("sssp", tmp_path / "two.txt", "--source", 1).out.splitlines()[1] == "farthest:"


def test_airports_without_a_code_are_told_by_their_names(command: Callable[..., Outcome]) -> None:
    complains(command("bfs", "openflights", "--source", "London"), "LHR", "London Heliport", "expected one of these")


def test_the_default_source_has_the_most_edges(command: Callable[..., Outcome], small: Path) -> None:
    assert "from vertex 1" in command("bfs", small).out


def expected(name: str, path: Path) -> dict[str, Any]:
    graph = gasla.Graph(gasla.io.read(path))
    if name == "bfs":
        return dict(zip(("level", "parent"), gasla.bfs(graph, 0, parents=True)))
    if name == "sssp":
        return dict(zip(("distance", "parent"), gasla.sssp(graph, 0, parents=True)))
    return {"rank": gasla.pagerank(graph).ranks}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["bfs", "sssp", "pagerank"])
@pytest.mark.parametrize("ending", ["npz", "csv", "txt"])
def test_answers_are_saved(command: Callable[..., Outcome], small: Path, name: str, ending: str) -> None:
    target = small.with_name(f"answer.{ending}")
    options = [] if name == "pagerank" else ["--source", 0, "--parents"]
    outcome = command(name, small, *options, "-o", target)
    assert outcome.code == 0, outcome
    assert f"wrote {target}" in outcome.out
    columns = expected(name, small)
    if ending == "npz":
        saved = np.load(target)
        assert list(saved) == list(columns)
        arrays = [saved[column] for column in columns]
    elif ending == "csv":
        assert target.read_text().splitlines()[0] == ",".join(["vertex", *columns])
        arrays = list(np.loadtxt(target, delimiter=",", skiprows=1).T[1:])
    else:
        arrays = list(np.atleast_2d(np.loadtxt(target).T))
    for array, right in zip(arrays, columns.values()):
        np.testing.assert_array_equal(array.astype(right.dtype), right)


SEVERAL = ("hits", "salsa", "top-k-similar", "nearest-source", "layout", "geolocate")  # arrays


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in (*ACYCLIC, *SEVERAL, *NUMBER)])
def test_one_array_is_saved_as_npy(command: Callable[..., Outcome], small: Path, name: str) -> None:
    target = small.with_name("answer.npy")
    small.write_text(GRAPHS.get(name, SMALL))
    assert command(name, small, *needed(name, small.parent), "-o", target).code == 0
    rows = {
        **dict.fromkeys(ROWS, 1),
        "aggregate-features": 2,
        "spectral-embedding": 2,
        "fastrp": 128,
    }  # where there is not one number a vertex
    assert np.load(target).shape == ((rows[name], 7) if name in rows else (7,))


@pytest.mark.thorough
def test_one_number_is_not_saved(command: Callable[..., Outcome], small: Path) -> None:
    assert "1 cliques of 4 vertices" in command("count-cliques", small).out
    assert "4 cliques of 3 vertices" in command("count-cliques", small, "--k", 3).out
    for name in NUMBER:
        complains(
            command(name, small, *needed(name, small.parent), "-o", small.with_name("answer.npy")),
            "a single number",
            "leave the option out",
        )


@pytest.mark.thorough
def test_patterns_are_counted_and_listed(command: Callable[..., Outcome], small: Path) -> None:
    assert "3 matches of a pattern of 4 vertices" in command("count-matches", small, "--pattern", "0-1,1-2,2-3,3-0").out
    listed = command("subgraph-matches", small, "--pattern", "0-1", "--induced", "--top", 1).out
    assert "7 induced matches of a pattern of 2 vertices" in listed
    assert "vertex 5 – vertex 6" in listed
    complains(command("subgraph-matches", small, "--limit", 1), "4 matches, and limit is 1")
    for edges in ("0-1,", "a", "0", "0-4000", "0--1"):
        complains(command("count-matches", small, "--pattern", edges), f"--pattern {edges}", "such as 0-1,1-2,0-2")
    complains(command("count-matches", small, "--pattern", "0-2"), "expected a connected pattern")


@pytest.mark.thorough
def test_directed_patterns_motifs_and_triads(command: Callable[..., Outcome], small: Path) -> None:
    for options in (["0>1,1>2,2>0"], ["cycle3", "--directed"]):
        counted = command("count-matches", small, "--pattern", *options).out
        assert "2 matches of a directed pattern of 3 vertices" in counted
    listed = command("subgraph-matches", small, "--pattern", "cycle3", "--directed").out
    assert "vertex 0 – vertex 1 – vertex 2" in listed
    complains(command("count-matches", small, "--pattern", "triangel"), "did you mean 'triangle'?")
    complains(command("count-matches", small, "--pattern", "clique9"), "of 9 vertices")
    complains(command("count-matches", small, "--pattern", "diamond", "--directed"), "no directed form")
    assert "4  triangle" in command("motif-counts", small).out
    assert "1  clique4" in command("motif-counts", small).out
    assert "2  030C" in command("triadic-census", small).out


def test_a_csv_of_airports_has_their_names(command: Callable[..., Outcome], tmp_path: Path) -> None:
    target = tmp_path / "ranks.csv"
    assert command("pagerank", "openflights", "-o", target).code == 0
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "vertex,rank,iata,name"
    assert len(lines) == 7699
    assert lines[1].endswith(",GKA,Goroka Airport")


@pytest.mark.thorough
def test_rows_of_several_sources_are_columns_of_a_table(command: Callable[..., Outcome], small: Path) -> None:
    target = small.with_name("levels.csv")
    outcome = command("multi-source-bfs", small, "--sources", 0, 5, "-o", target)
    assert outcome.code == 0, outcome
    assert "4 reached from vertex 0, largest distance 2" in outcome.out
    lines = target.read_text().splitlines()
    assert lines[0] == "vertex,level 0,level 1"
    saved = np.array([line.split(",") for line in lines[1:]], int).T
    np.testing.assert_array_equal(saved[1:], gasla.multi_source_bfs(gasla.io.read(small), [0, 5]))


@pytest.mark.thorough
def test_sources_drawn_by_lot_are_those_that_are_checked(command: Callable[..., Outcome], small: Path) -> None:
    for name in ("closeness", "harmonic", "betweenness", "multi-source-bfs"):
        outcome = command(name, small, "-k", 3, "--seed", 2, "--check")
        assert outcome.code == 0, outcome
        assert "3 sources" in outcome.out


def test_a_failure_while_writing_leaves_the_old_file(
    command: Callable[..., Outcome], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = small.with_name("answer.npy")
    target.write_bytes(b"old")

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "save", fail)
    complains(command("bfs", small, "-o", target), "no space left")
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in small.parent.iterdir()) == ["answer.npy", "small.txt"]


BAD = {
    "no command": [],
    "unknown command": ["fly"],
    "no graph": ["bfs"],
    "missing file": ["bfs", "missing.mtx"],
    "unknown ending": ["bfs", "graph.doc"],
    "unknown format": ["bfs", "SMALL", "--format", "doc"],
    "a folder": ["info", "FOLDER/"],
    "source too large": ["bfs", "SMALL", "--source", "7"],
    "source negative": ["sssp", "SMALL", "--source=-1"],
    "source no number": ["bfs", "SMALL", "--source", "JFK"],
    "no such airport": ["bfs", "openflights", "--source", "XXXX"],
    "many such airports": ["bfs", "openflights", "--source", "London"],
    "no threads": ["bfs", "SMALL", "--threads", "0"],
    "too many threads": ["bfs", "SMALL", "--threads", "100000"],
    "threads no number": ["bfs", "SMALL", "--threads", "two"],
    "k too large": ["betweenness", "SMALL", "-k", "8"],
    "k zero": ["betweenness", "SMALL", "-k", "0"],
    "both sources and k": ["betweenness", "SMALL", "-k", "1", "--source", "1"],
    "output ending": ["bfs", "SMALL", "-o", "FOLDER/x.doc"],
    "output folder missing": ["bfs", "SMALL", "-o", "FOLDER/none/x.npy"],
    "output is a folder": ["bfs", "SMALL", "-o", "FOLDER/sub.npy"],
    "two arrays in npy": ["bfs", "SMALL", "--parents", "-o", "FOLDER/x.npy"],
    "bad alpha": ["pagerank", "SMALL", "--alpha", "1.5"],
    "negative number of iterations": ["pagerank", "SMALL", "--max-iter", "-1"],
    "negative depth": ["bfs", "SMALL", "--depth-limit", "-1"],
    "negative top": ["pagerank", "SMALL", "--top", "-3"],
    "negative seed": ["betweenness", "SMALL", "-k", "1", "--seed", "-1"],
    "bench of no graph": ["bench", "--graphs", ","],
    "bench without rounds": ["bench", "--graphs", "rmat8", "--rounds", "0"],
    "bench without time": ["bench", "--graphs", "rmat8", "--budget", "nan"],
    "bench into no folder": ["bench", "--graphs", "rmat8", "--json", "FOLDER/none/x.json"],
    "unknown family": ["generate", "star", "4", "-o", "FOLDER/x.mtx"],
    "negative scale": ["generate", "grid", "-3", "-o", "FOLDER/x.mtx"],
    "scale too large": ["generate", "rmat", "90", "-o", "FOLDER/x.mtx"],
    "output format unknown": ["generate", "grid", "4", "-o", "FOLDER/x.doc"],
    "convert nothing": ["convert", "missing.mtx", "FOLDER/x.npz"],
    "convert to unknown": ["convert", "SMALL", "FOLDER/x.doc"],
    "two dashes for a source": ["bfs", "SMALL", "--source=--"],
    "two dashes for an output": ["bfs", "SMALL", "--output=--"],
    "two dashes in a short option": ["bfs", "SMALL", "-o--"],
    "two dashes for graphs": ["bench", "--graphs=--"],
    "dashes before a source": ["bfs", "SMALL", "--source=--5"],
    "source of too many digits": ["bfs", "SMALL", "--source", "9" * 5000],
    "demo from nowhere": ["demo", "--from", "Atlantis", "--no-map"],
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused(command: Callable[..., Outcome], small: Path, case: str) -> None:
    (small.parent / "sub.npy").mkdir()
    arguments = [word.replace("SMALL", str(small)).replace("FOLDER", str(small.parent)) for word in BAD[case]]
    complains(command(*arguments))
    assert sorted(path.name for path in small.parent.iterdir()) == ["small.txt", "sub.npy"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["pagernk", "openflights"], "'pagernk'; did you mean 'pagerank'?"),
        (["info", "opneflights"], "opneflights: no such file.*; did you mean 'openflights'?"),
        (["info", "FOLDER/smal.txt"], "no such file.*; did you mean 'FOLDER/small.txt'?"),
        (["info", "FOLDER/trips.csv", "--columns", "form,to"], "column 'form' does not exist.*; did you mean 'from'?"),
        (["bfs", "FOLDER/trips.csv", "--columns", "from,to", "--source", "Olso"], "'Olso'.*; did you mean 'Oslo'?"),
        (["bfs", "SMALL", "--sorce", "3"], "gasla bfs: there is no option '--sorce'; did you mean '--source'?"),
        (["pagerank", "SMALL", "--alhpa=0.5"], "there is no option '--alhpa'; did you mean '--alpha'?"),
        (["generate", "rmta", "4", "-o", "FOLDER/x.mtx"], "there is no 'rmta'; did you mean 'rmat'?"),
        (["bench", "--graphs", "rmta10"], "'rmta10'.*; did you mean 'rmat'?"),
        (["bench", "--graphs", "rmat4", "--algorithms", "pagernk"], "pagernk: .*; did you mean 'pagerank'?"),
        (["pagerank", "SMALL", "--alpha", "a"], "gasla pagerank: argument --alpha: .*'a'"),
        (["bfs", "SMALL", "--device", "xla"], "there is no 'xla'; expected one of .*cpu.*gpu"),
    ],
)
def test_what_was_meant_is_said_in_one_line(
    command: Callable[..., Outcome], small: Path, words: list[str], meant: str
) -> None:
    folder = str(small.parent)
    if "FOLDER/trips.csv" in words:
        pytest.importorskip("pyarrow")
        (small.parent / "trips.csv").write_text("from,to\nOslo,Rome\nRome,Bonn\n")
    found = command(*(word.replace("SMALL", str(small)).replace("FOLDER", folder) for word in words))
    complains(found)
    assert re.search(meant.replace("?", r"\?").replace("FOLDER", folder), found.err), found.err


@pytest.mark.thorough
def test_ids_of_tables_are_names_or_numbers_as_one_says(command: Callable[..., Outcome], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = tmp_path / "edges.csv"
    table.write_text("source,target\n007,7\n7,8\n")
    complains(command("info", str(table)), "--vertices names")
    assert "vertices          3" in command("info", str(table), "--vertices", "names").out
    assert "vertices          9" in command("info", str(table), "--vertices", "numbers").out


MALFORMED = {
    "word.txt": ("0 1\n1 two\n", "line 2"),
    "short.txt": ("0 1\n1 2\n3\n", "line 3"),
    "negative.txt": ("0 1\n-1 2\n", "line 2"),
    "header.mtx": ("%%MatrixMarket nonsense\n1 1 0\n", "line 1"),
    "short.mtx": ("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.0\n", ""),
    "outside.mtx": ("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4 1.0\n", "line 3"),
    "word.gr": ("p sp 3 2\na 1 2 5\na 2 x 5\n", "line 3"),
    "short.graph": ("3 2\n2 3\n1\n", ""),
    "skew.mtx": ("%%MatrixMarket matrix coordinate unsigned-integer skew-symmetric\n3 3 1\n2 1 1\n", "no negative"),
    "large.graph": ("2 1 1\n2 9223372036854775808\n1 1\n", "line 2"),
    "separator.graph": ("3 2\n2\n1\x1c3\n2\n", "line 3"),
    "one-sided.graph": ("3 1\n2 3\n\n\n", "line 2"),
    "broken.npz": ("not a zip file", ""),
    "broken.mtx.gz": ("not compressed", ""),
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("words", [["info", "IN"], ["bfs", "IN", "-o", "OUT.csv"], ["convert", "IN", "OUT.mtx"]])
def test_malformed_files_are_refused_by_line(
    command: Callable[..., Outcome], tmp_path: Path, name: str, words: list[str]
) -> None:
    content, where = MALFORMED[name]
    (tmp_path / name).write_text(content)
    out = str(tmp_path / "out")
    arguments = [str(tmp_path / name) if word == "IN" else word.replace("OUT", out) for word in words]
    complains(command(*arguments), name, where)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_wrong_answer_fails_the_check_and_is_not_saved(
    command: Callable[..., Outcome], small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gasla, "bfs", lambda *_, **__: np.zeros(7, np.int32))
    target = small.with_name("levels.npy")
    outcome = command("bfs", small, "--check", "-o", target)
    assert outcome.code == 1
    assert outcome.err.startswith("gasla: the answer is wrong: vertex ")
    assert len(outcome.err.splitlines()) == 1
    assert not target.exists()


@pytest.mark.thorough
def test_pagerank_that_does_not_converge_says_so(command: Callable[..., Outcome], small: Path) -> None:
    outcome = command("pagerank", small, "--max-iter", 2, "--tol", "1e-12")
    assert outcome.code == 0
    assert "did NOT converge" in outcome.out
    assert outcome.err.startswith("gasla: warning: ")
    assert command("pagerank", small, "--max-iter", 2, "--tol", "1e-12", "--check").code == 1


@pytest.mark.thorough
def test_the_number_of_threads_is_an_option(command: Callable[..., Outcome], small: Path) -> None:

    before = gasla.get_num_threads()
    try:
        outcome = command("bfs", small, "--threads", 1, "--stats")
        assert outcome.code == 0
        assert "1 threads" in outcome.out
    finally:
        gasla.set_num_threads(before)


@pytest.mark.parametrize("ending", ["mtx", "txt", "gr", "npz", "mtx.gz"])
def test_generate_info_convert(command: Callable[..., Outcome], tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"grid.{ending}", tmp_path / "grid.npz"
    made = command("generate", "grid", 6, "-o", first)
    assert made.code == 0, made
    print_of = datasets.fingerprint(datasets.grid(6))
    assert print_of in made.out
    assert command("convert", first, second).code == 0
    assert (load_npz(second) != datasets.grid(6)).nnz == 0
    info = command("info", second)
    assert info.code == 0
    assert print_of in info.out
    assert "symmetric         yes" in info.out


@pytest.mark.parametrize("family", ["rmat", "kron", "uniform", "grid", "rgg"])
def test_every_family_is_generated(command: Callable[..., Outcome], tmp_path: Path, family: str) -> None:
    outcome = command("generate", family, 8, "-o", tmp_path / "graph.npz")
    assert outcome.code == 0, outcome
    assert "256 vertices" in outcome.out


def test_info_of_what_is_shipped(command: Callable[..., Outcome]) -> None:
    assert "7,698" in command("info", "openflights").out
    assert "264,346" in command("info", "ny-roads").out


def test_a_file_comes_before_a_shipped_graph_of_its_name(
    command: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("openflights").write_text(SMALL)
    assert "vertices          7\n" in command("info", "openflights", "--format", "edges").out
    complains(command("info", "openflights"), "format")


@pytest.mark.thorough
def test_an_empty_graph(command: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "empty.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 0\n")
    for name in set(ALGORITHMS) - {
        *TEMPORAL,
        "fiedler-vector",
        "modularity",
        "partition-quality",
        "partition-table",
    }:  # refuse it
        options = needed(name, tmp_path, n=3)
        outcome = command(name, path, *options, *["--check"] * (name not in UNCHECKED), "--stats")
        assert outcome.code == 0, outcome
    assert command("info", path).code == 0


@pytest.mark.thorough
def test_a_reader_that_stops_early_is_no_error(small: Path) -> None:
    script = f"{sys.executable} -m gasla info {small} | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


# --- times, locations, labels, points --------------------------------------------------------------------------------


BUSES = "from,to,leaves,ride\nOslo,Rome,8,1\nOslo,Bonn,7,5\nRome,Bonn,10,1\nRome,Bern,6,1\n"


@pytest.fixture
def buses(tmp_path: Path) -> Path:
    pytest.importorskip("pyarrow")
    (tmp_path / "buses.csv").write_text(BUSES)
    return tmp_path / "buses.csv"


def test_journeys_in_the_order_of_time_by_names(command: Callable[..., Outcome], buses: Path) -> None:
    options = ["--columns", "from,to", "--time", "leaves", "--duration", "ride"]
    arrival = command("earliest-arrival", buses, *options, "--source", "Oslo", "--window", "7,", "--check")
    assert "3 of 4 vertices reached from Oslo in the order of time" in arrival.out, arrival
    assert re.search("1 +11  Bonn\n +2 +9  Rome\n", arrival.out)
    assert "Bern" not in arrival.out
    target = buses.with_name("answer.csv")
    departure = command("latest-departure", buses, *options, "--target", "Bonn", "--check", "-o", target)
    assert "3 of 4 vertices lead to Bonn in the order of time" in departure.out
    assert re.search("1 +10  Rome\n +2 +8  Oslo\n", departure.out)
    assert target.read_text().splitlines()[:3] == ["vertex,departure,name", "0,8,Oslo", "1,10,Rome"]
    fastest = command("fastest-durations", buses, *options, "--source", "Oslo", "--check")
    assert re.search("1 +3  Bonn\n +2 +1  Rome\n", fastest.out)
    reached = command("temporal-reachability", buses, *options, "--sources", "Oslo", "Rome", "--check")
    assert re.search("3 reached from Oslo\n +3 reached from Rome\n", reached.out), reached


def test_times_may_be_a_column_without_a_name(command: Callable[..., Outcome], small: Path) -> None:
    outcome = command("earliest-arrival", small, "--columns", "0,1", "--time", "2", "--source", "1", "--duration", "1")
    assert re.search("1 +6  vertex 0\n +2 +4.5  vertex 2\n +3 +2  vertex 3\n", outcome.out), outcome
    table = small.with_name("edges.npz")
    graph = gasla.Graph.from_edges([0, 1], [1, 2]).with_edge_attributes(day=[3, 5])
    gasla.io.write(table, graph)
    assert "3 of 3 vertices reached" in command("earliest-arrival", table, "--time", "day", "--source", 0).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--time", "leavs"], "column 'leavs' does not exist"),
        (["--time", "leaves", "--window", "7"], "--window 7: expected two numbers or dates, as in 7,20"),
        (["--time", "leaves", "--window", "2026-01-01,"], "window[0] is '2026-01-01'; expected a number"),
        (["--time", "leaves", "--window", "9,7"], "expected a start that is not after the end"),
        (["--time", "leaves", "--duration", "-1"], "duration is -1"),
        (["--time", "leaves", "--duration", "rid"], "did you mean 'ride'?"),
    ],
)
def test_wrong_times_are_refused(command: Callable[..., Outcome], buses: Path, words: list[str], said: str) -> None:
    complains(command("fastest-durations", buses, "--columns", "from,to", *words), said)


def test_any_command_may_use_the_edges_within_a_window(command: Callable[..., Outcome], buses: Path) -> None:
    options = ["--columns", "from,to", "--within", "leaves,7,8"]
    assert "edges             2\n" in command("info", buses, *options).out
    graph = gasla.io.read(buses, src="from", dst="to", attributes=["leaves"])
    target = buses.with_name("ranks.npy")
    for within, edges in (("leaves,7,8", [0, 1]), ("leaves,,8", [0, 1, 3]), ("leaves,10,", [2]), ("2,6.5,7.5", [1])):
        assert command("pagerank", buses, *options[:2], "--within", within, "--check", "-o", target).code == 0
        window = graph.select(np.isin(np.arange(4), edges))
        np.testing.assert_allclose(np.load(target), gasla.pagerank(window).ranks)
    outcome = command("earliest-arrival", buses, *options, "--time", "leaves", "--source", "Oslo", "--check")
    assert re.search("1 +8  Rome\n +2 +7  Bonn\n", outcome.out), outcome
    folder = buses.with_name("window.gasla")
    assert "4 vertices, 2 edges" in command("convert", buses, folder, *options).out
    for wrong, said in (("leaves", "expected an attribute and two"), ("leaves,7", "--within leaves: 7: expected two")):
        complains(command("info", buses, *options[:2], "--within", wrong), said)
    complains(command("info", "openflights", "--within", "time,1,2"), "--within: 'time' is no edge attribute")


DATED = "from,to,at,ride\na,b,2026-01-01 10:00,PT1H\nb,c,2026-01-01 12:30,90min\nc,d,2026-01-02 09:00,5min\n"


def test_dates_are_taken_and_printed(command: Callable[..., Outcome], tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    trips, target = tmp_path / "trips.csv", tmp_path / "answer.parquet"
    trips.write_text(DATED)
    options = [trips, "--columns", "from,to", "--time", "at", "--source", "a", "--duration", "ride", "--check"]
    arrivals = command("earliest-arrival", *options, "--window", "2026-01-01 09:00,2026-01-01 14:00", "-o", target)
    assert "check: the answer is correct" in arrivals.out, arrivals
    assert re.search("1 +2026-01-01 14:00:00  c\n +2 +2026-01-01 11:00:00  b\n", arrivals.out), arrivals
    column = pq.read_table(target)["arrival"]
    assert str(column.type) == "timestamp[ms]"
    assert column.null_count == 1
    durations = command("fastest-durations", *options, "--window", "24h", "-o", target.with_suffix(".csv"))
    assert re.search("1 +23:05:00  d\n", durations.out), durations
    assert target.with_suffix(".csv").read_text().splitlines()[4] == "3,PT83100S,d"
    assert "edges             2\n" in command("info", *options[:3], "--within", "at,2026-01-01 11:00,").out
    complains(command("info", *options[:3], "--within", "at,5,"), "window[0] is 5; expected a date")
    complains(command("info", trips, "--weight", "ride", "--within", "at,x,"), "column 'ride' holds")


@pytest.mark.thorough
def test_locations_by_names_or_attributes(command: Callable[..., Outcome], buses: Path) -> None:
    places, answer = buses.with_name("places.txt"), buses.with_name("answer.csv")
    places.write_text("city, x, y\nOslo, 1, 2\nBern, 3, 4\n")
    options = ["--columns", "from,to"]
    outcome = command("geolocate", buses, *options, "--locations", places, "--check", "-o", answer)
    assert "2 of 4 vertices have a location, and 2 others an estimated one:" in outcome.out, outcome
    assert answer.read_text().splitlines()[1] == "0,1.0,2.0,Oslo"
    places.write_text("city, x, y\nOslo, 1, 2\nBern, 3\n")
    complains(command("geolocate", buses, *options, "--locations", places), "places.txt, line 3: ")
    places.write_text("Paris 1 2\n")
    complains(command("geolocate", buses, *options, "--locations", places), "no vertex is named 'Paris'")
    np.save(buses.with_name("places.npy"), np.zeros((3, 2)))
    complains(command("geolocate", buses, *options, "--locations", buses.with_name("places.npy")), "expected (4, 2)")
    complains(command("geolocate", buses, *options, "--locations", "x,y"), "'x' is no vertex attribute")
    complains(command("geolocate", buses, *options, "--locations", "x,y,z"), "expected two vertex attributes")
    graph = gasla.Graph.from_edges([0, 1], [1, 2]).with_vertex_attributes(x=[0.0, np.nan, 4.0], y=[1.0, np.nan, 1.0])
    gasla.io.write(buses.with_name("graph.npz"), graph)
    outcome = command("geolocate", buses.with_name("graph.npz"), "--locations", "x,y", "--check")
    assert "2 of 3 vertices have a location" in outcome.out, outcome


@pytest.mark.thorough
def test_communities_of_a_file_are_scored(command: Callable[..., Outcome], small: Path) -> None:
    labels = small.with_name("labels.npy")
    assert command("louvain-communities", small, "-o", labels).code == 0
    outcome = command("modularity", small, "--labels", labels, "--check")
    score = gasla.modularity(gasla.Graph(gasla.io.read(small)), np.load(labels))
    assert outcome.out.startswith(f"{score:.6g} is the modularity"), outcome
    small.with_name("labels.txt").write_text("a\n")
    complains(command("modularity", small, "--labels", small.with_name("labels.txt")), "expected integers, one per")


def test_points_become_a_graph_of_neighbors(command: Callable[..., Outcome], tmp_path: Path) -> None:
    points, output = tmp_path / "points.txt", tmp_path / "graph.npz"
    points.write_text("0 0\n1 0\n0 2\n9 2\n")
    outcome = command("nearest-neighbors-graph", points, output, "--k", 1, "--metric", "manhattan")
    assert "4 vertices, 4 edges" in outcome.out, outcome
    np.testing.assert_array_equal(load_npz(output).toarray()[[0, 3]], [[0, 1, 0, 0], [0, 0, 9, 0]])
    np.save(tmp_path / "points.npy", np.eye(3))
    assert "3 vertices, 6" in command("nearest-neighbors-graph", tmp_path / "points.npy", output, "--k", "2").out
    complains(command("nearest-neighbors-graph", points, output), "k is 10; expected 3 at most")
    points.write_text("one two\n")
    complains(command("nearest-neighbors-graph", points, output), "expected numbers, one row per point")
    np.save(tmp_path / "points.npy", np.arange(3))
    complains(
        command("nearest-neighbors-graph", tmp_path / "points.npy", output), "int64(3,); expected numbers, one row"
    )
    complains(command("nearest-neighbors-graph", points, tmp_path / "graph.doc"), "graph.doc")


def test_a_side_is_projected_with_its_names(command: Callable[..., Outcome], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    lent, output = tmp_path / "lent.csv", tmp_path / "readers.csv"
    lent.write_text("who,book\nAnn,Emma\nBob,Emma\nBob,Dune\nCid,Dune\n")
    outcome = command("project", lent, output, "--columns", "who,book")
    assert "3 vertices, 4 edges" in outcome.out, outcome
    assert sorted(output.read_text().splitlines()[1:3]) == ['"Ann","Bob",1', '"Bob","Ann",1']
    command("project", lent, output, "--columns", "who,book", "--side", "dst")
    assert sorted(output.read_text().splitlines()[1:]) == ['"Dune","Emma",1', '"Emma","Dune",1']
    complains(command("project", lent, tmp_path / "x.mtx", "--columns", "who,book"), "can't store the names")
    complains(command("project", "openflights", tmp_path / "x.npz"), "expected a bipartite graph")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lent.csv", "readers.csv"]


# --- tables of several answers ---------------------------------------------------------------------------------------


TRIPS = "from,to,weight\nOslo,Rome,5\nRome,Bonn,3\nBonn,Oslo,1\nBonn,Bern,1\n"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_table_holds_the_answers_of_several_commands(tmp_path: Path, capsys: Any, ending: str) -> None:
    from gasla import io

    (tmp_path / "trips.csv").write_text(TRIPS)
    path = tmp_path / f"scores{ending}"
    words = ["pagerank", "core-number", "louvain", "hits", "maximal-matching"]
    assert main(["table", str(tmp_path / "trips.csv"), *words, "--output", str(path)]) == 0
    assert "4 vertices, with the columns vertex, pagerank, core_number, louvain" in capsys.readouterr().out
    read = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
    graph = io.read(tmp_path / "trips.csv")
    assert read["vertex"].tolist() == ["Oslo", "Rome", "Bonn", "Bern"]
    np.testing.assert_allclose(read["pagerank"], gasla.pagerank(graph).ranks)
    np.testing.assert_array_equal(read["core_number"], gasla.core_number(graph))
    np.testing.assert_allclose(read["hits_authority"], gasla.hits(graph).authorities)
    np.testing.assert_array_equal(read["maximal_matching"], graph.name(gasla.maximal_matching(graph)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["pagerak", "-o", "x.csv"],
            "no algorithm with a value per vertex is named 'pagerak'; did you mean",
        ),
        (["k", "-o", "x.csv"], "'k' may be k-hop-counts or k-shortest-paths or katz or k-truss or k-core; expected"),
        (["pagerank", "page", "-o", "x.csv"], "'page' may be pagerank or pagerank-nibble"),
        (["k-core", "k-core", "-o", "x.csv"], "k-core was given twice; expected each algorithm once"),
        (["count-cliques", "-o", "x.csv"], "no algorithm with a value per vertex is named 'count-cliques'"),
        (["k-core", "-o", "x.xls"], "--output is 'x.xls'; expected a file that ends in .csv, .parquet or .feather"),
        (["k-core", "-o", "none/x.csv"], "folder none does not exist"),
    ],
)
def test_a_table_refuses_what_it_cannot_make(words: list[str], message: str, capsys: Any) -> None:
    assert main(["table", "openflights", *words]) == 2
    assert message in capsys.readouterr().err


def test_names_in_options_may_be_integers(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "calls.csv").write_text("from,to\n4000000001,4000000002\n4000000002,7\n")
    assert main(["bfs", str(tmp_path / "calls.csv"), "--source", "4000000002", "--check"]) == 0
    assert main(["shortest-path", str(tmp_path / "calls.csv"), "--source", "4000000001", "--target", "7"]) == 0
    assert "from 4000000001 to 7" in capsys.readouterr().out
    assert main(["bfs", str(tmp_path / "calls.csv"), "--source", "8"]) == 2
    assert "no vertex is named 8; expected one of 3 names" in capsys.readouterr().err
