"""Lint rules by topic, and profiles that passed them."""
