"""What notebooks show of results, and that a browser shows it; graphs are in tests/graph/test_exchange.py."""

import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gasla import Frontier, Graph
from gasla.operations.result import Result

BLUE = (0x4C, 0x78, 0xA8)  # of bars
STATE = {
    "distance": np.array([0, 1.5, np.inf, 2, 7], np.float32),
    "has_seen": np.array([True, False, True, False, False]),
    "place": np.arange(10, dtype=np.int64).reshape(5, 2),
    "half": np.array([1, np.nan, 0, 0, 0], np.float16),
}


def result(state: dict[str, Any], **aggregates: Any) -> Result:
    return Result(state, 12, True, 3456, Frontier.none(5), aggregates)


def cells(page: str) -> list[str]:
    """Of well-formed HTML, what stands in the cells of tables."""
    return [cell.text or "" for cell in ElementTree.fromstring(page).iter("td")]


def test_results() -> None:
    assert cells(result(STATE, total=np.int64(7), counts=np.arange(9))._repr_html_()) == [
        *("12", "True", "3,456", "0", "7"),
        *("distance", "float32", "(5,)", "0 to inf", "0, 1.5, inf, 2, …"),
        *("has_seen", "bool", "(5,)", "False to True", "True, False, True, False, …"),
        *("place", "int64", "(5, 2)", "0 to 9", "[0, 1], [2, 3], [4, 5], [6, 7], …"),
        *("half", "float16", "(5,)", "nan to nan", "1, nan, 0, 0, …"),
    ]


def test_results_of_nothing() -> None:
    assert cells(result({})._repr_html_()) == ["12", "True", "3,456", "0"]
    empty = {"x": np.zeros(0, np.int8), "wide": np.zeros((1, 9), np.int8)}
    assert cells(result(empty)._repr_html_())[4:] == [
        *("x", "int8", "(0,)", "", ""),
        *("wide", "int8", "(1, 9)", "0 to 0", "[0, 0, 0, 0, …]"),
    ]


@pytest.mark.gpu
def test_results_on_the_gpu() -> None:
    import cupy

    there = {name: cupy.asarray(array) for name, array in STATE.items()}
    assert result(there, total=cupy.array(7))._repr_html_() == result(STATE, total=np.array(7))._repr_html_()


def shown(page: str, folder: Path) -> np.ndarray:
    """The pixels that a browser makes of it, (height, width, 3) of 0 to 255."""
    from matplotlib.image import imread

    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("no Chromium on the PATH, such as Debian's package chromium has")
    source, image = folder / "page.html", folder / "page.png"
    source.write_text(f"<!doctype html><meta charset='utf-8'><body>{page}", encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=700,400"]
    command += ["--force-color-profile=srgb", f"--user-data-dir={folder}", f"--screenshot={image}", source.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return np.round(imread(image)[..., :3] * 255).astype(int)


@pytest.mark.slow
def test_a_browser_shows_a_graph(tmp_path: Path) -> None:
    """Slow: it starts a browser. Bars stand side by side, as high as the logarithm of counts."""
    graph = Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 1], [1, 2, 3, 4])
    is_bar = (shown(graph._repr_html_(), tmp_path) == BLUE).all(axis=2)
    heights = is_bar.sum(axis=0)
    edges = np.flatnonzero(np.diff(heights, prepend=0, append=0))
    assert np.diff(edges).tolist() == [12, 2, 12, 2, 12]
    assert heights[edges[::2]].tolist() == [48, 31, 31]


@pytest.mark.slow
def test_a_browser_shows_a_result(tmp_path: Path) -> None:
    """Slow: it starts a browser. A line of text for each fact, the titles, and each field."""
    is_dark = (shown(result(STATE)._repr_html_(), tmp_path) < 128).all(axis=2).any(axis=1)
    lines = np.flatnonzero(np.diff(is_dark.astype(int), prepend=0) == 1)
    assert len(lines) >= 1 + 4 + 1 + len(STATE)
