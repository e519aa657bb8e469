"""Closure: how often the neighbours of a vertex are neighbours of each other, or of somebody else in common."""
