"""Trials: what a flood achieved, and how far to trust it."""
