"""The README's Python runs as it is printed, and its commands exist."""

import re
from typing import Any

import numpy as np
import pytest

from gasla.cli import parser
from tests.helpers import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is defined once all blocks have run, one after another; from a file, as classes have to be."""
    path = tmp_path_factory.mktemp("readme") / "readme.py"
    path.write_text("\n".join(blocks("python")), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def test_what_the_readme_computes_is_right(ran: dict[str, Any]) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    flights = ran["flights"]
    hours = csr_array((flights.data / 850 + 1.5, flights.indices, flights.indptr), shape=flights.shape)
    np.testing.assert_allclose(ran["hours"], dijkstra(hours, indices=ran["heathrow"]))
    direct = np.full(flights.shape[0], np.inf)
    row = slice(*hours.indptr[[ran["heathrow"], ran["heathrow"] + 1]])
    direct[hours.indices[row]] = hours.data[row]
    np.testing.assert_allclose(ran["one_flight_later"], direct)


@pytest.mark.gpu
def test_what_runs_on_the_gpu(ran: dict[str, Any]) -> None:
    names = dict(ran)
    exec("\n".join(blocks("py")), names)
    np.testing.assert_array_equal(names["levels"].get(), ran["levels"])
    np.testing.assert_allclose(names["hours"].get(), ran["hours"])


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.splitlines()])
def test_every_command_parses(line: str) -> None:
    words = line.removeprefix("$ gasla ").split()
    assert parser().parse_args(words).run


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
