"""Centralities: scores that say how important each vertex of a graph is."""
