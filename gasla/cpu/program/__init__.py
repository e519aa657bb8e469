"""Vertex programs and walk programs on the CPU: the kernels that are compiled for them, and their runs."""
