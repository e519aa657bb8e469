"""Layout: a position in the plane for each vertex, such that neighbors are close and all others apart.

Edges attract their ends in proportion to their length, and every two vertices repel each other in inverse proportion to
their distance. A vertex moves to where these forces would cancel, by ever smaller steps. In a graph of more than 16
vertices, a vertex is not repelled by all others, but by its neighbors and by 16 random vertices, which are drawn anew
in each iteration.

A few hundred iterations move vertices by a few edges only. So the graph is first contracted: each vertex outside a
maximal independent set is merged with a neighbor in the set, and this repeats until few vertices are left. These are
placed by two eigenvectors of the Laplacian matrix. Each larger graph then starts from the positions of the smaller one.
Positions are scaled in between, because forces balance only if the sum over edges of squared length equals the sum over
pairs of repulsion times distance.

M. Jacomy, T. Venturini, S. Heymann, M. Bastian: ForceAtlas2, a Continuous Graph Layout Algorithm for Handy Network
Visualization Designed for the Gephi Software. PLoS ONE 9(6), 2014.
J. Tang, J. Liu, M. Zhang, Q. Mei: Visualizing Large-scale and High-dimensional Data. WWW 2016.
"""

from typing import Any, NamedTuple

import numpy as np

import semirings
from gasla.algorithms.components.connected_components import connected_components
from gasla.algorithms.independence.maximal_independent_set import maximal_independent_set
from gasla.arrays import array_module, moved
from gasla.graph.arguments import MOST_SEED, whole_number
from gasla.graph.graph import Graph, whole_graph
from gasla.operations.multiply import mxv
from gasla.operations.primitives import simplify
from gasla.operations.run import run
from gasla.program import VertexProgram, edge, parameter, vertex
from gasla.rows import Command, Row, Task

Array = np.ndarray[Any, Any]  # a NumPy or CuPy array

SAMPLES = 16  # number of random vertices that repel a vertex in an iteration
COARSEST = 64  # a graph with at most this many vertices is the coarsest level, which is not contracted further
LEAST_SHRINKAGE = 0.9  # contraction also stops if more than this fraction of the vertices would be left
MOST_FOR_EIGENVECTORS = (
    500  # largest number of vertices for which eigenvectors are computed, because the matrix is dense
)
GRAVITY = 0.3  # attraction to the center, as a fraction of the repulsion at the rim of a component


class Forces(VertexProgram):
    """position(v) moves toward the point where the forces on vertex v cancel, by at most the distance `limit` in an
    iteration.
    """

    position = vertex((np.float32, (2,)), missing=0)
    mass = vertex(np.float32, init=1, missing=0)
    stiffness = vertex(np.float32, init=1)
    weight = edge(np.float32)
    strength = parameter(np.float32, 1)  # factor of the repulsion between neighbors
    # factor of the repulsion by a sampled vertex, which stands for n / SAMPLES vertices
    share = parameter(np.float32, 1)
    gravity = parameter(np.float32, 0)
    # added to squared distances, so that the repulsion of vertices at one point stays finite
    nearest = parameter(np.float32, 1)
    limit = parameter(np.float32, 1)
    rounds = parameter(np.int64, 1)
    count = parameter(np.int64, 1)
    seed = parameter(np.uint64, 0)
    reduce = semirings.plus
    everyone = True

    def gather(self, src, dst, edge):
        ahead = src.position - dst.position
        near = semirings.plus(ahead * ahead) + self.nearest
        return ahead * (edge.weight - self.strength * src.mass * dst.mass / near)

    def apply(self, vertex, gathered):
        field = -self.gravity * vertex.position
        for k in range(SAMPLES):
            draw = semirings.random(self.seed, vertex.id, self.iteration, k)
            chosen = semirings.cast(draw * self.count, np.int64)
            # In a graph of at most SAMPLES vertices, vertex k repels. If there is no vertex k, its mass is 0, so
            # nothing repels.
            other = self.at(semirings.where(self.count > SAMPLES, chosen, k))
            away = vertex.position - other.position
            field = field + away * (self.share * other.mass / (semirings.plus(away * away) + self.nearest))
        cooling = 1 - semirings.cast(self.iteration, np.float32) / self.rounds
        move = (gathered + field * vertex.mass) * (cooling / vertex.stiffness)
        length = semirings.sqrt(semirings.plus(move * move))
        return {"position": vertex.position + move / semirings.maximum(length / self.limit, 1)}


