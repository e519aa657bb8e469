"""Vertex and walk programs on the GPU: their generated kernels, and their runs."""
