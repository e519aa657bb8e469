"""Who to follow: Twitter's recommendation algorithm, by personalized PageRank and SALSA.

The users with the highest personalized PageRank from a user form the circle of trust. SALSA runs on the bipartite graph
of the circle (hubs) and the users that they follow (authorities). The authorities with the highest scores that the user
does not follow yet are recommended.

    python examples/who_to_follow.py [USER]

P. Gupta, A. Goel, J. Lin, A. Sharma, D. Wang, R. Zadeh: WTF: The Who to Follow Service at Twitter. WWW 2013.
"""

import sys

import numpy as np

import gasla

CIRCLE = 200  # users


def circle_of_trust(graph: gasla.Graph, user: int) -> np.ndarray:
    """The users with the highest personalized PageRank from a user, who is among them."""
    ranks = gasla.pagerank(graph, personalization={user: 1}, weighted=False).ranks
    return np.argsort(-ranks, kind="stable")[: min(CIRCLE, np.count_nonzero(ranks))]


def recommend(graph: gasla.Graph, user: int, count: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """The recommended users, best first, and the authority scores of all users."""
    trusted = np.zeros(graph.n, bool)
    trusted[circle_of_trust(graph, user)] = True
    src, dst = graph.out.owners(), graph.out.indices
    follows = gasla.Graph.from_edges(src[trusted[src]], dst[trusted[src]], n=graph.n)
    scores = gasla.salsa(follows).authorities
    new = scores > 0
    new[dst[src == user]] = new[user] = False
    candidates = np.flatnonzero(new)
    return candidates[np.argsort(-scores[candidates], kind="stable")[:count]], scores


def main(user: int | None = None) -> None:
    """Print recommendations for a user of a synthetic network, and how many of the circle follow them."""
    graph = gasla.Graph(gasla.datasets.rmat(12))
    user = int(np.argsort(graph.out_degrees)[graph.n * 3 // 4]) if user is None else user
    circle, (best, scores) = circle_of_trust(graph, user), recommend(graph, user)
    print(f"User {user} follows {graph.out_degrees[user]}, and trusts {len(circle)}. To follow:")
    for v in best.tolist():
        followers = np.isin(graph.in_.indices[graph.in_.indptr[v] : graph.in_.indptr[v + 1]], circle).sum()
        print(f"  {v:5}  {scores[v]:.4f}  followed by {followers} of the circle")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
