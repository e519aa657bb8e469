"""Paths and motifs in temporal graphs, whose edges can be used at given times only."""
