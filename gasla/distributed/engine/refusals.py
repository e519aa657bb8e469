"""What a run over ranks can't be, each with the reason: the one table, which the documentation shows."""

from typing import Any

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


def refuse(program: VertexProgram, traced: Traced, schedule: Any = None) -> None:
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
        (schedule is not None, "schedule", f"a run of {name} has a schedule"),
    ]
    for is_so, key, what in found:
        if is_so:
            raise ValueError(f"{what}, which a distributed graph can't have: {REFUSED[key]}")
