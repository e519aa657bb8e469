"""Verifiers of centralities: distances, shares of paths, and fixed points of products."""
