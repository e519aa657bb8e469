"""How many steps away is every vertex: searches along edges, whose values are not looked at."""
