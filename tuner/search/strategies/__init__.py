"""How the next point is chosen: a Gaussian process that is sampled."""
