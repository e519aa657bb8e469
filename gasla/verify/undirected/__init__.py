"""Verifiers of results for graphs read as undirected: bipartiteness, forests, independent sets, communities."""
