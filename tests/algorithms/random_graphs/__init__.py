"""Tests of gasla.algorithms.random_graphs."""
