"""The CPU engine: Numba kernels that several threads run at once, from start to finish."""
