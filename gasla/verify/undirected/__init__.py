"""Verifiers of what is said of a graph read as undirected: its cycles, its forests, its independent sets, its cuts."""
