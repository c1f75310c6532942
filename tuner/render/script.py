"""A profile as what rsyslog.conf says: everything decided, nothing written yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.engines.index import Rotate
from tuner.modules.impstats import Impstats
from tuner.modules.input import Input, Parsers
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import DynaFile, OmfileOutput
from tuner.modules.queue import Queue
from tuner.modules.registry import AnyOutput
from tuner.profile.documents import fields_of
from tuner.profile.lanes import Spread
from tuner.profile.model import Profile
from tuner.profile.placement import file_names, lane_queue, main_queue, ports_of
from tuner.render.actions import ActionGroup, Parameters, deliveries
from tuner.render.document import Identity, Piece, document
from tuner.render.quoting import Emitted, number
from tuner.render.retry import Retry, retries
from tuner.schema.parameter import of_module

# What names the source comes first, then where its events go, then everything else.
_FIRST = ("type", "address", "port", "file", "socket", "supportOctetCountedFraming")


@dataclass(frozen=True)
class Module:
    """A module to load, with the parameters that all of a kind share."""

    name: str
    parameters: Parameters = ()


@dataclass(frozen=True)
class OutputTemplates:
    """The templates of one output: of files' names, documents, index names, ids and pipelines."""

    name: str
    file: DynaFile | None
    document: tuple[Piece, ...]
    daily: str | None = None
    has_ids: bool = False
    pipeline: str | None = None
    retries: bool = False


@dataclass(frozen=True)
class Lane:
    """A ruleset with a queue of its own between the inputs and the outputs."""

    name: str
    parser: Parsers | None
    queue: Queue


@dataclass(frozen=True)
class Entrance:
    """A ruleset that pins the parsers of what enters it."""

    name: str
    parser: Parsers


@dataclass(frozen=True)
class InputStatement:
    """One place where an input takes events: what names it, and its other parameters."""

    source: Parameters
    ruleset: str
    parameters: Parameters


@dataclass(frozen=True)
class Script:
    """What rsyslog.conf says, in its order."""

    name: str
    work_directory: str | None
    impstats: Impstats | None
    modules: tuple[Module, ...]
    templates: tuple[OutputTemplates, ...]
    main_queue: Queue
    outputs_ruleset: str
    outputs_parser: Parsers | None
    repaired: str | None
    parse: JsonParse | NormalizeParse | None
    deliveries: tuple[ActionGroup, ...]
    retries: tuple[Retry, ...]
    parser: Parsers | None
    lanes: tuple[Lane, ...]
    lane_of: Emitted | None
    entrances: tuple[Entrance, ...]
    inputs: tuple[InputStatement, ...]

    @property
    def failovers(self) -> tuple[ActionGroup, ...]:
        """The deliveries that have a ruleset of their own."""
        return tuple(one for one in self.deliveries if one.ruleset is not None)


def script(profile: Profile, identity: Identity | None = None) -> Script:
    """What rsyslog.conf says for a profile; an identity is for measurements only."""
    repaired = _repaired(profile)
    parse = profile.parse if isinstance(profile.parse, JsonParse | NormalizeParse) else None
    splits = profile.lanes is not None and profile.lanes.spread is not Spread.PORTS
    return Script(
        name=profile.name,
        work_directory=profile.global_.work_directory,
        impstats=profile.impstats,
        modules=tuple(_modules(profile, repaired, parse)),
        templates=tuple(_templates(profile, output, identity) for output in profile.outputs),
        main_queue=main_queue(profile).resolved,
        outputs_ruleset=f"outputs.{profile.name}" if splits else profile.name,
        # Events are parsed by the parser of the ruleset that they enter.
        outputs_parser=profile.parser if profile.lanes is None else None,
        repaired=repaired,
        parse=parse,
        deliveries=tuple(deliveries(profile)),
        retries=tuple(retries(profile)),
        parser=profile.parser,
        lanes=tuple(_lanes(profile)),
        lane_of=_lane_of(profile),
        entrances=tuple(_entrances(profile)),
        inputs=tuple(_inputs(profile)),
    )


def lane_name(profile: Profile, number: int) -> str:
    """What the ruleset of a lane is called; lanes count from 0.  A dot is in no other name."""
    return f"lane-{number}.{profile.name}"


def _repaired(profile: Profile) -> str | None:
    """The first output that needs valid UTF-8, as JSON does, if any; `mmutf8fix` may say no."""
    return next((one.name for one in profile.outputs if _needs_repair(one)), None)


def _needs_repair(output: AnyOutput) -> bool:
    if isinstance(output, OmelasticsearchOutput):
        return output.mmutf8fix
    return output.document is not None


