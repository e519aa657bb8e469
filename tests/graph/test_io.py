"""Files: what is written reads back, whatever the format; what is malformed is refused with its line."""

import bz2
import codecs
import gzip
import itertools
import lzma
import os
import re
import stat
import threading

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gasla import Graph, datasets, io
from gasla.graph.io import FormatError

EDGE_LISTS = [".txt", ".el", ".wel", ".tsv"]
DIRECTED = [".mtx", *EDGE_LISTS, ".gr", ".npz"]


def entries(A):
    """All stored entries by row, column and value, parallel edges included."""
    coo = A.tocoo()
    return sorted(zip(coo.coords[0].tolist(), coo.coords[1].tolist(), coo.data.tolist()))


def matrix(path, **options):
    """The matrix of the graph in a file."""
    return io.read(path, **options).to_scipy()


def edges_of(graph):
    src = np.repeat(np.arange(graph.n), np.diff(graph.out.indptr))
    values = np.ones(graph.m) if graph.values is None else graph.out_values
    return sorted(zip(src.tolist(), graph.out.indices.tolist(), values.tolist()))


@st.composite
def graphs(draw, undirected=False):
    """Small graphs with self loops, parallel edges, stored zeros, isolated vertices and values of many types."""
    n = draw(st.integers(0, 9))
    ids = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=20)) if n else []
    if undirected:
        pairs = [(u, v) for u, v in pairs if u != v]
    m = len(pairs)
    dtype = draw(st.sampled_from(["int8", "uint16", "int32", "int64", "float32", "float64", "bool", None]))
    if undirected:
        dtype = draw(st.sampled_from(["int16", "float64", None]))
    if dtype is None:
        values = None
    elif dtype == "bool":
        values = np.array(draw(st.lists(st.booleans(), min_size=m, max_size=m)), bool)
    elif dtype.startswith("f") and not undirected:
        numbers = st.floats(width=int(dtype[5:]), allow_nan=False, allow_infinity=False)
        values = np.array(draw(st.lists(numbers, min_size=m, max_size=m)), dtype)
    else:
        low = 0 if dtype.startswith("u") else -100
        values = np.array(draw(st.lists(st.integers(low, 100), min_size=m, max_size=m)), dtype)
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    if undirected:
        both = None if values is None else np.concatenate([values, values])
        return Graph.from_edges(np.concatenate([src, dst]), np.concatenate([dst, src]), both, n=n)
    return Graph.from_edges(src, dst, values, n=n)


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", DIRECTED)
@given(graph=graphs())
def test_written_files_read_back(tmp_path_factory, suffix, graph):
    path = tmp_path_factory.mktemp("io") / f"graph{suffix}"
    io.write(path, graph)
    A = matrix(path)
    assert A.format == "csr" and A.shape == (graph.n, graph.n)
    assert A.indptr.dtype == A.indices.dtype == np.dtype(np.int32)  # half the bytes of what NumPy reads numbers as
    assert entries(A) == edges_of(graph)
    if suffix != ".npz":
        assert all((np.diff(row) >= 0).all() for row in np.split(A.indices, A.indptr[1:-1]))


