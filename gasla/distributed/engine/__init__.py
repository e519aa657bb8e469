"""The engine on each rank: its part of the graph, its part of a program, what it tells the others."""
