"""What the user asked for: the profile, its lint, its knobs, and how it binds to a lab."""
