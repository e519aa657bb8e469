"""What the command line says of an answer: a function an answer, which yields lines."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import gasla
from gasla.cli import text
from gasla.cli.verbs import Answered, Array
from gasla.progress import track

Summary = Callable[[Answered], Iterator[str]]


def edges_from(graph: Any, reached: Array) -> int:
    """Stored directed edges whose source was reached."""
    return int(graph.out_degrees[reached].sum(dtype=np.int64))


def by_searches(found: Answered) -> int:
    """Edges reached by a search from each source."""
    graph, sources = found.graph.graph, found.arguments["sources"]
    sources = range(graph.n) if sources is None else sources
    return sum(edges_from(graph, gasla.bfs(graph, s) >= 0) for s in track(sources, "sources"))


def ranking(name: str, heading: Callable[[Answered], str]) -> Summary:
    """The vertices of the highest scores."""

    def summary(found: Answered) -> Iterator[str]:
        yield heading(found)
        yield from text.ranking(found.graph, found.answer[name], found.top)

    return summary


def levels(found: Answered) -> Iterator[str]:
    """How many vertices there are at each level."""
    level = found.answer["levels"]
    counts = np.bincount(level[level >= 0]).tolist()
    yield _reached(found, sum(counts))
    names, counts = text.shortened([str(level) for level in range(len(counts))], counts, 20)
    yield from text.histogram([f"level {name}" for name in names], counts, "vertices")


def distances(found: Answered) -> Iterator[str]:
    """How many vertices there are at what distance, and which are farthest."""
    distance = found.answer["distances"]
    reached = np.isfinite(distance)
    yield _reached(found, int(reached.sum()))
    if np.ptp(distance[reached]) > 0:
        counts, edges = np.histogram(distance[reached], bins=10)
        names = [f"{a:,.6g} to {b:,.6g}" for a, b in pairwise(edges)]
        yield from text.histogram(names, counts.tolist(), "vertices")
    yield "farthest:"
    yield from text.ranking(found.graph, np.where(reached, distance, -np.inf), min(found.top, int(reached.sum())))


def _reached(found: Answered, count: int) -> str:
    named = found.graph
    return f"{count:,} of {named.graph.n:,} vertices reached from {named.label(found.arguments['source'])}"


def of_each(name: str) -> Summary:
    """For each source how much it reaches, and how far it is to what is farthest."""

    def summary(found: Answered) -> Iterator[str]:
        rows, sources = found.answer[name], found.arguments["sources"]
        yield f"from {len(sources):,} sources, of {found.graph.graph.n:,} vertices:"
        for source, row in list(zip(sources, rows))[: found.top]:
            some = row[is_reached(row)]
            farthest = some.max(initial=0).item()
            yield f"      {some.size:>14,} reached from {found.graph.label(source)}, the farthest at {farthest:,.6g}"

    return summary


def is_reached(values: Array) -> Array:
    """Which levels or distances are those of vertices that were reached."""
    return (values >= 0) & (values < np.inf)


def settled(what: str) -> Callable[[Answered], str]:
    """A heading that says whether these did."""
    return lambda found: f"{ended(found)}; the highest {what}:"


def ended(found: Answered) -> str:
    """Whether an iteration converged, and how far it came."""
    answer = found.answer
    state = "converged" if answer["converged"] else "did NOT converge"
    return f"{state} after {answer['iterations']} iterations, residual {answer['residual']:.3g}"


def links(found: Answered) -> Iterator[str]:
    """The best hubs and the best authorities."""
    yield f"{ended(found)}; the best hubs:"
    yield from text.ranking(found.graph, found.answer["hubs"], found.top)
    yield "the best authorities:"
    yield from text.ranking(found.graph, found.answer["authorities"], found.top)


def components(found: Answered, what: str = "components") -> Iterator[str]:
    """How many there are, and the largest."""
    labels = found.answer["labels"]
    sizes = np.bincount(labels)
    single = (sizes == 1).sum()
    yield f"{found.answer['count']:,} {what}, {single:,} of them single vertices; the largest:"
    _, first = np.unique(labels, return_index=True)
    for place, c in enumerate(np.argsort(-sizes, kind="stable")[: found.top].tolist(), 1):
        yield f"{place:4}  {sizes[c]:>14,} vertices, among them {found.graph.label(int(first[c]))}"


def condensed(found: Answered) -> Iterator[str]:
    """How many components there are, and what joins them."""
    yield from components(found, "strong components")
    yield f"{found.answer['condensed'].m:,} pairs of them are joined by edges"


def nearby(found: Answered) -> Iterator[str]:
    """How many vertices and edges are near, and which vertices come first."""
    ego, graph, inside = found.answer["ego"], found.graph, found.answer["vertices"]
    middle, radius = graph.label(found.arguments["source"]), found.arguments["radius"]
    yield (
        f"{ego.n:,} of {graph.graph.n:,} vertices and {ego.m:,} of {graph.graph.m:,} edges are within {radius:g} of "
        f"{middle}{', among them' if ego.n else ''}"
    )
    yield from (f"      {graph.label(v)}" for v in inside[: found.top].tolist())


def nibbled(found: Answered) -> Iterator[str]:
    """How large the community is, how little leads out of it, and which vertices come first."""
    vertices, graph = found.answer["vertices"], found.graph
    yield (
        f"{len(vertices):,} of {graph.graph.n:,} vertices are the community of "
        f"{graph.label(found.arguments['source'])}, of conductance {found.answer['conductance']:.3g}, first of them"
    )
    yield from (f"      {graph.label(v)}" for v in vertices[: found.top].tolist())


def communities(found: Answered) -> Iterator[str]:
    """How many there are, and the largest."""
    count = int(found.answer["labels"].max(initial=-1)) + 1
    yield from components(found._replace(answer={**found.answer, "count": count}), "communities")


def sides(found: Answered) -> Iterator[str]:
    """Whether there are two, and how large they are."""
    color = found.answer["colors"]
    yield "bipartite" if found.answer["bipartite"] else "NOT bipartite: some component has an odd cycle"
    yield from text.histogram(
        ["colour 0", "colour 1", "neither"], [int((color == c).sum()) for c in (0, 1, -1)], "vertices"
    )


def pairs(found: Answered) -> Iterator[str]:
    """How many bridges there are, and some of them."""
    rows, label = found.answer["bridges"].tolist(), found.graph.label
    yield f"{len(rows):,} bridges{'; the first:' if rows else ''}"
    yield from (f"{place:4}  {label(u)} and {label(v)}" for place, (u, v) in enumerate(rows[: found.top], 1))


def points(found: Answered) -> Iterator[str]:
    """How many articulation points there are, and those of most edges."""
    ids = found.answer["points"]
    yield f"{len(ids):,} articulation points{'; those of the most edges out:' if len(ids) else ''}"
    degree = found.graph.graph.out_degrees
    yield from _row_by_row(found, ids[np.argsort(-degree[ids], kind="stable")][: found.top].tolist(), degree)


def order(found: Answered) -> Iterator[str]:
    """How many levels there are, and who comes first."""
    level, first = found.answer["levels"], found.answer["order"][: found.top].tolist()
    yield f"{int(level.max(initial=-1)) + 1:,} levels; the first in order:"
    yield from _row_by_row(found, first, level)


def path(found: Answered) -> Iterator[str]:
    """The longest path, and where each of its vertices lies on it."""
    whole = found.answer["path"].tolist()
    yield f"the longest path leads through {len(whole):,} vertices, and its length is {found.answer['length']:,.6g}:"
    yield from _row_by_row(found, whole[: found.top], found.answer["lengths"])
    if len(whole) > found.top:
        yield f"      and {len(whole) - found.top:,} more, to {found.graph.label(whole[-1])}"


def route(found: Answered) -> Iterator[str]:
    """The shortest path, and how long each of its vertices is on the way."""
    answer, graph, label = found.answer, found.graph.graph, found.graph.label
    ends = f"from {label(found.arguments['source'])} to {label(found.arguments['target'])}"
    if not len(answer["path"]):
        yield f"no path leads {ends}"
        return
    yield f"a shortest path {ends} has {len(answer['path']):,} vertices; its length is {answer['distance']:,.6g}:"
    lengths = np.ones(len(answer["edges"])) if graph.values is None else graph.values[answer["edges"]]
    way = np.append(0, lengths.cumsum(dtype=np.float64)).tolist()
    for place, (v, length) in list(enumerate(zip(answer["path"].tolist(), way), 1))[: found.top]:
        yield f"{place:4}  {length:14,.6g}  {label(v)}"
    if len(way) > found.top:
        yield f"      and {len(way) - found.top:,} more"


def _row_by_row(found: Answered, vertices: list[int], numbers: Array) -> Iterator[str]:
    for place, v in enumerate(vertices, 1):
        yield f"{place:4}  {numbers[v].item():14,.6g}  {found.graph.label(v)}"


def cores(found: Answered) -> str:
    """The main core, and what stands below."""
    numbers = found.answer["numbers"]
    highest = int(numbers.max(initial=0))
    return f"the main core is that of {highest:,}, and has {int((numbers == highest).sum()):,} vertices; the innermost:"


def members(found: Answered) -> Iterator[str]:
    """How many vertices are in the core, and which come first."""
    graph, inside = found.graph, np.flatnonzero(found.answer["members"])
    k = found.arguments["k"]
    core = "the main core" if k is None else f"the core of {k:,}"
    yield f"{len(inside):,} of {graph.graph.n:,} vertices are in {core}{', among them' if len(inside) else ''}"
    yield from (f"      {graph.label(v)}" for v in inside[: found.top].tolist())


def supported(found: Answered) -> Iterator[str]:
    """How many edges are in triangles, and those that are in most."""
    support = found.answer["support"]
    yield f"{(support > 0).sum():,} of {len(support):,} stored edges are in triangles{', most' if len(support) else ''}"
    yield from _edges(found, np.argsort(-support, kind="stable")[: found.top])


def alike(found: Answered) -> Iterator[str]:
    """The edges whose ends are most alike."""
    scores = found.answer["scores"]
    yield f"{(scores > 0).sum():,} of {len(scores):,} stored edges score above 0{', most' if len(scores) else ''}"
    yield from _edges(found, np.argsort(-scores, kind="stable")[: found.top])


def passed(found: Answered) -> Iterator[str]:
    """The edges that most shortest paths go along."""
    yield from_sources("most shortest paths from {:,} sources go along")(found)
    yield from _edges(found, np.argsort(-found.answer["scores"], kind="stable")[: found.top])


def similar(found: Answered) -> Iterator[str]:
    """The pairs of vertices that are most similar, of each vertex and the first of its others."""
    rows, scores, label = found.answer["vertices"], found.answer["scores"], found.graph.label
    yield f"{int((rows >= 0).any(axis=1).sum()):,} of {len(rows):,} vertices share a neighbour with others"
    for v in np.argsort(-scores[:, 0], kind="stable")[: found.top] if rows.shape[1] else ():
        if rows[v, 0] >= 0:
            yield f"{scores[v, 0]:14,.6g}  {label(int(v))} – {label(int(rows[v, 0]))}"


def truss(found: Answered) -> Iterator[str]:
    """How many edges are in the truss, and which come first."""
    member, k = found.answer["edges"], found.arguments["k"]
    name = "the main truss" if k is None else f"the truss of {k:,}"
    yield f"{member.sum():,} of {len(member):,} stored edges are in {name}{', among them' if member.any() else ''}"
    yield from _edges(found, np.flatnonzero(member)[: found.top])


def cliques(found: Answered) -> Iterator[str]:
    """How many there are."""
    yield f"{found.answer['count']:,} cliques of {found.arguments['k']:,} vertices"


def matches(found: Answered) -> Iterator[str]:
    """How many there are, and some of them."""
    rows, label = found.answer["matches"], found.graph.label
    count = rows if isinstance(rows, int) else len(rows)
    kind = "induced matches" if found.arguments["induced"] else "matches"
    yield f"{count:,} {kind} of a pattern of {len(found.arguments['pattern'])} vertices"
    some = [] if isinstance(rows, int) else rows[: found.top].tolist()
    yield from (f"      {' – '.join(map(label, row))}" for row in some)


def _edges(found: Answered, numbers: Array) -> Iterator[str]:
    """The ends of some edges."""
    lists, label = found.graph.graph.out, found.graph.label
    places = np.argsort(lists.numbers(), kind="stable")[numbers]
    ends = zip(lists.owners()[places].tolist(), lists.indices[places].tolist())
    yield from (f"      {label(u)} – {label(v)}" for u, v in ends)


def independent(found: Answered) -> Iterator[str]:
    """How many vertices are in the set, and which come first."""
    inside = np.flatnonzero(found.answer["members"])
    yield f"{len(inside):,} of {found.graph.graph.n:,} vertices are members{', among them' if len(inside) else ''}"
    yield from (f"      {found.graph.label(v)}" for v in inside[: found.top].tolist())


def colours(found: Answered) -> Iterator[str]:
    """How many vertices there are of each colour."""
    counts = np.bincount(found.answer["colours"]).tolist()
    yield f"{len(counts):,} colours"
    names, counts = text.shortened([str(colour) for colour in range(len(counts))], counts, 20)
    yield from text.histogram([f"colour {name}" for name in names], counts, "vertices")


def forest(found: Answered) -> Iterator[str]:
    """How many edges there are, and what they weigh."""
    count, n = len(found.answer["edges"]), found.graph.graph.n
    yield f"{count:,} edges of weight {found.answer['total'].item():,} join {n:,} vertices to {n - count:,} trees"


def mates(found: Answered) -> Iterator[str]:
    """How many pairs there are, and which come first."""
    mate = found.answer["mates"]
    first = np.flatnonzero(mate > np.arange(len(mate)))
    yield f"{len(first):,} pairs of {len(mate):,} vertices{', among them' if len(first) else ''}"
    yield from (
        f"      {found.graph.label(v)} – {found.graph.label(int(mate[v]))}" for v in first[: found.top].tolist()
    )


def flow(found: Answered) -> Iterator[str]:
    """How much flows, along how many edges, and along which most."""
    sent, value = found.answer["flow"], found.answer["value"]
    used = int((sent > 0).sum())
    yield f"{value:,} from {_ends(found)} along {used:,} of {len(sent):,} edges{', most along' if used else ''}"
    yield from _edges(found, np.argsort(-sent, kind="stable")[: min(used, found.top)])


def cut(found: Answered) -> Iterator[str]:
    """What the cut costs, who is on which side, and its first edges."""
    graph, side = found.graph.graph, found.answer["source_side"]
    src, dst = graph.edges()
    edges = np.flatnonzero(side[src] & ~side[dst])
    yield (
        f"{len(edges):,} edges of {found.answer['value']:,} together part {_ends(found)}, with {int(side.sum()):,} and "
        f"{int((~side).sum()):,} vertices{', among them' if len(edges) else ''}"
    )
    yield from _edges(found, edges[: found.top])


def _ends(found: Answered) -> str:
    """What leads from where to where."""
    source, target = (found.graph.label(found.arguments[name]) for name in ("source", "target"))
    return f"{source} to {target}"


def features(found: Answered) -> Iterator[str]:
    """What the numbers are like, feature by feature."""
    numbers = np.atleast_2d(found.answer["aggregated"].T)
    yield f"{found.arguments['reduce']} over in-neighbours: the least, the mean and the largest of each feature"
    for i, one in enumerate(numbers[: found.top] if numbers.size else []):
        yield f"{i:4}  {one.min():14,.6g}  {one.mean():14,.6g}  {one.max():14,.6g}"


def from_sources(what: str) -> Callable[[Answered], str]:
    """A heading that says from how many sources."""

    def heading(found: Answered) -> str:
        sources = found.arguments["sources"]
        return f"{what.format(found.graph.graph.n if sources is None else len(sources))}:"

    return heading


def walked(found: Answered) -> Iterator[str]:
    """How many steps were taken, how many walks ended, and which vertices were come to most often."""
    walks, steps = found.answer["walks"], int((found.answer["walks"][:, 1:] >= 0).sum())
    ended = int((walks[:, -1] < 0).sum())
    yield f"{len(walks):,} walkers took {steps:,} steps, and {ended:,} came to where no edge leads on; most often at:"
    yield from _most_drawn(found, found.answer["visits"])


def sampled(found: Answered) -> Iterator[str]:
    """How many neighbours were drawn, and who most often."""
    drawn = found.answer["drawn"]
    yield f"{len(drawn):,} neighbours of {len(found.answer['sampled']):,} vertices were drawn; most often:"
    yield from _most_drawn(found, drawn)


def _most_drawn(found: Answered, vertices: Array) -> Iterator[str]:
    yield from text.ranking(found.graph, np.bincount(vertices, minlength=found.graph.graph.n), found.top)