class Level(NamedTuple):
    """One of a series of ever smaller graphs, whose vertices stand for groups of vertices of the first graph."""

    graph: Graph  # value of an edge: the number of edges of the first graph for which it stands
    mass: Array  # the number of vertices of the first graph for which each vertex stands
    component: Array  # the component of each vertex
    joined: Array | None = None  # for each vertex, the vertex of the next smaller graph into which it was merged

    def smaller(self, seed: int) -> tuple["Level", Array]:
        """Return the next smaller level, and for each vertex the vertex of the smaller graph into which it was merged.

        Each vertex outside of a maximal independent set is merged with a neighbor in the set.
        """
        graph, xp = self.graph, array_module(self.mass)
        in_set, ids = maximal_independent_set(graph, seed=seed), xp.arange(graph.n)
        neighbor = mxv(graph, xp.where(in_set, ids, -1), semirings.max_second)
        coarse = graph.contract(xp.where(in_set, ids, neighbor), semirings.plus, loops=False)
        assert coarse.origin is not None
        coarse_vertex = coarse.origin.new_vertices
        mass = xp.bincount(coarse_vertex, self.mass, coarse.n).astype(np.float32)
        component = xp.zeros(coarse.n, self.component.dtype)
        component[coarse_vertex] = self.component
        return Level(coarse, mass, component), coarse_vertex


def layout(graph: Any, *, seed: int = 0) -> Array:
    """Place the vertices in the plane by forces: neighbors close together, all others apart.

    Parameters
    ----------
    graph : Graph, or SciPy or CuPy sparse array
        Read as simple and undirected, as by `triangle_count`. Values are ignored.
    seed : int, default 0
        Chooses one of many layouts.

    Returns
    -------
    (n, 2) array of float64
        The position of each vertex, on the device of the graph. The mean of the positions is 0, and the mean of the
        squared lengths of edges is 1. Every run on one device returns the same; CPU and GPU add in different orders,
        which changes the picture.

    Raises
    ------
    TypeError, ValueError
        If `seed` is not a whole number that is 0 or more.

    See Also
    --------
    gasla.draw : a picture with these positions.

    Notes
    -----
    There are some ten levels, with 50 to 200 iterations each. An iteration reads every edge, and 16 random vertices for
    each vertex. A weak attraction to the center keeps components together. A million vertices take 0.4 to 0.5 s on an
    H100.

    References
    ----------
    M. Jacomy, T. Venturini, S. Heymann, M. Bastian: ForceAtlas2. PLoS ONE 9(6), 2014.

    C. Walshaw: A Multilevel Algorithm for Force-Directed Graph Drawing. GD 2000.

    Examples
    --------
    >>> import gasla, numpy as np
    >>> path = gasla.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    >>> positions = gasla.layout(path)
    >>> positions.shape
    (5, 2)
    >>> distances = np.linalg.norm(positions - positions[0], axis=1)
    >>> int(distances[1:].argmin()) + 1  # the neighbor of vertex 0 is nearest
    1
    """
    simple, seed = simplify(whole_graph(graph)), whole_number("seed", seed, MOST_SEED)
    xp = array_module(simple.out.indices)
    if simple.n < 2:
        return xp.zeros((simple.n, 2))
    levels = _contraction_levels(simple, seed)
    sizes = xp.bincount(levels[0].component).astype(np.float64)
    # With this strength of the repulsion, edges get a length of about 1.
    strength = max(simple.m, 1) / float((sizes**2).sum())
    random = np.random.default_rng(seed)
    positions = moved(_initial_positions(levels[-1].graph, random), simple.device)
    for level in reversed(levels):
        if level.joined is not None:
            positions = positions[level.joined]
        noise = moved(random.standard_normal((level.graph.n, 2)), simple.device)
        positions = _balance_forces(level, positions, noise, strength, seed)
    return _scale_edges_to_one(simple, positions - positions.mean(axis=0))


def _scale_edges_to_one(simple: Graph, positions: Array) -> Array:
    """Return the positions scaled such that the mean of the squared lengths of edges is 1, if there are edges."""
    # The lists are sorted, because the order of `edges()` depends on the input, and would change the rounding of the
    # sum.
    lists = simple.sorted_out
    length_sum = float(((positions[lists.owners()] - positions[lists.indices]) ** 2).sum())
    return positions * (simple.m / length_sum) ** 0.5 if length_sum > 0 else positions


def _contraction_levels(simple: Graph, seed: int) -> list[Level]:
    """Contract a graph repeatedly, and return it and all smaller graphs as levels, the largest first."""
    xp = array_module(simple.out.indices)
    graph = simple.with_values(xp.ones(simple.m, np.float32))
    levels = [Level(graph, xp.ones(simple.n, np.float32), connected_components(simple).labels)]
    while levels[-1].graph.n > COARSEST:
        smaller, coarse_vertices = levels[-1].smaller(seed)
        if smaller.graph.n > LEAST_SHRINKAGE * len(coarse_vertices):
            break
        levels[-1] = levels[-1]._replace(joined=coarse_vertices)
        levels.append(smaller)
    return levels


