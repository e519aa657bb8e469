"""`table`: put results into a table with one row per vertex, and with the names of vertices."""

from __future__ import annotations

import os
from typing import Any, Literal

from gasla.graph.arguments import check_choice
from gasla.graph.exchange import vertex_table
from gasla.graph.graph import as_graph


def table(
    graph: Any,
    /,
    *results: Any,
    as_: Literal["arrow", "pandas", "polars"] = "arrow",
    output: str | os.PathLike[str] | None = None,
    **columns: Any,
) -> Any:
    """Return a table of results with one row per vertex and a column of names, for table libraries and files.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        The graph that the results belong to.
    *results : (n,) array, named tuple or dict of (n,) arrays, or Result
        What an algorithm or a run returned. An array becomes the column "value"; a named tuple or Result gives one
        column per field that is an (n,) array; a dict gives one per key, such as ``graph.vertex_attributes``.
    as_ : {"arrow", "pandas", "polars"}
        The library of the table: a pyarrow.Table, or a DataFrame.
    output : path, optional
        A ``.csv``, ``.parquet`` or ``.feather`` file to write the table to, completely or not at all.
    **columns : (n,) array, a result, or a number or text
        Columns by name. Of a result with several fields of (n,) values, each becomes a column: ``hits=...`` gives
        "hits_hubs" and "hits_authorities". A number, a text or a date stands in every row.

    Returns
    -------
    pyarrow.Table, pandas.DataFrame or polars.DataFrame
        The column "vertex", with names or numbers, in the order of vertex numbers, and the columns of the results.
        Vertices in results stay numbers; `Graph.name` gives their names. Dates with times are in the zone of the
        graph's attributes, if all of these that are dates with times have one zone.

    Raises
    ------
    TypeError
        If pyarrow or polars has no type for the values of a column, or a key of a dict is not text.
    ValueError
        If an array has another shape, two columns have the same name, or `output` has another suffix.
    ImportError
        If the library is missing, or pyarrow to write a ``.parquet`` or ``.feather`` file.

    See Also
    --------
    Graph.named : The same as a pyarrow.Table, by a method.

    Examples
    --------
    >>> import gasla
    >>> graph = gasla.Graph.from_networkx(nx.Graph([("Oslo", "Rome"), ("Rome", "Bonn")]))  # doctest: +SKIP
    >>> levels = gasla.bfs(graph, "Oslo", parents=True)  # doctest: +SKIP
    >>> gasla.table(graph, level=levels.levels, parent=graph.name(levels.parents), as_="pandas")  # doctest: +SKIP
      vertex  level parent
    0   Oslo      0   Oslo
    1   Rome      1   Oslo
    2   Bonn      2   Rome
    """
    graph = as_graph(graph)
    check_choice("as_", as_, ("arrow", "pandas", "polars"))
    vertex_table.module_for(as_)
    path = None if output is None else vertex_table.check_file(output)
    columns_by_title = vertex_table.in_zone(vertex_table.columns_of(graph.n, graph.names, results, columns), graph)
    result_table = vertex_table.as_table(columns_by_title, as_)
    if path is not None:
        vertex_table.write(path, columns_by_title)
    return result_table
