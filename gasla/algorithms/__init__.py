"""The algorithms of the library: one a file, in families. Their public names are those of `gasla` itself."""
