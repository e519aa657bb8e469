"""Tables of edges and tables of vertices: both can be made from a graph, and a table of vertices can be added to edges.

A table of vertices has a column of ids, and a row for each vertex, isolated ones included. Its other columns of numbers
or dates are attributes of vertices.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gasla.graph.adjacency import Array
from gasla.graph.dates import NAT, TimeColumn
from gasla.graph.exchange.columns import (
    Column,
    Edges,
    arrow,
    as_arrow,
    attributes_of,
    ids_of,
    kinds_of,
    numeric_columns,
    place_of,
    same_kind,
    titles_listed,
)
from gasla.graph.exchange.two_sides import SIDES

_TITLES = (
    "vertex",
    "id",
    "vertexid",
    "nodeid",
    "node",
    "name",
    "vertexname",
    "nodename",
)  # usual titles of the column with the ids of vertices, the most likely title first
_OF_NEO4J = re.compile(r".*:ID(\(.*\))?")


class Tables(NamedTuple):
    """What `Graph.to_tables` returns: a table with a row for each edge, and a table with a row for each vertex."""

    edges: Any
    vertices: Any


class Vertices(NamedTuple):
    """The content of a table of vertices.

    The fields are the title of the column of ids, the ids as a pyarrow.Array, and the attributes by title.
    """

    title: str
    ids: Any
    attributes: dict[str, Array | TimeColumn]


def vertices_of(table: Any, vertex: Column | None) -> Vertices:
    """Return the ids and the attributes of a table of vertices. Warn of columns that can't be attributes."""
    rows = as_arrow(table)
    titles = rows.column_names
    position = place_of_ids(titles, kinds_of(rows.schema)) if vertex is None else place_of(titles, "vertex", vertex)
    ids = ids_of(titles[position], rows.column(position)).combine_chunks()
    if repeated := len(ids) - len(ids.unique()):
        counts = ids.value_counts()
        repeated_id = counts.filter(arrow("pyarrow.compute").greater(counts.field(1), 1))[0]["values"].as_py()
        raise ValueError(
            f"column {titles[position]!r} of the vertices holds {repeated_id!r} more than once, one of {repeated} such "
            "rows; expected a row for each vertex"
        )
    attribute_titles = numeric_columns(rows, [titles[position]], "columns of vertices")
    return Vertices(titles[position], ids, attributes_of(rows, attribute_titles))


def place_of_ids(titles: Sequence[str], kinds: Any) -> int:
    """Return the position of the column of ids in a table of vertices.

    It is the column with the most likely title, such as "vertex" or "id", or else the only column that can hold ids.
    """
    candidates = _find_id_columns(titles) or [*kinds.whole, *kinds.texts]
    if len(candidates) == 1:
        return int(candidates[0])
    raise ValueError(
        f"nothing says which column holds the ids of vertices; there are {titles_listed(titles)}; pass vertex=, the "
        "name or position of a column"
    )


def has_ids(titles: Sequence[str]) -> bool:
    """Return whether exactly one of the titles is usual for a column of vertex ids, such as "vertex" or "id"."""
    return len(_find_id_columns(titles)) == 1


def _find_id_columns(titles: Sequence[str]) -> list[int]:
    """Return the positions of the columns that have the most likely title for vertex ids, such as "vertex"."""
    if positions := [position for position, title in enumerate(titles) if _OF_NEO4J.fullmatch(title)]:
        return positions
    plain_titles = [re.sub(r"\(.*|[\W_]", "", title.casefold()) for title in titles]
    best_title = next((usual_title for usual_title in _TITLES if usual_title in plain_titles), None)
    return [position for position, word in enumerate(plain_titles) if word == best_title]


def joined(edges: Edges, vertices: Vertices, names: bool | None) -> Edges:
    """Return the edges after each vertex has got the number of its row in a table of vertices, and its attributes.

    The ids become the names of vertices, unless they are 0, 1, … in this order and `names` is not True.
    """
    pc = arrow("pyarrow.compute")
    end_names = np.arange(edges.n) if edges.names is None else edges.names
    end_ids, ids = same_kind(arrow().array(end_names), vertices.ids) if edges.n else (vertices.ids[:0], vertices.ids)
    if end_ids is None:
        raise TypeError(
            f"column {vertices.title!r} of the vertices holds {vertices.ids.type}, and the ends of edges are "
            f"{'text' if edges.names is not None and isinstance(end_names[0], str) else 'integers'}; expected one kind"
        )
    numbers = pc.fill_null(pc.index_in(end_ids, value_set=ids), -1).to_numpy(zero_copy_only=False)
    for end in (edges.src, edges.dst):
        if len(absent := np.flatnonzero(numbers[end] < 0)):
            raise ValueError(
                f"edge {absent[0]} has the end {end_ids[int(end[absent[0]])].as_py()!r}, which column "
                f"{vertices.title!r} of the vertices lacks; expected a row for each vertex"
            )
    are_positions = not arrow().types.is_large_string(ids.type) and np.array_equal(ids.to_numpy(), np.arange(len(ids)))
    if names is False and not are_positions:
        raise ValueError(
            f"column {vertices.title!r} of the vertices does not hold 0, 1, … in this order; expected the numbers of "
            "vertices, because of names=False"
        )
    return edges._replace(
        n=len(ids),
        src=numbers[edges.src],
        dst=numbers[edges.dst],
        names=None if are_positions and not names else ids.to_numpy(zero_copy_only=False),
        vertex_attributes=vertices.attributes,
    )


# --- bipartite graphs with a table of vertices for each side ----------------------------------------------------------


