"""Pictures by Matplotlib: what is in them, what they leave out and say so, and how calls are refused."""

import re
import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gasla
from gasla.algorithms.drawing import draw as module
from gasla.cli import main
from tests.algorithms.community.test_edge_support import DEVICES, HARD, on
from tests.algorithms.community.test_triangles import edge_lists

pytest.importorskip("matplotlib")

from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver

pytestmark = pytest.mark.thorough

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TRIPS = [("Oslo", "Rome"), ("Rome", "Bonn"), ("Bonn", "Oslo"), ("Oslo", "Bern")]


def axes() -> Any:
    return Figure().subplots()


def rendered(ax: Any) -> np.ndarray:
    """The pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def lines(ax: Any) -> list[np.ndarray]:
    (found,) = (part for part in ax.collections if isinstance(part, LineCollection))
    return [np.asarray(path.vertices) for path in found.get_paths()]


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def said(ax: Any) -> str:
    return str(ax.get_title(loc="left"))


def square(**attributes: Any) -> gasla.Graph:
    return gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0]).with_vertex_attributes(attributes)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", HARD)
def test_hard_shapes_are_drawn(device: Any, shape: str) -> None:
    graph = on(device, HARD[shape])
    ax = gasla.draw(graph, ax=axes())
    assert len(ax.collections[-1].get_offsets()) == graph.n
    assert len(ax.texts) == min(graph.n, 10)
    assert (rendered(ax) < 255).any() == (graph.n > 0)
    assert said(ax) == ""


@settings(max_examples=20)
@given(edge_lists(), st.booleans())
def test_each_pair_of_neighbors_is_one_line(edges: Any, arrows: bool) -> None:
    graph = on("cpu", edges)
    positions = np.random.default_rng(0).random((graph.n, 2))
    src, dst = graph.edges()
    wanted = {(u, v) if arrows else (min(u, v), max(u, v)) for u, v in zip(src.tolist(), dst.tolist())}
    ax = gasla.draw(graph, positions, ax=axes(), arrows=arrows)
    straight = [line for line in lines(ax) if len(line) == 2]
    assert sorted(map(np.ndarray.tolist, straight)) == sorted(positions[[u, v]].tolist() for u, v in wanted if u != v)
    assert len(lines(ax)) == len(wanted)  # a loop is a circle
    heads = [part for part in ax.collections if isinstance(part, Quiver)]
    assert sum(len(part.X) for part in heads) == (len(straight) if arrows else 0)
    rendered(ax)


def test_a_loop_is_seen() -> None:
    loop, point = (gasla.Graph.from_edges(ends, ends, n=2) for ends in ([0], []))
    pictures = [rendered(gasla.draw(graph, [[0, 0], [1, 1]], ax=axes())) for graph in (loop, point)]
    assert (pictures[0] != pictures[1]).any()
    (circle,) = lines(gasla.draw(loop, [[3, 3], [3, 3]], ax=axes(), arrows=True))
    np.testing.assert_allclose(circle[0], [3, 3])


def test_vertices_have_colors_and_sizes_by_score() -> None:
    scores = [0.5, np.inf, 0.0, 1.0]
    ax = gasla.draw(square(), SQUARE, ax=axes(), color=scores, size=[1, 2, 3, np.nan])
    dots = ax.collections[-1]
    rendered(ax)
    np.testing.assert_array_equal(dots.get_offsets(), SQUARE[[3, 0, 1, 2]])  # by size
    areas = dots.get_sizes()
    assert (np.diff(areas) > 0).all() and areas[3] == module.LARGEST_AREA
    np.testing.assert_array_equal(dots.get_array(), [1, 0.5, np.inf, 0])
    colors = dots.get_facecolors()
    assert tuple(colors[2]) == to_rgba(module.MISSING)
    assert len(np.unique(colors, axis=0)) == 4


@pytest.mark.parametrize(
    "given", ["rank", np.arange(4), [0, 1, 2, 3], np.arange(4) > 1, np.arange(4, dtype=np.float16)]
)
def test_forms_of_scores(given: Any) -> None:
    graph = square(rank=[0.0, 1.0, 2.0, 3.0])
    ax = gasla.draw(graph, SQUARE, ax=axes(), color=given, size=given)
    assert ax.collections[-1].get_array().max() in (1, 3)


def test_results_are_scores() -> None:
    ax = gasla.draw(square(), SQUARE, ax=axes(), color=gasla.pagerank(square()), size=gasla.core_number(square()))
    np.testing.assert_allclose(ax.collections[-1].get_array(), 0.25)


def test_one_color_and_one_size() -> None:
    ax = gasla.draw(square(), SQUARE, ax=axes(), color="red", size=7, cmap="magma")
    assert ax.collections[-1].get_facecolors().tolist() == [[1, 0, 0, 1]]
    assert ax.collections[-1].get_sizes().tolist() == [7] * 4
    ax = gasla.draw(square(), SQUARE, ax=axes(), color=[np.nan] * 4)
    assert tuple(ax.collections[-1].get_facecolors()[0]) == to_rgba(module.MISSING)


def test_labels_are_names_of_the_most_important() -> None:
    graph = gasla.Graph.from_networkx(nx.DiGraph(TRIPS))  # Oslo has three edges, Bern one
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=1)) == ["Oslo"]
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=2, size=[1, 2, 3, 4])) == ["Bern", "Bonn"]
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=2, color=[1.0, np.inf, 3.0, np.nan])) == ["Bonn", "Oslo"]
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=1, color=[1, 2, 3, 4])) == ["Oslo"]  # labels of groups
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=["Rome", "Bern"])) == ["Rome", "Bern"]
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels={"Rome": "$caput", 0: 8})) == ["$caput", "8"]
    assert texts(gasla.draw(graph, SQUARE, ax=axes(), labels=0)) == []
    assert texts(gasla.draw(square(), SQUARE, ax=axes())) == ["0", "1", "2", "3"]
    rendered(gasla.draw(graph, SQUARE, ax=axes(), labels={"Rome": "$x_"}))  # is no formula


def test_positions_are_an_array_or_attributes_or_a_layout() -> None:
    graph = square(x=SQUARE[:, 0], y=SQUARE[:, 1])
    right = sorted(SQUARE.tolist())
    for positions in (SQUARE, SQUARE.tolist(), SQUARE.astype(int), ("x", "y"), ["x", "y"]):
        assert sorted(gasla.draw(graph, positions, ax=axes()).collections[-1].get_offsets().tolist()) == right
    drawn = gasla.draw(graph, ax=axes(), seed=3, size=[1, 2, 3, 4]).collections[-1].get_offsets()
    np.testing.assert_array_equal(drawn, gasla.layout(graph, seed=3))


def test_vertices_without_a_position_are_left_out() -> None:
    places = SQUARE.copy()
    places[2, 1] = np.nan
    ax = gasla.draw(square(), places, ax=axes())
    assert said(ax) == "vertices without a position, left out: 1"
    assert len(ax.collections[-1].get_offsets()) == 3 and len(lines(ax)) == 2
    assert texts(ax) == ["0", "1", "3"]
    rendered(gasla.draw(square(), np.full((4, 2), np.nan), ax=axes()))


def test_many_edges_are_a_density(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 3)
    ax = gasla.draw(square(), SQUARE, ax=axes(), labels=0)
    assert said(ax) == "4 edges as a density"
    assert not any(isinstance(part, LineCollection) for part in ax.collections)
    (image,) = ax.images
    alpha = np.asarray(image.get_array())[..., 3]
    assert min(alpha[0].mean(), alpha[-1].mean(), alpha[:, 0].mean(), alpha[:, -1].mean()) > 0.2  # its four sides
    assert alpha[5:-5, 5:-5].max() == 0
    rendered(ax)
    rendered(gasla.draw(square(), np.zeros((4, 2)), ax=axes()))
    rendered(gasla.draw(square(), np.full((4, 2), np.nan), ax=axes()))


@pytest.mark.parametrize("device", DEVICES)
def test_of_more_edges_a_sample(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    """The picture of the sample has the length of all edges of which it is one, but for the share of edges."""
    monkeypatch.setattr(module, "MOST_LINES", 100)
    graph = gasla.Graph(gasla.generators.rmat(10)).to(device)
    positions = np.random.default_rng(0).random((graph.n, 2))
    whole = gasla.draw(graph, positions, ax=axes(), labels=0)
    monkeypatch.setattr(module, "MOST_SAMPLED", 1000)
    part = gasla.draw(graph, positions, ax=axes(), labels=0)
    assert said(whole) == f"{graph.m:,} edges as a density"
    assert said(part) == f"1,000 of {graph.m:,} edges, as a density"
    rendered(part)


def test_the_sample_of_edges_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SAMPLED", 250)
    graph = gasla.Graph.from_edges(np.arange(1000) % 37, np.arange(1000) % 41)
    counts = np.zeros((37, 41))
    random = np.random.default_rng(0)
    for _ in range(400):
        np.add.at(counts, module._sampled(graph, random), 1)
    src, dst = graph.edges()
    assert counts.sum() == 100_000 == counts[src, dst].sum()
    assert counts[src, dst].min() > 0.6 * 100 and counts[src, dst].max() < 1.4 * 100


@pytest.mark.parametrize("most", [1 << 20, 1000, 7])
def test_a_density_has_the_length_of_its_edges(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """However many points stand for them, and however many are in memory."""
    monkeypatch.setattr(module, "MOST_POINTS", most)
    monkeypatch.setattr(module, "AT_ONCE", 64)
    random = np.random.default_rng(1)
    places, (src, dst) = random.random((30, 2)) * [4, 1], random.integers(0, 30, (2, 50))
    low, high = places.min(axis=0), places.max(axis=0)
    image = module.density(places, src, dst, low, high, random)
    pixel = np.ptp(places, axis=0).max() / module.PIXELS
    assert image.sum() == pytest.approx(np.hypot(*(places[src] - places[dst]).T).sum() / pixel)
    assert max(image.shape) == module.PIXELS + 1


def test_of_many_vertices_the_most_important(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOTS", 2)
    ax = gasla.draw(square(), SQUARE, ax=axes(), size=[4, 1, 2, 3])
    assert said(ax) == "2 of 4 vertices"
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), SQUARE[[3, 0]])


def test_without_sizes_low_scores_are_drawn_as_often_as_high_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOTS", 2000)
    graph = gasla.Graph.from_edges([], [], n=20_000)
    places, scores = np.random.default_rng(0).random((graph.n, 2)), np.arange(graph.n, dtype=float)
    ax = gasla.draw(graph, places, ax=axes(), color=scores, labels=[0, 1, 2])
    drawn = np.asarray(ax.collections[-1].get_array())
    assert said(ax) == "2,000 of 20,000 vertices" and {0, 1, 2} <= set(drawn)
    assert abs((drawn < 10_000).sum() - 1000) < 6 * 500**0.5  # below six sigma of a binomial distribution
    assert abs((drawn[:1000] < 10_000).sum() - 500) < 6 * 250**0.5  # nor are low scores below high ones
    again = gasla.draw(graph, places, ax=axes(), color=scores, labels=[0, 1, 2])
    np.testing.assert_array_equal(again.collections[-1].get_array(), drawn)


def test_scores_of_one_band_have_one_color() -> None:
    graph = gasla.Graph.from_edges([], [], n=8)
    places, minutes = np.random.default_rng(0).random((8, 2)), np.array([0, 1, 4.9, 5, 9, 10, 20, np.inf])
    ax = gasla.draw(graph, places, ax=axes(), color=minutes, bands=[5, 10, 15], size=np.arange(8), labels=0)
    dots = ax.collections[-1]
    rendered(ax)
    colors = dict(zip(np.asarray(dots.get_array()).tolist(), map(tuple, dots.get_facecolors())))
    bands = [{0, 1, 4.9}, {5, 9}, {10}, {20}, {np.inf}]
    assert [len({colors[minute] for minute in band}) for band in bands[:-1]] == [1, 1, 1, 1]
    assert len(set(colors.values())) == 5 and colors[np.inf] == to_rgba(module.MISSING)
    bar = ax.figure.colorbar(dots)
    assert [tick for tick in bar.get_ticks() if tick in (5, 10, 15)] == [5, 10, 15]


def test_of_many_vertices_those_within_the_bands_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOTS", 30)
    minutes = np.where(np.arange(100) < 20, 1.0, np.inf)
    minutes[50:] = 60.0
    places = np.random.default_rng(1).random((100, 2))
    ax = gasla.draw(gasla.Graph.from_edges([0], [1], n=100), places, ax=axes(), color=minutes, bands=[5, 10])
    assert (ax.collections[-1].get_array() == 1).sum() == 20
    assert len(ax.texts) == 0


def test_a_new_figure_and_given_axes() -> None:
    from matplotlib import pyplot

    ax = gasla.draw(square(), SQUARE)
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)
    right = Figure().subplots(1, 2)[1]
    assert gasla.draw(square(), SQUARE, ax=right) is right


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "axes": ({"ax": 3}, "ax is 3; expected Matplotlib's axes"),
    "a name": ({"color": "speed"}, "'speed' is no vertex attribute; there are 'x', 'name'"),
    "a size": ({"size": "red"}, "'red' is no vertex attribute"),
    "scores of others": ({"color": [1, 2]}, "color has shape (2,); expected (4,)"),
    "negative": ({"size": -1}, "size is -1; expected a number"),
    "texts": ({"color": list("abcd")}, "color holds values of type <U1; expected numbers"),
    "several fields": ({"color": "hits"}, "color is a HubsResult with hubs, authorities; expected one of these"),
    "labels": ({"labels": -1}, "labels is -1; expected 0 or more"),
    "a label": ({"labels": "0"}, "labels is '0'; expected several vertices"),
    "no such vertex": ({"labels": [9]}, "labels: vertex"),
    "arrows": ({"arrows": 1}, "arrows is 1; expected True or False"),
    "seed": ({"seed": -1}, "seed is -1; expected 0 or more"),
    "colormap": ({"cmap": "vrdis"}, "vrdis"),
    "one position": ({"positions": 3}, "positions are 3; expected (4, 2)"),
    "rows of two lengths": ({"positions": [[1], [1, 2]]}, "positions are [[1], [1, 2]]; expected (4, 2)"),
    "two rows": ({"positions": SQUARE.T}, "positions have shape (2, 4); expected (4, 2), a row x, y for each vertex"),
    "positions by texts": ({"positions": np.full((4, 2), "a")}, "positions hold values of type <U1"),
    "bands without scores": ({"bands": [1, 2]}, "bands are given, but color is no score of each vertex"),
    "bands of a number": ({"bands": 3, "color": "x"}, "bands is 3; expected several ascending numbers"),
    "bands in disorder": ({"bands": [2, 1], "color": "x"}, "bands is [2, 1]; expected 2 to 200 ascending numbers"),
    "a band of text": ({"bands": [1, "a"], "color": "x"}, "bands[1] is 'a'; expected a number"),
    "no such attribute": ({"positions": ("x", "latitude")}, "'latitude' is no vertex attribute"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_come_before_work(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "layout", lambda *_, **__: pytest.fail("has begun"))
    options, message = WRONG[case]
    graph = square(x=SQUARE[:, 0], name=[3, 4, 5, 6])
    if options.get("color") == "hits":
        options = {"color": gasla.hits(graph)}
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        gasla.draw(graph, **{"ax": None, **options})


def test_arrows_on_a_density_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 3)
    with pytest.raises(ValueError, match="arrows is True, but 4 edges are drawn as a density; expected 3 at most"):
        gasla.draw(square(), SQUARE, ax=axes(), arrows=True)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=re.escape("gasla.draw needs Matplotlib: pip install 'gasla[plot]'")):
        gasla.draw(square())


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes that `gasla.draw` has drawn on."""
    found: list[Any] = []
    monkeypatch.setattr(gasla, "draw", lambda *args, **options: found.append(module.draw(*args, **options)))
    return found


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_command_writes_a_picture(tmp_path: Any, capsys: Any, drawn: list[Any], ending: str) -> None:
    source, target = tmp_path / "trips.csv", tmp_path / f"picture.{ending}"
    source.write_text("from,to\n" + "\n".join(map(",".join, TRIPS)))
    words = ["--color", "core-number", "--size", "pagerank", "--labels", "2", "--arrows", "--seed", "1"]
    assert main(["draw", str(source), *words, "--output", str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target}: 4 vertices, 4 edges\n"
    assert target.read_bytes()[:4] == (b"\x89PNG" if ending == "png" else b"<?xm")
    assert texts(drawn[0]) == ["Oslo", "Bonn"]


def test_the_command_draws_airports_at_their_places(tmp_path: Any, capsys: Any, drawn: list[Any]) -> None:
    target = tmp_path / "flights.svg"
    words = ["--positions", "longitude,latitude", "--labels", "3", "--color", "core-number", "--bands", "5,20"]
    assert main(["draw", "openflights", *words, "--output", str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target}: 7,698 vertices, 36,907 edges\n"
    assert sorted(texts(drawn[0])) == ["AMS", "CDG", "FRA"]
    assert drawn[0].get_xlim()[0] > -200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "x.doc"], "x.doc: unknown picture format"),
        (
            ["-o", "x.png", "--color", "pagerak"],
            "no algorithm with a value per vertex is named 'pagerak'; did you mean",
        ),
        (
            ["-o", "x.png", "--positions", "longitude,latitud"],
            "'latitud' is no vertex attribute; there are 'longitude'",
        ),
        (["-o", "x.png", "--bands", "5,a"], "--bands has 'a'; expected numbers, as in --bands 5,10,15"),
        (["-o", "x.png", "--positions", "longitude"], "--positions longitude: expected two"),
    ],
)
def test_the_command_refuses(words: list[str], message: str, capsys: Any) -> None:
    assert main(["draw", "openflights", *words]) == 2
    assert message in capsys.readouterr().err
