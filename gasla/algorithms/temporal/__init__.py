"""Paths in temporal graphs, whose edges can be used at given times only."""
