"""Random graphs that share properties with a given one, and what is to be expected of them."""
