"""Printers: a typed expression graph as source text, for Numba and for threads or warps of CUDA C++."""

from semirings.printers import cuda, numba, warp

__all__ = ["cuda", "numba", "warp"]
