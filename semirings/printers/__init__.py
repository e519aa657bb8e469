"""Printers: a typed expression graph as source text, for Numba and for CUDA C++."""

from semirings.printers import cuda, numba

__all__ = ["cuda", "numba"]
