"""Reading rsyslog's configuration language, in both of its forms."""
