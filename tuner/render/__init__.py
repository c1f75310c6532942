"""Profile to files: pure, but for tree.py, which alone brings a folder up to date."""
