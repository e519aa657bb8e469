"""Patterns given as text, which is a name such as `cycle4`, or a list of edges such as `0-1,1-2` or, directed,
`0>1,1>2`.

Numbers in names count vertices, as in NetworkX's graphs of the same names. A star is the exception, whose number counts
leaves.
"""

import re

from gasla.names import meant

Pairs = set[tuple[int, int]]

TRIANGLE = "0-1,1-2,0-2"
NAMED = {"edge": "0-1", "triangle": TRIANGLE, "paw": "0-1,1-2,0-2,2-3", "diamond": "0-1,1-2,2-3,0-3,1-3"}
# for each kind of pattern, the smallest number that may follow in its name, as in "cycle3"
KINDS = {"path": 2, "cycle": 3, "star": 2, "clique": 2}
DIRECTED = "edge", "path", "cycle", "star"  # the names of patterns, without numbers, that have a directed form
_KIND = re.compile(r"(path|cycle|star|clique)(\d{1,3})")
_EDGES = re.compile(r"\d{1,3}([->])\d{1,3}(,\d{1,3}[->]\d{1,3})*")


def read(text: str, directed: bool, most: int) -> tuple[int, Pairs, bool]:
    """Return the number of vertices of a pattern given as text, its set of ordered pairs, and whether it is directed.

    An undirected edge is in the set in both orders.

    Examples
    --------
    >>> read("cycle3", True, 4)
    (3, {(0, 1), (1, 2), (2, 0)}, True)
    """
    text = text.replace(" ", "")
    name_match = _KIND.fullmatch(text)
    if name_match is not None:
        pairs = _pairs_of_name(name_match[1], int(name_match[2]), directed, most)
    elif text in NAMED:
        if directed and text not in DIRECTED:
            raise ValueError(_no_directed_form(text))
        pairs = _pairs_of_edges(NAMED[text])
    elif _EDGES.fullmatch(text):
        directed = _is_directed(text, directed)
        pairs = _pairs_of_edges(text)
    else:
        raise ValueError(
            f"pattern is {text!r}; expected edges between vertices numbered from 0, such as {TRIANGLE} or, directed, "
            f"0>1,1>2,2>0, or one of the names {', '.join(names(most))}{meant(text, names(most))}"
        )
    size = max((max(pair) + 1 for pair in pairs), default=1)
    return size, pairs if directed else pairs | {(v, u) for u, v in pairs}, directed


def names(most: int) -> list[str]:
    """Return all names of patterns of up to `most` vertices."""
    numbered = [
        f"{shape_name}{k}"
        for shape_name, smallest in KINDS.items()
        for k in range(smallest, most + 1 - (shape_name == "star"))
    ]
    return [*NAMED, *numbered]


def _pairs_of_name(kind: str, k: int, directed: bool, most: int) -> Pairs:
    name, size = f"{kind}{k}", k + (kind == "star")
    if directed and kind not in DIRECTED:
        raise ValueError(_no_directed_form(name))
    # two edges between two vertices, one in each direction, are a directed cycle, so it may be shorter by one
    least = KINDS[kind] - (directed and kind == "cycle")
    if not (least <= k and size <= most):
        raise ValueError(
            f"pattern is {name}, of {size} vertices; expected {least} to {most - (kind == 'star')} behind {kind!r}"
        )
    steps = {(i, i + 1) for i in range(k - 1)}
    return {
        "path": steps,
        "cycle": steps | {(k - 1, 0)},
        "star": {(0, i + 1) for i in range(k)},
        "clique": {(i, j) for j in range(k) for i in range(j)},
    }[kind]


def _pairs_of_edges(edges: str) -> Pairs:
    edge_ends = [[int(v) for v in re.split("[->]", edge)] for edge in edges.split(",")]
    return {(u, v) for u, v in edge_ends}


def _is_directed(edges: str, directed: bool) -> bool:
    """Return whether the edges of a pattern, given as text, are directed. Raise ValueError if only some of them are."""
    if "-" in edges and ">" in edges:
        raise ValueError(
            f"pattern is {edges!r}, with edges of both kinds; expected all with - or all with >: "
            "an edge in both directions is 0>1,1>0"
        )
    if directed and "-" in edges:
        raise ValueError(f"pattern is {edges!r}, and directed is True; expected directed edges, such as 0>1,1>2")
    return ">" in edges


def _no_directed_form(name: str) -> str:
    return (
        f"pattern is {name!r}, which has no directed form, and directed is True; expected edges, such as "
        f"0>1,1>2,0>2, or one of {', '.join(DIRECTED)} with a number where it needs one"
    )
