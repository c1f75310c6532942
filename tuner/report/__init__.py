"""A study or a measurement as text that people read."""
