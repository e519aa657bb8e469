"""The reduction of numbers by key on a GPU. `gasla.gpu` sets it when it is imported, as graphs know no engine.

It is always set here, because Python imports the package `gasla.gpu` before this file.
"""

from collections.abc import Callable
from typing import Any

# Called as ``by_product(monoid, indptr, ids, values)``; does what `gasla.program.terms.reduce_lists` documents.
by_product: Callable[[Any, Any, Any, Any], Any]
