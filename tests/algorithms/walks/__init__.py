"""Tests of gasla.algorithms.walks."""
