"""The laws of `laws.py` hold: a few on NumPy's engine in every run, all of them compiled, many by name."""

import inspect
import os
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csgraph as scipy_csgraph
from scipy.sparse import csr_array

import gasla
from gasla import cli, engines
from gasla.cli.verbs import ALGORITHMS as VERBS
from gasla.cpu.runtime.workers import MOST
from gasla.csgraph import passthrough
from gasla.rows import rows
from tests.helpers import ROOT
from tests.helpers.csgraph_cases import matrix, ours
from tests.helpers.law import COLUMNS, Row
from tests.helpers.law_trials import Tally, try_row
from tests.helpers.laws import ROWS, page
from tests.networkx import test_backend as door

__all__ = ["ours"]  # a fixture

# NetworkX's functions without a row are compared with NetworkX here.
COMPARED = [Path(__file__).parents[1] / "networkx" / name for name in ("test_backend.py", "test_families.py")]
MANY = int(os.environ.get("GASLA_LAWS", "20"))
FIRST = int(os.environ.get("GASLA_SEED", "0"))  # other graphs for another one
# No functions of one graph, or without an answer that a law could be about.
WITHOUT = {
    "as_graph": "the graph itself",
    "loader": "samples that `sample_neighbors` draws",
    "explain source": "a text",
    "workspace": "the engine's own memory",
    "reduce_by_key": "takes keys, no graph",
    "k_nearest_neighbors": "takes points, no graph",
    "nearest_neighbors_graph": "takes points, no graph",
    "walk_pairs": "takes walks, no graph",
    "networkx_report": "takes no graph",
    "ranking_metrics": "takes a ranking",
    "compare_partitions": "takes partitions, no graph",
    "table": "another form of answers",
    "draw": "a picture",
    "vertex edge parameter option aggregate": "declare fields",
    "set_num_threads get_num_threads warm": "of no graph",
}
NOT_MADE = {
    "on_one_device",
    "called",
    "explain_call",
    "sharers",
    "require_whole",
    "map_shares",
    "sum_shares",
    "placed",
    "kept",
    "known",
    "forget",
    "ends_since",
    "notice_values",
    "named",
    "name",
    "vertex",
    "to_igraph",
    "to_networkx",
    "to_edge_index",
    "to_scipy",
    "to_tables",
    "edges",
    "neighbors",
    "has_edge",
    "edge_ids",
}


def names(of: Callable[[Row], str]) -> set[str]:
    return {name for row in ROWS for name in of(row).split()}


def test_every_function_has_a_row() -> None:
    rows = names(lambda row: row.function)
    without = {name for some in WITHOUT for name in some.split()}
    functions = {name for name in gasla.__all__ if inspect.isfunction(getattr(gasla, name))}
    assert functions - without == {name for name in rows if "." not in name}
    methods = {
        name
        for name, kind in inspect.getmembers(gasla.Graph)
        if not name.startswith("_") and (inspect.isfunction(kind) or inspect.ismethod(kind))
    }
    assert {f"Graph.{name}" for name in methods - NOT_MADE} == {name for name in rows if "." in name}


