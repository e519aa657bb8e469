"""The CPU engine's code in the kernel language: the loop, its stages, and the functions that these call."""
