"""Graphs: neighbor lists in both directions, validation of input, transformations, file formats and generators."""
