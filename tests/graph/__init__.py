"""Tests of gasla.graph: construction, edits, transforms, files, tables and exchange."""
