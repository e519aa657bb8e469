"""Printers: a typed expression graph as source text, as Python, and for threads or warps of CUDA C++."""

from semirings.printers import cuda, python, warp

__all__ = ["cuda", "python", "warp"]
