"""Closure: how often the neighbors of a vertex are neighbors of each other, or of another vertex in common."""
