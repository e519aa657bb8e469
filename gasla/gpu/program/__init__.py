"""Vertex programs and walk programs on the GPU: the kernels that are generated for them, and their runs."""
