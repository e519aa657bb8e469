"""Benchmarks: comparisons with other libraries (`python -m benchmarks.compare`), profiles, and an asv suite."""
