"""Inputs, the modules they come from, and the rulesets that pin their parsers, as statements."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.input import Input, Parsers
from tuner.profile.lanes import Spread
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.render.lanes import lane_name
from tuner.render.quoting import quote_all
from tuner.render.rainerscript import Statement, Value, call, statement
from tuner.schema.parameter import of_module

# What names the source comes first, then where its events go, then everything else.
_FIRST = ("type", "address", "port", "file", "socket", "supportOctetCountedFraming")


def input_modules(profile: Profile) -> Iterator[Statement]:
    """The modules that the inputs need, with the parameters that all of a kind share."""
    kinds: dict[str, dict[str, Value]] = {}
    for source in profile.inputs:
        shared = kinds.setdefault(source.type, {"load": source.type, **source.fixed})
        written = _parameters(source)
        for key in of_module(type(source)):
            shared.setdefault(key, written.get(key))
    yield from (statement("module", shared) for shared in kinds.values())


def entrances(profile: Profile) -> Iterator[Statement]:
    """One ruleset for each choice of parsers that is not the profile's: rsyslog parses a message
    with the parsers of the ruleset it enters, and calls the profile's ruleset afterwards."""
    choices = dict.fromkeys(source.parser for source in profile.inputs)
    for parsers in choices:
        if parsers is not None and parsers != profile.parser:
            name = entrance(profile, parsers)
            yield statement(
                "ruleset", {"name": name, "parser": quote_all(parsers)}, (call(profile.name),)
            )


def entrance(profile: Profile, parsers: Parsers | None) -> str:
    """The name of the ruleset that an input with these parsers hands its events to."""
    if parsers is None or parsers == profile.parser:
        return profile.name
    return "-".join([profile.name, *(parser.removeprefix("rsyslog.") for parser in parsers)])


def inputs(profile: Profile) -> Iterator[Statement]:
    """One statement for each place where an input takes events, with the ruleset that they go to:
    the profile's, or one lane's where each lane has a port of its own."""
    lanes = profile.lanes
    for source in profile.inputs:
        if lanes is None or lanes.spread is not Spread.PORTS:
            yield _input(source, entrance(profile, source.parser))
            continue
        for number, port in enumerate(ports_of(profile, source)):
            door = source.model_copy(update={"port": port})
            yield _input(door, lane_name(profile, number))


def _input(source: Input, ruleset: str) -> Statement:
    shared = of_module(type(source))
    own = {key: value for key, value in _parameters(source).items() if key not in shared}
    first = {key: own[key] for key in _FIRST if key in own}
    return statement("input", first | {"ruleset": ruleset} | own)


def _parameters(source: Input) -> dict[str, Value]:
    """What the profile writes and what we know better, by rsyslog's names."""
    plain = source.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"parser"})
    return {
        key: quote_all(value) if isinstance(value, list) else value for key, value in plain.items()
    }
