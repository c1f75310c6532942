"""Lint rules, a module for each topic; those of one rsyslog module stand in its file."""
