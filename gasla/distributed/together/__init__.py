"""What ranks do together beside running a person's programs: products, components, triangles, facts of a graph."""
