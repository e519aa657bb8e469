"""Communities, cores, trusses and triangles."""
