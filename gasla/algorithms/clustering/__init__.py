"""Clustering coefficients: how often the neighbors of a vertex are adjacent, or have another neighbor in common."""
