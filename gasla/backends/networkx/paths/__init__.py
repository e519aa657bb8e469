"""Shortest paths by number of edges and by weight, and what is measured by them."""
