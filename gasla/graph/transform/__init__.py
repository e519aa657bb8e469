"""Graphs made from graphs, on the same device: subgraphs, quotients, simple and undirected graphs, and their origin."""
