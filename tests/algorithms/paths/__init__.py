"""Tests of gasla.algorithms.paths."""
