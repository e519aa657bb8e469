"""How important is every vertex."""
