"""Lint for streams: events that go nowhere, and outputs that get none."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.errors import KeyPath
from tuner.lint.rules.steps import gives_json, parses_json, steps_of, variable_fault
from tuner.modules.filter import Filter
from tuner.profile.model import Profile
from tuner.rule import Changes, Complaint, error

_OWN = "rsyslog-tune's own: docs/profiles.md"
_BY_MODULE = "parse with format json or normalize"
# For examples: a stream beside what the small profile has.
_APPS: Changes = {
    "streams": {"apps": {}},
    "inputs": [
        {"type": "imptcp", "port": 10514},
        {"type": "imptcp", "port": 10515, "stream": "apps"},
    ],
}


@error(
    "RT284",
    why="What names a stream that is not there belongs to nothing.",
    source=_OWN,
    bad={"inputs[0].stream": "apps"},
    good={"inputs[0].stream": None},
)
def _unknown_stream(profile: Profile) -> Iterator[Complaint]:
    known = ", ".join(profile.streams) or "none"
    for kind, ones in (("inputs", profile.inputs), ("outputs", profile.outputs)):
        for number, one in enumerate(ones):
            if one.stream is not None and one.stream not in profile.streams:
                yield Complaint(
                    (kind, number, "stream"),
                    f"there is no stream {one.stream}, streams has {known}: add it there, or "
                    "remove this",
                )
    counters = profile.impstats.stream if profile.impstats is not None else None
    if counters is not None and counters not in profile.streams:
        yield Complaint(
            ("impstats", "stream"), f"there is no stream {counters}, streams has {known}: add it"
        )


@error(
    "RT285",
    why="A stream without outputs drops its events, and outputs without inputs get none.",
    source=_OWN,
    bad=_APPS,
    good={"streams": None, "inputs[1].stream": None},
    at="streams[apps]",
)
def _half_a_stream(profile: Profile) -> Iterator[Complaint]:
    sources = {one.stream for one in profile.inputs}
    if profile.impstats is not None and profile.impstats.log_syslog:
        sources.add(profile.impstats.stream)
    targets = {one.stream for one in profile.outputs}
    names = (None, *profile.streams)
    if (sources | targets).difference(names):
        return  # RT284 says it
    for name in names:
        path: KeyPath = ("inputs",) if name is None else ("streams", name)
        what = "what names no stream" if name is None else f"stream {name}"
        goes_on = name in targets or profile.stream(name).snippets
        if name in sources and not goes_on:
            yield Complaint(
                path,
                f"{what} has inputs and no output: its events would be dropped; add an output, or "
                "a snippet that holds one",
            )
        if name not in sources and (name in targets or name is not None):
            yield Complaint(path, f"{what} has no input: nothing would reach it")


@error(
    "RT286",
    why="Only mmjsonparse and mmnormalize say whether they could read an event, and only they and "
    "steps leave values to compare.",
    source="rsyslog's manual: rainerscript/property, parsesuccess",
    bad={"outputs[logs].filter": {"parsesuccess": True}},
    good={"parse": {"format": "json"}},
    at="outputs[logs].filter",
)
def _nothing_parsed(profile: Profile) -> Iterator[Complaint]:
    for path, name, wanted in _filters(profile):
        stream, matches = profile.stream(name), wanted.match or ()
        by_value = any(match.json_path is not None for match in matches)
        if (wanted.parsesuccess is not None and not parses_json(stream)) or (
            by_value and not gives_json(stream)
        ):
            yield Complaint(path, f"the filter asks for what parsing found: add {_BY_MODULE}")
        for variable in (match.variable for match in matches if match.variable is not None):
            fault = variable_fault(variable, stream)
            if fault is not None:
                yield Complaint(path, fault)


def _filters(profile: Profile) -> Iterator[tuple[KeyPath, str | None, Filter]]:
    """Each filter with its place and the stream that it belongs to."""
    for number, output in enumerate(profile.outputs):
        if output.filter is not None:
            yield ("outputs", number, "filter"), output.stream, output.filter
    for name, stream in profile.streams.items():
        if stream.filter is not None:
            yield ("streams", name, "filter"), name, stream.filter
    for place, owner, step in steps_of(profile):
        if step.filter is not None:
            yield (*place, "filter"), owner, step.filter


@error(
    "RT287",
    why="What local sources bring comes to rsyslog's default ruleset: nothing there tells one "
    "source from another.",
    source="rsyslog plugins/imuxsock, plugins/imklog, plugins/imjournal: no ruleset",
    bad={
        "inputs": [{"type": "imklog"}, {"type": "imuxsock", "stream": "apps"}],
        "streams": {"apps": {}},
        "outputs": [
            {"name": "one", "type": "omfile", "file": "/var/log/one"},
            {"name": "two", "type": "omfile", "file": "/var/log/two", "stream": "apps"},
        ],
    },
    good={"inputs[1].stream": None, "outputs[two].stream": None, "streams": None},
)
def _local_apart(profile: Profile) -> Iterator[Complaint]:
    local = [(n, one) for n, one in enumerate(profile.inputs) if not one.has_statement]
    for number, one in local[1:]:
        first = local[0][1]
        if one.stream != first.stream:
            yield Complaint(
                ("inputs", number, "stream"),
                f"{one.type} and {first.type} both come to rsyslog's default ruleset: name the "
                "same stream in both, and tell them apart by the filters of outputs",
            )
