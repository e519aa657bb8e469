"""Products of matrices and vectors over semirings on the CPU, with a kernel compiled for each semiring."""
