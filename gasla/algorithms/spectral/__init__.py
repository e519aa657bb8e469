"""Eigenvectors of the Laplacian of a graph."""
