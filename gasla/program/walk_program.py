"""Walk programs: what a person writes of walkers that go by lot from vertex to vertex.

A program is a class with declared fields, as vertex programs have them, and at most three functions, each a number for
one walker: whether it ends, whether it begins anew, whether the edge that it has drawn is let pass.
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
    """Walkers that go along edges by lot; subclass it, declare fields, and write the functions you need.

    A walker is at a vertex. One step of it:

    1. It ends with the probability `stop(vertex)`: from then on it is nowhere, at -1.
    2. Else it goes back to its start with the probability `restart(vertex)`. That is its step.
    3. Else it draws one of the out-edges of its vertex: all alike, or in proportion to their values if it walks
       `weighted`. Where there is none it ends.
    4. The edge passes with the probability `accept(previous, vertex, target, edge) / bound()`; else another is drawn,
       and so on. So it takes each edge in proportion to `accept`, times its value if it walks weighted. Where that is
       0 for all edges, it ends.

    None of the functions need be there: without them this is a plain random walk.

    Within the functions, records give the fields of a vertex, and its `id`, `in_degree` and `out_degree`; of an edge
    its fields, which are the matrix's values, and its `id`, its place in the input. `previous` is where the walker came
    from; at its start, and again after a restart, its `id` is -1, and its fields are what they are declared to be where
    `missing`. `self` gives the parameters, `self.start` (the id of where the walker began), `self.step` (from 0) and
    `self.n`. `self.at(index)` is any other vertex, as in a `VertexProgram`. The functions draw nothing themselves.

    Examples
    --------
    >>> import gasla, semirings, numpy as np
    >>> class Uphill(gasla.WalkProgram):  # never down, and home every tenth step or so
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
            raise TypeError(f"{cls.__name__}.{min(cls.aggregates)} is an aggregate; walkers have none, leave it out")
        for name, field in cls.edge_fields.items():
            if not field.is_value:
                raise TypeError(
                    f"{cls.__name__}.{name} has init={field.init!r}; expected gasla.edge(dtype), the matrix's values, "
                    "as walkers change no edges"
                )

    def bound(self) -> Any:
        """The largest number that `accept` may give, of parameters alone; more than 0.

        The nearer it is to what `accept` gives, the fewer edges are drawn in vain.
        """
        return 1.0

    def has_edge(self, src: Any, dst: Any) -> Any:
        """Whether there is an edge, within `accept`: `self.has_edge(previous, target)`.

        It is looked for only where the lot depends on it. At most three different ones may be asked for.

        Parameters
        ----------
        src, dst : records of vertices, or whole numbers
            Of what is no vertex, such as -1, there is none.

        Returns
        -------
        bool

        Raises
        ------
        TypeError
            If an id is no whole number, or the call comes from elsewhere.
        """
        raise TypeError("self.has_edge(src, dst) is for accept; elsewhere ask gasla.primitives.has_edges")

    def at(self, index: Any) -> Record:
        """Another vertex's fields, within the program's functions: `self.at(self.start).height`.

        Parameters
        ----------
        index : a whole number
            Outside 0 … n-1 it gives each field's `missing`, and -1 for `id`.

        Raises
        ------
        TypeError
            As `VertexProgram.at`.
        """
        raise TypeError("self.at(index) is for accept, stop and restart; elsewhere read the array of the field")


def as_walk_program(given: Any) -> WalkProgram:
    """A program, or one of a class of them with its parameters as they are by default."""
    return as_instance(WalkProgram, given)
