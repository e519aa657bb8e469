"""Verifiers of results for graphs read as undirected, such as bipartiteness, forests and independent sets."""