def title_of_side(titles: Sequence[str], firsts: Sequence[str]) -> tuple[int, str] | None:
    """Return the side of a bipartite graph to which a table of vertices belongs, and the title of its column of ids.

    `titles` are the titles of the table's columns. `firsts` has the name of one vertex of each side, such as "userId 1"
    and "movieId 1", which begins with the title of the side's ids. Return None unless exactly one title is that of a
    side.
    """
    sides_and_titles = [
        (side_number, title)
        for title in titles
        for side_number, name in enumerate(firsts)
        if name.startswith(f"{title} ")
    ]
    return sides_and_titles[0] if len(sides_and_titles) == 1 else None


def firsts_of(names: Any, sides: Any) -> list[str]:
    """Return the name of one vertex on each side of a bipartite graph, such as "userId 1" and "movieId 1".

    `names` and `sides` have the name and the side of each vertex.
    """
    return [str(names[int((sides == side_number).argmax())]) for side_number in (0, 1)]


def of_side(table: Any, vertex: Column | None, firsts: Sequence[str]) -> Vertices:
    """Return the names and attributes in a table with the vertices of one side of a bipartite graph.

    Its column of ids has the same title as the side's column in the table of edges, such as "userId".
    """
    titles = as_arrow(table).column_names
    candidates = titles if vertex is None else [titles[place_of(titles, "vertex", vertex)]]
    if (side_and_title := title_of_side(candidates, firsts)) is None:
        raise ValueError(
            f"the vertices are called {firsts[0]!r} and {firsts[1]!r}, and their table has the columns "
            f"{titles_listed(titles)}; expected ids in a column with the title of a side, as the edges have it"
        )
    vertices = vertices_of(table, side_and_title[1])
    return vertices._replace(
        ids=arrow().array(
            [f"{side_and_title[1]} {vertex_id}" for vertex_id in vertices.ids.to_pylist()], "large_string"
        )
    )


def with_sides(edges: Edges, tables: Sequence[Vertices]) -> Edges:
    """Return the edges of a bipartite graph, with the vertices and attributes of a table for one side or for each side.

    A side without a table keeps its vertices. If only one side has an attribute, the attribute is NaN or NaT on the
    other side.
    """
    side_of_vertex, names = edges.vertex_attributes[SIDES], edges.names
    assert names is not None
    table_of_side: dict[int, Vertices] = {}
    for table in tables:
        side_number, title = title_of_side([table.title], firsts_of(names, side_of_vertex))  # type: ignore[misc]
        if side_number in table_of_side:
            raise ValueError(f"two tables of vertices have ids called {title!r}; expected one for each side")
        table_of_side[side_number] = table
    sides_content = [
        table_of_side.get(side_number) or Vertices("", arrow().array(names[side_of_vertex == side_number]), {})
        for side_number in (0, 1)
    ]
    counts = [len(table_or_names.ids) for table_or_names in sides_content]
    ids = arrow().concat_arrays([table_or_names.ids.cast("large_string") for table_or_names in sides_content])
    columns = {
        name: _join_attribute(name, sides_content, counts)
        for table_or_names in sides_content
        for name in table_or_names.attributes
        if name != SIDES
    }
    columns[SIDES] = np.repeat(np.array([0, 1], np.uint8), counts)
    title = " and ".join(table_or_names.title for table_or_names in sides_content if table_or_names.title)
    return joined(edges, Vertices(title, ids, columns), True)


def _join_attribute(name: str, tables: Sequence[Vertices], counts: Sequence[int]) -> Array | TimeColumn:
    """Return the attribute `name` of the vertices of both sides. A side that has no such attribute gets NaN or NaT."""
    columns: list[Any] = [table.attributes.get(name) for table in tables]
    time_types = {column.type if isinstance(column, TimeColumn) else None for column in columns if column is not None}
    if len(time_types) > 1:
        raise TypeError(f"column {name!r} holds {' and '.join(map(str, time_types))} in two tables; rename one")
    time_type = time_types.pop()
    if time_type is not None:
        return TimeColumn(
            np.concatenate(
                [
                    np.full(count, NAT) if column_of_side is None else column_of_side.numbers
                    for column_of_side, count in zip(columns, counts)
                ]
            ),
            time_type,
        )
    return np.concatenate(
        [
            np.full(count, np.nan) if column_of_side is None else column_of_side
            for column_of_side, count in zip(columns, counts)
        ]
    )


def edge_columns(graph: Any, names: Array | None) -> dict[str, Any]:
    """Return the columns of the table of a graph's edges by title: src, dst, weight, and the attributes.

    `names` has the names of vertices, which are then in src and dst, or is None for their numbers. The graph is in host
    memory.
    """
    src, dst = graph.edges() if names is None else (names[end] for end in graph.edges())
    weight_name = graph.edge_attributes.name_of(graph.values)
    for name in {*graph.edge_attributes} - {weight_name}:
        # An attribute can't have one of these titles, because functions that read tables take such columns for ends or
        # weights.
        if name.casefold() in ("src", "dst", "weight"):
            raise ValueError(f"the edge attribute {name!r} has the name of another column; rename it")
    values = {} if graph.values is None else {"weight": graph.values}
    return {"src": src, "dst": dst, **values, **graph.edge_attributes.columns()}


def vertex_columns(graph: Any) -> dict[str, Any]:
    """Return the columns of the table of a graph's vertices by title: vertex (names or numbers), and the attributes.

    The graph is in host memory.
    """
    if "vertex" in graph.vertex_attributes:
        raise ValueError("the vertex attribute 'vertex' has the name of the column of ids; rename it")
    ids = np.arange(graph.n) if graph.names is None else graph.names
    return {"vertex": ids, **graph.vertex_attributes.columns()}
