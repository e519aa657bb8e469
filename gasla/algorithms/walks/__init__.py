"""Walks by lot, of many walkers at once."""
