"""Messages rendered ahead: a pool of frames, with numbers and times patched in place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.flood.heads import STYLES
from tuner.flood.pool import pool_for
from tuner.flood.spec import FloodSpec

_GROUP = 1000
_HIGH_DIGITS = 9
_LOW_DIGITS = 3
_LOW = np.array([b"%03d" % low for low in range(_GROUP)], dtype="V3")

Texts = NDArray[np.void]


@dataclass(frozen=True)
class Block:
    """Whole messages to go to one connection; `first` is the number of the first of them.

    `ends` are the offsets just past each, framing included.  `data` is the pool itself and valid
    only until the next block is taken.
    """

    data: memoryview
    ends: NDArray[np.int64]
    first: int


class Messages:
    """An endless, seeded run of messages, numbered from 0; `taken` is the next number.

    A block's numbers differ in their last three digits only, which stay as they are when the pool
    is a multiple of a thousand, so a block is patched with two or three assignments.
    """

    def __init__(self, spec: FloodSpec) -> None:
        pool = pool_for(spec)
        sizes = np.array([len(frame) for frame in pool.frames], dtype=np.int64)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._stamps = self._starts + np.array(pool.stamps)
        self._numbers = self._starts + np.array(pool.numbers)
        self._buffer = bytearray(b"".join(pool.frames))
        self._view = memoryview(self._buffer)
        self._style = STYLES[spec.format]
        self._stamp_texts = self._texts(max(1, self._style.stamp_bytes))
        self._high_texts = self._texts(_HIGH_DIGITS)
        self._low_texts = self._texts(_LOW_DIGITS)
        self._keeps_low = len(sizes) % _GROUP == 0
        if self._keeps_low:
            self._low_texts[self._numbers + _HIGH_DIGITS] = np.tile(_LOW, len(sizes) // _GROUP)
        self.mean_frame_bytes = len(self._buffer) / len(sizes)
        self.taken = 0

    def take(self, most: int, epoch_s: float) -> Block:
        """Render the next messages, at least one and at most `most`, stamped with a time."""
        start = self.taken % len(self._ends)
        low = self.taken % _GROUP
        count = min(most, len(self._ends) - start, _GROUP - low)
        places = self._numbers[start : start + count]
        high = b"%0*d" % (_HIGH_DIGITS, self.taken // _GROUP)
        self._high_texts[places] = np.void(high)
        if not self._keeps_low:
            self._low_texts[places + _HIGH_DIGITS] = _LOW[low : low + count]
        if self._style.stamp is not None:
            stamp = np.void(self._style.stamp(epoch_s))
            self._stamp_texts[self._stamps[start : start + count]] = stamp
        begin, end = int(self._starts[start]), int(self._ends[start + count - 1])
        block = Block(self._view[begin:end], self._ends[start : start + count] - begin, self.taken)
        self.taken += count
        return block

    def _texts(self, length: int) -> Texts:
        """The buffer as texts of a length, one beginning at every byte."""
        count = len(self._buffer) - length + 1
        return np.ndarray((count,), dtype=f"V{length}", buffer=self._buffer, strides=(1,))
