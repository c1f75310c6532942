"""Messages as lines of a file, for a receiver that reads it."""

from __future__ import annotations

import os

from tuner.flood.connection import Connection
from tuner.flood.messages import Block
from tuner.flood.stream import Broken, describe


class FileConnection(Connection):
    """Appends to one file, which is made when it is not there; a message counts once it is written.

    Nothing waits: the file system takes whatever comes.  A link is refused: in a lab the file lies
    in a folder of rsyslogd's user, and root must not write to what that user lets it lead to.
    """

    def __init__(self, name: str, target: str) -> None:
        super().__init__(name)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        flags |= os.O_CLOEXEC
        try:
            self._descriptor = os.open(target, flags, 0o644)
        except OSError as error:
            raise Broken(f"{name} could not be opened: {describe(error)}") from error

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._descriptor

    @property
    def events(self) -> int:
        """Nothing: a file takes whatever comes."""
        return 0

    def send(self, block: Block) -> int:
        """Write a block; returns how many messages it has."""
        self._begin(block)
        rest = block.data
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise Broken(f"{self.name} failed: {describe(error)}") from error
        return self._went(len(block.ends))

    def go_on(self) -> int:
        """Nothing is ever left of a block."""
        return 0

    def hear(self) -> None:
        """A file says nothing."""

    def finish(self) -> None:
        """A file has no end to tell of."""

    def linger(self, deadline_s: float) -> None:
        """The file stays, and can be read at any time."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)
