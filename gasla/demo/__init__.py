"""The map of the world's flights, which is gasla's demonstration."""
