"""A configuration of the user's that stays as it is, but for parameters that change in place."""
