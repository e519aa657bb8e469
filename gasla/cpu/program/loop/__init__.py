"""The loop that strings stages together, and the stages that find vertices to go on with where none is active."""
