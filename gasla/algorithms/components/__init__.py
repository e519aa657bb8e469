"""Which vertices hang together."""
