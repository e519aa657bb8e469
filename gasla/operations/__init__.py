"""What people call on a graph: runs of programs, stages, products and primitives, on the device where the graph is."""
