"""Orders and longest paths of acyclic graphs."""
