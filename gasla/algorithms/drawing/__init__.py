"""Positions of vertices in the plane, and pictures."""