def _modules(
    profile: Profile, repaired: str | None, parse: JsonParse | NormalizeParse | None
) -> Iterator[Module]:
    yield from _input_modules(profile)
    if profile.lanes is not None and profile.lanes.spread is Spread.HASH:
        yield Module("fmhash")
    if repaired is not None:
        yield Module("mmutf8fix")
    if parse is not None:
        yield Module("mmjsonparse" if isinstance(parse, JsonParse) else "mmnormalize")
    yield from _output_modules(profile)


def _input_modules(profile: Profile) -> Iterator[Module]:
    kinds: dict[str, dict[str, object]] = {}
    for source in profile.inputs:
        shared = kinds.setdefault(source.type, dict(source.fixed))
        written = _parameters(source)
        for key in of_module(type(source)):
            shared.setdefault(key, written.get(key))
    yield from (Module(kind, tuple(shared.items())) for kind, shared in kinds.items())


def _output_modules(profile: Profile) -> Iterator[Module]:
    kinds: dict[str, dict[str, object]] = {}
    built_in = {output.type for output in profile.outputs if output.built_in}
    for output in profile.outputs:
        shared = kinds.setdefault(output.type, {})
        for key, name in of_module(type(output)).items():
            shared.setdefault(key, None)
            shared[key] = getattr(output, name) if shared[key] is None else shared[key]
    for kind, shared in kinds.items():
        if kind not in built_in:
            yield Module(kind, tuple(shared.items()))
        elif any(value is not None for value in shared.values()):
            yield Module(f"builtin:{kind}", tuple(shared.items()))


def _templates(profile: Profile, output: AnyOutput, identity: Identity | None) -> OutputTemplates:
    fields = fields_of(output)
    # A newline after each document of a bulk would pair their replies wrongly (F5).
    end = "\n" if isinstance(output, OmfileOutput) else ""
    pieces = document(fields, profile.parse, identity, end) if fields else ()
    if not isinstance(output, OmelasticsearchOutput):
        file = output.dyna_file if isinstance(output, OmfileOutput) else None
        return OutputTemplates(output.name, file, pieces)
    return OutputTemplates(
        name=output.name,
        file=None,
        document=pieces,
        daily=output.index.target if output.index.rotate is Rotate.DAILY else None,
        has_ids=output.has_ids,
        pipeline=output.pipeline_name or "" if output.dyn_pipeline_name else None,
        retries=output.retryfailures is not None,
    )


def _lanes(profile: Profile) -> Iterator[Lane]:
    placed = lane_queue(profile)
    if profile.lanes is None or placed is None:
        return
    parser = profile.parser if profile.lanes.spread is Spread.PORTS else None
    files = file_names(placed) or (None,) * profile.lanes.count
    for lane, filename in enumerate(files):
        queue = placed.resolved.model_copy(update={"filename": filename})
        yield Lane(lane_name(profile, lane), parser, queue)


def _lane_of(profile: Profile) -> Emitted | None:
    """The expression for the number of an event's lane, where the main queue hands events out."""
    lanes = profile.lanes
    if lanes is None or lanes.spread is Spread.PORTS:
        return None
    count = number(lanes.count)
    if lanes.property is None:
        return Emitted(f"random({count})")
    return Emitted(f"hash64mod(${lanes.property}, {count})")


def _entrances(profile: Profile) -> Iterator[Entrance]:
    """One for each choice of parsers that is not the profile's, whose ruleset it calls."""
    for parsers in dict.fromkeys(source.parser for source in profile.inputs):
        if parsers is not None and parsers != profile.parser:
            yield Entrance(_entrance(profile, parsers), parsers)


def _entrance(profile: Profile, parsers: Parsers | None) -> str:
    """The name of the ruleset that an input with these parsers hands its events to."""
    if parsers is None or parsers == profile.parser:
        return profile.name
    return "-".join([profile.name, *(parser.removeprefix("rsyslog.") for parser in parsers)])


def _inputs(profile: Profile) -> Iterator[InputStatement]:
    """The profile's ruleset takes events, or one lane's where each lane has a port of its own."""
    lanes = profile.lanes
    for source in profile.inputs:
        if lanes is None or lanes.spread is not Spread.PORTS:
            yield _source(source, _entrance(profile, source.parser))
            continue
        for lane, port in enumerate(ports_of(profile, source)):
            door = source.model_copy(update={"port": port})
            yield _source(door, lane_name(profile, lane))


def _source(source: Input, ruleset: str) -> InputStatement:
    shared = of_module(type(source))
    own = {key: value for key, value in _parameters(source).items() if key not in shared}
    first = tuple((key, own.pop(key)) for key in _FIRST if key in own)
    return InputStatement(first, ruleset, tuple(own.items()))


def _parameters(source: Input) -> dict[str, object]:
    """What the profile writes and what we know better, by rsyslog's names."""
    return source.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"parser"})
