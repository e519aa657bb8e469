"""Similarity: how alike two vertices are by the neighbours that they have in common."""
