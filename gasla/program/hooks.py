"""The table of hooks, which are the functions that a vertex program may define, such as `gather` and `apply`.

`HOOKS` is the only such table: tracing, plans, both engines, schedules, stages, ranks and the guide read it. To add
a hook that runs at one of the times in `When`, add an entry. A hook that runs at a new time also needs a kernel of
each engine, and a step in `reference/steps.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

# When a hook runs. In each iteration, "receive" tests which vertices receive, and along which edges. Then "gather"
# computes values of edges and reduces them, "apply" computes new fields of a vertex that receives, "activate" tests
# which vertices are active next, "scatter" writes to the out-edges of these vertices, and "revise" changes fields of
# the vertices that received once more. Besides, "order" says which active vertices are processed first, "between"
# runs after an iteration, and "phase" runs at the start of one of several phases (`gasla.Phase`).
When = Literal["receive", "gather", "apply", "activate", "scatter", "revise", "order", "between", "phase"]
# What a hook returns: a bool ("test"), a value of any type ("value"), or a dict of new values of vertex fields, edge
# fields or parameters by name.
Returns = Literal["test", "value", "vertex fields", "edge fields", "parameters"]
# How the ranks of a distributed run call a hook. With "own", each rank calls the hook for its part of the graph. With
# "same", each rank computes the same result, from totals that all ranks have. With "together", all ranks call the hook
# at the same time, between iterations, and exchange what it reads or writes.
Shard = Literal["own", "same", "together"]
NOTHING: Mapping[str, str] = MappingProxyType({})


class Hook(NamedTuple):
    """A function that a vertex program may define: its arguments, its result, and when and where it runs."""

    when: When
    parameters: tuple[str, ...]  # names of the arguments that the hook receives
    returns: Returns
    task: str  # what the program decides or computes in the hook; a table in docs/guide/programs.md shows this text
    # name of the stage that runs the hook in a loop written by the user; empty if only `gasla.run` calls it
    stage: str = ""
    shard: Shard = "own"
    # result of a test that changes nothing: a hook that always returns it is left out of the compiled code
    neutral: bool | None = None
    # whether a program that runs with a schedule (a given iteration for each vertex) may define the hook
    in_schedule: bool = True
    # names of other hooks without which this one can't be defined, each with the reason
    needs: Mapping[str, str] = NOTHING
    # names of other hooks that can't be defined together with this one, each with the reason
    excludes: Mapping[str, str] = NOTHING


EDGE = "src", "dst", "edge"
HOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        "mask": Hook("receive", ("vertex",), "test", "who may receive", "mask", neutral=True, in_schedule=False),
        "edge_mask": Hook("receive", EDGE, "test", "along which edges", "edge_mask", neutral=True),
        "gather": Hook("gather", EDGE, "value", "the value of an edge, which `reduce` combines", "gather"),
        "key": Hook(
            "gather",
            EDGE,
            "value",
            "the key of an edge, to reduce values by key",
            "gather",
            needs={
                "gather": "there is nothing to reduce for each key",
                "choose": "nothing says which key a vertex takes",
            },
        ),
        "choose": Hook(
            "gather",
            ("vertex", "key", "total"),
            "value",
            "the score of a key at a vertex; the key of the greatest is gathered",
            "gather",
            needs={"key": "there are no keys to choose from"},
        ),
        "apply": Hook("apply", ("vertex", "gathered"), "vertex fields", "new fields of a receiver", "apply"),
        "activate": Hook("activate", ("before", "after"), "test", "who is active next", "apply"),
        "scatter": Hook(
            "scatter",
            EDGE,
            "edge fields",
            "new fields of the edges along which newly active vertices make others receive",
            "scatter",
            "together",
            in_schedule=False,
        ),
        "post_apply": Hook("revise", ("vertex",), "vertex fields", "a second step, after all have applied", "revise"),
        "priority": Hook(
            "order", ("vertex",), "value", "which active vertices come first: those of the lowest number; NaN is last"
        ),
        "stop": Hook("between", (), "test", "whether the run ends", shard="same", neutral=False),
        "bucket": Hook(
            "order",
            ("vertex",),
            "value",
            "vertices in the order of a whole number; `self.bucket` is the open one",
            shard="together",
            in_schedule=False,
            excludes={"priority": "a program has one of them", "scatter": "a vertex that has waited can't scatter"},
        ),
        "idle": Hook(
            "between",
            (),
            "parameters",
            "new parameters for another round, once no vertex is active",
            shard="together",
            in_schedule=False,
            needs={"wake": "nothing says which vertices go on"},
        ),
        "wake": Hook(
            "between", ("vertex",), "test", "who is active in that round", shard="together", in_schedule=False
        ),
        "start": Hook("phase", ("vertex",), "test", "who is active when a phase of several starts"),
    }
)


def at(*times: When) -> tuple[str, ...]:
    """Return the names of the functions that a program may define for the given times in a run, such as "gather".

    The names are in the order of `HOOKS`, the table of these functions.
    """
    return tuple(name for name, hook in HOOKS.items() if hook.when in times)


# Each tuple below holds the names of hooks with a common property, which the comment at the tuple states.
COMPUTING = at("receive", "gather", "apply", "revise")  # hooks that determine the new fields of a vertex that receives
# hooks that are called for each edge
ALONG = tuple(name for name in at("receive", "gather") if HOOKS[name].parameters == EDGE)
REVISING = at("revise")  # hooks that change the fields of vertices once more, after all vertices have applied
BETWEEN = at("between")  # hooks that run between two iterations, and read the values after the first of them
# hooks that write vertex fields
WRITING = tuple(name for name, hook in HOOKS.items() if hook.returns == "vertex fields")
# hooks that all ranks of a distributed run call at the same time
TOGETHER = tuple(name for name, hook in HOOKS.items() if hook.shard == "together")
