"""Primitives that list or count what neighbour lists have in common; and the memory that lists need."""
