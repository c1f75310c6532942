"""Profiles on hosts: apply, verify, roll back, recover."""
