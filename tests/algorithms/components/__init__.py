"""Tests of gasla.algorithms.components."""
