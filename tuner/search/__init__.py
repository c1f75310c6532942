"""Trials to a study: decides, and journals."""
