"""Arguments and help of each command; imports only what `--help` needs.

Each command is a class here.  The function of its name, in the module of the command, is imported
when it runs.
"""
