"""Backends for other libraries: NetworkX, which dispatches calls to them, and PyTorch Geometric, which takes a sampler.

Nothing is imported here, so that a library may query a backend during its own import.
"""
