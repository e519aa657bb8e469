"""How many shortest paths pass a vertex, or go along an edge."""
