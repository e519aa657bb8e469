"""Public operations on graphs: runs of programs, stages, products, primitives and sampling, on the graph's device."""
