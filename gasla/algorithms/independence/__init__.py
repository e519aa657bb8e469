"""Independent sets, colorings, and matchings."""
