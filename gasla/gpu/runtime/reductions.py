"""The function that reduces numbers by key on a GPU, for `gasla.graph`, which must not import an engine.

The package `gasla.gpu` sets `by_product` when it is imported. Python imports the package before this file, so the
function is always set.
"""

from collections.abc import Callable
from typing import Any

# The GPU engine's function, called as ``by_product(monoid, indptr, ids, values)``. It does what
# `gasla.program.terms.reduce_lists` documents.
by_product: Callable[[Any, Any, Any, Any], Any]
