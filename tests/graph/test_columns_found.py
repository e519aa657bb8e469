"""Which columns are the ends of edges: by their titles, by what they hold, or as the caller says; else an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gasla import Graph, as_graph, io
from gasla.cli import main

pa = pytest.importorskip("pyarrow")
feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")

ENDS = [
    ("src", "dst"), ("source", "target"), ("Source ID", "Target ID"), ("from", "to"), ("FromNodeId", "ToNodeId"),
    ("u", "v"), ("i", "j"), ("subject", "object"), ("head", "tail"), ("sender", "receiver"), ("src", "dest"),
    ("SENDER_ID", "RECEIVER_ID"), (":START_ID", ":END_ID"), (":START_ID(Person)", ":END_ID(Film)"),
    ("start_node", "end_node"), ("origin", "destination"), ("caller", "callee"), ("citing", "cited"),
    ("source_name", "target_name"), ("node_from", "node_to"),
]  # fmt: skip
UNKNOWN = [
    ("a", "b"),
    ("start", "end"),
    ("tail", "head"),
    ("id1", "id2"),
    ("weight", "b"),
    ("vid", "uid"),
    ("source", "to"),
]
KINDS: dict[str, list[Any]] = {"names": [["a", "b"], ["b", "c"]], "numbers": [[5, 6], [6, 7]]}


def write_csv(table: Any, path: Path) -> None:
    rows = [table.column_names, *zip(*table.to_pydict().values())]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))


DOORS: dict[str, Callable[[Any, Path], Any]] = {
    "table": lambda table, _: Graph.from_table(table),
    "parquet": lambda table, path: parquet.write_table(table, path) or io.read(path),
    "feather": lambda table, path: feather.write_feather(table, path) or io.read(path),
    "csv": lambda table, path: write_csv(table, path) or io.read(path),
    "gasla": lambda table, path: parquet.write_table(table, path) or io.convert(path, path.with_suffix(".gasla")),
}


EACH = [door if door in ("table", "csv") else pytest.param(door, marks=pytest.mark.thorough) for door in DOORS]


def edges(graph: Graph) -> list[tuple[Any, Any]]:
    names = range(graph.n) if graph.names is None else graph.names.tolist()
    src, dst = graph.edges()
    return [(names[u], names[v]) for u, v in zip(src.tolist(), dst.tolist())]


def made(door: str, columns: dict[str, list[Any]], tmp_path: Path) -> Graph:
    suffix = "parquet" if door in ("table", "gasla") else door
    return as_graph(DOORS[door](pa.table(columns), tmp_path / f"a.{suffix}"))


@pytest.mark.parametrize("door", EACH)
@pytest.mark.parametrize("kind", KINDS)
def test_usual_titles_are_found_anywhere(tmp_path: Path, door: str, kind: str) -> None:
    one, other = KINDS[kind]
    for u, v in ENDS:
        for capital in (str, str.upper):
            for first, second in (((u, one), (v, other)), ((v, other), (u, one)))[: 1 if u == "head" else 2]:
                for date in (["2024-01-01", "2024-01-02"], ["x", "y"]):
                    columns = {"when": date, capital(first[0]): first[1], "what": date, capital(second[0]): second[1]}
                    if door != "table" and (date[0] == "x" or (door == "gasla" and capital is not str)):
                        continue  # one is enough, and a CSV file without numbers may have no header
                    if door == "csv" and kind == "names" and len(u) == 1:
                        continue  # single letters in the first line may be names
                    assert edges(made(door, columns, tmp_path)) == list(zip(one, other)), (u, v)


@pytest.mark.parametrize("door", EACH)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_no_title_tells_apart_are_asked_about(tmp_path: Path, door: str, kind: str) -> None:
    one, other = KINDS[kind]
    for u, v in UNKNOWN:
        for columns in (
            {u: one, v: other, "c": other},
            {"c": other, u: one, v: other},
            {u: one, v: other, "x": one, "y": one},
        ):
            with pytest.raises(
                ValueError, match=r"nothing says which two columns|both an end|may be a header"
            ) as error:
                made(door, columns, tmp_path)
            assert "src=0 and dst=1" not in str(error.value) and "positions 0 and 1" not in str(error.value)
            if "nothing" in str(error.value):
                assert all(f"{place} {title!r}" in str(error.value) for place, title in enumerate(columns))
    for twice in (
        {"from": one, "to": other, "source": one, "target": other},
        {"head": one, "tail": other, "u": one, "v": other},
    ):
        with pytest.raises(ValueError, match=r"more than two columns are called like ends|may be a header"):
            made(door, twice, tmp_path)


def test_two_columns_of_one_type_need_no_titles() -> None:
    for columns in ({"a": [1], "b": [2]}, {"a": ["x"], "b": ["y"]}, {"a": ["x"], "b": ["y"], "c": [True]}):
        assert Graph.from_table(pa.table(columns)).m == 1
    with pytest.raises(ValueError, match=r"column 2, 'c', holds numbers .* pass weight=2 .* src=0 and dst=1 to ignore"):
        Graph.from_table(pa.table({"a": ["x"], "b": ["y"], "c": [1]}))
    with pytest.raises(ValueError, match=r"columns 0, 'osmid', 3, 'length', hold numbers .* src=1 and dst=2 to ignore"):
        Graph.from_table(pa.table({"osmid": [12], "u": [5], "v": [6], "length": [1.5]}))
    own = {"src": [0], "dst": [1], "source": [2], "target": [3]}  # src and dst are gasla's own titles
    with pytest.raises(ValueError, match="columns 2, 'source', 3, 'target', hold numbers"):
        Graph.from_table(pa.table(own))
    assert edges(Graph.from_table(pa.table(own), attributes=["source", "target"])) == [(0, 1)]
    with pytest.raises(ValueError, match=r"2 columns are called 'weight'; .* pass weight=, a position"):
        Graph.from_table(pa.table({"src": [0], "dst": [1], "weight": [2], "Weight": [3]}))
    assert Graph.from_table(pa.table({":START_ID": [0], ":END_ID": [1], "weight:float": [2.5]})).values.tolist() == [
        2.5
    ]


TRIPLES = {"names": "a{0}likes{0}b\nb{0}hates{0}c\n", "numbers": "0{0}7{0}1\n1{0}7{0}2\n"}


@pytest.mark.parametrize(
    "suffix", ["tsv", "csv", *(pytest.param(x, marks=pytest.mark.thorough) for x in ("txt", "el"))]
)
@pytest.mark.parametrize("sign", ["\t", " ", ",", ";"])
@pytest.mark.parametrize("kind", TRIPLES)
def test_triples_are_read_by_the_positions_of_their_ends(tmp_path: Path, suffix: str, sign: str, kind: str) -> None:
    if suffix == "csv" and sign == " ":
        return
    path, text = tmp_path / f"a.{suffix}", TRIPLES[kind].format(sign)
    expected = [("a", "b"), ("b", "c")] if kind == "names" else [(0, 1), (1, 2)]
    for header in ("", sign.join(["head", "relation", "tail"]) + "\n"):
        path.write_text(header + text)
        if not header or kind == "numbers":
            assert edges(as_graph(io.read(path, src=0, dst=2))) == expected
            assert edges(io.convert(path, tmp_path / "a.gasla", src=0, dst=2)) == expected
            assert main(["convert", str(path), str(tmp_path / "b.gasla"), "--columns", "0,2"]) == 0
            assert edges(io.open(tmp_path / "b.gasla")) == expected
        if header and kind == "names":
            assert edges(as_graph(io.read(path))) == expected
        elif header:
            with pytest.raises(
                io.FormatError, match=r"column 1, 'relation', holds numbers .* src=0 and dst=2 to ignore"
            ):
                io.read(path)
    path.write_text(TRIPLES["names"].format(sign))
    with pytest.raises(io.FormatError, match="names of columns if it is a header, or two positions from 0 to 2"):
        io.read(path)


@pytest.mark.parametrize(
    ("text", "ends"), [("5,ann,bob\n6,bob,cy\n", "1,2"), ("0,1,5,x\n1,2,6,y\n", "0,1"), ("ann,is,bob,5\n", "0,2")]
)
def test_columns_without_titles_are_asked_about(tmp_path: Path, text: str, ends: str, capsys: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(io.FormatError, match="nothing says which two columns are the ends"):
        io.read(path)
    assert main(["info", str(path)]) == 2
    assert "pass --columns SRC,DST, names or positions of columns" in capsys.readouterr().err
    assert main(["info", str(path), "--columns", ends]) == 0


def test_a_first_line_with_an_empty_cell_is_no_header_for_that(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,\nb,c,5\n")
    with pytest.raises(io.FormatError, match="may be a header or an edge"):
        io.read(path)
    with pytest.raises(io.FormatError, match="line 1: column 'weight' holds ''"):
        io.read(path, src=0, dst=1)
    path.write_text(",p1,p2,score\n0,a,b,5\n")  # as pandas writes its index
    with pytest.raises(io.FormatError, match=r"nothing says which two .* there are 0 '', 1 'p1', 2 'p2', 3 'score';"):
        io.read(path)


# --- two kinds of vertices --------------------------------------------------------------------------------------------

RATINGS = {"userId": [1, 2, 3], "movieId": [1, 2, 1], "rating": [4.0, 3.5, 5.0]}
KINDS_APART = [("userId 1", "movieId 1"), ("userId 2", "movieId 2"), ("userId 3", "movieId 1")]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_ids_of_two_kinds_are_told_apart(tmp_path: Path, suffix: str, capsys: Any) -> None:
    path, asked = tmp_path / f"a.{suffix}", {"src": 0, "dst": 1, "weight": 2}
    {"csv": write_csv, "parquet": parquet.write_table, "feather": feather.write_feather}[suffix](
        pa.table(RATINGS), path
    )
    doors = [
        lambda **more: Graph.from_table(pa.table(RATINGS), **asked, **more),
        lambda **more: io.read(path, **asked, **more),
    ]
    doors.append(lambda **more: io.convert(path, tmp_path / "a.gasla", **asked, **more))
    for make in doors:
        graph = make(bipartite=True)
        assert edges(graph) == KINDS_APART and graph.values.tolist() == RATINGS["rating"]
        assert make(bipartite=False).n == 4
    for make in doors[:2]:
        with pytest.warns(UserWarning, match="ids in column 'userId' are also in column 'movieId', such as 1"):
            assert make().n == 4
    assert main(["info", str(path), "--columns", "0,1,2"]) == 0
    assert "pass --bipartite if the columns hold two kinds of vertices, else --no-bipartite" in capsys.readouterr().err
    assert main(["pagerank", str(path), "--columns", "0,1,2", "--bipartite"]) == 0
    assert "movieId 1" in capsys.readouterr().out
    with pytest.raises(ValueError, match="bipartite=True gives vertices names"):
        doors[0](bipartite=True, names=False)
    with pytest.raises(TypeError, match="bipartite is 1; expected True or False"):
        doors[1](bipartite=1)


def test_an_edge_list_of_konect_says_that_its_columns_are_two_kinds(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("% bip unweighted\n% 3 2 2\n1 1\n2 1\n1 2\n")
    expected = [("src 1", "dst 1"), ("src 2", "dst 1"), ("src 1", "dst 2")]
    assert edges(io.read(path)) == expected
    assert sorted(edges(io.convert(path, tmp_path / "a.gasla"))) == sorted(expected)
    assert io.read(path, bipartite=False).m == 3
    from gasla.graph.io.edges import read_part  # as ranks read

    with pytest.raises(io.FormatError, match=r"line 1: says that the columns hold two kinds of vertices"):
        read_part(path)


def test_messages_at_the_command_line_name_its_options(tmp_path: Path, capsys: Any) -> None:
    texts = {
        "guess.csv": "date,a,b,amount\nx,y,z,5\n", "unknown.csv": "from,to,score\n0,1,5\n",
        "two.csv": "from,to,m,k\n0,1,5,1\n",
        "header.csv": "ann,bob\nbob,cid\n", "triples.tsv": "a\tis\tb\nb\tis\tc\n", "four.txt": "0 1 2 3\n",
        "zero.csv": "src,dst\n007,1\n", "float.csv": "src,dst\n1.5,1\n", "hash.csv": "src,dst\n#5,1\n1,2\n",
        "one.csv": "0^1\n",
        "both.csv": "A;B;1,5\nC;D;2,5\n", "big.txt": "100000017 9\n", "huge.txt": "0 99999999999\n", "bad.txt": "0 x\n",
        "neg.csv": "0,-1\n", "a.gexf": "", "a.gml": "graph [ node [ id 0 ] ]",
        "weights.csv": "src,dst,weight,WEIGHT\n0,1,2,3\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        for words in (["info"], ["convert"], ["info", "--columns", "0,9"], ["info", "--weight", "x"]):
            target = [str(tmp_path / "to.gasla")] * (words[0] == "convert")
            code = main([words[0], str(tmp_path / name), *target, *words[1:]])
            said = capsys.readouterr().err.replace(str(tmp_path), "")
            assert code == 2 or name == "a.gml", said
            assert not re.search(r"\b[a-z_]+=|\bGraph\.|gasla\.io|True|False", said), said


@pytest.mark.parametrize("ends", ["protein1\tprotein2\tscore\n", "src\tdst\tweight\n"])
def test_benchmarks_read_files_first_and_ignore_further_columns(tmp_path: Path, ends: str, capsys: Any) -> None:
    path = tmp_path / "ppi.tsv"
    path.write_text(ends + "".join(f"A{i}\tA{i + 1}\t{i}\n" for i in range(20)))
    from gasla.bench.graphs import load

    assert load(str(path)).graph.m == 40
    (tmp_path / "bad.csv").write_text("a,b,c\n1,2,3\n")
    assert main(["bench", "--graphs", f"grid4,{tmp_path / 'bad.csv'}", "--algorithms", "bfs"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "pass --columns SRC,DST" in said.err and "gasla convert" in said.err
