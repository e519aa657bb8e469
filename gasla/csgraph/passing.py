"""What is SciPy's own: functions that are passed through, and calls that gasla's functions hand over, each with why.

SciPy's functions are taken when this is imported, so that gasla's may stand in their place afterwards.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.sparse import csgraph

from gasla.arrays import array_module

SCIPY: dict[str, Callable[..., Any]] = {
    name: function for name in csgraph.__all__ if callable(function := getattr(csgraph, name))
}
SPARES_TIME = True  # whether calls are handed over for no other reason than that SciPy answers as soon


def by_scipy(name: str, reason: str, *args: Any, **kwargs: Any) -> Any:
    """What SciPy's function of that name returns; the reason is for those who count."""
    if any(array_module(given) is not np for given in (*args, *kwargs.values())):
        raise TypeError(
            f"{name} got an array of CuPy's; expected NumPy's or SciPy's, as this is done by SciPy ({reason}): "
            "pass what .get() returns"
        )
    return SCIPY[name](*args, **kwargs)


def sparing(reason: str, csgraph: Any) -> str:
    """A reason that is none but that it spares time, where that may be."""
    return reason if SPARES_TIME and array_module(csgraph) is np else ""


def _pass_on(name: str) -> Callable[..., Any]:
    """SciPy's function, which says that CuPy's arrays are not for it."""

    @wraps(SCIPY[name])
    def function(*args: Any, **kwargs: Any) -> Any:
        return by_scipy(name, "passed through", *args, **kwargs)

    return function


breadth_first_order = _pass_on("breadth_first_order")
breadth_first_tree = _pass_on("breadth_first_tree")
construct_dist_matrix = _pass_on("construct_dist_matrix")
csgraph_from_dense = _pass_on("csgraph_from_dense")
csgraph_from_masked = _pass_on("csgraph_from_masked")
csgraph_masked_from_dense = _pass_on("csgraph_masked_from_dense")
csgraph_to_dense = _pass_on("csgraph_to_dense")
csgraph_to_masked = _pass_on("csgraph_to_masked")
depth_first_order = _pass_on("depth_first_order")
depth_first_tree = _pass_on("depth_first_tree")
floyd_warshall = _pass_on("floyd_warshall")
johnson = _pass_on("johnson")
maximum_bipartite_matching = _pass_on("maximum_bipartite_matching")
min_weight_full_bipartite_matching = _pass_on("min_weight_full_bipartite_matching")
reconstruct_path = _pass_on("reconstruct_path")
reverse_cuthill_mckee = _pass_on("reverse_cuthill_mckee")
structural_rank = _pass_on("structural_rank")
yen = _pass_on("yen")
