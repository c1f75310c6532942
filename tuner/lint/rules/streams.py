"""Lint for streams: events that go nowhere, outputs that get none, steps that find
nothing, and lanes that would merge again."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.errors import KeyPath
from tuner.lint.sections import Placed, action_queues, inputs, outputs
from tuner.modules.filter import Filter
from tuner.modules.input import Input, Listener
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.output import Output
from tuner.modules.registry import AnyStep
from tuner.modules.step import ParseStep, SetStep
from tuner.profile.model import Profile, Spread, Stream
from tuner.profile.placement import PlacedQueue, lane_queue, ports_of
from tuner.rule import Complaint, advice, error

_LAST_PORT = 65535


@error("RT130").for_each(inputs)
def _without_port(source: Input, profile: Profile) -> Iterator[Complaint]:
    if profile.lanes is None or profile.lanes.spread is not Spread.PORTS:
        return
    if not isinstance(source, Listener):
        yield Complaint(
            ("type",),
            f"{source.type} has no port to choose a lane by: set lanes.spread to hash or random",
        )
    elif source.parser not in {None, profile.parser}:
        yield Complaint(
            ("parser",),
            "the inputs hand their events straight to the lanes, which share one choice of "
            "parsers: name it once, as the profile's parser",
        )


@error("RT131").for_each(inputs, "port")
def _past_the_last(source: Input, profile: Profile) -> Iterator[str]:
    ports = ports_of(profile, source)
    if ports and ports[-1] > _LAST_PORT:
        yield (
            f"{len(ports)} lanes need the ports {ports[0]} to {ports[-1]}, and {_LAST_PORT} is "
            f"the last: use at most {_LAST_PORT + 1 - len(ports)}"
        )


@error("RT132")
def _no_queue(profile: Profile) -> Iterator[Complaint]:
    queue = lane_queue(profile)
    if queue is not None and queue.is_direct:
        yield Complaint(
            (*queue.path, "type"),
            "a lane is a queue with its own workers, and Direct means no queue: use FixedArray, "
            "LinkedList or Disk, or remove lanes",
        )


@advice("RT133").for_each(action_queues, "type")
def _together_again(queue: PlacedQueue, profile: Profile) -> Iterator[str]:
    lanes = profile.lanes
    if lanes is not None and lanes.count > 1 and not queue.is_direct:
        yield (
            f"all {lanes.count} lanes share this one queue again: set its type to "
            "Direct, so that each lane's workers deliver themselves"
        )


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
    by_hand = any(isinstance(step, SetStep) for step in stream.steps) or bool(stream.snippets)
    return parses_json(stream) or by_hand


# A message stays one that can be read.
_MOST_NAMED = 8


def variable_fault(path: str, stream: Stream) -> str | None:
    """What is wrong with reading that variable; a snippet may set any."""
    variables = {step.variable for step in stream.steps if isinstance(step, SetStep)} - {None}
    if stream.snippets or any(
        path == variable or path.startswith(f"{variable}.") for variable in variables
    ):
        return None
    names = ", ".join(sorted(map(str, variables))[:_MOST_NAMED]) or "none"
    return f"no step sets the variable {path}: the steps of the stream set {names}"


@error("RT288")
def _no_table(profile: Profile) -> Iterator[Complaint]:
    tables = ", ".join(profile.lookup_tables) or "none"
    for path, _, step in steps_of(profile):
        table = step.lookup if isinstance(step, SetStep) else None
        if table is not None and table not in profile.lookup_tables:
            yield Complaint(
                (*path, "lookup"), f"there is no table {table}: lookup_tables has {tables}"
            )


@error("RT289")
def _parses_nothing(profile: Profile) -> Iterator[Complaint]:
    parsed: set[str | None] = set()
    for path, name, step in steps_of(profile):
        if not isinstance(step, ParseStep):
            continue
        if not parses_json(profile.stream(name)):
            yield Complaint(
                path,
                "nothing is parsed at this place: add parse with format json or normalize, or "
                "remove the step; values of csv and kv are found when they are written",
            )
        elif name in parsed:
            yield Complaint(path, "an event is parsed once: remove all but one of these steps")
        parsed.add(name)


_BY_MODULE = "parse with format json or normalize"


@error("RT284")
def _unknown_stream(profile: Profile) -> Iterator[Complaint]:
    streams = ", ".join(profile.streams) or "none"
    sections: tuple[Placed[Input | Output], ...] = (*inputs(profile), *outputs(profile))
    for place, section in sections:
        if section.stream is not None and section.stream not in profile.streams:
            yield Complaint(
                (*place, "stream"),
                f"there is no stream {section.stream}, streams has {streams}: add it there, or "
                "remove this",
            )
    counters = profile.impstats.stream if profile.impstats is not None else None
    if counters is not None and counters not in profile.streams:
        yield Complaint(
            ("impstats", "stream"), f"there is no stream {counters}, streams has {streams}: add it"
        )


@error("RT285")
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
        label = "what names no stream" if name is None else f"stream {name}"
        goes_on = name in targets or profile.stream(name).snippets
        if name in sources and not goes_on:
            yield Complaint(
                path,
                f"{label} has inputs and no output: its events would be dropped; add an output, or "
                "a snippet that holds one",
            )
        if name not in sources and (name in targets or name is not None):
            yield Complaint(path, f"{label} has no input: nothing would reach it")


@error("RT286")
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


@error("RT287")
def _local_apart(profile: Profile) -> Iterator[Complaint]:
    local = [
        (number, source) for number, source in enumerate(profile.inputs) if not source.has_statement
    ]
    for number, source in local[1:]:
        first = local[0][1]
        if source.stream != first.stream:
            yield Complaint(
                ("inputs", number, "stream"),
                f"{source.type} and {first.type} both come to rsyslog's default ruleset: name the "
                "same stream in both, and tell them apart by the filters of outputs",
            )
