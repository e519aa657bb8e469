"""`mxv` for SciPy's own, for predefined semirings and for one of a user's."""

from __future__ import annotations

from . import GRAPHS, QUICK  # first: it makes `benchmarks` known

from benchmarks import products  # isort: skip
from gasla.bench import graphs


class Products:
    """One product of a float32 matrix and vector."""

    params = (GRAPHS, ["scipy", *products.SEMIRINGS])
    param_names = ("graph", "semiring")
    timeout = 300
    warmup_time = 0
    number = 1
    repeat = (1, 3, 1.0) if QUICK else (5, 30, 5.0)

    def setup(self, graph: str, semiring: str) -> None:
        """Load the graph and compile."""
        self.call = products.contestants(graphs.load(graph))[semiring]
        self.call(0)

    def time_mxv(self, graph: str, semiring: str) -> None:
        """The time of one product."""
        self.call(0)
