"""Messages like those of a sample, as many different ones as are wanted."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from tuner.flood.bodies import Dice
from tuner.flood.heads import HeadFields
from tuner.schema.scalars import FACILITIES, priority_name
from tuner.traffic.sample import Blank, Choice, Part, TrafficSample, parts_of
from tuner.traffic.words import pronounceable

_T = TypeVar("_T")

FRESH_DIGITS = 4
"""A value that is different in every message gets that many new digits each time it is sent."""
_PRIORITIES = {priority_name(code): code for code in range(8 * len(FACILITIES))}
_ALPHABETS = {
    "digits": "0123456789",
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "mixed": "abcdefghijklmnopqrstuvwxyz0123456789",
}
# What a value has at least to be written anew, and where: its last digits.
_WRITTEN_ANEW = frozenset({"digits", "hex", "HEX", "mixed", "uuid"})
_DRAWS = 64
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
            at_s, written_by = variant, Dice(f"{number} {variant}", _DRAWS)
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
    return _value(blank, Dice(f"{name} {number}", _DRAWS))


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


def _uuid(dice: Dice) -> str:
    digits = f"{dice.below(1 << 63):016x}{dice.below(1 << 63):016x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _ipv6(dice: Dice) -> str:
    return "fd00::" + ":".join(f"{dice.below(1 << 16):x}" for _ in range(3))


_WRITERS: Mapping[str, Callable[[Dice, int], str]] = {
    "word": _word,
    "Word": lambda dice, length: _word(dice, length).capitalize(),
    "WORD": lambda dice, length: _word(dice, length).upper(),
    "text": _words,
    "ipv4": lambda dice, _: f"10.{dice.below(256)}.{dice.below(256)}.{1 + dice.below(254)}",
    "ipv6": lambda dice, _: _ipv6(dice),
    "mac": lambda dice, _: dice.below(1 << 48).to_bytes(6).hex(":"),
    "uuid": lambda dice, _: _uuid(dice),
}
