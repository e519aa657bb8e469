"""A compiler for kernels: a small, statically typed part of Python, to object code with a C interface.

`docs/compiler.md` has the language on one screen. `kernel_types.py` has its types, `emit.py` writes a function as LLVM
IR, `builtin.py` has the functions that the language comes with, `unit.py` holds sources that are compiled together,
`objects.py` makes, checks, stores and loads object code, `kernel.py` calls it with NumPy arrays.
"""
