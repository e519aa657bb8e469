"""
semirings: typed symbolic expressions, operators, monoids and semirings. Its only dependency is NumPy.

A user's function is called once with symbols (`trace`) and printed as Python or CUDA C++ (`printers`); the same
function works on NumPy arrays. The semantics of each operation is defined once and is the same in all three.
"""

from semirings import catalogue, describe, functions, printers  # noqa: F401  (describe registers str)
from semirings.catalogue import *  # noqa: F403
from semirings.expr import Expr, Symbol, as_expr, constant, free_symbols
from semirings.functions import *  # noqa: F403
from semirings.laws import LawReport, check_laws
from semirings.operators import ANY, BinaryOp, Held, Monoid, Semiring, product
from semirings.order import grows_with, independent
from semirings.trace import trace
from semirings.types import TupleType, Type, VectorType, as_type

__all__ = [
    "ANY", "BinaryOp", "Expr", "Held", "LawReport", "Monoid", "Semiring", "Symbol", "TupleType", "Type",
    "VectorType", "as_expr", "as_type", "check_laws", "constant", "free_symbols", "grows_with", "independent",
    "printers", "product", "trace",
]  # fmt: skip
__all__ += catalogue.__all__
__all__ += functions.__all__
