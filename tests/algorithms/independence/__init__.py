"""Tests of gasla.algorithms.independence."""
