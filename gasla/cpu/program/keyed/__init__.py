"""Reductions by key: a table a thread, and what is chosen of it."""