@given(graph=graphs(undirected=True))
def test_written_metis_files_read_back(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("io") / "graph.metis"
    if not graph.has_symmetric_values:  # parallel edges whose weights differ may be listed in two orders
        with pytest.raises(ValueError, match="METIS files cannot hold them"):
            io.write(path, graph)
        return
    io.write(path, graph)
    assert entries(matrix(path)) == edges_of(graph)


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("suffix", [*DIRECTED, ".graph"])
def test_compressed_files_read_back(tmp_path, suffix, compression):
    A = datasets.grid(6)
    path = tmp_path / f"a{suffix}{compression}"
    io.write(path, A)
    assert {".gz": gzip, ".bz2": bz2, ".xz": lzma}[compression].open(path).read()  # really compressed
    assert entries(matrix(path)) == entries(A)


def test_explicit_format_and_capital_letters(tmp_path):
    A = datasets.grid(4)
    io.write(tmp_path / "graph.dat", A, format="gr")
    assert entries(matrix(tmp_path / "graph.dat", format="gr")) == entries(A)
    io.write(tmp_path / "graph.MTX", A)
    assert entries(matrix(str(tmp_path / "graph.MTX"))) == entries(A)
    for path, format, message in [("a.dat", None, "unknown file name suffix"), ("a.gz", None, "unknown file name"),
                                  ("a.mtx", "doc", "format is 'doc'")]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            io.read(tmp_path / path, format=format)
        with pytest.raises(ValueError, match=message):
            io.write(tmp_path / path, A, format=format)
    with pytest.raises(FileNotFoundError):
        io.read(tmp_path / "absent.mtx")


def test_values_have_the_type_of_the_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("0 1\n")
    assert io.read(path).values is None
    path.write_text("0 1 7\n")
    assert io.read(path).value_type == np.int64
    path.write_text("0 1 7\n1 0 -1.5e3\n0 0 inf\n")
    A = matrix(path)
    assert A.dtype == np.float64 and A[1, 0] == -1500 and A[0, 0] == np.inf


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix` is changing:DeprecationWarning")  # in SciPy 1.18
def test_scipy_reads_what_is_written(tmp_path):
    A = datasets.rmat(7)
    io.write(tmp_path / "a.mtx", A)
    assert (scipy.io.mmread(tmp_path / "a.mtx").tocsr() != A).nnz == 0
    io.write(tmp_path / "a.npz", A)
    assert (sp.load_npz(tmp_path / "a.npz") != A).nnz == 0


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrix_market_symmetries(tmp_path, field, symmetry):
    if (field, symmetry) == ("pattern", "skew-symmetric"):
        pytest.skip("no such files")
    values = np.array([[0, 0, 0], [2, 0, 0], [3, 4, 0]], float if field == "real" else np.int64)
    whole = {"general": values, "symmetric": values + values.T, "skew-symmetric": values - values.T}[symmetry]
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(whole), field=field, symmetry=symmetry)
    expected = (whole != 0).astype(float) if field == "pattern" else whole
    assert np.array_equal(matrix(tmp_path / "a.mtx").toarray(), expected)


@pytest.mark.parametrize("save", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.bsr_array])
def test_npz_of_any_kind(tmp_path, save):
    A = datasets.rmat(5)
    sp.save_npz(tmp_path / "a.npz", save(A))
    assert entries(matrix(tmp_path / "a.npz")) == entries(A)


def test_snap_and_gap_forms(tmp_path):
    path = tmp_path / "snap.txt"
    path.write_text("# Directed graph\n# Nodes: 6 Edges: 3\r\n#From\tTo\n0\t3\r\n3\t1\n\n1 0 # remark\n")
    assert entries(matrix(path)) == [(0, 3, 1), (1, 0, 1), (3, 1, 1)]
    assert matrix(path).shape == (6, 6)
    path.write_text("% a comment of another sort\n0 1 2.5\n% more\n4 0 1")
    assert entries(matrix(path)) == [(0, 1, 2.5), (4, 0, 1)]
    path.write_text("# nothing but this\n")
    assert matrix(path).shape == (0, 0)
    io.write(tmp_path / "a.el", sp.coo_array(([1, 1], ([0, 1], [1, 2])), shape=(3, 3)))
    assert (tmp_path / "a.el").read_text() == "0 1\n1 2\n"  # no comment: its readers know none
    io.write(tmp_path / "a.wel", sp.coo_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3)))
    assert (tmp_path / "a.wel").read_text() == "0 1 1\n1 2 2\n"
    io.write(tmp_path / "a.el", sp.coo_array(([1, 1], ([0, 1], [1, 2])), shape=(4, 4)))
    assert matrix(tmp_path / "a.el").shape == (4, 4)  # here one is needed


def test_every_form_of_dimacs_is_read(tmp_path):
    path = tmp_path / "a.gr"
    path.write_text("c comment\n\np sp 4 3\nc another\na 1 2 5\na 2 1 7\na 1 2 5\n")
    assert entries(matrix(path)) == [(0, 1, 5), (0, 1, 5), (1, 0, 7)]
    path.write_text("c comment\np tw 3 2\n1 2\n3 1\n")
    assert entries(matrix(path)) == [(0, 1, 1), (0, 2, 1), (1, 0, 1), (2, 0, 1)]


def test_every_form_of_metis_is_read(tmp_path):
    path = tmp_path / "a.graph"
    path.write_text("% the manual's first example\n7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n")
    plain = matrix(path)
    assert plain.nnz == 22 and (plain != plain.T).nnz == 0 and io.read(path).values is None
    # sizes, two weights a vertex, weights of edges, a comment in the middle, a vertex without neighbors
    path.write_text("3 1 111 2\n9 1 2 3 40\n% here\n9 1 2\n9 1 2 1 40\n\n")
    with pytest.warns(UserWarning, match="3 numbers of each vertex, its size or weights, are left out"):
        assert entries(matrix(path)) == [(0, 2, 40), (2, 0, 40)]
    path.write_text("3 1 10\n8 2\n8 1\n8")
    with pytest.warns(UserWarning, match="a number of each vertex, its size or weights, are left out"):
        assert entries(matrix(path)) == [(0, 1, 1), (1, 0, 1)]
    path.write_text("3 0\n\n\n\n")
    assert matrix(path).shape == (3, 3)
    path.write_text("2 1 1\n2 9223372036854775807\n1 9223372036854775807\n")  # the largest that fits
    assert entries(matrix(path)) == [(0, 1, 2**63 - 1), (1, 0, 2**63 - 1)]
    path.write_text("2 1 1\n2 -9223372036854775808\n1 -9223372036854775808\n")  # and the least
    assert entries(matrix(path)) == [(0, 1, -(2**63)), (1, 0, -(2**63))]


HEAD = "%%MatrixMarket matrix coordinate real general\n"
WHOLE = "%%MatrixMarket matrix coordinate integer general\n"
MALFORMED = [
    # name, text, line, part of the message
    ("a.txt", "", 1, "empty"),
    ("a.txt", "0 1\n1 x\n", 2, "vertex 'x'; expected a whole number"),
    ("a.txt", "0 1\n1 2.5\n", 2, "vertex '2.5'"),
    ("a.txt", "0 1\n# c\n\n1 -2\n", 4, "vertex '-2'; expected a whole number from 0"),
    ("a.txt", "0 1\n1\n2 0\n2\n", 2, "1 columns; expected 2, as in the first edge"),
    ("a.txt", "0 1\n1 2 3\n", 2, "3 columns; expected 2"),
    ("a.txt", "0\n", 1, "1 columns; expected"),
    ("a.txt", "0 1 2 3\n", 1, "4 columns; expected"),
    ("a.txt", "# Nodes: 4 Edges: 3\n0 1\n1 2\n", 1, "the header says 3 edges, and 2 follow; is the file truncated"),
    ("a.txt", "0 99999999999999999999\n", 1, "'; expected a whole number from 0, of 64 bits"),
    ("a.txt", "# a\n% b\n0 1 # c\n1 x % d\n", 4, "vertex 'x'"),
    ("a.wel", "0 1 2\n1 2 heavy\n", 2, "weight 'heavy'; expected a number"),
    ("a.tsv", "0\t1\t2\n1\t2\t1_0\n", 2, "weight '1_0'"),
    ("a.el", "\x00\x01\x02\n", 1, "columns"),
    ("a.gr", "", 1, "the file ends; expected `p KIND VERTICES EDGES`"),
    ("a.gr", "c only\n", 1, "the file ends"),
    ("a.gr", "a 1 2 3\n", 1, "expected `p KIND VERTICES EDGES`"),
    ("a.gr", "p sp 3\n", 1, "expected `p KIND VERTICES EDGES`"),
    ("a.gr", "p min 3 1\na 1 2 3\n", 1, "expected `p KIND VERTICES EDGES`"),
    ("a.gr", "c\np sp 3 2\na 1 2 3\n", 2, "the header says 2 edges, and 1 follow; is the file truncated"),
    ("a.gr", "p sp 3 1\na 1 2 3\na 2 1 3\n", 1, "the header says 1 edges, and 2 follow; expected the same number"),
    ("a.gr", "p sp 3 2\na 1 2 3\na 1 4 3\n", 3, "vertex '4'; expected 1 to 3, as line 1 says"),
    ("a.gr", "p sp 3 2\na 1 2 3\na 0 1 3\n", 3, "vertex '0'"),
    ("a.gr", "p sp 3 2\na 1 2 3\na 1 2\n", 3, "'a 1 2'; expected `a from to weight`"),
    ("a.gr", "p sp 3 2\na 1 2 3\nb 1 2 3\n", 3, "expected `a from to weight`"),
    ("a.gr", "p sp 3 2\na 1 2 3\na 1 2 x\n", 3, "weight 'x'"),
    ("a.gr", "p tw 3 2\n1 2\n1 2 3\n", 3, "expected `u v`"),
    ("a.gr", "p tw 3 2\n1 2\n1 4\n", 3, "vertex '4'"),
    ("a.gr", "p tw 3 2\n1 2\n", 1, "is the file truncated"),
    ("a.graph", "", 1, "expected `VERTICES EDGES"),
    ("a.graph", "% c\n", 1, "expected `VERTICES EDGES"),
    ("a.graph", "3 x\n", 1, "expected `VERTICES EDGES"),
    ("a.graph", "3 2 7\n", 1, "format '7'; expected three digits"),
    ("a.graph", "3 2\n2\n1 3\n", 3, "the file ends after vertex 2; expected a line for each of 3"),
    ("a.graph", "3 2\n2\n1 4\n2\n", 3, "neighbor 4; expected 1 to 3"),
    ("a.graph", "3 2\n2\n% c\n1 0\n2\n", 4, "neighbor 0; expected 1 to 3"),
    ("a.graph", "3 2\n2\n1 b\n2\n", 3, "'b'; expected whole numbers"),
    ("a.graph", "3 2\n2\n1 1.5\n2\n", 3, "'1.5'; expected whole numbers"),
    ("a.graph", "3 2\n2\n1\n\n", 1, "the header says 2 edges, and 2 neighbors follow; expected 4"),
    ("a.graph", "3 1\n2\n1\n\n1\n", 5, "more lines than the 3 vertices"),
    ("a.graph", "2 1 1\n2 5\n1\n", 3, "neighbor 1 without a weight"),
    ("a.graph", "2 1 1\n2 99999999999999999999\n1 5\n", 2, "expected whole numbers"),
    ("a.graph", "2 1 1\n2 9223372036854775808\n1 9223372036854775808\n", 2, "'9223372036854775808'; expected whole"),
    ("a.graph", "2 1 1\n2 -9223372036854775809\n1 -9223372036854775809\n", 2, "'-9223372036854775809'; expected"),
    ("a.graph", "3 2\n2\n1\x1c3\n2\n", 3, r"'1\x1c3'; expected whole numbers"),
    ("a.graph", "3 2\n2\n1\x1f3\n2\n", 3, r"expected whole numbers"),
    ("a.graph", "3 2\n2\n\x1c% c\n1 3\n2\n", 3, "expected whole numbers"),
    ("a.graph", "3\x1c2\n2\n1 3\n2\n", 1, "expected `VERTICES EDGES"),
    ("a.graph", "3 1\n2 3\n\n\n", 2, "the lines of vertices 1 and 2 differ in the edges between them; expected both"),
    ("a.graph", "4 2\n2\n% c\n1 3\n4\n\n", 4, "vertices 2 and 3 differ in the edges between them"),
    ("a.graph", "2 1 1\n2 5\n1 6\n", 2, "vertices 1 and 2 differ in the weight of the edges between them"),
    ("a.graph", "2 1 100\n7 2\n\n", 3, "0 numbers; expected at least 1"),
    ("a.mtx", "", 1, "expected `%%MatrixMarket matrix coordinate"),
    (
        "a.mtx",
        "%%MatrixMarket matrix array pattern general\n1 1\n2\n",
        1,
        "an array of pattern entries; expected coordinates",
    ),
    (
        "a.mtx",
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n",
        1,
        "'complex'; expected one of real",
    ),
    ("a.mtx", "%%MatrixMarket matrix coordinate real odd\n1 1 1\n1 1 2\n", 1, "'odd'; expected one of general"),
    ("a.mtx", HEAD, 1, "the file ends; expected `ROWS COLUMNS ENTRIES`"),
    ("a.mtx", HEAD + "% c\n3 3\n", 3, "'3 3'; expected `ROWS COLUMNS ENTRIES`"),
    ("a.mtx", HEAD + "3 -3 1\n", 2, "expected `ROWS COLUMNS ENTRIES`"),
    ("a.mtx", HEAD + "3 4 1\n1 1 1\n", 2, "a matrix of 3 x 4; expected a square matrix"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n", 2, "the header says 2 edges, and 1 follow; is the file truncated"),
    ("a.mtx", HEAD + "3 3 1\n1 2 3\n1 3 3\n", 2, "the header says 1 edges, and 2 follow; expected the same number"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 4 3\n", 4, "vertex '4'; expected 1 to 3, as line 2 says"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n0 1 3\n", 4, "vertex '0'; expected 1 to 3"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 x 3\n", 4, "vertex 'x'"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 2 x\n", 4, "value 'x'; expected a number"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 2 4.5E", 4, "value '4.5E'; expected a number"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 2\n", 4, "'1 2'; expected `row column value`, as line 1 says"),
    ("a.mtx", HEAD + "3 3 2\n1 2 3\n1 2 3 4\n", 4, "'1 2 3 4'; expected `row column value`"),
    ("a.mtx", WHOLE + "3 3 2\n1 2 3\n1 2 4.5\n", 4, "value '4.5'; expected a whole number, as line 1 says"),
    ("a.mtx", WHOLE.replace("integer", "unsigned-integer") + "3 3 1\n1 2 -3\n", 3, "expected a whole number from 0"),
    (
        "a.mtx",
        WHOLE.replace("integer general", "unsigned-integer skew-symmetric") + "3 3 1\n2 1 1\n",
        1,
        "unsigned-integer values have no negative; expected real or integer, or not skew-symmetric",
    ),
    ("a.mtx", WHOLE.replace("integer general", "pattern skew-symmetric") + "3 3 1\n2 1\n", 1, "pattern values have no"),
    (
        "a.mtx",
        WHOLE.replace("general", "skew-symmetric") + "3 3 1\n2 1 -9223372036854775808\n",
        2,
        "-9223372036854775808 in a skew-symmetric matrix; its negative exceeds 64 bits",
    ),
    ("a.mtx", WHOLE.replace("integer", "pattern") + "3 3 1\n1 2 3\n", 3, "'1 2 3'; expected `row column`, as line 1"),
    ("a.npz", "this is no archive", None, "is not an archive, or truncated; expected a file written by scipy.sparse"),
    ("a.npz", "", None, "is not an archive, or truncated"),
]


@pytest.mark.parametrize(("name", "text", "line", "message"), MALFORMED)
def test_malformed_files_are_refused(tmp_path, name, text, line, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FormatError) as error:
        io.read(path)
    assert message in str(error.value)
    assert error.value.line == line and error.value.path == path
    assert str(error.value).startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("suffix", [".mtx", ".gr", ".graph", ".txt", ".npz", ".mtx.gz", ".gr.bz2", ".txt.xz", ".gr.gz"])
def test_truncated_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    io.write(path, datasets.grid(6))
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(FormatError, match=str(path)):
            io.read(path)


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.bz2", ".txt.xz", ".mtx.gz"])
def test_damaged_compression_is_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"not compressed at all")
    with pytest.raises(FormatError, match="the compressed file is damaged"):
        io.read(path)
    io.write(path, datasets.grid(8))
    data = bytearray(path.read_bytes())
    for i in range(40, len(data) - 12, 7):
        data[i] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(FormatError):
        io.read(path)


