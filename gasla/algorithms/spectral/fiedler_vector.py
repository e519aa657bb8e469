"""The Fiedler vector is the eigenvector of the second smallest eigenvalue of the Laplacian. Its signs cut a graph in
two.
"""

from typing import Any

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.spectral.spectral_embedding import MOST_PRODUCTS, spectral_embedding
from gasla.graph.arguments import weight_range
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, option, vertex
from gasla.rows import UNWEIGHTED, Row, scores


class Reached(VertexProgram):
    """reached(v) = whether a path of edges of positive weight joins v to the first vertex, to tell if a graph is
    connected.
    """

    weights = option(np.float64)  # dtype of the weights
    direction = "all"
    reached = vertex(bool)
    weight = edge(weights)
    reduce = semirings.any

    def mask(self, dst):
        return ~dst.reached

    def edge_mask(self, src, dst, edge):
        return edge.weight > 0

    def gather(self, src, dst, edge):
        return src.reached

    def apply(self, vertex, gathered):
        return {"reached": gathered}


@takes_weight
@on_one_device()
def fiedler_vector(
    graph: Any,
    *,
    normalized: bool = False,
    weighted: bool = True,
    tol: float = 1e-8,
    max_iter: int = MOST_PRODUCTS,
    seed: int = 0,
) -> Any:
    """Compute the Fiedler vector of a connected graph: the eigenvector of the second smallest eigenvalue.

    Vertices that are well connected have close numbers; the signs split the graph in two parts with few edges between
    them.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as undirected, as by `spectral_embedding`. Connected: with `weighted`, by edges of positive weight.
    normalized : bool, default False
        Whether to use the normalized Laplacian.
    weighted : bool, default True
        Whether values are weights, 0 or more; otherwise each edge has weight 1.
    tol, max_iter, seed
        As for `spectral_embedding`.

    Returns
    -------
    (n,) float64
        Of length 1, on the device of the graph; the first entry of nearly the largest size is positive.

    Raises
    ------
    TypeError, ValueError
        If the graph has fewer than two vertices or several components, an edge of weight 0 being none, or a weight is
        negative, infinite or NaN.
    RuntimeError
        If the vector does not converge.

    See Also
    --------
    gasla.spectral_embedding : more eigenvectors, and eigenvalues: the first is the algebraic connectivity.

    References
    ----------
    M. Fiedler: Algebraic connectivity of graphs. Czechoslovak Mathematical Journal 23 (1973).

    Examples
    --------
    >>> import gasla
    >>> path = gasla.Graph.from_edges([0, 1, 2], [1, 2, 3])
    >>> gasla.fiedler_vector(path).round(2)
    array([ 0.65,  0.27, -0.27, -0.65])
    """
    graph = as_graph(graph)
    embedding = spectral_embedding(
        graph, 1, normalized=normalized, weighted=weighted, tol=tol, max_iter=max_iter, seed=seed
    )
    count = int(connected_components(graph).count)
    if count > 1:
        raise ValueError(f"the graph has {count} components; expected one: take the largest by Graph.subgraph")
    if weighted and graph.value_type is not None and weight_range(graph)[0] == 0:
        is_reached = run(Reached(weights=graph.value_type), graph, active=[0], reached={0: True}).reached
        if not bool(is_reached.all()):
            raise ValueError(
                "only edges of weight 0 connect the graph; expected it to be connected without them: remove them by "
                "Graph.select, and take the largest component by Graph.subgraph"
            )
    return embedding.vectors[:, 0]


ROW = Row(
    fiedler_vector,
    scores(
        *("fiedler-vector", {"vector": "fiedler"}),
        lambda f: f"{(f['vector'] > 0).sum():,} positive and {(f['vector'] < 0).sum():,} negative entries; highest:",
        options=UNWEIGHTED,
    ),
    method="LOBPCG preconditioned by an algebraic multigrid (Knyazev, 2003), as scikit-learn's with pyamg",
    longer="Hundreds of products, since the second eigenvalue is close to the first.",
)
