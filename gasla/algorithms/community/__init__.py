"""Communities, partitions and their quality, cores, trusses and triangles."""