WORDS = [
    "0",
    "1",
    "2",
    "3",
    "17",
    "-1",
    "1.5",
    "1e5",
    "nan",
    "x",
    "a",
    "p",
    "sp",
    "c",
    "#",
    "%",
    "\t",
    "\n",
    "\r",
    "\0",
    "é",
    "²",
    "\x0b",
    "\x1c",
    "\x85",
    "\xa0",
    "9" * 5000,
]


@given(
    words=st.lists(st.sampled_from(WORDS + [" "] * 8 + ["\n"] * 4), max_size=40),
    start=st.sampled_from(["", "p sp 3 2\n", "p tw 3 2\n", "3 2\n", "2 1 11\n"]),
)
@pytest.mark.parametrize("suffix", [".txt", ".gr", ".graph", ".mtx"])
def test_any_text_is_read_or_is_a_format_error(tmp_path_factory, suffix, words, start):
    path = tmp_path_factory.mktemp("io") / f"a{suffix}"
    path.write_text((HEAD if suffix == ".mtx" else start) + "".join(words))
    complaint = ""
    try:
        Graph(io.read(path))
    except FormatError as error:
        complaint = str(error)
    assert not complaint.endswith("malformed")  # a reason was found
    counts = re.search(r"the header says \d+ edges, and (\d+) neighbors follow; expected (\d+)", complaint)
    assert not counts or counts[1] != counts[2]


