"""The demo on the airports of the world: its findings, its report, and the map."""

import sys
from importlib import util
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import gasla
from gasla import verify
from gasla.cli import main
from gasla.demo import airports as demo
from gasla.graph.datasets import great_circle, openflights
from tests.helpers import ROOT

pytest.importorskip("matplotlib")
from gasla.demo import worldmap


@pytest.fixture(scope="module")
def found() -> demo.Findings:
    return demo.examine()


@pytest.fixture
def known_betweenness(found: demo.Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Betweenness takes by far the longest; it has been computed once already."""
    monkeypatch.setattr(gasla, "betweenness_centrality", lambda _: found.betweenness)


@pytest.mark.thorough
def test_findings_are_right(found: demo.Findings) -> None:
    matrix = found.network.matrix
    verify.pagerank(matrix, found.rank, weighted=False)
    verify.betweenness(matrix, found.betweenness, effort=1e6)
    verify.components(matrix, found.component)
    verify.bfs(matrix, found.origin, found.level)


@pytest.mark.thorough
def test_the_network_leaves_out_airports_without_a_route(found: demo.Findings) -> None:
    whole = openflights()
    assert found.network.matrix.nnz == whole.matrix.nnz
    assert found.rank.size + found.network.without_route == whole.matrix.shape[0]
    degree = np.diff(found.network.matrix.indptr) + np.diff(found.network.matrix.tocsc().indptr)
    assert degree.min() > 0


@pytest.mark.thorough
def test_the_default_journey_leads_from_the_north_to_the_south(found: demo.Findings) -> None:
    latitude = found.network.airports.latitude
    connected = found.component == np.bincount(found.component).argmax()
    assert latitude[found.origin] == latitude[connected].max()
    assert latitude[found.destination] == latitude[connected].min()
    assert "".join(found.network.airports.iata[[leg.end for leg in found.legs]]) == "OSLLHREZEUSH"


@pytest.mark.parametrize(("start", "end"), [("JFK", "NRT"), ("LYR", "AKL"), ("PER", "ANC")])
def test_routes_are_the_shortest(start: str, end: str) -> None:
    flights = demo.network()
    a, b = (demo.find_airport(flights.airports, code) for code in (start, end))
    legs = demo.shortest_route(flights.matrix, a, b)
    assert legs[0].start == a
    assert legs[-1].end == b
    assert all(one.end == other.start for one, other in pairwise(legs))
    for leg in legs:
        assert leg.kilometers == pytest.approx(flights.matrix[leg.start, leg.end], rel=1e-6)
    total = sum(leg.kilometers for leg in legs)
    assert total == pytest.approx(dijkstra(flights.matrix, indices=[a])[0, b], rel=1e-6)


def test_no_route_and_no_need_of_one() -> None:
    flights = demo.network()
    lhr, noumea = (demo.find_airport(flights.airports, code) for code in ("LHR", "GEA"))
    assert demo.shortest_route(flights.matrix, lhr, noumea) == []
    assert demo.shortest_route(flights.matrix, lhr, lhr) == []


def test_airports_are_found_by_code_city_and_name() -> None:
    airports = demo.network().airports
    tokyo = demo.find_airport(airports, "nrt")
    assert airports.city[tokyo] == "Tokyo"
    assert demo.find_airport(airports, str(airports.name[tokyo])) == tokyo
    assert airports.iata[demo.find_airport(airports, "Ushuaia")] == "USH"
    with pytest.raises(ValueError, match=r"any of .*LHR"):
        demo.find_airport(airports, "London")
    for nowhere in ("Atlantis", "", "XXX"):
        with pytest.raises(ValueError, match="has no route or does not exist"):
            demo.find_airport(airports, nowhere)


@pytest.mark.thorough
def test_the_report_has_all_parts(found: demo.Findings) -> None:
    text = "\n".join(demo.report(found, top=5))
    assert "3,214 airports and 36,907 routes" in text
    assert "OpenFlights.org (ODbL)" in text
    assert "ATL  Atlanta" in text
    assert "LHR London               → EZE Buenos Aires" in text
    assert "16,706 km, 4 flights" in text
    assert "3,188 airports: the rest of the world" in text
    assert "9 flights" in text
    assert "never" in text
    assert "  6 " not in text.split("The shortest route")[0]  # five places in the ranking


@pytest.mark.thorough
@pytest.mark.usefixtures("known_betweenness")
@pytest.mark.slow
def test_the_demo_draws_a_route(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "map.png"
    assert main(["demo", "--from", "JFK", "--to", "Auckland", "-o", str(picture)]) == 0
    assert "Auckland (AKL)" in capsys.readouterr().out
    assert_picture(picture)
    assert main(["demo", "--from", "LHR", "--to", "GEA", "--no-map"]) == 0
    assert "There is no route from London (LHR)" in capsys.readouterr().out
    assert main(["demo", "--from", "LHR", "--to", "LHR", "--no-map"]) == 0


def assert_picture(path: Path) -> None:
    from matplotlib.image import imread

    pixels = imread(path)
    height, width = pixels.shape[:2]
    assert width > 1.5 * height > 750
    bright = pixels[..., :3].max(axis=2) > 0.5
    assert 0.005 < bright.mean() < 0.3  # neither empty nor washed out
    for quarter in np.array_split(bright, 4, axis=1):
        assert quarter.mean() > 0.001


@pytest.mark.parametrize("arguments", [["-o", "map.doc"], ["-o", "none/map.png"]])
def test_a_picture_that_can_not_be_saved(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_demo_says_that_matplotlib_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == "matplotlib" else real(name, *rest))
    assert main(["demo"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "pip install 'gasla[plot]'" in captured.err
    assert "--no-map" in captured.err


@pytest.mark.thorough
@pytest.mark.usefixtures("known_betweenness")
def test_the_example_is_the_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import runpy

    example = ROOT / "examples" / "airport_map.py"
    drawn = []
    monkeypatch.setattr(demo, "draw_map", lambda found, path: drawn.append((len(found.legs), path)))
    monkeypatch.setattr(sys, "argv", [str(example), "JFK", "AKL", "map.png"])
    runpy.run_path(str(example), run_name="__main__")
    assert "JFK New York" in capsys.readouterr().out
    assert drawn == [(2, "map.png")]


def test_equal_earth_keeps_areas_equal() -> None:
    """A cell between two meridians and two parallels has the area of its part of the sphere."""
    for south, north in [(0.0, 1.0), (40.0, 41.0), (70.0, 71.0)]:
        longitude = worldmap.CENTER + np.array([20.0, 21.0, 21.0, 20.0])
        x, y = worldmap.project(longitude, np.array([south, south, north, north]))
        flat = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
        round_ = np.radians(1) * (np.sin(np.radians(north)) - np.sin(np.radians(south)))
        assert flat == pytest.approx(round_, rel=1e-3)


def places(longitude: list[float], latitude: list[float]) -> worldmap.Places:
    n = len(longitude)
    return worldmap.Places(
        np.array(longitude), np.array(latitude), np.array(["x"] * n), np.ones(n), np.arange(n, dtype=float)
    )


def test_arcs_are_great_circles() -> None:
    ends = places([-73.8, 140.4], [40.6, 35.8])
    points = worldmap._to_sphere(ends)
    longitude, latitude = worldmap._points_on_circles(points[0], points[1], np.linspace(0, 1, 11)[:, None])
    steps = great_circle(latitude[:-1], longitude[:-1], latitude[1:], longitude[1:])
    assert steps == pytest.approx(np.full(10, great_circle(40.6, -73.8, 35.8, 140.4) / 10))
    assert latitude.max() > 65  # by way of Alaska


def test_a_curve_is_cut_at_the_edge_of_the_map() -> None:
    pieces = list(worldmap._split_at_map_edges(np.array([160.0, 175.0, -175.0, -165.0, -150.0]), np.zeros(5)))
    assert [piece[0].size for piece in pieces] == [3, 2]
    assert pieces[0][0].min() > 2
    assert pieces[1][0].max() < -2


def test_light_is_spread_and_none_is_lost() -> None:
    ends = places([0.0, 20.0, 0.0], [0.0, 20.0, 0.0])
    box: Any = (-2.7, 2.7, -1.3, 1.3)
    one = worldmap.exposure(ends, np.array([0]), np.array([1]), 400, box)
    twice = worldmap.exposure(ends, np.array([0, 1]), np.array([1, 0]), 400, box)
    np.testing.assert_allclose(twice, 2 * one, atol=1e-12)
    arc = great_circle(0, 0, 20, 20) / 6371.0088
    assert one.sum() == pytest.approx(arc * (0.05 + arc) ** -0.35)
    assert (one > 0).sum() > 30
    nowhere = worldmap.exposure(ends, np.array([0]), np.array([2]), 400, box)
    assert nowhere.sum() == 0
