"""Sets of vertices or edges that have nothing to do with each other: independent sets, colorings, matchings."""
