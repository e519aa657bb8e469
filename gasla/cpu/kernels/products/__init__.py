"""Products over semirings, in the kernel language: templates, compiled for each semiring, mask and types."""
