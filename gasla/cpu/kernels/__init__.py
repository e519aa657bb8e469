"""What the CPU engine runs, in the kernel language: the loop, its stages, and what these are made of."""
