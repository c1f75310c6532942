"""Processes and hosts: start, stop, run, read."""
