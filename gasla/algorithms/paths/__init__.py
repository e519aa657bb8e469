"""How far away is every vertex: shortest paths, edges having lengths."""
