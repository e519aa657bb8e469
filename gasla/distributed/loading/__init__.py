"""How edges come to ranks: from files, of which each reads its share, and from collections of Dask's."""
