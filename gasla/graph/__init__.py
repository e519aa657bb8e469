"""Graphs: neighbour lists in both directions, what may come in, and where graphs come from."""
