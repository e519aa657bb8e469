"""Products over semirings, in the kernel language: written out for each semiring, mask and types by `specialize`."""
