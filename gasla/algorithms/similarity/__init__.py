"""Similarity: how alike two vertices are by the neighbors that they have in common."""
