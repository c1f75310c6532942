"""Capacity on paper, from what was measured, given or assumed; pure."""
