"""`WalkProgram`: the base class of programs for random walks.

A program is a class with declared fields, like a vertex program, and at most three functions. Each returns a
probability for one walker: that it ends, that it returns to its start, or that the edge that it has drawn is accepted.
"""

from typing import Any

from gasla.program.fields import Declared, as_instance
from gasla.program.records import Record

__all__ = ["WalkProgram", "as_walk_program"]

HOOKS: dict[str, tuple[str, ...]] = {
    "accept": ("previous", "vertex", "target", "edge"),
    "stop": ("vertex",),
    "restart": ("vertex",),
    "bound": (),
}
_KEPT = {
    **dict.fromkeys(
        ("program", "graph", "starts", "steps", "weighted", "seed", "device"), "it is an argument of gasla.walk"
    ),
    **dict.fromkeys(("step", "start", "n"), "a program reads it as an attribute of self"),
    **dict.fromkeys(("id", "in_degree", "out_degree"), "every vertex has it"),
}


class WalkProgram(Declared):
    """A random walk along edges: subclass it, declare fields, and define the functions you need.

    One step of a walker:

    1. It ends with probability `stop(vertex)`: from then on its vertex is -1.
    2. Otherwise it returns to its start with probability `restart(vertex)`, as its step.
    3. Otherwise it draws one of the out-edges of its vertex, uniformly, or if `weighted` in proportion to their values.
       Without out-edges it ends.
    4. The edge is accepted with probability `accept(previous, vertex, target, edge) / bound()`; otherwise it draws
       again. So each edge is taken in proportion to `accept`, times its value if `weighted`. If that is 0 for all
       edges, the walker ends.

    All functions are optional: without them this is a plain random walk.

    Within the functions, the record of a vertex has its fields, `id`, `in_degree` and `out_degree`; the record of an
    edge its fields, which hold the matrix's values, and `id`, its position in the input. `previous` is the vertex that
    the walker came from; at the start, and after a restart, its `id` is -1 and its fields are their `missing`. `self`
    has the parameters, `self.start` (the id of the walker's start), `self.step` (from 0) and `self.n`. `self.at(index)`
    is any other vertex, as in a `VertexProgram`. The functions return probabilities and draw no random numbers.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Uphill(gasla.WalkProgram):  # never downhill; returns to its start every tenth step on average
    ...     height = gasla.vertex(np.float32)
    ...     chance = gasla.parameter(np.float64, 0.1)
    ...     def accept(self, previous, vertex, target, edge): return target.height >= vertex.height
    ...     def restart(self, vertex): return self.chance
    >>> ring = gasla.Graph.from_edges([0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2])
    >>> gasla.walk(Uphill, ring, [0, 1], 4, seed=1, height=np.array([1, 2, 3]))
    array([[ 0,  1,  0,  2, -1],
           [ 1,  2, -1, -1, -1]], dtype=int32)
    """

    _hooks = HOOKS
    _kept = _KEPT

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._check_names()
        if cls.aggregates:
            raise TypeError(f"{cls.__name__}.{min(cls.aggregates)} is an aggregate; walk programs have none, remove it")
        for name, field in cls.edge_fields.items():
            if not field.is_value:
                raise TypeError(
                    f"{cls.__name__}.{name} has init={field.init!r}; expected gasla.edge(dtype), the matrix's values, "
                    "as walks don't write edge fields"
                )

    def bound(self) -> Any:
        """Return an upper bound, above 0, of the results of `accept`, computed from parameters only.

        The tighter the bound, the fewer draws are rejected.
        """
        return 1.0

    def has_edge(self, src: Any, dst: Any) -> Any:
        """Test whether there is an edge, within `accept`: `self.has_edge(previous, target)`.

        The edge is searched only if the draw depends on it. `accept` may test at most three different pairs.

        Parameters
        ----------
        src, dst : records of vertices, or whole numbers
            An id that is not a vertex, such as -1, has no edges.

        Returns
        -------
        bool

        Raises
        ------
        TypeError
            If an id is not a whole number, or the call is outside `accept`.
        """
        raise TypeError("self.has_edge(src, dst) is for accept; elsewhere use gasla.primitives.has_edges")

    def at(self, index: Any) -> Record:
        """Read the fields of any vertex, within the program's functions: `self.at(self.start).height`.

        Parameters
        ----------
        index : a whole number
            An index outside 0 … n-1 gives each field's `missing`, and -1 for `id`.

        Raises
        ------
        TypeError
            As `VertexProgram.at`.
        """
        raise TypeError("self.at(index) is for accept, stop and restart; elsewhere read the array of the field")


def as_walk_program(given: Any) -> WalkProgram:
    """Return the given walk program, or an instance of the given program class with default parameters."""
    return as_instance(WalkProgram, given)
