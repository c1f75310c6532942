"""What runs in production, from rounds of its counters to findings; only files.py reads."""
