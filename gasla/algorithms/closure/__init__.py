"""Closure: how often the neighbours of a vertex are neighbours of each other, or of another vertex in common."""
