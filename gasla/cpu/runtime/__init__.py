"""The runtime of the CPU engine: threads, atomics, vectors and modules. Only here are private parts of CPython used."""
