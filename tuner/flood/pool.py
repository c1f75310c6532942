"""The pool of a flood: every frame it will ever send, rendered once but for numbers and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tuner.flood.bodies import Dice, body
from tuner.flood.heads import STYLES, Head, Style
from tuner.flood.replay import cut, lines_of
from tuner.flood.sizes import lengths, shuffled
from tuner.flood.spec import FloodSpec
from tuner.profile.message_sizes import LONGEST_MESSAGE_BYTES

POOL = 1000
AWKWARD = 30
_DRAWS = 1 << 16


@dataclass
class SenderPool:
    """Frames, and where in each the time and the number stand; all in the order of sending."""

    frames: list[bytes] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def pool_for(spec: FloodSpec) -> SenderPool:
    """Render the pool; raises JobFailed when a file to replay cannot serve."""
    dice = Dice(spec.seed, _DRAWS)
    style = STYLES[spec.format]
    made = _seeded(dice, style, spec) if spec.replay is None else _replayed(dice, style, spec)
    pool = SenderPool()
    for head, tail in made:
        message = head.text.encode() + tail
        prefix = b"%d " % len(message) if spec.framing == "octet-counted" else b""
        suffix = b"\n" if spec.framing == "lf" else b""
        pool.frames.append(prefix + message + suffix)
        pool.stamps.append(len(prefix) + head.stamp_at)
        pool.numbers.append(len(prefix) + head.number_at)
    return pool


def _seeded(dice: Dice, style: Style, spec: FloodSpec) -> Iterator[tuple[Head, bytes]]:
    """Bodies that daemons might have written; a few need escapes in JSON."""
    sizes = lengths(dice, spec.sizes, style.longest_head, POOL)
    awkward = set(shuffled(dice, list(range(POOL)))[:AWKWARD])
    for place, length in enumerate(sizes):
        head = style.head(dice, spec.run_id, length)
        text = body(dice, length - len(head.text), awkward=place in awkward)
        yield head, text.encode()


def _replayed(dice: Dice, style: Style, spec: FloodSpec) -> Iterator[tuple[Head, bytes]]:
    """The lines of the user's file in their order, a short file several times."""
    lines = lines_of(spec.replay or "")
    for _ in range(-(-POOL // len(lines))):
        for line in lines:
            head = style.head(dice, spec.run_id, len(line))
            yield head, cut(line, LONGEST_MESSAGE_BYTES - len(head.text))
