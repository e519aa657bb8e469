"""Counting and listing of cliques and of patterns of up to eight vertices."""
