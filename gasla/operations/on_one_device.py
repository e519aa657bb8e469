"""`on_one_device`: a decorator that moves a graph on several GPUs to one GPU for functions that run faster there."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, TypeVar

from gasla.graph.graph import Graph

P = ParamSpec("P")
Result = TypeVar("Result")


class Gains(NamedTuple):
    """What a function that is decorated with `on_one_device` gains if it runs on several GPUs.

    `shared` is a phrase for the work that the GPUs divide among each other, or empty if there is none. `divided` says
    that the function is faster on a large graph that is divided over the GPUs.
    """

    shared: str = ""
    divided: bool = False


# what each function that is decorated with `on_one_device` gains from several GPUs, by the function's name
DECORATED = dict[str, Gains]()


def on_one_device(shared: str = "", divided: bool = False) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Make a function compute on the first GPU if a graph is spread over several GPUs, and fits into the first.

    Functions that run several programs, with arrays in between, take longer on several GPUs. So such a function is
    called with a copy of the whole graph on the first GPU of this process, if it has room. Its results stay there, as
    arrays in blocks. A graph of any other kind is passed on unchanged.

    Parameters
    ----------
    shared : str
        What the other GPUs share if they have room for copies, as a plural: what the function gives to
        `Graph.sum_shares` and `Graph.map_shares`, if `Graph.sharers` says so. Empty if nothing is shared.
    divided : bool
        Whether its programs gain from a divided graph that is large.
    """

    def decorate(function: Callable[P, Result]) -> Callable[P, Result]:
        graph_position = [*signature(function).parameters].index("graph")
        DECORATED[function.__name__] = Gains(shared, divided)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> Result:
            graph: Any = args[graph_position] if len(args) > graph_position else kwargs.get("graph")
            if isinstance(graph, Graph) and not graph.is_whole:
                result: Result = graph.called(function, args, kwargs, divided)
                return result
            return function(*args, **kwargs)

        return called

    return decorate
