"""Benchmarks: gasla beside its peers on the same graphs (`python -m benchmarks.compare`), and an asv suite."""