def test_absurd_sizes_are_refused(tmp_path):
    for name, text in [
        ("a.txt", "0 999999999999999999\n"),
        ("a.gr", "p sp 999999999999999 0\n"),
        ("a.mtx", HEAD + "999999999999999 999999999999999 0\n"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(FormatError, match="not enough memory"):
            io.read(path)


@pytest.mark.parametrize("signs", ["#%", "%#"])
def test_comments_of_both_signs(tmp_path, signs):
    path = tmp_path / "a.txt"
    path.write_text(f"{signs[0]} Nodes: 5 Edges: 3\n{signs[1]} more\n0 1 {signs[0]} here\n\n1 2 {signs[1]}\n2 3\n")
    assert entries(matrix(path)) == [(0, 1, 1), (1, 2, 1), (2, 3, 1)]
    assert matrix(path).shape == (5, 5)


def test_lines_of_the_other_sign_after_the_first_edge_are_comments(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("0 1 5\n% more\n1 2 6 # here\n # and there\n")
    assert entries(matrix(path)) == [(0, 1, 5), (1, 2, 6)]
    assert matrix(path, on_bad_rows="skip").nnz == 2  # without a warning
    path.write_text("0 1 5\n% more\n1 2 6%\n")
    with pytest.raises(FormatError, match="line 3: weight '6%'; expected a number"):
        io.read(path)


@pytest.mark.parametrize("suffix", [".txt", ".mtx", ".gr", ".graph"])
def test_a_sign_of_comments_within_a_word_is_a_part_of_the_word(tmp_path, suffix):
    """An id such as 1#2, or a weight such as 5c, is not one that ends before the sign."""
    path = tmp_path / f"a{suffix}"
    io.write(path, sp.coo_array(([7, 7], ([0, 1], [1, 0])), shape=(2, 2)))
    text = path.read_text()
    for place, sign in itertools.product(range(text.index("7"), len(text)), "#%c"):
        path.write_text(f"{text[: place + 1]}{sign}9{text[place + 1 :]}")
        if text[place] != "\n" and text[place + 1] in " \n" and text[place].isdigit():
            with pytest.raises(FormatError, match=f"line .*{sign}9"):
                io.read(path)


@pytest.mark.parametrize("suffix", [*(s for s in DIRECTED if s != ".npz"), ".graph"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_byte_order_mark_is_passed_over(tmp_path, suffix, end):
    A = datasets.grid(4)
    path, marked = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}{end}"
    io.write(path, A)
    content = codecs.BOM_UTF8 + path.read_bytes()
    marked.write_bytes(gzip.compress(content) if end else content)
    assert entries(matrix(marked)) == entries(A)


@pytest.mark.parametrize("suffix", [".txt", ".mtx.gz", ".npz", ".graph"])
def test_a_pipe_is_read_like_a_file(tmp_path, suffix):
    whole, pipe = tmp_path / f"whole{suffix}", tmp_path / f"pipe{suffix}"
    io.write(whole, datasets.grid(4))
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(whole.read_bytes()))
    writer.start()
    A = matrix(pipe)
    writer.join()
    assert entries(A) == entries(datasets.grid(4))


def test_a_failed_write_leaves_everything_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.gr"
    path.write_text("before")
    from gasla.graph.io import dimacs

    def broken(stream, graph, path):
        stream.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(dimacs, "write", broken)
    with pytest.raises(OSError, match="disk full"):
        io.write(path, datasets.grid(4))
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["a.gr"]


def test_written_files_have_ordinary_permissions(tmp_path):
    path = tmp_path / "a.txt"
    io.write(path, datasets.grid(4))
    (tmp_path / "b").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


@pytest.mark.parametrize(
    ("A", "problem"),
    [
        (sp.csr_array(np.array([[0, 1], [0, 0]])), "edges without a reverse edge of equal weight"),
        (sp.csr_array(np.array([[0, 1], [2, 0]])), "edges without a reverse edge of equal weight"),
        (sp.csr_array(np.array([[1, 1], [1, 0]])), "self loops"),
        (sp.csr_array(np.array([[0, 1.5], [1.5, 0]])), "not whole numbers"),
    ],
)
def test_metis_refuses_what_it_cannot_hold(tmp_path, A, problem):
    with pytest.raises(ValueError, match=f"the graph has .*{problem}.*METIS"):
        io.write(tmp_path / "a.graph", A)
    assert os.listdir(tmp_path) == []


def test_nan_and_infinity_survive(tmp_path):
    A = sp.coo_array((np.array([np.nan, np.inf, -np.inf]), ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    for suffix in (".wel", ".gr", ".npz", ".mtx"):
        io.write(tmp_path / f"a{suffix}", A)
        B = matrix(tmp_path / f"a{suffix}")
        assert np.isnan(B[0, 1]) and B[1, 2] == np.inf and B[2, 0] == -np.inf
