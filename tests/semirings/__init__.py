"""Tests of the package semirings."""
