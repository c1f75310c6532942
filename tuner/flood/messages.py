"""Messages rendered ahead: a pool of frames, with numbers and times patched in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tuner.engine.numbering import BLOCK, number_of
from tuner.flood.bodies import Dice, body, lengths, shuffled
from tuner.flood.heads import STYLES, Head, LineNumbering, Numbering, StampNumbering, Style
from tuner.flood.learnt import FRESH_DIGITS, messages_of
from tuner.flood.replayed import cut, replayed_file
from tuner.flood.spec import FloodSpec
from tuner.traffic.sample import TrafficSample

_LOW_DIGITS = 3
_LOW = np.array([b"%03d" % low for low in range(BLOCK)], dtype="V3")

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
    """An endless, seeded run of messages, counted from 0; `taken` is the next one's place.

    A block's messages take the same transport, `route` of those that follow by its number.  Its
    numbers differ in their last three digits only, which stay as they are when the pool
    is a multiple of a thousand, so a block is patched with two or three assignments.
    """

    def __init__(self, spec: FloodSpec) -> None:
        frames, stamps, numbers, fresh = zip(*pool_for(spec), strict=True)
        self._sender, self._senders = spec.sender, spec.senders
        self._routes = routes_of(spec, len(frames))
        self._framings = [spec.framing_of(transport) for transport in spec.transports]
        places = np.arange(len(self._routes))
        turns = np.append(np.flatnonzero(np.diff(self._routes)) + 1, len(places))
        self._turn_ends = turns[np.searchsorted(turns, places, side="right")]
        sizes = np.array([len(frame) for frame in frames], dtype=np.int64)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._stamps = self._starts + np.array(stamps)
        self._numbers = self._starts + np.array(numbers)
        self._buffer = bytearray(b"".join(frames))
        self._view = memoryview(self._buffer)
        style, self._numbering = STYLES[spec.format], numbering_of(spec)
        self._stamp = self._numbering.stamp(style)
        self._stamp_texts = self._texts(max(1, style.stamp_bytes))
        self._high_texts = self._texts(self._numbering.high_bytes)
        self._low_texts = self._texts(_LOW_DIGITS)
        self._lows = self._numbers + self._numbering.high_bytes
        self._fresh_texts = self._texts(FRESH_DIGITS)
        self._fresh = np.concatenate(
            [
                start + np.array(places, np.int64)
                for start, places in zip(self._starts, fresh, strict=True)
            ]
        )
        self._fresh_before = np.cumsum([0, *map(len, fresh)])
        self._keeps_low = len(sizes) % BLOCK == 0
        if self._keeps_low:
            self._low_texts[self._lows] = np.tile(_LOW, len(sizes) // BLOCK)
        self.mean_frame_bytes = len(self._buffer) / len(sizes)
        self.taken = 0

    @property
    def route(self) -> int:
        """The number of the transport that the next message takes."""
        return self._routes[self.taken % len(self._routes)]

    def take(self, most: int, epoch_s: float) -> Block:
        """Render the next messages, at least one and at most `most`, stamped with a time."""
        start = self.taken % len(self._ends)
        low = self.taken % BLOCK
        count = min(most, int(self._turn_ends[start]) - start, BLOCK - low)
        number = number_of(self.taken, self._sender, self._senders)
        high = self._numbering.high(number // BLOCK)
        self._high_texts[self._numbers[start : start + count]] = np.void(high)
        if not self._keeps_low:
            self._low_texts[self._lows[start : start + count]] = _LOW[low : low + count]
        self._freshen(start, start + count)
        if self._stamp is not None:
            stamp = self._stamp(datetime.fromtimestamp(epoch_s).astimezone())
            self._stamp_texts[self._stamps[start : start + count]] = np.void(stamp.encode())
        begin, end = int(self._starts[start]), int(self._ends[start + count - 1])
        block = Block(self._view[begin:end], self._ends[start : start + count] - begin, self.taken)
        self.taken += count
        return block

    def message(self, event: int, epoch_s: float) -> bytes:
        """The message that is that event of its sender, counted from 0, without its framing."""
        self.taken = event
        framing, frame = self._framings[self.route], bytes(self.take(1, epoch_s).data)
        if framing == "octet-counted":
            return frame.partition(b" ")[2]
        return frame.removesuffix(b"\n") if framing == "lf" else frame

    def _freshen(self, first: int, end: int) -> None:
        """Other digits in the values of a range of the pool that never come twice."""
        places = self._fresh[self._fresh_before[first] : self._fresh_before[end]]
        if len(places):
            round_ = self.taken // len(self._ends)
            drawn = (places * _SPREAD + round_ * _STRIDE) % len(_FRESH)
            self._fresh_texts[places] = _FRESH[drawn]

    def _texts(self, length: int) -> Texts:
        """The buffer as texts of a length, one beginning at every byte."""
        count = len(self._buffer) - length + 1
        return np.ndarray((count,), dtype=f"V{length}", buffer=self._buffer, strides=(1,))


def numbering_of(spec: FloodSpec) -> Numbering:
    """How the messages of a flood are numbered."""
    if spec.begins_s is None:
        return Numbering(spec.run_id)
    kind = LineNumbering if STYLES[spec.format].stamp is None else StampNumbering
    return kind(spec.begins_s)


_TURNS = 4


def route_of(place: int, routes: int) -> int:
    """Which of so many ways the message at a place of the pool takes: they take turns, so that of
    each thousand equally many take each."""
    turns = -(-_TURNS // routes) * routes
    return place % BLOCK * turns // BLOCK % routes


def routes_of(spec: FloodSpec, size: int) -> list[int]:
    """The ways that the messages of a pool of that size take, in the order in which they are
    sent."""
    return [route_of(place, len(spec.transports)) for place in spec.order or range(size)]


POOL = 1000
LEARNT_POOL = 10_000
"""Of messages like those of a sample, so many are written, and their digits then written anew."""
AWKWARD = 30
_DRAWS = 1 << 16
_LEARNT_DRAWS = 1 << 20
_FRESH = np.array(
    [b"%0*d" % (FRESH_DIGITS, number) for number in range(10**FRESH_DIGITS)],
    dtype=f"V{FRESH_DIGITS}",
)
# Primes: places and rounds have nothing in common with ten thousand values.
_SPREAD, _STRIDE = 6907, 3571


class PooledMessage(NamedTuple):
    """A frame, and where in it the time, the number and those digits stand that are others each
    time."""

    frame: bytes
    stamp_at: int
    number_at: int
    fresh: list[int]


def pool_size(spec: FloodSpec) -> int:
    """After how many messages a flood begins again with the first; raises as pool_for does."""
    if spec.sample is not None:
        return LEARNT_POOL
    return POOL if spec.replay is None else len(pool_for(spec))


def pool_for(spec: FloodSpec) -> list[PooledMessage]:
    """Render the messages in the order of sending; raises JobFailed when a file to replay cannot
    serve."""
    style = STYLES[spec.format]
    if spec.sample is not None:
        parts = _learnt(Dice(spec.seed, _LEARNT_DRAWS), style, spec, spec.sample)
    elif spec.replay is not None:
        parts = _replayed(Dice(spec.seed, _DRAWS), style, spec, spec.replay)
    else:
        parts = _seeded(Dice(spec.seed, _DRAWS), style, spec)
    pool, framings = [], [spec.framing_of(transport) for transport in spec.transports]
    for place, (head, tail, fresh) in enumerate(parts):
        message, framing = head.text.encode() + tail, framings[route_of(place, len(framings))]
        prefix = b"%d " % len(message) if framing == "octet-counted" else b""
        before, suffix = len(prefix), b"\n" if framing == "lf" else b""
        fresh_at = [before + len(head.text) + at for at in fresh]
        frame = prefix + message + suffix
        pool.append(PooledMessage(frame, before + head.stamp_at, before + head.number_at, fresh_at))
    return [pool[at] for at in spec.order] if spec.order else pool


_Parts = Iterator[tuple[Head, bytes, tuple[int, ...]]]
"""Heads, bodies, and where in these digits are others each time."""


def _seeded(dice: Dice, style: Style, spec: FloodSpec) -> _Parts:
    """Bodies that daemons might have written; a few need escapes in JSON."""
    numbering = numbering_of(spec)
    sizes = lengths(dice, spec.sizes, style.longest_head, POOL)
    awkward = set(shuffled(dice, list(range(POOL)))[:AWKWARD])
    for place, length in enumerate(sizes):
        head = numbering.head(style, style.origin(dice, length))
        text = body(dice, length - len(head.text), awkward=place in awkward)
        yield head, text.encode(), ()


def _learnt(dice: Dice, style: Style, spec: FloodSpec, sample: str) -> _Parts:
    """Messages like those of a sample, in the format of the flood."""
    numbering = numbering_of(spec)
    for message in messages_of(TrafficSample.model_validate_json(sample), dice, LEARNT_POOL):
        head = numbering.head(style, message.origin)
        text = cut(message.text.encode("ascii", "replace"), spec.longest_bytes - len(head.text))
        yield head, text, tuple(at for at in message.fresh if at + FRESH_DIGITS <= len(text))


def _replayed(dice: Dice, style: Style, spec: FloodSpec, path: str) -> _Parts:
    """The lines of the user's file in their order, a short file several times."""
    lines, numbering = replayed_file(path).lines, numbering_of(spec)
    for _ in range(-(-POOL // len(lines))):
        for line in lines:
            head = numbering.head(style, style.origin(dice, len(line)))
            yield head, cut(line, spec.longest_bytes - len(head.text)), ()
