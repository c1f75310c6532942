"""Traffic of the user's own: what it is like, learnt from a sample of it."""
