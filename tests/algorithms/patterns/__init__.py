"""Tests of gasla.algorithms.patterns."""
