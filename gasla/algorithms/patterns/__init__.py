"""Patterns of a few vertices: how often a graph holds them, and where."""
