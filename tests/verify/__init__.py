"""Tests of gasla.verify."""
