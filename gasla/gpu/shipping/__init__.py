"""Makes the GPU machine code that a wheel contains, without a GPU: records the sources, and compiles them to cubins."""
