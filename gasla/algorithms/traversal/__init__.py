"""Breadth-first searches: distances in numbers of edges."""
