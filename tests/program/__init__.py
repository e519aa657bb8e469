"""Tests of gasla.program, gasla.reference, gasla.cpu.program and gasla.cpu.kernels.

What functions of vertex programs may say, and what every engine makes of them.
"""
