"""Doors of libraries that call others for their work: NetworkX's.

Nothing is imported here, so that a library may ask what there is at its own import.
"""
