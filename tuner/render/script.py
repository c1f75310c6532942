"""A profile as what rsyslog.conf says: everything decided, nothing written yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tuner.engines.index import Index, Rotate
from tuner.modules.input import EVERY_ADDRESS, Input, Listener, Parsers
from tuner.modules.omelasticsearch import DocumentId, OmelasticsearchOutput
from tuner.modules.omfile import DynaFile, OmfileOutput
from tuner.modules.omhttp import OmhttpOutput, RestPath
from tuner.modules.output import Lines
from tuner.modules.queue import Queue
from tuner.modules.registry import AnyOutput, Parse
from tuner.modules.text_source import TextSource
from tuner.profile import placement
from tuner.profile.documents import fields_of
from tuner.profile.model import Global, Profile, Spread
from tuner.render import rulesets
from tuner.render.actions import ActionGroup, action_groups, retries
from tuner.render.document import (
    KEPT_METADATA,
    METADATA,
    Piece,
    Property,
    Step,
    Steps,
    document,
    json_name,
    line,
    loki_stream,
)
from tuner.render.form import WHOLE, Form, Snippet, snippets
from tuner.render.modules import Parameters, modules, own_parameters
from tuner.render.statements import Statement, condition, statements, templates_of
from tuner.script.quoting import Emitted, literal, number, variable


@dataclass(frozen=True)
class OutputTemplates:
    """The templates of one output, by what follows its name in theirs: the texts that it writes,
    and the address of a document, which its steps may be needed for too."""

    name: str
    texts: Mapping[str, tuple[Piece, ...]]
    address: Mapping[str, tuple[Piece, ...]]
    steps: tuple[Step, ...]
    retries: bool


def output_templates(profile: Profile, output: AnyOutput) -> OutputTemplates:
    """The templates of an output."""
    fields, parse = fields_of(output), profile.stream(output.stream).parse
    # A newline after each document of a bulk would pair their replies wrongly (F5).
    end = "\n" if isinstance(output, Lines) and output.ends_lines else ""
    steps = Steps(f"$.documents!{output.name}", output.name)
    pieces = document(fields, parse, end, steps) if fields else ()
    texts, address, retries = {"document": pieces}, dict[str, tuple[Piece, ...]](), False
    if isinstance(output, OmelasticsearchOutput):
        address, retries = _address(output, steps), output.retryfailures is not None
    elif isinstance(output, OmhttpOutput):
        texts = _over_http(output, parse, pieces, steps)
    else:
        if isinstance(output, OmfileOutput) and output.dyna_file is not None:
            texts = {"file": file_name(output.dyna_file), **texts}
        texts["line"] = line(output, parse, end)
    return OutputTemplates(output.name, texts, address, steps.all, retries)


def _address(output: OmelasticsearchOutput, steps: Steps) -> dict[str, tuple[Piece, ...]]:
    """The index, the id and the pipeline of a document, where they follow from its event."""
    address: dict[str, tuple[Piece, ...]] = {}
    if output.index.varies:
        address["index"] = index_name(output.index, steps)
    if output.has_ids:
        address["id"] = (document_id(output.bulkid, steps),)
    if output.dyn_pipeline_name:
        # A value of the event where it is plain, else nothing.
        pipeline = Property(output.pipeline_name or "", expression=_PIPELINE, group=1)
        address["pipeline"] = (pipeline,)
    return address


def _over_http(
    output: OmhttpOutput, parse: Parse | None, pieces: tuple[Piece, ...], steps: Steps
) -> dict[str, tuple[Piece, ...]]:
    """Events with what their server expects around them."""
    texts = {"document": pieces}
    if output.bulk is not None:
        # A request must end in a newline, and omhttp writes none after the last document.
        texts["document"] = (f'{{"{output.bulk}":{{}}}}\n', *pieces, "\n")
    if output.labels is not None:
        labels = document(output.labels, parse, "", steps)
        texts["line"] = loki_stream(labels, output.line or (), parse, steps)
    elif output.line is not None:
        texts["line"] = line(output, parse, "")
    if output.dynrestpath is not None:
        texts = {"path": rest_path(output.dynrestpath, steps), **texts}
    return texts


# rsyslog numbers weeks from January 1 on, within the year (datetime.c, getWeek).
_DATES = {
    Rotate.HOURLY: ("year", "month", "day", "hour"),
    Rotate.DAILY: ("year", "month", "day"),
    Rotate.WEEKLY: ("year", "week"),
    Rotate.MONTHLY: ("year", "month"),
}
# What every engine takes inside of a name, once in small letters; a name has 255 bytes at most.
_ALLOWED = "^([A-Za-z0-9][A-Za-z0-9._-]{0,63})$"


# Neither has a quote or a backslash: they go into JSON as they are, because rsyslog escapes them
# itself from 8.2608 on (commit d9e4f8317) and never did before.
_PLAIN = "]!#-[^-~"
# A document's id has 512 bytes at most, and is not empty.
_ID = f"^ *([{_PLAIN}]{{1,512}}) *$"
_PIPELINE = f"^([{_PLAIN} ]{{1,200}})$"


def index_name(index: Index, steps: Steps) -> tuple[Piece, ...]:
    """What writes the name; a value that is not allowed needs a step."""
    pieces: list[Piece] = [f"{index.target}-"]
    if index.by is not None:
        by = index.by
        name = json_name(by.json_path) if by.json_path else str(by.property)
        pieces.append(_allowed(name, by.fallback, steps))
        pieces += ["-"] if index.is_dated else []
    if index.is_dated:
        pieces += date(index.rotate, index.separator, index.clock, index.date_in_utc)
    return tuple(pieces)


def date(rotate: Rotate, separator: str, clock: str, in_utc: bool) -> tuple[Piece, ...]:
    """What writes the date of an event."""
    time = "timereported" if clock == "reported" else "timegenerated"
    utc = "on" if in_utc else None
    first, *parts = (Property(time, date_format=part, utc=utc) for part in _DATES[rotate])
    pieces: list[Piece] = [first]
    for part in parts:
        pieces += [part] if separator == "none" else [separator, part]
    return tuple(pieces)


def _allowed(name: str, fallback: str, steps: Steps) -> Property:
    """What writes a value in small letters where it is allowed in a name, else the fallback."""
    text = Property(name, case="lower", expression=_ALLOWED, group=1)
    return steps.text((text,), fallback=literal(fallback))


def file_name(file: DynaFile) -> tuple[Piece, ...]:
    """What writes the path of a file.

    msg.c, MsgGetProp: `securepath` comes after `position`, makes underscores of slashes, and of a
    value that is empty, `.` or `..` one that begins with one.  File systems take 255 bytes, and
    what comes after the value needs room too.
    """
    pieces: list[Piece] = [file.before]
    if file.property is not None:
        pieces.append(Property(file.property, first=1, last=160, secure_path="replace"))
    pieces += [file.between] if file.between is not None else []
    if file.rotate is not None:
        pieces += date(Rotate(file.rotate), file.separator, file.clock, file.date_in_utc)
    return (*pieces, file.after) if file.after is not None else tuple(pieces)


def rest_path(path: RestPath, steps: Steps) -> tuple[Piece, ...]:
    """What writes a path at a server, where a value cannot leave its place."""
    value = _allowed(path.property, path.fallback, steps)
    return tuple(piece for piece in (path.before, value, path.after) if piece is not None)


def document_id(wanted: DocumentId | str | None, steps: Steps) -> Property:
    """What writes the id of a document: a value of the event, else a new one."""
    if not isinstance(wanted, DocumentId):
        return Property("uuid")
    name = json_name(wanted.json_path) if wanted.json_path else str(wanted.property)
    text = Property(name, expression=_ID, group=1)
    return steps.text((text,), fallback=variable("$uuid"))


# What names the source comes first, then where its events go, then everything else.
_FIRST = ("type", "address", "port", "file", "socket", "supportOctetCountedFraming")
# Unset it means the defaults of older releases too, with a warning for each that is insecure.
_DEFAULTS = "compatibility.defaults.secure"
_CHOOSES_DEFAULTS = 2606


class Lane(NamedTuple):
    """A ruleset with a queue of its own between the inputs and the outputs."""

    name: str
    parser: Parsers | None
    queue: Queue


class StreamRules(NamedTuple):
    """What happens to the events of a stream: its ruleset with its parsers and queue, what repairs
    and parses an event, which events go on, and the outputs.

    `statements` are what is done with each event before the outputs.
    """

    ruleset: str
    parser: Parsers | None
    queue: Queue | None
    repaired: str | None
    kept_metadata: str | None
    statements: tuple[Statement, ...]
    snippets: tuple[Snippet, ...]
    condition: Emitted | None
    deliveries: tuple[ActionGroup, ...]


class InputStatement(NamedTuple):
    """One place where an input takes events: what names it, and its other parameters."""

    source: Parameters
    ruleset: str
    parameters: Parameters


def script(profile: Profile, form: Form = WHOLE) -> dict[str, object]:
    """What rsyslog.conf says for a profile, in its order, by the names that templates have for it.
    Raises Refused where a fragment sets parameters of a module that the host has loaded."""
    templates = tuple(output_templates(profile, output) for output in profile.outputs)
    streams = tuple(_streams(profile, form, {made.name: made.steps for made in templates}))
    groups = (group for stream in streams for group in stream.deliveries)
    return {
        "name": profile.name,
        "entry": rulesets.entry_ruleset(profile),
        "is_fragment": form.is_fragment,
        "start": snippets(profile.snippets.start, form),
        "parameters": _global(profile.global_, profile.release.rsyslog_number),
        "impstats": profile.impstats,
        "counters_ruleset": rulesets.counters_ruleset(profile),
        "limits": tuple(
            (name, own_parameters(limit)) for name, limit in profile.ratelimits.items()
        ),
        "modules": modules(profile, any(stream.repaired is not None for stream in streams), form),
        "tables": tuple(profile.lookup_tables.items()),
        "texts": templates_of(step for stream in streams for step in stream.statements),
        "templates": templates,
        "main_queue": placement.main_queue(profile).resolved,
        "streams": streams,
        # Those that have a ruleset of their own.
        "failovers": tuple(group for group in groups if group.ruleset is not None),
        "retries": tuple(retries(profile)),
        "parser": profile.parser,
        "lanes": tuple(_lanes(profile)),
        "lane_of": _lane_of(profile),
        "split_queue": _own_queue(profile, profile.name) if form.is_fragment else None,
        "entrances": tuple(rulesets.entrances(profile)),
        "inputs": tuple(_inputs(profile)),
        "local": rulesets.local_ruleset(profile),
        "end": snippets(profile.snippets.end, form),
    }


def _global(section: Global, release: int) -> Parameters:
    """The parameters of global(): a lookup for each connection would wait for DNS, so that what
    says so is never left out; nor is which defaults rsyslogd applies where they are a choice."""
    written = section.model_dump(mode="json", by_alias=True, exclude_none=True)
    defaults = {_DEFAULTS: "backward-compatible"} if release >= _CHOOSES_DEFAULTS else {}
    return tuple({"net.enableDNS": None, **defaults, **written}.items())


def _own_queue(profile: Profile, ruleset: str) -> Queue:
    """The main queue's parameters for a ruleset of a fragment, which leaves the host's main queue
    alone; files that several such queues have get their names."""
    queue = placement.main_queue(profile).resolved
    several = len(profile.streams) > 0 and queue.filename is not None
    named = {"filename": f"{queue.filename}-{ruleset}"} if several else {}
    folder = queue.spool_directory or profile.global_.work_directory
    files = {"spool_directory": folder} if queue.filename is not None else {}
    return queue.model_copy(update={**named, **files})


def _streams(
    profile: Profile, form: Form, steps: Mapping[str, tuple[Step, ...]]
) -> Iterator[StreamRules]:
    """The profile's own inputs and outputs, if it has any, then its streams; `steps` are what the
    documents of each output need."""
    has_own = any(output.stream is None for output in profile.outputs)
    outside = [None] if has_own or profile.snippets.outputs else []
    for name in (*outside, *profile.streams):
        stream = profile.stream(name)
        outputs = [output for output in profile.outputs if output.stream == name]
        placed, queue = placement.stream_queue(profile, name), None
        repaired = (
            output.name
            for output in outputs
            if (output.repairs if isinstance(output, Lines) else output.mmutf8fix)
        )
        if placed is not None:
            queue = placed.resolved
        elif form.is_fragment and (name is not None or profile.lanes is None):
            queue = _own_queue(profile, name or profile.name)
        yield StreamRules(
            ruleset=rulesets.outputs_ruleset(profile, name),
            # Events are parsed by the parser of the ruleset that they enter.
            parser=stream.parser if name is not None or profile.lanes is None else None,
            queue=queue,
            repaired=next(repaired, None),
            kept_metadata=KEPT_METADATA if any(map(_reads_metadata, outputs)) else None,
            statements=tuple(statements(name, profile.name, stream)),
            snippets=snippets(stream.snippets, form),
            condition=condition(stream.filter),
            deliveries=tuple(action_groups(profile, name, steps)),
        )


def _reads_metadata(output: AnyOutput) -> bool:
    """Whether an output writes what imfile says of the file."""
    texts: list[TextSource] = [*fields_of(output)]
    texts += (output.line or ()) if isinstance(output, Lines) else ()
    return any(str(text.property).startswith(METADATA) for text in texts)


def _lanes(profile: Profile) -> Iterator[Lane]:
    placed = placement.lane_queue(profile)
    if profile.lanes is None or placed is None:
        return
    parser = profile.parser if profile.lanes.spread is Spread.PORTS else None
    files = placement.file_names(placed) or (None,) * profile.lanes.count
    for lane, filename in enumerate(files):
        queue = placed.resolved.model_copy(update={"filename": filename})
        yield Lane(rulesets.lane_name(profile, lane), parser, queue)


def _lane_of(profile: Profile) -> Emitted | None:
    """The expression for the number of an event's lane, where the main queue hands events out."""
    lanes = profile.lanes
    if lanes is None or lanes.spread is Spread.PORTS:
        return None
    count = number(lanes.count)
    if lanes.property is None:
        return Emitted(f"random({count})")
    return Emitted(f"hash64mod(${lanes.property}, {count})")


def _inputs(profile: Profile) -> Iterator[InputStatement]:
    """The profile's ruleset takes events, or one lane's where each lane has a port of its own."""
    for source in profile.inputs:
        if not source.has_statement:
            continue
        if not placement.lanes_by_port(profile, source):
            yield _source(source, rulesets.entrance(profile, source.stream, source.parser))
            continue
        for lane, port in enumerate(placement.ports_of(profile, source)):
            listener = source.model_copy(update={"port": port})
            yield _source(listener, rulesets.lane_name(profile, lane))


def _source(source: Input, ruleset: str) -> InputStatement:
    parameters = {"type": source.type, **dict(own_parameters(source))}
    if isinstance(source, Listener) and source.address == EVERY_ADDRESS:
        del parameters["address"]  # without one rsyslog listens on all
    source_parameters = tuple((key, parameters.pop(key)) for key in _FIRST if key in parameters)
    return InputStatement(source_parameters, ruleset, tuple(parameters.items()))
