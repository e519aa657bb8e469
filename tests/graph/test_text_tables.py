"""Text in columns of any kind: separators, headers, names and comments in CSV files and edge lists; bad rows."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gasla import Graph, io
from gasla.cli import main

pa = pytest.importorskip("pyarrow")

SIGNS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "spaces": "  "}
ROWS = {"names": [("ann", "bob", "1.5"), ("bob", "cid", "2.5")], "numbers": [("0", "1", "1.5"), ("1", "2", "2.5")]}


def edges(found: Any) -> list[tuple[Any, Any, float]]:
    graph = Graph(found)
    src, dst = graph.edges()
    each = range(graph.n) if graph.names is None else graph.names.tolist()
    return [(each[u], each[v], float(w)) for u, v, w in zip(src, dst, graph.values)]


@pytest.mark.parametrize(
    ("suffix", "sign", "ids", "has_header", "comment"),
    [
        (*case, comment)
        for case, comment in zip(
            itertools.product([".csv", ".txt", ".tsv"], SIGNS, ROWS, [True, False]), itertools.cycle(["", "#", "%"])
        )
        if case[:2] != (".csv", "spaces")
    ],
)
def test_any_text_is_read(tmp_path, suffix: str, sign: str, ids: str, has_header: bool, comment: str) -> None:
    rows = [("src", "dst", "weight")] * has_header + ROWS[ids]
    text = "".join(SIGNS[sign].join(row) + "\n" for row in rows)
    if comment:
        text = f"{comment} from a; b, c | d\n{comment}\n{text}" + f"{comment} the end\n" * (suffix != ".csv")
    path = tmp_path / f"edges{suffix}"
    path.write_text(text)
    expected = [tuple(map(int, row[:2])) if ids == "numbers" else row[:2] for row in ROWS[ids]]
    assert edges(io.read(path)) == [(*ends, float(row[2])) for ends, row in zip(expected, ROWS[ids])]


@pytest.mark.parametrize(
    ("name", "text", "arguments", "message"),
    [
        ("a.csv", "A;B;1,5\nC;D;2,5\n", {}, r"line 1: 'A;B;1,5' contains both .* pass separator=',' or separator=';'"),
        ("a.csv", "A;B;1,5\nC;D;2,5\n", {"separator": ";", "src": 0, "dst": 1, "weight": 2}, "line 1: .* holds '1,5'"),
        ("a.txt", "ann bob\n", {}, r"'ann bob' may be a header or an edge; pass src= and dst="),
        ("a.csv", "# x\nann;bob\n", {}, r"line 2: 'ann;bob' may be a header or an edge; pass src= and dst="),
        ("a.csv", "0,1\n# by me, today\n1,2\n", {}, r"holds numbers and '# by me'; pass names=True .* comment"),
        ("a.csv", "\ufeff0,1\n", {"encoding": "utf-16-le"}, "line 1: the file looks like UTF-16"),
        ("a.txt", "#\n\ufeffa b 2\na b 3\n", {"encoding": "utf-8"}, "line 2: the line begins with a byte order mark"),
        ("a.txt", "0 1 1,5\n1 2 2,5\n", {}, r"line 1: weight '1,5'; expected a number, with a point"),
        ("a.txt", "9223372036854775808 1\n", {}, r"line 1: vertex '9223372036854775808'; .* pass names=True if ids"),
        ("a.csv", "source,target\na,b\n\xe9,b\n", {"encoding": "latin-1"}, "line 3: .* expected a name, in UTF-8"),
        ("a.txt", "0 1 2 3\n", {}, r"4 columns; .* pass src=, dst= and weight=.* separator="),
    ],
)
def test_what_a_text_leaves_open_is_asked_about(tmp_path, name: str, text: str, arguments: dict, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, arguments.pop("encoding", None))
    with pytest.raises(io.FormatError, match=message):
        io.read(path, **arguments)


@pytest.mark.parametrize("separator", ["", ";;", 1, "\n", '"', "é"])
def test_separators_are_one_character(tmp_path, separator: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1\n")
    with pytest.raises(ValueError, match=r"separator is .*; expected one character"):
        io.read(path, separator=separator)


def test_a_space_after_each_separator_belongs_to_no_name(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("src, dst, weight\nann, bob, 3\nbob, ann, 4\n")
    assert edges(io.read(path)) == [("ann", "bob", 3), ("bob", "ann", 4)]


@pytest.mark.parametrize("pad", [" {}", "{} ", " {} "])
@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_spaces_beside_each_separator_belong_to_no_name(tmp_path, pad: str, sign: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    between = pad.format(sign)
    rows = [("id", "source", "target", "weight"), ("x", "ann", "bob", "3"), ("y", "bob", "ann", "4")]
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    assert edges(io.read(path)) == [("ann", "bob", 3), ("bob", "ann", 4)]
    path.write_text(f"ann{between}bob\nbob{between}ann\n")
    assert Graph(io.read(path, src=0, dst=1)).names.tolist() == ["ann", "bob"]


def test_names_in_quotes_between_spaces(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('source target weight\n"New York"  Oslo 3\n Oslo\t"Rome" 4\n  \n')
    assert edges(io.read(path)) == [("New York", "Oslo", 3), ("Oslo", "Rome", 4)]


def test_lines_of_spaces_are_empty(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("src;dst;weight\n  \n0;1;3\n \n1;0;4\n")
    assert edges(io.read(path)) == [(0, 1, 3), (1, 0, 4)]


def test_an_unknown_suffix_is_an_error_that_lists_the_formats(tmp_path) -> None:
    with pytest.raises(
        ValueError, match=r"unknown file name suffix; expected one of \.mtx, .*\.parquet.*format= one of"
    ):
        io.read(tmp_path / "a.xyz")


def test_columns_of_an_edge_list_are_chosen(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("0 5 1 9\n1 6 2 8\n")
    assert edges(io.read(path, src=0, dst=2, weight=1)) == [(0, 1, 5), (1, 2, 6)]
    assert io.read(path, src=0, dst=2, weight=1, names=True).names.tolist() == ["0", "1", "2"]
    path.write_text("7 9\n9 7\n")
    assert Graph(io.read(path, names=True)).names.tolist() == ["7", "9"]


BAD = {
    "columns": ("{0}", "1 columns|2 columns; expected 3"),
    "weight": ("{0}{s}{1}{s}much", "expected a number"),
    "id": ("{0}{s}-1{s}2", "expected a whole number from 0"),
    "empty": ("{0}{s}{1}{s}", "expected a number|2 columns"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize(("suffix", "sign"), [(".csv", ","), (".csv", ";"), (".txt", " "), (".txt", ",")])
@pytest.mark.parametrize("has_header", [True, False])
def test_bad_rows_have_their_line_and_may_be_skipped(tmp_path, kind: str, suffix, sign, has_header: bool) -> None:
    lines = [f"src{sign}dst{sign}weight"] * has_header + [f"{v}{sign}{v + 1}{sign}2" for v in range(6)]
    bad = BAD[kind][0].format(3, 4, s=sign)
    at = [3, 5]
    for line in at:
        lines.insert(line, bad)
    path = tmp_path / f"a{suffix}"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(io.FormatError, match=BAD[kind][1]) as caught:
        io.read(path)
    assert caught.value.line == 4
    with pytest.warns(UserWarning, match=r"2 bad rows are skipped, the first in line 4: "):
        found = io.read(path, on_bad_rows="skip")
    assert edges(found) == [(v, v + 1, 2) for v in range(6)]


def test_the_first_bad_row_is_named_whatever_is_wrong_with_it(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("src,dst,weight\n0,1,1.5\n1,x,2\n2,0,y\n3,1\n")
    with pytest.warns(UserWarning, match=r"3 bad rows are skipped, the first in line 3: column 'dst' holds 'x'"):
        assert edges(io.read(path, on_bad_rows="skip")) == [(0, 1, 1.5)]


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
@pytest.mark.parametrize("names", [None, False])
def test_spaces_around_an_id_do_not_make_a_row_bad(tmp_path, suffix: str, names: bool | None) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text(" 0,1,1\n1,2\t ,2\n-1,2,3\n2, 3,4\n")
    with pytest.raises(io.FormatError, match="column 'src' holds '-1'") as caught:
        io.read(path, names=names)
    assert caught.value.line == 3
    with pytest.warns(UserWarning, match="1 bad row is skipped, the first in line 3"):
        assert edges(io.read(path, names=names, on_bad_rows="skip")) == [(0, 1, 1), (1, 2, 2), (2, 3, 4)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize(
    "text",
    [
        "from,to\n a ,b\na,c\n",
        "from, to\n a ,b\na,c\n",
        "from, to\na, b\na ,c\n",
        "from,to\t\na ,b\na,\tc\n",
        "from,to,weight\na, b,1\na,c,2\n",
        '"from ","to"\n"a "," b"\na,c\n',
    ],
)
def test_blanks_around_names_and_titles_never_count(tmp_path, text: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_text(text)
    for options in ({}, {"names": True}, {"src": "from", "dst": "to"}):
        found = io.read(path, separator=",", **options)
        assert [found.names[end].tolist() for end in found.edges()] == [["a", "a"], ["b", "c"]]
    towns = tmp_path / "towns.csv"
    towns.write_text("name ,size\nc,1\n b,2\na\t,3\n")
    assert io.read(path, separator=",", vertices=towns).names.tolist() == ["c", "b", "a"]


def test_a_name_of_blanks_is_none_and_csv_holds_no_outer_blanks(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("from,to\na,b\nb,  \n")
    with pytest.raises(io.FormatError, match="line 3: column 'to' holds '  '; expected a name"):
        io.read(path)
    graph = Graph.from_table(pa.table({"from": ["a"], "to": ["b "]}))
    with pytest.raises(ValueError, match=r"the name of vertex 1 begins or ends with a blank, .* write \.parquet"):
        io.write(path, graph)


def test_good_rows_are_read_without_a_word(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("0,1\n1,2\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert io.read(path, on_bad_rows="skip").m == 2
    with pytest.raises(ValueError, match="on_bad_rows is 'ignore'; expected 'error' or 'skip'"):
        io.read(path, on_bad_rows="ignore")


def test_an_edge_list_that_promises_edges_counts_skipped_rows(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("# Nodes: 9 Edges: 3\n0 1\n1 x\n1 2\n")
    with pytest.warns(UserWarning, match="1 bad row is skipped, the first in line 3"):
        assert io.read(path, on_bad_rows="skip").n == 9
    path.write_text("# Nodes: 9 Edges: 4\n0 1\n1 x\n1 2\n")
    with pytest.warns(UserWarning, match="1 bad row"), pytest.raises(io.FormatError, match="the header says 4 edges"):
        io.read(path, on_bad_rows="skip")


# --- ids that look like names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".parquet", ".feather"])
def test_few_edges_of_large_ids_are_asked_about(tmp_path, suffix: str) -> None:
    path, table = tmp_path / f"a{suffix}", pa.table({"src": [100_000_017], "dst": [99_999_999]})
    if suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, path)
    elif suffix == ".feather":
        import pyarrow.feather

        pyarrow.feather.write_feather(table, path)
    else:
        path.write_text("100000017,99999999\n" if suffix == ".csv" else "100000017 99999999\n")
    message = r"ids go up to 100,000,017, and there is one edge; pass names=True .* or names=False for 100,000,018"
    with pytest.raises(ValueError, match=message):
        io.read(path)
    if suffix == ".csv":
        with pytest.raises(ValueError, match=message):
            Graph.from_table(table)
        assert main(["info", str(path)]) == 2
        assert main(["info", str(path), "--vertices", "names"]) == 0
    assert Graph(io.read(path, names=True)).n == 2


@pytest.mark.parametrize("make", [Graph.from_edges, lambda src, dst, **n: Graph.from_edge_index([src, dst], **n)])
def test_arrays_of_few_edges_with_large_ids_need_n(make: Callable[..., Graph]) -> None:
    src, dst = [20_000_017], [19_999_999]
    with pytest.raises(ValueError, match=r"ids go up to 20,000,017, .*names=True.*; else n=20000018 for 20,000,018"):
        make(src, dst)
    import pyarrow

    named = Graph.from_table(pyarrow.table({"src": src, "dst": dst}), names=True)  # as the error says
    assert named.n == 2 and named.edges()[0].tolist() == [0]
    assert make(src, dst, n=20_000_018).n == 20_000_018


def test_vertices_without_edges_up_to_a_number_are_no_names() -> None:
    most = 1 << 24
    assert Graph.from_edges([0], [most - 1]).n == most
    with pytest.raises(ValueError, match="ids go up to 16,777,216, and there are 3 edges"):
        Graph.from_edges([0, 1, 2], [most, 0, 1])
    many = np.arange(1 + most // 32)
    assert Graph.from_edges(many, many[::-1] + (most - many[-1])).n == most + 1


@pytest.mark.thorough  # graphs of eleven million vertices
@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
def test_vertices_without_edges_are_no_names(tmp_path, suffix: str) -> None:
    n = 11_000_000
    io.write(tmp_path / f"a{suffix}", Graph.from_edges([0], [n - 1], n=n))
    assert Graph(io.read(tmp_path / f"a{suffix}")).n == n
    (tmp_path / "b.txt").write_text(f"0 {n - 1}\n")
    assert Graph(io.read(tmp_path / "b.txt", names=False)).n == n


# --- too little memory ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.parquet", "a.npz", "a.mtx"])
@pytest.mark.parametrize("said", ["", "Unable to allocate 7.45 GiB for an array", "malloc of size 640 failed"])
def test_too_little_memory_is_a_memory_error_with_both_numbers(tmp_path, monkeypatch, name: str, said: str) -> None:
    path = tmp_path / name
    io.write(path, Graph.from_edges([0, 1], [1, 0]))

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError(said)

    for target in ("edges.read_table", "files.read_table", "npz.np.load", "edge_tables.Graph.from_table"):
        monkeypatch.setattr(f"gasla.graph.io.{target}", fail)
    monkeypatch.setattr("gasla.cpu.runtime.memory.available", lambda: 123_456)
    with pytest.raises(MemoryError, match=r"not enough memory: .*[0-9].*, and 123,456 bytes are available") as caught:
        io.read(path)
    assert isinstance(caught.value, io.FormatError) and said in str(caught.value)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are Linux's")
def test_a_limit_of_the_process_counts(tmp_path: Path) -> None:
    code = (
        "import resource; from gasla.cpu.runtime.memory import available as p; before = p();"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9,) * 2); print(0 < p() < 2 * 10**9 < before or before)"
    )
    import resource  # Windows lacks it

    assert resource.RLIM_INFINITY in resource.getrlimit(resource.RLIMIT_AS)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() != "False"


def test_the_command_line_takes_separators_and_skips_bad_rows(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out.npz"
    path.write_text("0^1\n1^2\n2\n")
    assert main(["convert", str(path), str(out), "--separator", "^", "--on-bad-rows", "skip"]) == 0
    assert "1 bad row is skipped" in capsys.readouterr().err
    assert io.read(out).n == 3
    np.testing.assert_array_equal(io.read(out).out.indices, [1, 2])
    path.write_text("0\tx\n")
    assert main(["info", str(path), "--separator", "tab", "--columns", "0,1", "--vertices", "names"]) == 0


@pytest.mark.parametrize(
    ("dates", "line", "words"),
    [
        (["03.04.2026", "04.04.2026"], 2, r"'03\.04\.2026'; expected a number, or a date by ISO 8601, .*dayfirst="),
        (["03/04/2026", "04/04/2026"], 2, "a date by ISO 8601, such as 2026-04-03; pandas.read_csv reads other"),
        (["2026-04-03", ""], 3, "column 'at' holds ''; expected a date, as in the first row"),
        (["", "2026-04-03"], 2, "column 'at' holds ''; expected a number, a date or a time in each row"),
        (["2026-04-03T12:00", "2026-04-03T12:00+02:00"], None, "of which only some have a zone; .*pandas.to_datetime"),
    ],
)
def test_dates_that_are_none_are_named(tmp_path, dates: list[str], line: int | None, words: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("from,to,at\n" + "".join(f"a,b,{each}\n" for each in dates))
    with pytest.raises(io.FormatError, match=words) as caught:
        io.read(path, attributes=["at"])
    assert caught.value.line == line
    if line == 3:
        with pytest.warns(UserWarning, match="1 bad row is skipped"):
            assert io.read(path, attributes=["at"], on_bad_rows="skip").m == 1
