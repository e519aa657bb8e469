"""The README's Python runs as it is printed, and its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path
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
    np.testing.assert_allclose(ran["kilometers"], dijkstra(flights, indices=ran["heathrow"]))
    levels = dijkstra(flights, indices=ran["heathrow"], unweighted=True)
    np.testing.assert_array_equal(ran["levels"], np.where(np.isinf(levels), -1, levels))
    assert ran["count"] == len(np.unique(ran["labels"])) and ran["ranks"].sum() == pytest.approx(1)
    assert len(np.unique(ran["communities"])) > ran["count"]


def test_networkx_runs_on_gasla_by_the_variable(tmp_path: Path) -> None:
    pytest.importorskip("networkx", "3.6")
    (line,) = "".join(blocks("sh")).splitlines()
    program = "import networkx as nx; print(nx.config.backend_priority.algos, 'gasla' in nx.config.backends)"
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = {"cwd": tmp_path, "env": os.environ | {"PATH": path}, "check": True, "text": True}
    said = subprocess.run(["sh", "-c", line], capture_output=True, **command).stdout
    assert said == "['gasla'] True\n"


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
