"""Tests of gasla.algorithms.spectral."""
