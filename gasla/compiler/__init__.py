"""A compiler for kernels. It turns functions in a small, statically typed part of Python into code that C can call.

`docs/compiler.md` describes the language on one page. `kernel_types.py` defines its types, and `builtin.py` its
built-in functions. `emit.py` translates a function to LLVM IR, and `unit.py` collects what is compiled together.
`objects.py` compiles the IR to object code, and loads it. `function.py` compiles functions when they are called, and
stores the code.
"""
