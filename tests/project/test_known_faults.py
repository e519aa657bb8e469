"""The page of known faults is of this release, and what it says happens still does: a row whose fault is fixed goes."""

import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

import gasla
from tests.helpers import ROOT

TEXT = (ROOT / "docs" / "known-faults.md").read_text(encoding="utf-8")
NETWORKX = """
import networkx as nx
G = nx.path_graph(3, create_using=nx.DiGraph)
nx.set_edge_attributes(G, 1, "weight")
length = nx.shortest_path_length(G, 0, 2, weight="weight", backend="gasla")
G[0][1]["weight"] = 5
print(length, nx.shortest_path_length(G, 0, 2, weight="weight", backend="gasla"))
"""


def products_keep_values() -> bool:
    A = sp.csr_array(np.array([[0.0, 1, 2], [0, 0, 3], [0, 0, 0]]))
    graph, x = gasla.Graph(A), np.ones(3)
    before = gasla.vxm(x, graph)
    A.data *= 10
    assert gasla.vxm(x, graph.with_values(A.data)).tolist() == (10 * before).tolist()  # what the page says to do
    return gasla.vxm(x, graph).tolist() == before.tolist()


def converted_graphs_keep_weights() -> bool:
    pytest.importorskip("networkx", minversion="3.6")
    done = subprocess.run([sys.executable, "-c", NETWORKX], capture_output=True, text=True, check=True)
    assert "__networkx_cache__.clear()" in done.stderr
    return done.stdout.split() == ["2", "2"]


SHOWN = [products_keep_values, converted_graphs_keep_weights]


@pytest.mark.parametrize("still_stands", SHOWN)
def test_a_fault_still_stands(still_stands: Callable[[], bool]) -> None:
    assert still_stands(), "it is right now: delete its row in docs/known-faults.md, and test what is right"


def test_the_page_is_of_this_release_and_marks_what_is_shown() -> None:
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE)[0] == gasla.__version__
    assert TEXT.count("| ✓ ") == len(SHOWN)
