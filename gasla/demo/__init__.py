"""The demonstration: an analysis and a map of the world's flights."""
