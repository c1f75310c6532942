"""Lint rules, a module for each topic."""
