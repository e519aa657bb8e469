"""How gathered values are reduced: directly into a field of the receiver, or by key."""
