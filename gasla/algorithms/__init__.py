"""The algorithms of the library, one a file."""
