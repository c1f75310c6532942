"""One connection of a flood: takes whole blocks, and remembers the rest of a begun one."""

from __future__ import annotations

import select
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tuner.flood.messages import Block
from tuner.flood.stream import ByteStream

_NONE_LEFT = memoryview(b"")
_NO_ENDS = np.empty(0, dtype=np.int64)


class Connection(ABC):
    """A way to one receiver that never waits; `last_block` is its latest block's number, and `way`
    that of the transport among those of the flood.

    Its messages `gone` to `end` of the latest block are not wholly on their way yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.way = 0
        self.last_block = 0
        self.gone = 0
        self.end = 0

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor, for poll."""

    @property
    def begun(self) -> bool:
        """Whether a block was begun and is not finished."""
        return self.gone < self.end

    @property
    def events(self) -> int:
        """What to wait for with poll; 0 when there is never anything to wait for."""
        return select.POLLIN | select.POLLOUT if self.begun else select.POLLIN

    @abstractmethod
    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went.  Nothing may be begun."""

    @abstractmethod
    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""

    @abstractmethod
    def hear(self) -> None:
        """Read what the receiver says; raises Broken when it hung up."""

    @abstractmethod
    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""

    @abstractmethod
    def linger(self, deadline_s: float) -> None:
        """Give the receiver until the deadline (monotonic) to read all of it; raises Broken where
        it has stopped answering before that."""

    @abstractmethod
    def close(self) -> None:
        """Close at once."""

    def _begin(self, block: Block) -> None:
        self.gone = block.first
        self.end = block.first + len(block.ends)

    def _went(self, messages: int) -> int:
        self.gone += messages
        return messages


class StreamConnection(Connection):
    """Messages over a stream; a message counts once the kernel has all of it."""

    def __init__(self, stream: ByteStream) -> None:
        super().__init__(stream.name)
        self._stream = stream
        self._rest = _NONE_LEFT
        self._ends: NDArray[np.int64] = _NO_ENDS
        self._whole = 0
        self._done_bytes = 0

    def fileno(self) -> int:
        """The descriptor, for poll."""
        return self._stream.fileno()

    def send(self, block: Block) -> int:
        """Begin a block; returns how many whole messages went."""
        self._begin(block)
        taken = self._stream.push(block.data)
        if taken == len(block.data):
            return self._went(len(block.ends))
        self._rest = memoryview(bytes(block.data[taken:]))
        self._ends = block.ends
        self._done_bytes = taken
        self._whole = self._count()
        return self._went(self._whole)

    def go_on(self) -> int:
        """Push on the begun block; returns how many more whole messages went."""
        taken = self._stream.push(self._rest)
        self._rest = self._rest[taken:]
        self._done_bytes += taken
        before, self._whole = self._whole, self._count()
        return self._went(self._whole - before)

    def hear(self) -> None:
        """Read what the receiver says; raises Broken when it hung up."""
        self._stream.pull()

    def finish(self) -> None:
        """Tell the receiver that nothing more comes."""
        self._stream.finish()

    def linger(self, deadline_s: float) -> None:
        """Give the receiver until the deadline (monotonic) to read all of it."""
        self._stream.linger(deadline_s)

    def close(self) -> None:
        """Close at once."""
        self._stream.close()

    def _count(self) -> int:
        return int(np.searchsorted(self._ends, self._done_bytes, side="right"))
