"""What a profile can get wrong: rules by topic in `rules/`, and profiles that passed them."""
