"""Shortest paths by number of edges and by weight, what is measured by them, and what flows."""
