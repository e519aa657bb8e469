"""`gasla bench`: gasla measured on this machine, beside its peers and beside what the machine can do at most."""
