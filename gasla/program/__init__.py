"""Vertex programs: how they are declared, traced, and planned, whatever engine runs them."""