def test_every_function_of_other_doors_has_a_row() -> None:
    from gasla.backends.networkx_info import NAMES

    assert {row.function.__name__ for row in rows() if row.commands} <= names(lambda row: row.function)
    in_rows = names(lambda row: row.networkx)
    own_tests = {"attribute_assortativity_coefficient"}  # compared by NetworkX's own tests alone
    compared = {word for path in COMPARED for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert in_rows <= set(NAMES) and set(NAMES) - in_rows - own_tests <= compared
    own = {name for name in gasla.csgraph.__all__ if name[0].islower() and not hasattr(passthrough, name)}
    assert own - {"laplacian"} == names(lambda row: row.csgraph)


def test_the_page_shows_the_table() -> None:
    """Where Sphinx reads it."""
    text = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    lines = [line for line in page(text).splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS) and "| `bfs` | an edge | same | same | same |  |" in lines
    assert "- `core_number`: NetworkX `core_number`; command line `core-number`" in page(text)


PAGES = ROOT / "docs" / "algorithms.md"
SAID = {  # of a stored zero, by the law
    "an edge": r"\ban edge\b",
    "no edge": r"\bno edge\b",
    "an edge of weight 0": r"\bof (weight|length|capacity) 0\b",
    "an edge of weight 0: verified": r"\bof (weight|length) 0\b|\bno edge\b",
    "an error": r"\ban error\b",
}


def test_the_page_of_each_function_says_what_a_stored_zero_is() -> None:
    sections = re.findall(r"^### (.*)\n\n- \*Stored zero\*: (.*(?:\n  .*)*)", PAGES.read_text(encoding="utf-8"), re.M)
    said = {name: text for names, text in sections for name in re.findall(r"`(\w+)`", names)}
    for row in ROWS:
        text = said.get(row.function, "")
        if other := re.match(r"as for `(\w+)`", text):
            text += said[other[1]]
        assert row.function not in said or re.search(SAID[row.zeros.words], text), (row.name, row.zeros.words, text)
    assert len(said) > 70


def holds(row: Row, seeds: range, columns: list[str], engine: str, most: int = 1000) -> None:
    tally = Tally()
    for seed in seeds:
        try_row(row, seed, columns, tally, engine, most)
    assert not tally.found, "\n".join(map(str, tally.found))
    assert tally.answers or len(seeds) == 1, "every call was refused"  # a call that is wrongly written obeys all laws


# Walks, products and some primitives are compiled whatever the engine.
COMPILE = {
    "random_walks", "node2vec_walks", "square_clustering", "project", "mxm", "mxv", "vxm", "top_k_similar",
    "connected_components", "aggregate_features",
}  # fmt: skip


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(k, id=row.name, marks=[pytest.mark.thorough] if k % 3 or row.function in COMPILE else [])
        for k, row in enumerate(ROWS)
    ],
)
def test_some_laws_hold(number: int) -> None:
    """Two changes of one graph a row; the next row has others."""
    columns = ["order", "zeros", "isolated", "nan", "split", "forms", "renamed"]
    holds(ROWS[number], range(1), [columns[number % 7], columns[(number + 2) % 7]], "numpy", most=1)


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_laws_hold_compiled(row: Row) -> None:
    holds(row, range(1, 3), [column for column in COLUMNS if column not in ("scaled", "types")], "compiled")


LONG_IN_NUMPY = {"layout"}  # seconds a call, compiled milliseconds


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_laws_hold_for_weights_of_any_size_and_type(row: Row) -> None:
    holds(row, range(3, 5), ["scaled", "types"], "compiled" if row.function in LONG_IN_NUMPY else "numpy")


@pytest.mark.thorough
@pytest.mark.parametrize("row", [row for row in ROWS if row.ranks], ids=lambda row: row.name)
@pytest.mark.parametrize("ranks", [1, 3])
def test_laws_hold_over_ranks(row: Row, ranks: int) -> None:
    holds(row, range(1), ["engines", "renamed", "isolated"], f"ranks{ranks}", most=1)


