"""Lint for the steps of streams: each must find what it names."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.errors import KeyPath
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.registry import AnyStep
from tuner.modules.step import ParseStep, SetStep
from tuner.profile.model import Profile
from tuner.profile.stream import Stream
from tuner.rule import Changes, Complaint, error

_OWN = "rsyslog-tune's own: docs/profiles.md"
_SET: Changes = {"type": "set", "variable": "owner", "value": [{"property": "hostname"}]}


def steps_of(profile: Profile) -> Iterator[tuple[KeyPath, str | None, AnyStep]]:
    """Each step with its place and its stream."""
    for name, stream in profile.every_stream:
        root: KeyPath = () if name is None else ("streams", name)
        for number, step in enumerate(stream.steps):
            yield (*root, "steps", number), name, step


def parses_json(stream: Stream) -> bool:
    """Whether a module parses what comes, and says whether it could."""
    return isinstance(stream.parse, JsonParse | NormalizeParse)


def gives_json(stream: Stream) -> bool:
    """Whether anything of the stream leaves values at paths of JSON."""
    by_hand = any(step.gives_json for step in stream.steps) or len(stream.snippets) > 0
    return parses_json(stream) or by_hand


# A message stays one that can be read.
_MOST_NAMED = 8


def variable_fault(path: str, stream: Stream) -> str | None:
    """What is wrong with reading that variable; a snippet may set any."""
    ours = {step.variable for step in stream.steps if isinstance(step, SetStep)} - {None}
    if stream.snippets or any(path == one or path.startswith(f"{one}.") for one in ours):
        return None
    known = ", ".join(sorted(map(str, ours))[:_MOST_NAMED]) or "none"
    return f"no step sets the variable {path}: the steps of the stream set {known}"


@error(
    "RT288",
    why="rsyslogd refuses a lookup in a table that it does not have.",
    source="rsyslog's manual: configuration/lookup_tables",
    bad={"steps": [{**_SET, "lookup": "owners"}]},
    good={"lookup_tables": {"owners": {"file": "/etc/rsyslog.d/owners.json"}}},
    at="steps[0].lookup",
)
def _no_table(profile: Profile) -> Iterator[Complaint]:
    known = ", ".join(profile.lookup_tables) or "none"
    for path, _, step in steps_of(profile):
        table = step.lookup if isinstance(step, SetStep) else None
        if table is not None and table not in profile.lookup_tables:
            yield Complaint(
                (*path, "lookup"), f"there is no table {table}: lookup_tables has {known}"
            )


@error(
    "RT289",
    why="A place for parsing is of use only where an action parses, and only once.",
    source=_OWN,
    bad={"steps": [{"type": "parse"}]},
    good={"parse": {"format": "json"}},
    at="steps[0]",
)
def _parses_nothing(profile: Profile) -> Iterator[Complaint]:
    met: set[str | None] = set()
    for path, name, step in steps_of(profile):
        if not isinstance(step, ParseStep):
            continue
        if not parses_json(profile.stream(name)):
            yield Complaint(
                path,
                "nothing is parsed at this place: add parse with format json or normalize, or "
                "remove the step; values of csv and kv are found when they are written",
            )
        elif name in met:
            yield Complaint(path, "an event is parsed once: remove all but one of these steps")
        met.add(name)
