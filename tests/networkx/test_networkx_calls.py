"""`gasla.networkx_report`: which calls ran where, how long and why not; the opt-in by the environment; one warning."""

import os
import subprocess
import sys

import networkx as nx
import pytest

import gasla
from gasla.backends.networkx_calls import GASLA, NETWORKX, Report
from tests.helpers import ROOT

PROGRAM = """
import warnings
import networkx as nx
G = nx.gnm_random_graph(300, 25000, seed=1)
for _ in range(3):
    nx.pagerank(G)
print(len(nx.community.louvain_communities(G, seed=1)))

nx.check_planarity(nx.path_graph(3))
nx.betweenness_centrality(nx.path_graph(3))
"""


def run_program(**settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NETWORKX_BACKEND_PRIORITY": "gasla", **settings}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def lines_of(text: str) -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line.strip()}


def test_an_unchanged_program_is_reported_and_opted_in_by_the_environment() -> None:
    without = lines_of(run_program(GASLA_NETWORKX_REPORT="1").stderr)
    assert without["pagerank"].startswith("gasla 3 ")
    assert without["louvain_communities"].startswith("networkx 1 ")
    assert "GASLA_OTHER_ANSWERS=1" in without["louvain_communities"]
    assert without["check_planarity"].endswith("not offered")
    assert without["betweenness_centrality"].endswith("a graph of fewer than 2000 nodes and edges")
    assert without["(conversion)"].startswith("gasla ")
    opted = run_program(GASLA_NETWORKX_REPORT="1", GASLA_OTHER_ANSWERS="1").stderr
    assert lines_of(opted)["louvain_communities"].startswith("gasla 1 ")
    assert opted.count("UserWarning") == 1
    assert "gasla reuses a converted graph" in opted
    assert len(next(line for line in opted.splitlines() if "UserWarning" in line)) < 400
    assert "Note: conversions" not in opted


def test_names_of_gasla_need_no_networkx() -> None:
    """The build of a wheel imports every name, where only what the build needs is installed."""
    code = "import sys; sys.modules['networkx'] = None; import gasla; [getattr(gasla, name) for name in gasla.__all__]"
    code += "; print('?'); gasla.networkx_report()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "?\n", done.stderr
    assert "networkx_report needs NetworkX: pip install 'gasla[networkx]'" in done.stderr


def test_a_program_that_asks_for_nothing_gets_nothing() -> None:
    done = run_program(NETWORKX_WARNINGS_TO_IGNORE="cache")
    assert done.stderr == ""


def test_calls_are_measured_without_the_calls_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 3.0, 8.0, 10.5])
    monkeypatch.setattr("gasla.backends.networkx_calls.perf_counter", lambda: next(times))
    report = Report()
    with report.measuring("outer", NETWORKX, "not offered"), report.measuring("inner", GASLA):
        pass
    report.decline("small", "too small")
    by_name = {call.function: call for call in report.calls}
    assert (by_name["inner"].seconds, by_name["outer"].seconds) == (5.0, 4.5)
    assert by_name["small"] == ("small", NETWORKX, 1, None, "too small")
    assert next(call.function for call in report.calls) == "inner"
    text = repr(report)
    assert "? not measured: call gasla.networkx_report() first" in text
    report.clear()
    assert report.calls == [] and "expected NETWORKX_BACKEND_PRIORITY=gasla" in repr(report)


def test_networkxs_own_runs_are_measured_and_return_the_same() -> None:
    report = gasla.networkx_report()
    assert gasla.networkx_report() is report
    report.clear()
    G = nx.path_graph(4)
    assert dict(nx.all_pairs_shortest_path_length(G))[0][3] == 3
    assert nx.pagerank(G, backend="gasla").keys() == {0, 1, 2, 3}
    with pytest.raises(nx.NetworkXNoPath):
        nx.shortest_path(nx.empty_graph(2), 0, 1)
    found = {(call.function, call.ran_on): call for call in report.calls}
    assert found["pagerank", "gasla"].calls == 1
    assert found["shortest_path", "networkx"].reason == "gasla was not asked"
    assert nx.shortest_path.__name__ == "shortest_path"
