"""Loading edges into ranks: from files, of which each rank reads a share, and from Dask collections."""
