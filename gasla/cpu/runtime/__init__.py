"""The runtime of the CPU engine: threads, atomics, vectors, modules. All that is private to CPython is used here."""