def _initial_positions(graph: Graph, random: np.random.Generator) -> Array:
    """Return positions for the vertices of the smallest graph: two eigenvectors of its Laplacian matrix, plus noise.

    The eigenvectors are those of the second and the third smallest eigenvalue. If the graph has too many vertices for a
    dense matrix, positions are random. The noise separates vertices with equal entries, such as those of one component
    if there are three components or more.
    """
    n, small = graph.n, graph.to("cpu")
    noise: Array = random.standard_normal((n, 2))
    if not 3 <= n <= MOST_FOR_EIGENVECTORS:
        return noise
    laplacian = -small.to_scipy().toarray().astype(np.float64)
    laplacian -= np.diag(laplacian.sum(axis=1))
    return np.linalg.eigh(laplacian)[1][:, 1:3] * n**0.5 + 0.3 * noise


def _balance_forces(level: Level, positions: Array, noise: Array, strength: float, seed: int) -> Array:
    """Move the vertices of one of a series of ever smaller graphs by forces, and return their positions.

    `positions` are those of the vertices into which they were merged, to which some `noise` is added.
    """
    graph, mass, xp = level.graph, level.mass.astype(np.float64), array_module(level.mass)
    n, total_mass = graph.n, float(mass.sum())
    src, dst = graph.edges()
    degrees = xp.bincount(src, graph.values, n)
    positions = positions + noise * (0.3 * _root_mean_square(positions) / n**0.5)
    radius = _disk_radius(level, positions, degrees)
    spring_energy = float((graph.values * ((positions[src] - positions[dst]) ** 2).sum(axis=1)).sum()) / 2
    repulsion = strength * float((xp.bincount(level.component, mass) ** 2).sum() - (mass**2).sum()) / 2
    scale = (repulsion / spring_energy) ** 0.5 if spring_energy > 0 else 1 / radius
    radius *= scale
    # repulsion of a vertex at the rim by the whole graph, divided by its distance from the center
    at_rim = strength * total_mass / radius**2
    rounds = 50 if n > 20_000 else 100 if n > 2_000 else 200
    program = Forces(
        # lowered, since the sampled vertices may include neighbors, too
        strength=strength * max(1 - SAMPLES / n, 0),
        share=strength * max(n / SAMPLES, 1),
        gravity=GRAVITY * at_rim,
        nearest=(0.3 * radius) ** 2 / n,
        limit=(spring_energy / (float(degrees.sum()) / 2)) ** 0.5 * scale if spring_energy > 0 else radius,
        rounds=rounds,
        count=n,
        seed=seed,
    )
    return run(
        program,
        graph,
        max_iterations=rounds,
        notice=False,
        position=(positions * scale).astype(np.float32),
        mass=level.mass,
        stiffness=(degrees + 2 * at_rim * mass).astype(np.float32),
    ).position.astype(np.float64)


def _root_mean_square(positions: Array) -> float:
    """Return the root mean square of the distances from the mean position."""
    return max(float(((positions - positions.mean(axis=0)) ** 2).sum(axis=1).mean()) ** 0.5, 1e-3)


def _disk_radius(level: Level, positions: Array, degrees: Array) -> float:
    """Return the radius of the disk that the layout may fill: its area is the sum of the areas of all components'
    disks.

    Vertices without edges are assumed to take as much of the plane as other vertices.
    """
    xp, label = array_module(positions), level.component
    edges = xp.bincount(label, degrees)
    has_edges = edges > 0
    if not bool(has_edges.any()):
        return _root_mean_square(positions)
    count = xp.maximum(edges, 1e-30)
    middle = xp.stack([xp.bincount(label, degrees * axis) / count for axis in positions.T], axis=1)
    distances = ((positions - middle[label]) ** 2).sum(axis=1)
    mass = xp.bincount(label, level.mass)
    fraction = float(mass[has_edges].sum() / mass.sum())  # fraction of all vertices whose component has edges
    return max((float((xp.bincount(label, distances * degrees) / count).sum()) / fraction) ** 0.5, 1e-6)


def _layout_heading(result_view: Any) -> str:
    """Return the heading of the command `layout`, with the mean lengths of edges and of all pairs of vertices.

    `result_view` has the results of the function.
    """
    n = result_view.graph.n
    mean_distance = (2 * float((result_view["positions"] ** 2).sum()) / max(n - 1, 1)) ** 0.5
    return f"{n:,} positions; edges are 1 long and any two vertices {mean_distance:.3g} apart, as root mean squares:"


ROW = Row(
    layout,
    Command(
        *("layout", {"x": "x", "y": "y"}, _layout_heading, lambda f: f.coordinates("positions")),
        unpack=lambda _, found: {"positions": found, "x": found[:, 0], "y": found[:, 1]},
    ),
    Task(form="nothing"),
    method="ForceAtlas2 with a tree for far forces (Jacomy et al., 2014; on GPUs Brinkmann et al., ICPP 2017)",
    longer="50 to 200 iterations of forces, along edges and over a grid, at each of several levels of detail.",
)
