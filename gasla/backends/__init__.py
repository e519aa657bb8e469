"""Backends of libraries that dispatch calls to others: NetworkX.

Nothing is imported here, so that a library may query a backend during its own import.
"""
