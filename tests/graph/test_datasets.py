"""The generators make the graphs that were described once and for all; the real data is whole and plausible."""

import lzma
from importlib.resources import files

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from gasla import as_graph, datasets
from gasla.bench.graphs import FAMILIES
from gasla.graph.datasets import EARTH_RADIUS

# Made by an independent program: stored edges, fingerprint, sum of the weights, the eight sources.
KNOWN = {
    "rmat12": (96852, "3398bbeef4f4934d", 12384794, [1720, 406, 3728, 1528, 1519, 3345, 565, 1730]),
    "kron12": (234188, "bb32da09808f9dbb", 29944250, [1720, 406, 3728, 1528, 1519, 3345, 565, 1730]),
    "urand12": (130490, "faf41d6639713b70", 16702224, [1720, 3574, 406, 3728, 1528, 1519, 3345, 565]),
    "rgg12": (65482, "2ab5776a2f468141", 8365488, [1720, 3574, 406, 3728, 1528, 1519, 3345, 565]),
    "grid12": (14520, "a41be8ba8eb2218f", 7263876, [1720, 3574, 406, 3728, 1528, 1519, 3345, 565]),
    "rmat16": (1819342, "f62ada4e45b24fd7", 232979470, [28633, 61728, 48987, 64161, 57755, 32864, 13483, 64403]),
    "grid16": (234780, "74fbdb40fa42a476", 117559696, [28633, 32633, 61728, 48987, 64161, 57755, 32864, 13483]),
    "rgg16": (1049332, "491cd2a5774b044f", 134269728, [28633, 32633, 61728, 48987, 64161, 57755, 32864, 13483]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_generated_graphs_have_known_fingerprints(name):
    edges, fingerprint, weight_sum, sources = KNOWN[name]
    scale = int(name[-2:])
    A = FAMILIES[name[:-2]](scale)
    assert A.shape == (2**scale, 2**scale) and A.nnz == edges
    assert datasets.fingerprint(A) == fingerprint
    assert A.data.sum(dtype=np.float64) == weight_sum
    assert datasets.sources(A) == sources


@pytest.mark.parametrize("make", [datasets.rmat, datasets.kron, datasets.uniform, datasets.grid, datasets.rgg])
def test_generated_graphs_are_simple_sorted_and_symmetric(make):
    A = make(8)
    assert A.format == "csr" and A.shape == (256, 256)
    assert (A.data.dtype, A.indices.dtype, A.indptr.dtype) == (np.float32, np.int32, np.int32)
    g = as_graph(A)
    assert g.is_symmetric and g.has_symmetric_values and not g.has_self_loops
    assert all((np.diff(row) > 0).all() for row in np.split(A.indices, A.indptr[1:-1]))  # sorted, nothing twice
    assert A.data.min() >= 1 and A.data.max() <= (1000 if make is datasets.grid else 255)
    assert (A.data == np.rint(A.data)).all()


def test_a_town_has_places_and_travel_times():
    matrix, x, y = datasets.town(10)
    g = as_graph(matrix)
    assert g.is_symmetric and g.has_symmetric_values and not g.has_self_loops and matrix.has_sorted_indices
    assert (matrix.data.dtype, matrix.indices.dtype, matrix.indptr.dtype) == (np.float32, np.int32, np.int32)
    src, dst = g.edges()
    meters = np.hypot(x[src] - x[dst], y[src] - y[dst])
    speed = meters / matrix.data
    assert (meters > 50).all() and (meters < 150).all() and (speed > 6).all() and (speed < 16).all()
    assert np.bincount(connected_components(matrix)[1]).max() > 0.99 * g.n
    over = (np.minimum(src, dst) // 32 == 15) & (np.abs(src - dst) == 32)  # bridges
    assert np.unique(src[over] % 32).tolist() == [4, 20]


def test_edge_factor_and_fingerprint():
    assert (datasets.kron(7) != datasets.rmat(7, edge_factor=48)).nnz == 0
    assert datasets.uniform(9, edge_factor=2).nnz < 2 * 2 * 512 < datasets.uniform(9).nnz
    A = datasets.rmat(7)
    shuffled = A.tocoo()
    order = np.random.default_rng(0).permutation(A.nnz)
    shuffled.coords = tuple(ends[order] for ends in shuffled.coords)
    assert datasets.fingerprint(A) == datasets.fingerprint(A.T) == datasets.fingerprint(shuffled)
    assert datasets.fingerprint(A) != datasets.fingerprint(datasets.rmat(8))


def test_sources_lie_in_the_largest_component():
    A = datasets.rmat(10)
    _, labels = connected_components(A)
    chosen = datasets.sources(A, 5)
    assert len(set(chosen)) == 5 and {labels[s] for s in chosen} == {np.bincount(labels).argmax()}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.rmat(0), "scale is 0; expected 1 to 31"),
        (lambda: datasets.uniform(32), "scale is 32"),
        (lambda: datasets.grid(7), "needs an even one"),
        (lambda: datasets.town(7), "needs an even one"),
        (lambda: datasets.rgg(6), "scale is 6; expected 7 to 31"),
    ],
)
def test_bad_scales_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("kind", [np.int8, np.uint64])
def test_numbers_may_be_those_of_numpy(kind):
    for make in (datasets.rmat, datasets.uniform, datasets.grid, datasets.rgg):
        assert datasets.fingerprint(make(kind(8))) == datasets.fingerprint(make(8))
    A = datasets.grid(4)
    np.testing.assert_array_equal(datasets.with_weights(A, kind(99)).data, datasets.with_weights(A, 99).data)


