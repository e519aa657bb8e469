"""The best of many: of each row the entries of the largest values."""
