"""The distributed engine: shards of a graph, the program that each rank runs, and the exchange of updates."""
