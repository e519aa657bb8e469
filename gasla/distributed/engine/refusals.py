"""What a run over ranks can't be, each with the reason: the one table, which the documentation shows."""

import traceback

from gasla.graph.graph import Graph
from gasla.names import given
from gasla.program.program import VertexProgram
from gasla.program.tracing import Traced

REFUSED = {
    "scatter": "both ends of an edge, on two ranks, would have to see what it writes; expected one direction",
    "scatter after post_apply": "it would see what post_apply has changed",
    "edge.back": "it reads an edge that may be another rank's",
    "self.at": "it reads a vertex that may be another rank's, which nobody has sent",
    "aggregate at": "it reduces at a vertex that may be another rank's",
    "bucket": "it would be told after post_apply has changed what it reads",
    "order": "in place, who comes first would depend on the number of ranks; expected order='synchronous'",
    "schedule": "its receivers are known as one array, which no rank has",
}


def refuse(program: VertexProgram, traced: Traced, is_scheduled: bool = False) -> None:
    """Refuse what ranks can't do, by name and with the reason.

    Raises
    ------
    ValueError
    """
    name = type(program).__name__
    functions = traced.functions
    seen = functions["bucket"].reads("vertex") & traced.writes("post_apply") if "bucket" in functions else set()
    scatter = functions.get("scatter")
    late = (scatter.reads("src") | scatter.reads("dst")) & traced.writes("post_apply") if scatter else set()
    found = [
        (bool(seen), "bucket", f"{name} has a bucket that reads {given(min(seen, default=''))}"),
        (scatter is not None and program.direction == "all", "scatter", f"{name} has scatter along both directions"),
        (bool(late), "scatter after post_apply", f"{name} has scatter that reads {given(min(late, default=''))}"),
        (
            bool(traced.deposits),
            "aggregate at",
            f"{name}.{given(min(traced.deposits, default=''))} reduces at vertices",
        ),
        (any(f.reads("back") for f in functions.values()), "edge.back", f"{name} reads edge.back"),
        (traced.looks_up and not traced.deposits, "self.at", f"{name} reads other vertices by self.at"),
        (program.order == "in place", "order", f"{name} runs in place"),
        (is_scheduled, "schedule", f"a run of {name} has a schedule"),
    ]
    for is_so, key, what in found:
        if is_so:
            raise ValueError(f"{_asked()}{what}, which a distributed graph can't have: {REFUSED[key]}")


def absent(what: str) -> TypeError:
    """An error that says what a distributed graph has not, and which function of gasla's asked for it."""
    return TypeError(f"{_asked()}{what}")


def _asked() -> str:
    """What a person has called, as a message begins: the outermost public function of gasla's, or method of a graph."""
    found = ""
    for frame, _ in traceback.walk_stack(None):
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        if name.startswith(("_", "<")):
            continue
        if module.startswith(("gasla.algorithms.", "gasla.operations.")) and callable(frame.f_globals.get(name)):
            found = f"{name}: "
        elif module.startswith("gasla.graph.") and hasattr(Graph, name):
            found = f"Graph.{name}: "
    return found
