"""Tests of gasla.distributed: ranks as threads, as MPI processes and as Dask workers."""
