"""Tests of gasla.algorithms.temporal."""
