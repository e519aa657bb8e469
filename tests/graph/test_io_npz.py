"""Archives: each of SciPy's formats is read as it was saved; one whose arrays or bytes are damaged is refused."""

import io as std
import zipfile
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from gasla import Graph, datasets, io
from gasla.graph.io import FormatError

pytestmark = pytest.mark.thorough

DENSE = np.array([[0, 1, 0, 2], [0, 0, 3, 4], [5, 0, 0, 0], [6, 0, 7, 0.0]])
FORMATS = ("csr", "csc", "bsr", "dia", "coo")


def archive(format):
    """What save_npz writes, as a dict of arrays."""
    A = sp.bsr_array(DENSE, blocksize=(2, 2)) if format == "bsr" else sp.coo_array(DENSE).asformat(format)
    stream = std.BytesIO()
    sp.save_npz(stream, A)
    stream.seek(0)
    with np.load(stream) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read(tmp_path, format):
    arrays = archive(format)
    for swapped in (False, True):
        data = arrays["data"].astype(">f8") if swapped else arrays["data"]
        np.savez(tmp_path / "a.npz", **{**arrays, "data": data})
        A = io.read(tmp_path / "a.npz").to_scipy()
        assert A.format == "csr" and A.dtype.isnative and A.has_sorted_indices and np.array_equal(A.toarray(), DENSE)


def test_columns_are_sorted_and_parallel_edges_kept(tmp_path):
    A = sp.csr_array((np.array([3, 1, 2]), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2))
    sp.save_npz(tmp_path / "a.npz", A)
    B = io.read(tmp_path / "a.npz").to_scipy()
    assert B.indices.tolist() == [0, 1, 1] and B.data.tolist() == [1, 3, 2]


CSC = {
    "indices": np.array([1, 0], np.int32),
    "indptr": np.array([0, 1, 2], np.int32),
    "data": np.ones(2),
    "shape": np.array([2, 2]),
    "format": np.array(b"csc"),
}
BSR = {**CSC, "data": np.ones((2, 2, 2)), "shape": np.array([4, 4]), "format": np.array(b"bsr")}
COO = {"row": [0, 1], "col": [1, 0], "data": np.ones(2), "shape": [2, 2], "format": b"coo"}
DIA = {"offsets": [0], "data": np.ones((1, 2)), "shape": [2, 2], "format": b"dia"}
DAMAGED = [
    ({**CSC, "indices": np.array([10**9, 0])}, "entry 0 of the matrix is in row 1000000000; expected 0 to 1"),
    ({**CSC, "indices": np.array([-(10**9), 0])}, "entry 0 of the matrix is in row -1000000000"),
    ({**CSC, "indptr": np.array([0, 10**8, 2])}, "column 0 of the matrix has entries 0 to 100000000 of 2"),
    ({**BSR, "indptr": np.array([0, 10**8, 2])}, "block row 0 of the matrix has entries 0 to 100000000 of 2"),
    ({**BSR, "indices": np.array([0, 10**9])}, "entry 1 of the matrix is in block column 1000000000"),
    ({**BSR, "data": np.ones((2, 0, 2))}, "expected blocks that divide a matrix"),
    ({**CSC, "indices": np.array([0.5, 0])}, "indices has type float64; expected integers"),
    ({**CSC, "indices": np.array([2**32, 0])}, "entry 0 of the matrix is in row 4294967296"),
    ({**CSC, "shape": np.array([2.5, 2])}, "shape has type float64; expected integers"),
    ({**CSC, "shape": np.array([-2, -2])}, "a matrix of -2 x -2; expected a square matrix"),
    ({**CSC, "format": np.array(b"dok")}, "has a matrix in format 'dok'; expected one of csr, csc, bsr, dia, coo"),
    ({**CSC, "format": np.array(3)}, "has a matrix in format '3'; expected one of csr"),
    ({**CSC, "format": np.array([b"csr", b"csc"])}, "size 1"),
    ({k: v for k, v in CSC.items() if k != "indptr"}, "has no array 'indptr'; expected a file written by scipy"),
    ({**CSC, "data": np.array(["a", "b"])}, "has <U1 values; expected one of bool"),
    ({**COO, "row": [0, 2]}, r"row\[1\] is 2, outside a graph of 2 vertices"),
    ({**COO, "col": [0.0, 1.0]}, "col has type float64; expected integers"),
    ({**COO, "data": np.ones(3)}, r"2 rows, 2 columns and \(3,\) values; expected equal counts"),
    ({**COO, "shape": [10**15, 10**15]}, "not enough memory"),
    ({**DIA, "shape": [10**15, 10**15]}, "not enough memory"),
    ({**DIA, "data": np.ones(2)}, r"data has shape \(2,\); expected a row for each of 1 offsets"),
    ({**DIA, "offsets": [0.5]}, "offsets has type float64"),
]


@pytest.mark.parametrize(("arrays", "message"), DAMAGED)
def test_what_the_arrays_say_is_checked(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FormatError, match=message) as error:
        io.read(tmp_path / "a.npz")
    assert str(error.value).startswith(f"{tmp_path / 'a.npz'}: ")


