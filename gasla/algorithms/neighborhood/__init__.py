"""Aggregation over neighborhoods, ego graphs, and bipartite projections."""
