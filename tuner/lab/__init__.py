"""Real daemons owned by us, and the sink."""
