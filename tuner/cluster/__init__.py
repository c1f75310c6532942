"""Several machines on Dask: a scheduler here, a worker on each, and what they do together."""
