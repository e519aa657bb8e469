"""Tests of gasla.operations: products, primitives, stages, phases, prepared runs and explanations."""