def test_a_diagonal_outside_the_matrix_holds_nothing(tmp_path):
    np.savez(tmp_path / "a.npz", **{**DIA, "offsets": [1, 2**32, -(2**63)], "data": np.ones((3, 2))})
    assert io.read(tmp_path / "a.npz").to_scipy().toarray().tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    "content", [b"\x93NUMPY\x02\x00" + (9000).to_bytes(4, "little") + b"(" * 9000, b"\x93NUM", b""]
)
def test_damaged_headers_are_refused(tmp_path, content):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as packed:
        for name, array in CSC.items():
            stream = std.BytesIO()
            np.save(stream, array)
            packed.writestr(f"{name}.npy", content if name == "data" else stream.getvalue())
    with pytest.raises(FormatError, match="expected a file written by scipy"):
        io.read(tmp_path / "a.npz")


NUMBERS = st.sampled_from([-(2**63), -(2**31), -1, 0, 1, 2, 3, 4, 7, 2**31, 2**32, 2**62])


@given(data=st.data())
@pytest.mark.parametrize("format", FORMATS)
def test_no_archive_makes_any_other_error(tmp_path_factory, format, data):
    """Numbers are replaced, arrays reshaped and cast, bytes flipped: it is read as a graph, or refused."""
    arrays = archive(format)
    name = data.draw(st.sampled_from([name for name in sorted(arrays) if name not in ("format", "_is_array")]))
    array = arrays[name].astype(data.draw(st.sampled_from([arrays[name].dtype, np.int64, np.uint64, np.float32])))
    for _ in range(data.draw(st.integers(0, 2))):
        with np.errstate(all="ignore"):
            array.flat[data.draw(st.integers(0, array.size - 1))] = np.array(data.draw(NUMBERS)).astype(array.dtype)
    array = data.draw(st.sampled_from([array, array[:-1], array.ravel(), array[None], array[..., :0]]))
    stream = std.BytesIO()
    np.savez(stream, **{**arrays, name: array})
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.sampled_from([0, 0, 1, 3]))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    path.write_bytes(content)
    try:
        graph = Graph(io.read(path))
    except FormatError:
        return
    assert graph.out.indptr[-1] == graph.m == len(graph.values)


def test_a_directory_that_leads_before_the_file(tmp_path):
    stream = std.BytesIO()
    np.savez(stream, **archive("csr"))
    content = bytearray(stream.getvalue())
    directory = content.index(b"PK\x01\x02")
    for place in range(directory, len(content)):
        for bit in range(8):
            damaged = content.copy()
            damaged[place] ^= 1 << bit
            with suppress(FormatError):
                path = tmp_path / "a.npz"
                path.write_bytes(damaged)
                io.read(path)


def test_index_out_of_range_in_an_archive(tmp_path):
    A = datasets.grid(4)
    A.indices[3] = 99
    np.savez(tmp_path / "a.npz", indices=A.indices, indptr=A.indptr, data=A.data, shape=A.shape, format=b"csr")
    with pytest.raises(FormatError, match="expected a file written by"):
        io.read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.ones(3)}, ": contains no sparse array; expected a file"),
        (sp.coo_array(np.ones(3)), "a matrix of 3; expected a square matrix"),
        (sp.csr_array((3, 4)), "a matrix of 3 x 4; expected a square matrix"),
        (sp.csr_array(np.eye(2) * 1j), "has complex128 values; expected one of bool, int8"),
        (sp.coo_array(np.eye(2, dtype=np.longdouble)), "values; expected one of bool, int8"),
    ],
)
def test_archives_of_other_contents_are_refused(tmp_path, arrays, message):
    path = tmp_path / "a.npz"
    save = sp.save_npz if sp.issparse(arrays) else lambda path, arrays: np.savez(path, **arrays)
    save(path, arrays)
    with pytest.raises(FormatError, match=message):
        io.read(path)


def test_attributes_of_edges_in_another_order_are_refused(tmp_path):
    """They are stored by sorted rows, so a file whose rows are not sorted would give them to other edges."""
    path = tmp_path / "a.npz"
    io.write(path, Graph.from_edges([0, 0, 1], [1, 2, 0]).with_edge_attributes(time=[3, 4, 5]))
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    for changes in ({"indices": np.array([2, 1, 0])}, {"format": b"csc"}):
        np.savez(path, **arrays | changes)
        with pytest.raises(FormatError, match="not sorted by rows and columns"):
            io.read(path)
    del arrays["attributes/"]  # which says that there are attributes
    np.savez(path, **arrays)
    with pytest.raises(FormatError, match="has no array 'attributes/'"):
        io.read(path)


@pytest.mark.parametrize("name", ["format", "gasla/version"])
def test_characters_beyond_unicode_are_refused(tmp_path, name):
    text = np.array(0xFFFFFFFF, np.uint32).view("<U1")
    np.savez(tmp_path / "a.npz", **archive("csr") | {name: text})
    with pytest.raises(FormatError, match="expected a file written by"):
        io.read(tmp_path / "a.npz")
