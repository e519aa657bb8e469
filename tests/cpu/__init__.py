"""Tests of gasla.cpu that look at its threads, atomics and SIMD code."""
