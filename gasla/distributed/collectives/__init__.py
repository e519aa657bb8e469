"""Collective operations of ranks besides vertex programs: products, components, triangles, properties of a graph."""
