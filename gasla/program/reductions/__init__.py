"""Reductions of gathered values: directly into fields that absorb them, or by key."""
