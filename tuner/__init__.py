"""Render rsyslog and Elasticsearch configuration from one profile, and tune it by measuring."""

__version__ = "0.1.0"
