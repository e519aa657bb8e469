"""What every vertex makes of its neighbors."""
