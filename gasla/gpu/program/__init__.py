"""Vertex programs on the GPU: generated kernels, and their runs."""
