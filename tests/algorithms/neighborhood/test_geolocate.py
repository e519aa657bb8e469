"""Geolocation: each estimated location has the least sum of distances, as SciPy's minimizer finds it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import gasla
from gasla import verify
from gasla.arrays import moved
from gasla.datasets import great_circle
from gasla.verify import VerificationError
from tests.algorithms.community.test_edge_support import HARD, Edges, on
from tests.algorithms.community.test_triangles import edge_lists

DEVICES = ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)]
UNKNOWN = [np.nan, np.nan]


def drawn(n: int, seed: int, coarse: bool) -> np.ndarray:
    """Locations, about half unknown; if coarse, equal ones and ones on a line."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 4, (n, 2)).astype(float) if coarse else 80 * rng.random((n, 2))
    places[rng.random(n) < 0.5] = np.nan
    return places


def check(device: Any, edges: Edges, places: np.ndarray, sphere: bool) -> None:
    graph = on(device, edges)
    found = moved(gasla.geolocate(graph, moved(places, device), sphere=sphere), "cpu")
    verify.geolocate(on("cpu", edges), places, found, sphere=sphere)


@pytest.mark.parametrize("sphere", [False, True])
@settings(max_examples=30, deadline=None)
@given(edges=edge_lists(), seed=st.integers(0, 10**6), coarse=st.booleans())
def test_locations_are_medians(edges: Edges, seed: int, coarse: bool, sphere: bool) -> None:
    check("cpu", edges, drawn(edges[0], seed, coarse), sphere)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes(shape: str, device: Any) -> None:
    check(device, HARD[shape], drawn(HARD[shape][0], 1, False), False)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, 9), seed=st.integers(0, 10**6), coarse=st.booleans())
def test_no_other_place_is_nearer_to_all_neighbors(count: int, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 4, (count, 2)).astype(float) if coarse else rng.random((count, 2))
    star = gasla.Graph.from_edges(np.arange(count), np.full(count, count))
    found = gasla.geolocate(star, np.vstack([places, UNKNOWN]))[count]

    def total(place: np.ndarray) -> float:
        return float(np.hypot(*(places - place).T).sum())

    starts = [*places, places.mean(axis=0), np.median(places, axis=0)]
    least = min(minimize(total, start, method="Nelder-Mead", options={"xatol": 1e-9}).fun for start in starts)
    assert total(found) <= min(least, *map(total, places)) + 1e-6 * count


def test_two_copies_that_almost_outweigh_two_others() -> None:
    """Weiszfeld's iteration alone shrinks the distance to the copies by a thousandth at a time."""
    places = [[0.0178, 0.5799], [0.0178, 0.5799], [0.5634, 0.9365], [0.6584, 0.9252], UNKNOWN]
    star = gasla.Graph.from_edges(np.arange(4), np.full(4, 4))
    np.testing.assert_allclose(gasla.geolocate(star, places, max_iter=400)[4], places[0], atol=1e-6)


def test_locations_spread_and_cross_the_date_line() -> None:
    path = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], n=7)
    found = gasla.geolocate(path, [[0.0, 179.0], *[UNKNOWN] * 3, [0.0, -179.0], UNKNOWN, UNKNOWN], sphere=True)
    np.testing.assert_allclose(found[[1, 3]], [[0, 179], [0, -179]], atol=1e-9)
    assert abs(abs(found[2, 1]) - 180) <= 1 + 1e-6 and abs(found[2, 0]) < 1e-6
    assert np.isnan(found[5:]).all()
    around = [(10.0, 10.0), (10.0, 20.0), (20.0, 15.0), (14.0, 15.0)]
    star = gasla.Graph.from_edges(np.arange(4), np.full(4, 4))
    middle = gasla.geolocate(star, np.vstack([around, UNKNOWN]), sphere=True)[4]

    def total(place: Any) -> float:
        return sum(great_circle(*place, *other) for other in around)

    best = minimize(total, (13.0, 15.0), method="Nelder-Mead", options={"xatol": 1e-9}).fun
    assert total(middle) <= best * (1 + 1e-7)


def test_given_locations_stay_and_none_gives_none() -> None:
    graph = gasla.Graph.from_edges([0, 1], [1, 2])
    assert np.isnan(gasla.geolocate(graph, np.full((3, 2), np.nan))).all()
    places = np.array([[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(gasla.geolocate(graph, places), places)
    assert gasla.geolocate(gasla.Graph.from_edges([], [], n=0), np.empty((0, 2))).shape == (0, 2)
    wide = gasla.Graph.from_csr(np.array([0, 2, 3, 4], np.int64), np.array([2, 1, 0, 0], np.int64))
    np.testing.assert_allclose(gasla.geolocate(wide, [UNKNOWN, [1e300, 0], [-1e300, 0]])[0], [0, 0])


@pytest.mark.parametrize(
    ("places", "options", "message"),
    [
        ([[0.0, 1.0]], {}, r"locations is float64\(1, 2\); expected \(2, 2\) numbers, a row for each vertex"),
        ([[0.0], [1.0]], {}, r"expected \(2, 2\) numbers"),
        ([[0.0, 1.0], [np.inf, 0.0]], {}, r"locations of vertex 1 is \[inf, 0\.0\]; expected two finite numbers"),
        ([[0.0, np.nan], [0.0, 0.0]], {}, r"locations of vertex 0 is \[0\.0, nan\]; expected .*, or NaN for both"),
        ([[0.0, 1.0], [91.0, 0.0]], {"sphere": True}, "expected a latitude from -90 to 90"),
        ([[0.0, 1.0], [1.0, 0.0]], {"tol": -1}, "tol is -1; expected"),
        ([[0.0, 1.0], [1.0, 0.0]], {"sphere": 1}, "sphere is 1; expected True or False"),
    ],
)
def test_wrong_arguments_are_named(places: Any, options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        gasla.geolocate(gasla.Graph.from_edges([0], [1]), places, **options)


def test_too_few_iterations_warn() -> None:
    star = gasla.Graph.from_edges([0, 1, 2], [3, 3, 3])
    with pytest.warns(gasla.ConvergenceWarning, match="still change after 2 iterations; raise max_iter"):
        gasla.geolocate(star, [[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], UNKNOWN], max_iter=1)


def test_the_verifier_rejects_wrong_locations() -> None:
    star = gasla.Graph.from_edges([0, 1, 2], [3, 3, 3])
    places = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], UNKNOWN])
    found = gasla.geolocate(star, places)
    verify.geolocate(star, places, found)
    for row, place, message in (
        (0, [0.0, 0.1], "vertex 0 was at"),
        (3, [0.1, 0.5], "the location of vertex 3 is no median"),
        (3, UNKNOWN, "vertex 3 is at .*, 1.0 edges from a known location"),
    ):
        wrong = found.copy()
        wrong[row] = place
        with pytest.raises(VerificationError, match=message):
            verify.geolocate(star, places, wrong)
