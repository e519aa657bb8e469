"""Primitives that list or count what neighbour lists have in common; and room for what is listed."""
