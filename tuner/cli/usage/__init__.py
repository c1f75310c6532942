"""What each command takes, and what it says of itself: what `--help` needs, and no more.

A command is a class here, and the function of that name in the module of the command, which is
imported when it runs.
"""
