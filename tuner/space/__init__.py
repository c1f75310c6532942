"""The settings a search can change: one table of knobs."""
