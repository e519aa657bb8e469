"""Tests of gasla.algorithms.community."""
