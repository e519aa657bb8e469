"""Tests of gasla.algorithms.acyclic."""
