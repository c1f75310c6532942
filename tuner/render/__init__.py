"""Profile to files: pure, but for tree.py, which alone writes."""
