"""The algorithms, one per file, grouped into families. Their public names are those of `gasla` itself."""