@pytest.mark.thorough
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_laws_hold_on_several_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iteration is shared out, even on these graphs; 8 threads where GASLA_NUM_THREADS says 8."""
    monkeypatch.setattr("gasla.cpu.program.workspace.SMALL", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.THIN", 0)
    monkeypatch.setattr("gasla.cpu.program.prepared.LARGE", 0)
    before = gasla.get_num_threads()
    gasla.set_num_threads(min(threads, MOST))
    try:
        for row in ROWS:
            holds(row, range(2), ["engines"], "compiled")
    finally:
        gasla.set_num_threads(before)


@pytest.mark.gpu
@pytest.mark.parametrize("row", [row for row in ROWS if row.gpu], ids=lambda row: row.name)
def test_laws_hold_on_a_gpu(row: Row) -> None:
    holds(row, range(2), [column for column in COLUMNS if column not in ("scaled", "types", "forms")], "gpu", most=1)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["small", "bytes", "words", "wide"])
@pytest.mark.parametrize("engine", ["numpy", "compiled", "ranks2"])
def test_many_laws_hold(engine: str, weights: str, capsys: pytest.CaptureFixture[str]) -> None:
    """So many graphs a row as GASLA_LAWS says, each changed in every way."""
    tally = Tally()
    for row in ROWS:
        if row.ranks or not engine.startswith("ranks"):
            for seed in range(FIRST, FIRST + MANY):
                try_row(row, seed, list(COLUMNS), tally, engine, weights=weights)
    with capsys.disabled():
        print(f"\n{engine}, weights {weights}: {tally}")
    assert not tally.found, "\n".join(map(str, tally.found))


# --- other doors ------------------------------------------------------------------------------------------------------


def changed_graphs(G: Any, seed: int) -> Iterator[Any]:
    """The same nodes and edges: renamed, listed in another order, with lengths times a power of two, beside others."""
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(len(G))]
    rng.shuffle(names)
    yield nx.relabel_nodes(G, dict(zip(G, names)))
    nodes, edges = list(G), list(G.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(edges)
    other = type(G)()
    other.add_nodes_from(nodes)
    other.add_edges_from(edges)
    yield other
    beside = G.copy()
    beside.add_nodes_from(["alone", "too"])
    yield beside
    if G.is_multigraph() and edges:
        more = G.copy()
        u, v, data = rng.choice(edges)
        more.add_edge(u, v, **data)
        yield more
    for exponent in (-300, 300):
        scaled = G.copy()
        for *_, data in scaled.edges(data=True):
            if "weight" in data:
                data["weight"] = float(data["weight"]) * 2.0**exponent
        yield scaled


def by_networkx(seeds: range, calls: Callable[[Any, int], list[bool]]) -> int:
    """How many calls through NetworkX's door agree with NetworkX's own, which obeys the laws."""
    count = 0
    for seed in seeds:
        weights = (None, "int", "float")[seed % 3]
        G = door.drawn(door.KINDS[seed % 4], seed, names=seed % 2 == 0, weights=weights, dag=seed % 5 == 0)
        for changed in changed_graphs(G, seed):
            with engines.interpreted(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                count += sum(calls(changed, seed))
    return count


@pytest.mark.thorough
def test_some_laws_hold_at_networkxs_door() -> None:
    assert by_networkx(range(2), door.light_calls) > 100


@pytest.mark.thorough
def test_laws_hold_at_networkxs_door() -> None:
    assert by_networkx(range(8), door.all_calls) > 1000


@pytest.mark.slow
def test_many_laws_hold_at_networkxs_door(capsys: pytest.CaptureFixture[str]) -> None:
    calls = by_networkx(range(100, 100 + MANY), door.all_calls) + by_networkx(range(MANY), door.light_calls)
    with capsys.disabled():
        print(f"\nNetworkX's door: {calls} calls taken")


def by_csgraph(seeds: range) -> int:
    """How many calls of csgraph agree with SciPy's own on the same matrix in several forms."""
    count = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        plain = matrix(8, 20, seed)
        plain.sum_duplicates()  # SciPy's searches take the last of parallel entries, or any
        for exponent in (-900, -60, 0, 60, 900):
            A = plain.copy()
            A.data *= 2.0**exponent
            p = rng.permutation(8)
            for B in (A, A.tocsc(), A.tocoo(), csr_array(A[p][:, p]), A.toarray()):
                if exponent < 0 and isinstance(B, np.ndarray):
                    continue  # SciPy takes no entry of a dense matrix below 1e-8 for an edge
                theirs = B if isinstance(B, np.ndarray) else csr_array(B)
                for name in ("dijkstra", "bellman_ford", "shortest_path"):
                    found = getattr(gasla.csgraph, name)(B, indices=[0, 3])
                    np.testing.assert_allclose(found, getattr(scipy_csgraph, name)(theirs, indices=[0, 3]), rtol=1e-12)
                found, expected = gasla.csgraph.connected_components(B), scipy_csgraph.connected_components(theirs)
                assert found[0] == expected[0]
                total = gasla.csgraph.minimum_spanning_tree(theirs + theirs.T).sum()
                np.testing.assert_allclose(total, scipy_csgraph.minimum_spanning_tree(theirs + theirs.T).sum())
                count += 5
    return count


