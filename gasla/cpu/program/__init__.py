"""Vertex programs on the CPU: generated loops, and their runs."""
