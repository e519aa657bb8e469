"""Any graph and any format: what `gasla.io.write` writes, `gasla.io.read` gives back, or `write` refuses it by name.

Another reader finds the same in the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gasla import Graph, io
from gasla.graph.exchange.vertex_names import Names
from gasla.graph.validate import VALUE_TYPES
from tests.oracles.file_contents import READERS, difference, file_contents, graph_contents

pytest.importorskip("pyarrow")
pytest.importorskip("networkx")

SUFFIXES = [".mtx", ".txt", ".wel", ".tsv", ".gr", ".metis", ".npz", ".graphml", ".gml", ".gexf", ".json", ".dot",
            ".net", ".csv", ".parquet", ".feather", ".gasla", ".csv.gz", ".npz.xz"]  # fmt: skip
KEEP_ALL = (".npz", ".gasla", ".npz.xz")
TEXTS = ["a", "Oslo", "New York", "7", "007", "1.5", "-3", "NA", "nan", "true", "2020-01-01", " é", "a,b", 'q"uote',
         "#x", "a\nb", "a\tb", "", "\ufeff", "&amp;", "<x>", "src", "a|b;c", "10", "0", "x" * 70, "\u2028"]  # fmt: skip
TITLES = ["time", "x y", "é", "weight", "Weight", "src", "DST", "id", "label", "key", "source", "target", "a,b", 'q"',
          "12", "_x", "name", "directed"]  # fmt: skip


@st.composite
def columns(draw: Any, length: int) -> np.ndarray:
    """Numbers of any type, with the ends of their range."""
    kind = np.dtype(draw(st.sampled_from(VALUE_TYPES)))
    if kind.kind == "b":
        numbers: Any = st.booleans()
    elif kind.kind == "f":
        numbers = st.one_of(st.floats(width=8 * kind.itemsize), st.integers(-3, 3).map(float))
    else:
        ends = np.iinfo(kind)
        numbers = st.one_of(st.integers(max(-3, int(ends.min)), 3), st.integers(int(ends.min), int(ends.max)))
    return np.array(draw(st.lists(numbers, min_size=length, max_size=length)), kind)


@st.composite
def names(draw: Any, n: int) -> np.ndarray | None:
    """Distinct names: texts, or integers of any size; or none."""
    kinds = [st.sampled_from(TEXTS), st.text(max_size=3), st.integers(-9, 9), st.integers(0, 2**64 - 1)]
    kind = draw(st.sampled_from([None, *kinds, st.integers(-(2**63), 2**63 - 1)]))
    if kind is None:
        return None
    each = np.empty(n, object)
    each[:] = draw(st.lists(kind, min_size=n, max_size=n, unique=True))
    return each


@st.composite
def graphs(draw: Any) -> Graph:
    """Small graphs with loops, parallel edges, vertices without edges, names, values and attributes."""
    n = draw(st.integers(0, 6))
    ids = st.integers(0, max(n - 1, 0))
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=8 if n else 0))
    if draw(st.booleans()):
        pairs = [way for u, v in pairs if u != v for way in ((u, v), (v, u))]
    src, dst = np.array(pairs, np.int64).reshape(-1, 2).T
    values = draw(st.one_of(st.none(), columns(len(pairs))))
    graph = Graph.from_edges(src, dst, values, n=n)
    called = draw(names(n))
    graph.naming = None if called is None else Names(called)
    titles = st.lists(st.sampled_from(TITLES), unique=True, max_size=2)
    graph = graph.with_edge_attributes({title: draw(columns(len(pairs))) for title in draw(titles)})
    return graph.with_vertex_attributes({title: draw(columns(n)) for title in draw(titles)})


def read(path: Path, graph: Graph) -> Any:
    """Read a file that holds this graph; CSV files do not say which columns are attributes, and what ids are."""
    if not path.name.startswith("a.csv"):
        return io.read(path)
    asked: dict[str, Any] = {"src": "src", "dst": "dst", "names": graph.names is not None}
    return io.read(path, **asked, attributes=[*graph.edge_attributes])


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(graph=graphs())
@settings(deadline=None, max_examples=30)
def test_what_is_written_is_read_back_or_refused(tmp_path_factory: Any, suffix: str, graph: Graph) -> None:
    path = tmp_path_factory.mktemp("trip") / f"a{suffix}"
    try:
        io.write(path, graph)
        refusal = ""
    except ValueError as error:
        refusal = str(error)
    if refusal:
        assert suffix not in KEEP_ALL, refusal
        assert path.name in refusal and not path.exists()
        return
    back = Graph(read(path, graph))
    expected = graph_contents(graph)
    if suffix in (
        ".graphml",
        ".gml",
        ".gexf",
        ".json",
        ".dot",
        ".net",
    ):  # attributes are stored with each edge and vertex, so there may be none
        expected = expected._replace(edge_attributes=expected.edge_attributes if graph.m else [])
        expected = expected._replace(vertex_attributes=expected.vertex_attributes if graph.n else [])
        expected = expected._replace(has_names=None)  # names "0", "1", … are read as numbers, and of no vertex as none
    assert difference(back, [expected]) == ""
    if len(path.suffixes) == 1 and io.format_of(path) in READERS:
        if suffix == ".csv" and (graph.edge_attributes or graph.names is not None):
            return  # which the file alone does not tell
        assert difference(back, file_contents(path, io.format_of(path))) == ""
