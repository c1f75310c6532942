"""What is known of each rsyslog module."""
