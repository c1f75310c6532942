"""What the user asked for: the profile, its documents, layers, text and places."""
