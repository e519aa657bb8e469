"""Products of sparse matrices with vectors, dense matrices and sparse matrices over semirings, on the GPU."""
