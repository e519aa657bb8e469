"""The GPU engine measured: `python -m benchmarks.gpu`."""
