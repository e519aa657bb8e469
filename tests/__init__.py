"""Tests of gasla and semirings, in folders named after the packages that they test."""
