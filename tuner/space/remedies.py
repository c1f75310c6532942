"""Settings that can help against a bottleneck, as far as they have room to move; pure.

Which knob helps against what stands in its row of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.space.knob import Bottleneck, Knob, Way

# What no search turns, but whoever owns the profile can.
_ADVICE: Mapping[Bottleneck, tuple[str, ...]] = {
    Bottleneck.SENDER: ("workload.connections",),
    Bottleneck.INPUT: ("workload.connections",),
    Bottleneck.ACTION_CPU: ("outputs[{output}].document",),
}

UNHELPED = frozenset({Bottleneck.UNCLEAR, Bottleneck.NETWORK})
"""What no knob is known to help against."""


def remedies(bottleneck: Bottleneck, knobs: Sequence[Knob], output: str) -> tuple[str, ...]:
    """The paths that can help: those of `knobs` that are not at their end already, the most
    promising first, then advice about the output of that name."""
    helping = sorted(mattering(bottleneck, knobs), key=lambda knob: knob.rank)
    paths = tuple(knob.path for knob in helping if _has_room(knob, bottleneck))
    advice = _ADVICE.get(bottleneck, ())
    return (*paths, *(path.format(output=output) for path in advice))


def mattering(bottleneck: Bottleneck, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
    """Those of `knobs` that can matter under that bottleneck, whichever way they are turned; all
    of them where none is known to help."""
    if bottleneck in UNHELPED:
        return tuple(knobs)
    return tuple(knob for knob in knobs if bottleneck in knob.helps)


def _has_room(knob: Knob, bottleneck: Bottleneck) -> bool:
    """A choice has room while there is another level; what is not active now has none."""
    way = knob.helps.get(bottleneck)
    if way is None or len(knob.levels) < 2:
        return False
    if way is Way.CHOICE:
        return True
    return knob.current != knob.levels[-1 if way is Way.UP else 0]
