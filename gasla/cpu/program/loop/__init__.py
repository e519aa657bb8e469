"""The loop that strings stages together, and the stages that say who goes on where nothing is active."""
