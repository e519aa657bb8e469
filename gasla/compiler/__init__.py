"""A compiler for kernels: a small, statically typed part of Python, to object code with a C interface.

`docs/compiler.md` has the language on one screen. `kernel_types.py` has its types, `emit.py` writes a function as LLVM
IR, `builtin.py` has the functions that the language comes with, `unit.py` holds what is compiled together, `objects.py`
makes, checks and loads object code, `function.py` compiles functions of modules when they are called, and stores that.
"""
