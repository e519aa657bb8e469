"""Products over semirings on the CPU: a kernel a semiring."""
