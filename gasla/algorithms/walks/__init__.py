"""Random walks of many walkers at once."""
