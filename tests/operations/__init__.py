"""Tests of gasla.operations, gasla.cpu.product, gasla.cpu.primitive and gasla.cpu.kernels.products.

Products, primitives, stages, phases, prepared runs and explanations.
"""
