"""The demonstration `gasla demo`: an analysis of the world's flights, and a map of them."""
