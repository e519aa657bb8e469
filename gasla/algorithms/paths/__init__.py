"""Shortest paths in graphs whose edges have lengths."""
