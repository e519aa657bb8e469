"""What goes by lot over a graph: walks and samples. Lots are functions of a seed and of who draws, and how often."""
