"""The layers of validation of a profile."""
