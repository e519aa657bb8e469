"""How fast this machine can be at most, and so each cell."""
