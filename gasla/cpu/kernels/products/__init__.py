"""Kernels of matrix products over semirings: templates that are compiled for each semiring, mask and combination of
types.
"""
