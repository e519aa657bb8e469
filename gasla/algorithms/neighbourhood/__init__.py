"""What every vertex makes of its neighbours."""
