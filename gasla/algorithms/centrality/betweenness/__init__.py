"""Betweenness of vertices and of edges, by Brandes' algorithm."""