@pytest.mark.parametrize("given", [None, "x", 2.5, True, np.array([1, 2]), np.nan])
def test_wrong_arguments_of_generators_are_named(given):
    A = datasets.grid(4)
    for name, call in {
        "scale": datasets.rgg,
        "edge_factor": lambda given: datasets.uniform(4, given),
        "count": lambda given: datasets.sources(A, given),
        "largest": lambda given: datasets.with_weights(A, given),
    }.items():
        with pytest.raises(TypeError, match=rf"{name} is .*; expected a whole number"):
            call(given)
    for call in (datasets.fingerprint, datasets.sources, datasets.with_weights):
        with pytest.raises(TypeError, match=r"A is .*; expected a sparse matrix"):
            call(given)
    for largest in (-1, 0, 2**70):
        with pytest.raises(ValueError, match=r"largest is .*; expected 1 to 16777216"):
            datasets.with_weights(A, largest)


def test_openflights_has_known_counts():
    A, airports = datasets.openflights()
    assert A.shape == (7698, 7698) and A.nnz == 36907 and A.data.dtype == np.float64
    assert connected_components(A)[0] == 4484 + 7  # SciPy takes the arrays as they are
    assert all(len(column) == 7698 for column in airports)
    assert A.has_canonical_format or all((np.diff(r) > 0).all() for r in np.split(A.indices, A.indptr[1:-1]))
    touched = np.union1d(*A.nonzero())
    assert 7698 - len(touched) == 4484  # airports without a route stay
    codes = {code: i for i, code in enumerate(airports.iata.tolist()) if code}
    assert all(len(code) == 3 for code in codes) and len(codes) == 6072
    assert airports.name[codes["CDG"]] == "Charles de Gaulle International Airport"
    assert (np.abs(airports.latitude) <= 90).all() and (np.abs(airports.longitude) <= 180).all()
    # published distances, in kilometres
    for a, b, kilometres in [("LHR", "JFK", 5540), ("SYD", "DFW", 13804), ("SIN", "KUL", 297), ("GKA", "POM", 424.6)]:
        assert A[codes[a], codes[b]] == pytest.approx(kilometres, rel=0.004)
    assert A.data.max() < 20016  # half way round
    assert (A.data == 0).sum() == 1  # one airport lists a flight to itself: a stored zero, and an edge
    assert as_graph(A).has_self_loops


def test_great_circles_have_known_lengths():
    assert datasets.great_circle(0, 0, 0, 180) == pytest.approx(np.pi * EARTH_RADIUS)
    assert datasets.great_circle(90, 10, -90, 77) == pytest.approx(np.pi * EARTH_RADIUS)
    assert datasets.great_circle(10, 20, 10, 20) == 0
    there, back = datasets.great_circle(1.5, 2.5, -33, 151), datasets.great_circle(-33, 151, 1.5, 2.5)
    assert there == back


def test_ny_roads_has_known_counts():
    A = datasets.ny_roads()
    assert A.shape == (264346, 264346) and A.nnz == 2 * 365050 and A.data.dtype == np.float32
    assert set(A.data) == {1}
    assert A.indices[:4].tolist() == [1, 11, 1362, 0]
    g = as_graph(A)
    assert g.is_symmetric and not g.has_self_loops and g.out_degrees.max() == 8
    weighted = datasets.with_weights(A, largest=10)
    assert set(weighted.data) == set(range(1, 11)) and as_graph(weighted).has_symmetric_values


def test_data_files_have_their_licences_and_are_small():
    folder = files("gasla") / "data"
    names = {file.name: len(file.read_bytes()) for file in folder.iterdir() if file.is_file()}
    assert {"openflights_LICENSE.txt", "ny_roads_LICENSE.txt"} <= set(names)
    assert sum(size for name, size in names.items() if name.startswith("openflights")) < 300_000
    assert names["ny_roads.npz"] < 400_000
    assert "OpenFlights.org" in (folder / "openflights_LICENSE.txt").read_text()
    assert lzma.decompress((folder / "openflights_routes.csv.xz").read_bytes()).startswith(b"from,to\n")
