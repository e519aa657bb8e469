"""Programs of walkers: what a person writes, and what engines read from it."""
