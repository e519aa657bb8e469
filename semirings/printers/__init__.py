"""Printers: expressions as source text in Python, and in CUDA C++ for a thread or for a warp."""

from semirings.printers import cuda, python, warp

__all__ = ["cuda", "python", "warp"]
