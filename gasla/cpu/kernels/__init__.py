"""The CPU engine's kernels, written in the kernel language: the loop over iterations, its stages, and their helpers."""
