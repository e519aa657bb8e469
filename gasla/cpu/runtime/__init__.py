"""What the CPU engine stands on: threads, atomics, vectors, modules. All that is private to CPython is used here."""
