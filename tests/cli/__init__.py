"""Tests of gasla.cli and gasla.demo."""
