"""Products over semirings on the GPU."""
