"""Tests of gasla.algorithms.traversal."""
