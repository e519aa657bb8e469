"""Connected components, spanning forests, bridges, and bipartite graphs."""
