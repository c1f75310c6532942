"""Traffic: seeded syslog messages at a pace."""
