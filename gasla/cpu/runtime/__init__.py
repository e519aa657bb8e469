"""What the CPU engine stands on: threads, atomics, compiled modules. All that is private to Numba is used here."""
