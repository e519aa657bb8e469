"""Similarity of vertices by their common neighbors."""
