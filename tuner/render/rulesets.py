"""The names of rulesets, and which of them the events of each source go to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tuner.modules.input import Parsers
from tuner.profile.model import Profile, Spread
from tuner.profile.placement import PlacedQueue
from tuner.script.counted import MAIN, queue_of_action


class Entrance(NamedTuple):
    """A ruleset that sets the parsers of its events and calls the ruleset of their stream."""

    name: str
    parser: Parsers
    stream: str


def lane_name(profile: Profile, number: int) -> str:
    """The ruleset of a lane, counted from 0; no name in a profile has a dot."""
    return f"lane-{number}.{profile.name}"


def entry_ruleset(profile: Profile) -> str:
    """The ruleset of events without a stream: it has the name of the profile, unless that is one
    letter, which `call` does not accept as a name (lexer.l, INCALL)."""
    return profile.name if len(profile.name) > 1 else f"profile.{profile.name}"


def outputs_ruleset(profile: Profile, stream: str | None) -> str:
    """The ruleset of a stream's outputs; no name in a profile has a dot."""
    if stream is not None:
        return f"stream.{stream}"
    splits = profile.lanes is not None and profile.lanes.spread is not Spread.PORTS
    return f"outputs.{profile.name}" if splits else entry_ruleset(profile)


def counter_names(profile: Profile, queue: PlacedQueue) -> tuple[str, ...]:
    """The name of each copy of a queue in rsyslog's counters, after its ruleset or action."""
    match queue.path:
        case ("outputs", int(number), _):
            return (queue_of_action(counted_action(profile, number)),)
        case ("streams", str(stream), _) if profile.base is not None:
            base = profile.base.kept
            return (base.changed.objects[base.view.sections["streams", stream]].name,)
        case ("streams", str(stream), _):
            return (outputs_ruleset(profile, stream),)
        case ("lanes", _):
            return tuple(lane_name(profile, number) for number in range(queue.copies))
        case _:
            return (MAIN,)


def counted_action(profile: Profile, number: int) -> str:
    """The name of an output's action in rsyslog's counters; for a base, that in a lab."""
    name = profile.outputs[number].name
    if profile.base is None:
        return name
    base = profile.base.kept
    paths = (path for path in base.view.sections if path[0] == "outputs")
    path = next(path for path in paths if base.view.section(path)["name"] == name)
    return base.changed.distinct_names[base.changed.objects[base.view.sections[path]].origin]


def ruleset_of(profile: Profile, stream: str | None) -> str:
    """The ruleset that takes the events of a stream, or those without a stream."""
    return entry_ruleset(profile) if stream is None else outputs_ruleset(profile, stream)


def entrances(profile: Profile) -> Iterator[Entrance]:
    """An Entrance for each choice of parsers of inputs that is not the choice of their stream."""
    for stream, parsers in dict.fromkeys(
        (source.stream, source.parser) for source in profile.inputs
    ):
        if parsers is not None and parsers != profile.stream(stream).parser:
            name, ruleset = entrance(profile, stream, parsers), ruleset_of(profile, stream)
            yield Entrance(name, parsers, ruleset)


def entrance(profile: Profile, stream: str | None, parsers: Parsers | None) -> str:
    """The ruleset that an input with these parsers submits its events to."""
    ruleset = ruleset_of(profile, stream)
    if parsers is None or parsers == profile.stream(stream).parser:
        return ruleset
    return "-".join([ruleset, *(parser.removeprefix("rsyslog.") for parser in parsers)])


def local_ruleset(profile: Profile) -> str | None:
    """The ruleset for events that arrive at rsyslog's default ruleset, which are those of local
    sources and rsyslog's own messages; None if there are none."""
    streams = [source.stream for source in profile.inputs if not source.has_statement]
    if profile.global_.process_internal_messages:
        streams += [output.stream for output in profile.outputs if output.stream is None]
    return outputs_ruleset(profile, streams[0]) if streams else None


def counters_ruleset(profile: Profile) -> str | None:
    """The ruleset for impstats' counters as events, which the default ruleset would drop; None if
    they are not logged as events."""
    impstats = profile.impstats
    if impstats is None or not impstats.log_syslog:
        return None
    return ruleset_of(profile, impstats.stream)
