"""Tests of gasla.algorithms.drawing."""
