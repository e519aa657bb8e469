"""Features that distributed runs do not support, with reasons; the documentation shows this table."""

import traceback

from gasla.graph.graph import Graph
from gasla.names import given
from gasla.program.hooks import REVISING
from gasla.program.program import VertexProgram
from gasla.program.tracing import Traced

LATER = " or ".join(REVISING)
UNSUPPORTED = {
    "scatter": "both ends of an edge, on two ranks, would have to see what it writes; use one direction",
    f"scatter after {LATER}": f"it would read values that {LATER} has already changed",
    "edge.back": "it reads an edge that another rank may hold",
    "bucket": f"it would read values that {LATER} has already changed",
    "order": "in-place updates would depend on the number of ranks; use order='synchronous'",
    "schedule": "a schedule lists receivers in one array, which no rank has",
}

# An error message names the outermost function on the stack that is in one of these packages, which have public
# functions.
WITH_FUNCTIONS = "gasla.algorithms.", "gasla.operations.", "gasla.verify.", "gasla.graph."
WITH_METHODS = "gasla.graph.", "gasla.distributed.distributed_graph"


def check_supported(program: VertexProgram, traced: Traced, is_scheduled: bool = False) -> None:
    """Raise ValueError for a program that distributed runs don't support, with the feature and the reason."""
    name = type(program).__name__
    functions = traced.functions
    revised_in_bucket = functions["bucket"].reads("vertex") & traced.revised if "bucket" in functions else set()
    scatter = functions.get("scatter")
    revised_in_scatter = (scatter.reads("src") | scatter.reads("dst")) & traced.revised if scatter else set()
    obstacles = [
        (
            bool(revised_in_bucket),
            "bucket",
            f"{name} has a bucket that reads {given(min(revised_in_bucket, default=''))}",
        ),
        (scatter is not None and program.direction == "all", "scatter", f"{name} has scatter along both directions"),
        (
            bool(revised_in_scatter),
            f"scatter after {LATER}",
            f"{name} has scatter that reads {given(min(revised_in_scatter, default=''))}",
        ),
        (any(function.reads("back") for function in functions.values()), "edge.back", f"{name} reads edge.back"),
        (program.order == "in place", "order", f"{name} runs in place"),
        (is_scheduled, "schedule", f"a run of {name} has a schedule"),
    ]
    for is_so, key, obstacle in obstacles:
        if is_so:
            raise ValueError(f"{caller()}{obstacle}, which distributed graphs don't support: {UNSUPPORTED[key]}")


def unsupported(what: str) -> TypeError:
    """Return a TypeError for something that distributed graphs don't support.

    The message begins with the name of the public function that the user has called, followed by the reason `what`.
    """
    return TypeError(f"{caller()}{what}")


def not_whole(option: str = "") -> TypeError:
    """Return the TypeError for a function that needs all edges of a distributed graph in one process.

    With `option`, the message says that only this option of the function needs them.
    """
    expected = f"a gasla.Graph for {option}" if option else "a gasla.Graph"
    return unsupported(f"graph is a distributed graph, of which no process has all edges; expected {expected}")


def caller() -> str:
    """Return the name of the public function of gasla, or graph method, that the user has called, for an error message.

    It is the outermost one on the stack.
    """
    prefix = ""
    for frame, _ in traceback.walk_stack(None):
        name, module = frame.f_code.co_name, frame.f_globals.get("__name__", "")
        if name.startswith(("_", "<", "require_", "called")):
            continue
        if module.startswith(WITH_METHODS) and hasattr(Graph, name):
            prefix = f"Graph.{name}: "
        elif module.startswith(WITH_FUNCTIONS) and callable(frame.f_globals.get(name)):
            prefix = f"{name}: "
    return prefix
