"""Tests of gasla.algorithms.flows."""
