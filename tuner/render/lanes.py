"""Lanes as rulesets: what takes events in, and what splits them."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.lanes import Lanes, Spread
from tuner.profile.model import Profile
from tuner.profile.placement import file_names, lane_queue
from tuner.render.queues import queue_parameters
from tuner.render.quoting import Emitted, quote_all
from tuner.render.rainerscript import Branch, Node, Order, Statement, Value, call, statement


def lane_name(profile: Profile, number: int) -> str:
    """What the ruleset of a lane is called; lanes count from 0.  A dot is in no other name."""
    return f"lane-{number}.{profile.name}"


def outputs_ruleset(profile: Profile) -> str:
    """What the ruleset is called that holds the outputs."""
    splits = profile.lanes is not None and profile.lanes.spread is not Spread.PORTS
    return f"outputs.{profile.name}" if splits else profile.name


def lane_rulesets(profile: Profile) -> Iterator[Statement]:
    """A ruleset with a queue for each lane and, where the main queue's workers hand events out,
    the one that does; all of them come after the outputs' ruleset."""
    lanes, placed = profile.lanes, lane_queue(profile)
    if lanes is None or placed is None:
        return
    takes_in = lanes.spread is Spread.PORTS
    files = file_names(placed) or (None,) * lanes.count
    for number, filename in enumerate(files):
        queue = placed.resolved.model_copy(update={"filename": filename})
        parser = _parser(profile) if takes_in else {}
        parameters = {"name": lane_name(profile, number), **parser, **queue_parameters(queue)}
        yield statement("ruleset", parameters, (call(outputs_ruleset(profile)),))
    if not takes_in:
        parameters = {"name": profile.name, **_parser(profile)}
        yield statement("ruleset", parameters, tuple(_split(profile, lanes)))


def lane_modules(profile: Profile) -> Iterator[Statement]:
    """The module with the hash function, where one is needed."""
    if profile.lanes is not None and profile.lanes.spread is Spread.HASH:
        yield statement("module", {"load": "fmhash"})


def _parser(profile: Profile) -> dict[str, Value]:
    return {"parser": None if profile.parser is None else quote_all(profile.parser)}


def _split(profile: Profile, lanes: Lanes) -> Iterator[Node]:
    drawn = f"random({lanes.count})"
    if lanes.spread is Spread.HASH:
        drawn = f"hash64mod(${lanes.property}, {lanes.count})"
    yield Order(Emitted(f"set $.lane = {drawn};"))
    for number in range(lanes.count):
        yield Branch(Emitted(f"$.lane == {number}"), (call(lane_name(profile, number)),))
