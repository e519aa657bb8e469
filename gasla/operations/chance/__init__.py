"""What goes by lot over a graph: walks and samples. Lots are functions of seed, walker and draw."""
