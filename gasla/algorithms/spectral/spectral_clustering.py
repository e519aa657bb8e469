"""Spectral clustering finds k clusters with few edges between them, by k-means of the directions in a spectral
embedding.

Divided by the root of the degree, the eigenvectors are nearly constant on a good cluster. Dividing a row of the
embedding does not change its direction. So rows are scaled to length 1 without regard to degrees, and a hub counts as
much as any vertex.
"""

from typing import Any, NamedTuple

import numpy as np

from gasla.algorithms.community.partition_table import PartitionTable, partition_table
from gasla.algorithms.spectral.spectral_embedding import MOST_PRODUCTS, spectral_embedding
from gasla.arrays import moved
from gasla.graph.arguments import MOST_SEED, check_flags, real_number, whole_number
from gasla.graph.graph import as_graph
from gasla.graph.weights import takes_weight
from gasla.operations.on_one_device import on_one_device
from gasla.rows import UNWEIGHTED, Command, Row

STARTS = 4  # number of times that k-means starts, each time with another first center
ROUNDS = 30  # largest number of rounds of k-means after each start


class SpectralClusteringResult(NamedTuple):
    """The cluster of each vertex, and the cut and the conductance of each cluster."""

    labels: Any
    cut: Any
    conductance: Any


@takes_weight
@on_one_device()
def spectral_clustering(
    graph: Any, k: int, *, weighted: bool = True, tol: float = 1e-6, max_iter: int = MOST_PRODUCTS, seed: int = 0
) -> SpectralClusteringResult:
    """Divide the vertices into k clusters with little weight between them, relative to their degrees.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as undirected: a matrix that is not symmetric is replaced by the mean of itself and its transpose. Parallel
        edges add up. In the embedding self loops are ignored.
    k : int
        The number of clusters, 2 to n.
    weighted : bool, default True
        Whether values are weights, 0 or more; otherwise each edge has weight 1.
    tol, max_iter
        Accuracy of the eigenvalues, and the maximum number of products, as for `spectral_embedding`.
    seed : int
        Seed of the embedding's random vectors, and of the vertices from which k-means starts.

    Returns
    -------
    SpectralClusteringResult(labels, cut, conductance)
        `labels`, (n,) of the graph's id type, on the graph's device: clusters have numbers from 0 on in the order of
        their smallest vertices. `cut` and `conductance` have an entry for each cluster, as those of `partition_table`.

    Raises
    ------
    TypeError, ValueError
        If `k` is not 2 to n, or a weight is negative, infinite or NaN.
    RuntimeError
        If the eigenvectors do not converge.

    See Also
    --------
    gasla.spectral_embedding : the coordinates alone.
    gasla.leiden_communities : finds the number of communities as well, in less time.

    Notes
    -----
    The rows of the normalized Laplacian's first ``k - 1`` nontrivial eigenvectors are scaled to length 1 (Ng, Jordan
    and Weiss). SciPy's k-means groups them on the CPU, in at most 30 rounds from each of four choices of centers: a
    random row, and then each time the row that is farthest from the centers. The result with the smallest normalized
    cut, the sum over clusters of the cut divided by the degrees of the cluster, is kept. So k components of a graph are
    its k clusters. A vertex without edges may be in any cluster. There are fewer than k clusters if k-means leaves one
    empty each time, as it may when vertices cannot be told apart.

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss: On Spectral Clustering: Analysis and an Algorithm. NIPS 2001.

    J. Shi, J. Malik: Normalized Cuts and Image Segmentation. IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22 (2000).

    Examples
    --------
    Two triangles, joined by an edge:

    >>> import gasla
    >>> graph = gasla.Graph.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3]).symmetrized()
    >>> labels, cut, conductance = gasla.spectral_clustering(graph, 2)
    >>> labels, cut
    (array([0, 0, 0, 1, 1, 1], dtype=int32), array([1., 1.]))
    """
    graph = as_graph(graph)
    check_flags(weighted=weighted)
    count, seed_number = whole_number("k", k), whole_number("seed", seed, MOST_SEED)
    accuracy = real_number("tol", tol, above=True)
    if not 2 <= count <= graph.n:
        if graph.n < 2:
            raise ValueError(f"the graph has {graph.n} vertices; expected 2 or more")
        raise ValueError(f"k is {k}; expected 2 to {graph.n}, the number of vertices")
    embedding = spectral_embedding(
        graph, count - 1, weighted=weighted, tol=accuracy, max_iter=max_iter, seed=seed_number
    )
    points = _unit_rows(moved(embedding.vectors, "cpu"), accuracy)
    results = []
    for first_center in np.random.default_rng(seed_number).integers(graph.n, size=STARTS).tolist():
        labels = moved(_kmeans_labels(points, count, first_center).astype(graph.id_dtype), graph.device)
        results.append((labels, partition_table(graph, labels, weighted=weighted)))
    labels, table = min(results, key=lambda result: (-len(result[1].sizes), _normalized_cut(result[1])))
    return SpectralClusteringResult(labels, table.cut, table.conductance)


def _unit_rows(vectors: np.ndarray, tol: float) -> np.ndarray:
    """Scale each row of a matrix of eigenvectors, which belongs to a vertex, to length 1.

    Rows that are no longer than the errors of the eigenvectors become 0, as for isolated vertices.
    """
    sizes = np.linalg.norm(vectors, axis=1)[:, None]
    return np.where(sizes > tol, vectors, 0) / np.where(sizes > tol, sizes, 1)


def _kmeans_labels(points: np.ndarray, k: int, first_center: int) -> np.ndarray:
    """Return the cluster of each point by k-means. Clusters are numbered in the order of their first points.

    The initial centers are the point number `first_center` and, one after another, the point least similar to all
    centers before.
    """
    from scipy.cluster.vq import ClusterError, kmeans2, vq

    center_ids, nearest = [first_center], points @ points[first_center]
    while len(center_ids) < k:
        center_ids.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, points @ points[center_ids[-1]])
    centers, labels = points[center_ids], vq(points, points[center_ids])[0]
    for step in range(ROUNDS):
        previous_labels = labels
        try:
            centers, labels = kmeans2(points, centers, iter=1, minit="matrix", missing="raise")
        except ClusterError:  # a cluster has become empty, so the labels of the previous round are the result
            break
        if step and (labels == previous_labels).all():
            break
    _, smallest, labels = np.unique(labels, return_index=True, return_inverse=True)
    return smallest.argsort().argsort()[labels]


def _normalized_cut(table: PartitionTable) -> float:
    """Return the normalized cut: the sum over clusters of the weight of the cut divided by the cluster's total degree.

    Clusters without edges count as 0.
    """
    cut_weights, internal_weights = moved(table.cut, "cpu"), moved(table.internal, "cpu")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.nan_to_num(cut_weights / (cut_weights + internal_weights)).sum())


ROW = Row(
    spectral_clustering,
    Command(
        *("spectral-clustering", {"labels": "cluster"}),
        lambda f: f.grouped("clusters"),
        lambda f: f.groups(),
        options=UNWEIGHTED,
        defaults={"k": 2},
    ),
    method="LOBPCG (Knyazev, 2001), then k-means (Ng, Jordan, Weiss, NIPS 2001)",
    longer="Hundreds of products for four eigenvectors, then k-means.",
)
