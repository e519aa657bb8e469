"""Graphs from graphs, where the graph is: contracted, cut, symmetrized, simple, turned round."""
