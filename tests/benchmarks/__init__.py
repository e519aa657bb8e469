"""Tests of gasla.bench and of the programs in benchmarks/."""
