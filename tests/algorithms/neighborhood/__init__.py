"""Tests of gasla.algorithms.neighborhood."""
