"""How gathered values come together: straight into fields that absorb them, or by key."""
