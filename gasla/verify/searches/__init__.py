"""Verifiers of levels, distances and paths."""
