"""Communities of planted partitions: how good they are, by several methods and libraries, over several seeds.

python -m benchmarks.communities [--vertices 2000] [--seeds 10] [--output FILE]

Graphs have groups and degrees of many sizes, as LFR graphs do; a share of the edges, the mixing, leads anywhere. Each
cell has the mean modularity and the mean normalized mutual information with what was planted. Communities of Leiden's
method are verified. igraph and leidenalg take part if they are installed.
"""

import importlib.util
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import gasla
from benchmarks.script import Script, command
from gasla import verify

Array = np.ndarray[Any, Any]
Method = Callable[[sp.csr_array, int], Array]  # the labels, given a graph and a seed
MIXINGS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
GASLA: dict[str, Method] = {
    "louvain": lambda A, seed: gasla.louvain_communities(A, seed=seed).labels,
    "leiden": lambda A, seed: gasla.leiden_communities(A, seed=seed).labels,
    "leiden, iterations=2": lambda A, seed: gasla.leiden_communities(A, seed=seed, iterations=2).labels,
    "leiden, runs=16": lambda A, seed: gasla.leiden_communities(A, seed=seed, runs=16).labels,
}


def planted(n: int, mixing: float, seed: int) -> tuple[sp.csr_array, Array]:
    """Return a graph of some 14 edges a vertex with groups and degrees of many sizes, and the group of each vertex."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(12 * (1 - rng.random(n)) ** -0.6, n / 10).astype(int)
    group = rng.permutation(np.repeat(np.arange(n), sizes)[:n])
    chance = np.minimum((1 - rng.random(n)) ** -0.6, n**0.5)
    chance /= chance.sum()
    src, dst = rng.choice(n, (2, 7 * n), p=chance)
    for c in np.unique(group):
        (members,) = np.nonzero(group == c)
        (inside,) = np.nonzero((group[src] == c) & (rng.random(len(src)) > mixing))
        dst[inside] = rng.choice(members, len(inside), p=chance[members] / chance[members].sum())
    A = sp.coo_array((np.ones(7 * n), (src, dst)), (n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.setdiag(0)
    A.eliminate_zeros()
    A.data[:] = 1
    return A, group


def in_igraph(A: sp.csr_array) -> Any:
    """Return an undirected graph of igraph's."""
    import igraph

    upper = sp.triu(A).tocoo()
    return igraph.Graph(n=A.shape[0], edges=np.stack(upper.coords, axis=1).tolist())


def by_igraph(A: sp.csr_array, seed: int, objective: str = "modularity", **options: Any) -> Array:
    """Return the communities of igraph's Leiden; its random numbers are those of the seed."""
    import igraph

    igraph.set_random_number_generator(random.Random(seed))
    try:
        return np.array(in_igraph(A).community_leiden(objective, **options).membership)
    finally:
        igraph.set_random_number_generator(random)


def by_leidenalg(A: sp.csr_array, seed: int) -> Array:
    """Return the communities of leidenalg, by modularity."""
    import leidenalg

    found = leidenalg.find_partition(in_igraph(A), leidenalg.ModularityVertexPartition, seed=seed)
    return np.array(found.membership)


OTHERS: dict[str, tuple[str, Method]] = {
    "igraph": ("igraph", lambda A, seed: by_igraph(A, seed, n_iterations=2)),
    "leidenalg": ("leidenalg", by_leidenalg),
}


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each mixing, and a column for each method."""
    parser = command(__doc__, "output", "json")
    parser.add_argument("--vertices", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=10)
    script = Script(parser, arguments)
    peers = {name: call for name, (module, call) in OTHERS.items() if importlib.util.find_spec(module)}
    methods = GASLA | peers
    script.say(f"{script.options.vertices:,} vertices, means of {script.options.seeds} graphs: modularity, NMI")
    script.say("mixing" + "".join(f"{name:>22}" for name in methods))
    for mixing in MIXINGS:
        scores = []
        for seed in range(script.options.seeds):
            A, group = planted(script.options.vertices, mixing, seed)
            for name, method in methods.items():
                labels = method(A, seed)
                if name.startswith("leiden,") or name == "leiden":
                    verify.leiden_communities(A, labels, runs=2)  # 2: the quality of a consensus may be lower
                scores.append((gasla.modularity(A, labels), gasla.compare_partitions(labels, group).nmi))
        means = np.mean(np.reshape(scores, (script.options.seeds, len(methods), 2)), axis=0)
        cells = [f"{f'{score:.4f}  {nmi:.3f}':>22}" for score, nmi in means]
        figures = {name: [float(score), float(nmi)] for name, (score, nmi) in zip(methods, means, strict=True)}
        script.say(f"{mixing:6}" + "".join(cells), mixing, mixing=mixing, **{"modularity and nmi": figures})


if __name__ == "__main__":
    main()
