"""All that is known of each rsyslog module: one file each, and the registry.

To add one: a file with its section (an Input or an Output), a line in registry.py, and its row in
the table of docs/reference.md.
"""
