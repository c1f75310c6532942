"""Messages rendered ahead: a pool of frames, with numbers and times patched in place; made up, like
those of a sample, or the lines of a file."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from tuner.engine.numbering import BLOCK, number_of
from tuner.flood.bodies import Dice, body, lengths, shuffled
from tuner.flood.heads import (
    STYLES,
    Head,
    HeadFields,
    LineNumbering,
    Numbering,
    StampNumbering,
    Style,
)
from tuner.flood.replayed import cut, replayed_file
from tuner.flood.spec import FloodSpec
from tuner.schema.scalars import FACILITIES, priority_name
from tuner.traffic.sample import Blank, Choice, Part, TrafficSample, parts_of
from tuner.traffic.words import pronounceable

_T = TypeVar("_T")

FRESH_DIGITS = 4
"""A value that is different in every message gets that many new digits each time it is sent."""
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
        # With a beginning the time is the number.
        self._stamp = style.stamp if spec.begins_s is None else None
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


_PRIORITIES = {priority_name(code): code for code in range(8 * len(FACILITIES))}
_ALPHABETS = {
    "digits": "0123456789",
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "mixed": "abcdefghijklmnopqrstuvwxyz0123456789",
}
# What a value has at least to be written anew, and where: its last digits.
_WRITTEN_ANEW = frozenset({"digits", "hex", "HEX", "mixed", "uuid"})
_DRAWS_OF_VALUE = 64
_STAMPS = frozenset({"time", "clock"})
# So many messages have the same second in their texts.
_PER_SECOND = 50


class LearntMessage(NamedTuple):
    """A message: where it comes from, its text, and where in that digits stand that are others
    each time."""

    origin: HeadFields
    text: str
    fresh: tuple[int, ...]


class _Weighted(Generic[_T]):
    """Things to draw from, each as often as its weight says."""

    def __init__(self, weights: Mapping[_T, int]) -> None:
        self._things = tuple(weights)
        self._sums = tuple(accumulate(weights.values()))

    def drawn(self, dice: Dice) -> _T:
        return self._things[bisect(self._sums, dice.below(self._sums[-1]))]


def messages_of(sample: TrafficSample, dice: Dice, count: int) -> Iterator[LearntMessage]:
    """So many messages, of each template as large a share as in the source, as dice fall."""
    kinds = sample.templates
    templates = _Weighted({number: kind.times for number, kind in enumerate(kinds)})
    hosts = _Weighted(sample.hosts or {"host": 1})
    priorities = [_Weighted(kind.priorities or {"user.notice": 1}) for kind in kinds]
    parts = [(tuple(parts_of(kind.data)), tuple(parts_of(kind.text))) for kind in kinds]
    number = templates.drawn(dice)
    for place in range(count):
        if dice.below(100) >= 100 * sample.stays:
            number = templates.drawn(dice)
        template, (data, text) = kinds[number], parts[number]
        at_s, written_by = place // _PER_SECOND, dice
        if template.variants is not None:
            variant = dice.below(template.variants)
            at_s, written_by = variant, Dice(f"{number} {variant}", _DRAWS_OF_VALUE)
        origin = HeadFields(
            _PRIORITIES[priorities[number].drawn(dice)],
            hosts.drawn(dice),
            template.program or "app",
            100 + dice.below(32_000) if template.pid else None,
            template.msgid,
            # Digits are written into what stands after it, at a place that is counted in bytes.
            _text(data, f"{number} data", written_by, at_s)[0].encode("ascii", "replace").decode(),
        )
        body, fresh = _text(text, str(number), written_by, at_s)
        yield LearntMessage(origin, body, fresh if template.variants is None else ())


def _text(parts: tuple[Part, ...], name: str, dice: Dice, at_s: int) -> tuple[str, tuple[int, ...]]:
    """Parts written out at a second, and where in that the digits stand which are to be written
    anew."""
    text, fresh = "", []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            text += part
        elif isinstance(part, Choice):
            text += _weighted(part).drawn(dice)
        elif part.kind in _STAMPS:
            text += _stamp(part, dice, at_s)
        elif part.distinct is not None:
            is_first = dice.below(100) < 100 * part.first
            text += _one_of(part, f"{name} {place}", 0 if is_first else dice.below(part.distinct))
        else:
            value = _value(part, dice)
            text += value
            if part.kind in _WRITTEN_ANEW and len(value) > FRESH_DIGITS:
                fresh.append(len(text) - FRESH_DIGITS)
    return text, tuple(fresh)


@cache
def _weighted(choice: Choice) -> _Weighted[str]:
    return _Weighted(dict(choice.words))


@cache
def _one_of(blank: Blank, name: str, number: int) -> str:
    """The value with that number of the few that stand at a place."""
    return _value(blank, Dice(f"{name} {number}", _DRAWS_OF_VALUE))


def _value(blank: Blank, dice: Dice) -> str:
    length = dice.pick(blank.lengths) if blank.lengths else 0
    alphabet = _ALPHABETS.get(blank.kind)
    if alphabet is not None:
        return "".join(alphabet[dice.below(len(alphabet))] for _ in range(length))
    return _WRITERS[blank.kind](dice, length)


def _word(dice: Dice, length: int) -> str:
    return pronounceable(dice.several(length))


def _words(dice: Dice, length: int) -> str:
    """Words of two to nine letters with a blank between."""
    draws = dice.several(length + 1)
    letters = list(pronounceable(draws[:length]))
    # The letter that a blank stands for was drawn as well: it says how long the next word is.
    at = 2 + draws[length] % 8
    while at < length - 1:
        letters[at] = " "
        at += 3 + draws[at] % 8
    return "".join(letters)


def _stamp(blank: Blank, dice: Dice, at_s: int) -> str:
    """A time, as long as those of the source; texts have those of about now."""
    clock = f"{at_s // 3600 % 24:02}:{at_s // 60 % 60:02}:{at_s % 60:02}.{dice.below(10**6):06}"
    whole = clock if blank.kind == "clock" else f"2026-01-01T{clock}+00:00"
    shortest = 8 if blank.kind == "clock" else 19
    return whole[: max(shortest, dice.pick(blank.lengths) if blank.lengths else shortest)]


_WRITERS: Mapping[str, Callable[[Dice, int], str]] = {
    "word": _word,
    "Word": lambda dice, length: _word(dice, length).capitalize(),
    "WORD": lambda dice, length: _word(dice, length).upper(),
    "text": _words,
    "ipv4": lambda dice, _: f"10.{dice.below(256)}.{dice.below(256)}.{1 + dice.below(254)}",
    "ipv6": lambda dice, _: "fd00::" + ":".join(f"{dice.below(1 << 16):x}" for _ in range(3)),
    "mac": lambda dice, _: dice.below(1 << 48).to_bytes(6).hex(":"),
    "uuid": lambda dice, _: str(UUID(f"{dice.below(1 << 63):016x}{dice.below(1 << 63):016x}")),
}
