"""Sparse matrices whose arrays lie are refused before SciPy converts them; limits of memory are found."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import gasla
import semirings
from gasla import cgroups
from gasla.cpu.runtime import memory
from gasla.graph.validate import as_csr, require_compressed


def matrix(format):
    """Of shape (4, 6): with two entries a row in CSR, or two blocks of 2 x 3."""
    dense = 1 + np.arange(24.0).reshape(4, 6)
    dense[dense % 3 != 1] = 0
    return sp.bsr_array(dense, blocksize=(2, 3)) if format == "bsr" else sp.csr_array(dense).asformat(format)


LIES = [
    # format, array, place and value (or what makes another array of it), part of the message
    ("csr", "indices", (1, 6), ValueError, "entry 1 of the matrix is in column 6; expected 0 to 5"),
    ("csr", "indices", (0, -1), ValueError, "entry 0 of the matrix is in column -1"),
    ("csc", "indices", (1, 10**9), ValueError, "entry 1 of the matrix is in row 1000000000; expected 0 to 3"),
    ("bsr", "indices", (1, 2), ValueError, "entry 1 of the matrix is in block column 2; expected 0 to 1"),
    ("csr", "indptr", (1, 10**8), ValueError, "row 0 of the matrix has entries 0 to 100000000 of 8"),
    ("csc", "indptr", (2, -3), ValueError, "column 1 of the matrix has entries 4 to -3 of 8"),
    ("bsr", "indptr", (1, 10**8), ValueError, "block row 0 of the matrix has entries 0 to 100000000 of"),
    ("csr", "indptr", (2, 1), ValueError, "row 1 of the matrix has entries 2 to 1 of 8"),
    ("csr", "indptr", (4, 9), ValueError, "row 3 of the matrix has entries 6 to 9 of 8"),
    ("csr", "indptr", (0, 1), ValueError, "indptr starts at 1; expected 0"),
    ("csr", "indptr", lambda x: x[:3], ValueError, r"indptr has 3 entries in a matrix of shape \(4, 6\); expected 5"),
    ("csc", "indptr", lambda x: x[:3], ValueError, r"indptr has 3 entries in a matrix of shape \(4, 6\); expected 7"),
    ("bsr", "indptr", lambda x: x[:0], ValueError, r"indptr has 0 entries in a matrix of shape \(4, 6\); expected 3"),
    ("csr", "indices", lambda x: x[:7], ValueError, "row 3 of the matrix has entries 6 to 8 of 7"),
    ("csr", "indices", lambda x: x.astype(float), TypeError, "indices has type float64; expected integers"),
    ("csc", "indptr", lambda x: x.reshape(1, -1), ValueError, r"indptr has shape \(1, 7\)"),
    ("csr", "data", lambda x: x[:7], ValueError, r"8 entries and data of shape \(7,\); expected a value for each"),
    ("bsr", "data", lambda x: x[:1], ValueError, r"entries and data of shape \(1, 2, 3\)"),
    ("bsr", "data", lambda x: np.ones((len(x), 3, 3)), ValueError, "expected blocks that divide a matrix"),
    ("bsr", "data", lambda x: np.ones((len(x), 0, 3)), ValueError, "expected blocks that divide a matrix"),
    ("bsr", "data", lambda x: x.ravel(), ValueError, "expected blocks that divide a matrix"),
    ("csr", "data", lambda x: x.reshape(2, -1), ValueError, r"data has shape \(2, 4\); expected one dimension"),
]


@pytest.mark.parametrize(("format", "name", "change", "kind", "message"), LIES)
def test_lying_arrays_are_refused(format, name, change, kind, message):
    A = matrix(format)
    require_compressed(A)
    array = getattr(A, name).copy()
    if callable(change):
        array = change(array)
    else:
        array[change[0]] = change[1]
    setattr(A, name, array)
    with pytest.raises(kind, match=message):
        require_compressed(A)


def test_what_lies_beyond_the_last_offset_counts_as_absent():
    A = sp.csr_array((4, 6))
    A.indices, A.data = np.array([9, -9], np.int32), np.ones(3)
    require_compressed(A)
    assert A.tocsc().nnz == 0


@given(st.data())
def test_what_is_let_through_is_converted_rightly(data):
    format = data.draw(st.sampled_from(["csr", "csc", "bsr"]))
    A = matrix(format)
    name = data.draw(st.sampled_from(["indptr", "indices"]))
    array = getattr(A, name).copy()
    for _ in range(data.draw(st.integers(1, 3))):
        array[data.draw(st.integers(0, len(array) - 1))] = data.draw(st.integers(-2, 12))
    setattr(A, name, array)
    try:
        require_compressed(A)
    except ValueError:
        return
    dense = np.zeros((6, 4) if format == "csc" else (4, 6))
    rows, columns = A.data.shape[1:] if format == "bsr" else (1, 1)
    for i, (first, last) in enumerate(zip(A.indptr, A.indptr[1:])):
        for k in range(first, last):
            j = int(A.indices[k])
            dense[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns] += A.data[k]
    expected = dense.T if format == "csc" else dense
    A.has_sorted_indices = A.has_canonical_format = False
    assert np.array_equal(A.tocsr().toarray(), expected) and np.array_equal(A.tocsc().toarray(), expected)


def changed(format, **arrays):
    """A matrix of two diagonals, with other arrays."""
    A = sp.csr_array(np.array([[1.0, 2, 0], [0, 3, 4], [0, 0, 5]])).asformat(format)
    for name, array in arrays.items():
        setattr(A, name, array)
    return A


def lists(rows, data):
    as_objects = np.empty(len(rows), object), np.empty(len(data), object)
    as_objects[0][:], as_objects[1][:] = rows, data
    return changed("lil", rows=as_objects[0], data=as_objects[1])


def ids(*numbers):
    return np.array(numbers, np.int32)


SHOWN = {
    "csr, no offsets": changed("csr", indptr=ids()),
    "csr, an offset beyond": changed("csr", indptr=ids(0, 10**8, 4, 5)),
    "csr, two offsets less": changed("csr", indptr=ids(0, 5)),
    "csr, a negative offset": changed("csr", indptr=ids(0, 2, 4, -5)),
    "csr, less values": changed("csr", data=np.ones(2)),
    "csr, an index beyond": changed("csr", indices=ids(0, 1, 10**9, 2, 2)),
    "csr, fractions": changed("csr", indices=np.array([0, 1, 1.5, 2, 2])),
    "csc, an offset beyond": changed("csc", indptr=ids(0, 10**8, 4, 5)),
    "csc, less values": changed("csc", data=np.ones(2)),
    "csc, an index beyond": changed("csc", indices=ids(0, 1, 10**9, 2, 2)),
    "csc, no offsets": changed("csc", indptr=ids()),
    "bsr, an offset beyond": changed("bsr", indptr=ids(0, 10**8, 5, 5)),
    "bsr, an index beyond": changed("bsr", indices=ids(10**9, 1, 1, 2, 2)),
    "bsr, less values": changed("bsr", data=np.ones((2, 1, 1))),
    "coo, a row beyond": changed("coo", coords=(ids(0, 0, 1, 1, 10**9), ids(0, 1, 1, 2, 2))),
    "coo, a column before": changed("coo", coords=(ids(0, 0, 1, 1, 2), ids(0, 1, 1, 2, -1))),
    "coo, less values": changed("coo", data=np.ones(2)),
    "coo, less rows": changed("coo", coords=(ids(0), ids(0, 1, 1, 2, 2))),
    "coo, fractions": changed("coo", coords=(np.array([0, 0, 1, 1, 1.5]), ids(0, 1, 1, 2, 2))),
    "dia, more offsets": changed("dia", offsets=ids(0, 1, 2)),
    "dia, less dimensions": changed("dia", data=np.ones(2)),
    "dia, fractions": changed("dia", offsets=np.array([0, 0.5])),
    "lil, an index beyond": lists([[10**9, 1], [1, 2], [2]], [[1.0, 2], [3.0, 4], [5.0]]),
    "lil, an index before": lists([[0, 1], [1, 2], [-1]], [[1.0, 2], [3.0, 4], [5.0]]),
    "lil, less values": lists([[0, 1], [1, 2], [2]], [[1.0], [3.0, 4], [5.0]]),
    "lil, less rows": lists([[0, 1]], [[1.0, 2]]),
    "lil, no lists": lists([5, [1, 2], [2]], [5, [3.0, 4], [5.0]]),
}
USES = {
    "graph": gasla.Graph,
    "mxv": lambda A: gasla.mxv(A, np.ones(3)),
    "vxm": lambda A: gasla.vxm(np.ones(3), A),
}


@pytest.mark.parametrize("A", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_every_entry_point_refuses_lying_arrays(A, use):
    with pytest.raises((ValueError, TypeError), match=r"expected|axis \d"):
        use(A)


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
def test_every_format_is_taken(format):
    A = changed(format)
    x = np.array([1.0, 10, 100])
    assert np.array_equal(gasla.mxv(A, x), [21, 430, 500])
    assert np.array_equal(gasla.vxm(x, A), [1, 32, 540])
    graph = gasla.Graph(A)
    assert (graph.out.indices.tolist(), graph.out_values.tolist()) == ([0, 1, 1, 2, 2], [1, 2, 3, 4, 5])
    if format not in ("csr", "csc", "coo"):
        assert np.array_equal(as_csr(A).toarray(), A.toarray())


MEMORY_LIMITS = [
    ("0::/", {"memory.max": "1000"}, 1000),  # in a container
    ("0::/", {"memory.max": "max"}, None),
    ("0::/", {}, None),
    ("", {}, None),
    ("0::/a.slice/b", {"a.slice/b/memory.max": "2000"}, 2000),
    ("0::/a.slice/b", {"a.slice/memory.max": "500", "a.slice/b/memory.max": "max"}, 500),  # the group around it
    ("0::/a.slice/b", {"memory.max": "700"}, 700),  # the path is the host's, the root the container's own
    ("4:memory:/d/e\n0::/", {"memory/d/e/memory.limit_in_bytes": "9000"}, 9000),
    ("4:memory:/d/e", {"memory/d/memory.limit_in_bytes": "800", "memory/d/e/memory.limit_in_bytes": "9000"}, 800),
    ("4:memory:/d", {"memory/memory.limit_in_bytes": "600"}, 600),
    ("4:memory:/d", {"memory/d/memory.limit_in_bytes": str(2**63 - 4096)}, 2**63 - 4096),  # version 1 without a limit
    ("4:cpu:/d", {"memory/d/memory.limit_in_bytes": "9000"}, None),
    ("0::/", {"memory.max": "nonsense"}, None),
    ("0::/", {"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 3\ninactive_file 200\nfile 4"}, 500),
    ("0::/", {"memory.max": "1000", "memory.current": "1200"}, 0),
    ("4:memory:/", {"memory/memory.limit_in_bytes": "90", "memory/memory.usage_in_bytes": "20"}, 70),
]


@pytest.mark.parametrize(("membership", "files", "limit"), MEMORY_LIMITS)
def test_the_memory_limit_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, membership: str, files: dict[str, str], limit: int | None
) -> None:
    """The least that any of the nested cgroups leaves; `available` takes it where the machine has more."""
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   7 kB\n")
    (tmp_path / "cgroup").write_text(membership + "\n")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert cgroups.memory_left(tmp_path, tmp_path / "cgroup") == limit
    monkeypatch.setattr(cgroups, "CGROUPS", tmp_path)
    monkeypatch.setattr(cgroups, "MEMBERSHIP", tmp_path / "cgroup")
    assert memory.available() == (7168 if limit is None else min(limit, 7168))


MASKED = np.ma.array([0, 1], mask=[False, True])


class Least(gasla.VertexProgram):
    x = gasla.vertex(np.int64)
    reduce = semirings.min

    def gather(self, src, dst, edge):
        return src.x

    def apply(self, vertex, gathered):
        return {"x": semirings.minimum(vertex.x, gathered)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: gasla.Graph.from_edges(MASKED, [1, 0]),
        lambda: gasla.Graph.from_edges([0, 1], [1, 0], MASKED),
        lambda: gasla.mxv(gasla.Graph.from_edges([0], [1]), MASKED),
        lambda: gasla.Graph.from_edges([0], [1]).with_vertex_attributes(height=MASKED),
        lambda: gasla.mxv(gasla.Graph.from_edges([0], [1]), np.ones(2, np.int64), out=MASKED.copy()),
        lambda: gasla.Schedule(MASKED),
        lambda: gasla.EdgeFrontier(2, [0, 1], [0, 1], MASKED),
        lambda: gasla.primitives.compress(MASKED.copy()),
        lambda: gasla.run(Least, gasla.Graph.from_edges([0], [1]), out={"x": MASKED.copy()}),
        lambda: gasla.stages.apply(gasla.stages.start(Least, gasla.Graph.from_edges([0], [1])), [0, 1], MASKED),
    ],
)
def test_masked_entries_are_refused(call: Callable[[], Any]) -> None:
    """NumPy would take them for valid ones."""
    with pytest.raises(ValueError, match=r"got an array with 1 masked entries; expected none: x.filled\(value\)"):
        call()


def test_masked_arrays_without_masked_entries_are_arrays() -> None:
    assert gasla.Graph.from_edges(np.ma.array([0]), np.ma.array([1], mask=[False])).m == 1


def test_ids_in_a_graph_without_vertices() -> None:
    with pytest.raises(ValueError, match=r"src\[0\] is 0, outside a graph of 0 vertices; expected no ids"):
        gasla.Graph.from_edges([0], [0], n=0)
