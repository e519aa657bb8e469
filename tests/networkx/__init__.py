"""Tests of gasla.backends.networkx."""
