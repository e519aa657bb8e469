"""Makes the machine code that a wheel brings along, without a GPU: which sources, and their cubins."""
