"""Tests of gasla.algorithms.similarity."""
