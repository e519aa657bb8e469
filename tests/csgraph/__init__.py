"""Tests of gasla.csgraph."""
