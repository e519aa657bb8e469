"""Tests of gasla.algorithms.centrality."""