@pytest.mark.thorough
@pytest.mark.usefixtures("ours")
def test_some_laws_hold_at_scipys_door() -> None:
    with engines.interpreted():
        assert by_csgraph(range(1)) == 115


@pytest.mark.slow
@pytest.mark.usefixtures("ours")
def test_many_laws_hold_at_scipys_door(capsys: pytest.CaptureFixture[str]) -> None:
    with engines.interpreted():
        calls = by_csgraph(range(MANY))
    with capsys.disabled():
        print(f"\nSciPy's door: {calls} calls")


FORMATS = ("mtx", "txt", "gr", "csv", "parquet")
ACYCLIC = ("topological-order", "longest-path", "transitive-reduction")
# Most formats hold no attributes of edges.
WITHOUT_TIMES = [verb for verb in VERBS if not {"time", "departure"} & verb.parameters.keys()]


def options_of(verb: str, folder: Path) -> list[str]:
    """Options without which a verb has no answer; vertices have labels and locations."""
    (folder / "labels.txt").write_text("0 0 0 1 1 1 2 2 2".replace(" ", "\n"))
    (folder / "places.txt").write_text("\n".join(f"{v} {v % 2} {v % 3}" for v in range(9)))
    labels, places = str(folder / "labels.txt"), str(folder / "places.txt")
    needed = {"katz": ["--alpha", "0.001"], "geolocate": ["--locations", places]}
    needed |= {key: ["--labels", labels] for key in ("modularity", "partition-quality", "partition-table")}
    return needed.get(verb, [])


def said(verb: str, path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    """What a verb prints of a file, and the arrays that it saves."""
    saves = next(v for v in VERBS if v.name == verb).answers
    target = path.with_name("answer.npz")
    output = ["-o", str(target)] if saves else []
    options = options_of(verb, path.parent)
    with nullcontext() if verb in LONG_IN_NUMPY else engines.interpreted():
        code = cli.main([verb, str(path), *options, *output])
    printed = capsys.readouterr()
    assert code == 0, (verb, path.name, printed.err)
    lines = [line for line in printed.out.splitlines() if path.name not in line and "answer" not in line]
    arrays = dict(np.load(target)) if saves else {}
    return "\n".join(lines), arrays


def check_verb(
    verb: str, folder: Path, formats: Sequence[str], capsys: pytest.CaptureFixture[str], seed: int = 0
) -> None:
    """A verb says the same of the same graph in any file."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 9, (9, 9)) * (rng.random((9, 9)) < 0.3)
    dense[0, 1] = dense[7, 8] = 1
    if verb in ACYCLIC:
        dense = np.triu(dense, 1)
    if "bipartite" in verb:
        dense[4:], dense[:, :4], dense[0, 8] = 0, 0, 1
    found = []
    for suffix in ("npz", *formats):
        path = folder / f"graph.{suffix}"
        gasla.io.write(path, csr_array(dense))
        found.append(said(verb, path, capsys))
    (words, arrays), *others = found
    for suffix, (other_words, other) in zip(formats, others):
        assert other_words == words, (verb, suffix)
        assert other.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(other[name], array, err_msg=f"{verb} {suffix} {name}")


FEW = range(0, len(WITHOUT_TIMES), 10)  # a verb compiles what it calls; all of them are tried by the thorough tests


@pytest.mark.parametrize("number", FEW, ids=[WITHOUT_TIMES[number].name for number in FEW])
def test_a_verb_says_the_same_of_any_file(number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_verb(WITHOUT_TIMES[number].name, tmp_path, [FORMATS[number % len(FORMATS)]], capsys)


@pytest.mark.thorough
@pytest.mark.parametrize("verb", [verb.name for verb in WITHOUT_TIMES])
def test_a_verb_says_the_same_of_all_files(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(1, 3):
        check_verb(verb, tmp_path, FORMATS, capsys, seed)
