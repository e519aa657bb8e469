"""Shortest paths, distance measures, and flow values."""
