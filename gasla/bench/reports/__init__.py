"""Output of `gasla bench`: table, JSON file, plot, provenance, and a check whether the machine was disturbed."""
