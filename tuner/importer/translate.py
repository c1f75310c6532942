"""A configuration as the plain data of a profile, and what the profile does not say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

from tuner.importer.flow import Walk
from tuner.importer.outputs import Outputs
from tuner.importer.rest import Rest
from tuner.importer.settings import (
    guardrails_of,
    loaded_modules,
    refused_outputs,
    release_of,
    shared_settings,
)
from tuner.importer.written import Comments, Imported
from tuner.modules.impstats import Impstats
from tuner.modules.input import Input, Listener, Parsers
from tuner.modules.ratelimit import LIMIT_NAME, RateLimitPolicy
from tuner.modules.registry import INPUTS, name_of
from tuner.profile.model import Global
from tuner.rainerscript.configuration import Configuration, Parts, parts_of
from tuner.rainerscript.gaps import Gap, Gaps
from tuner.rainerscript.legacy import modern
from tuner.rainerscript.old_form import DEFAULT_RULESET
from tuner.rainerscript.parameters import QUEUE, certificates, entry_queue_of, keys_of_model, known
from tuner.rainerscript.script import (
    OFF,
    Block,
    Call,
    Directive,
    Parameter,
    ScriptObject,
    ScriptPosition,
    module_name,
)
from tuner.schema.parameter import of_module
from tuner.schema.scalars import as_name

# rsyslog listens on every address unless one is configured.
ANYWHERE = "0.0.0.0"  # noqa: S104 - this is what the configuration that is read does
# rsyslog's defaults where a profile's are others.
_OWN_DEFAULTS: dict[str, dict[str, object]] = {
    "imfile": {"persistStateInterval": 0},
    "imptcp": {"socketBacklog": 5},
}
_MODELS: dict[str, type[Input]] = {name_of(one): one for one in INPUTS}
# Where local programs and the kernel log to, which only the default ruleset takes.
_LOCAL = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark"})
# What the profile decides by itself, or what only names things.
_ELSEWHERE = frozenset({"type", "ruleset", "name", "load", "syssock.use"})
# The same in another spelling (imuxsock.c, imudp.c).
_SPELLED = {
    "ratelimitinterval": "rateLimit.interval", "ratelimitburst": "rateLimit.burst",
    "rcvbufsize": "rcvbufSize",
}  # fmt: skip


def local_inputs(parts: Parts) -> Iterator[ScriptObject]:
    """The modules that are a source by being loaded: the system's log socket, the kernel, the
    journal."""
    sockets = {one.text("type") for one in parts.inputs}
    for kind, module in parts.module_objects.items():
        is_off = (module.text("sysSock.use") or "").lower() in OFF
        if kind in _LOCAL and kind not in sockets and not is_off:
            yield replace(module, parameters=parts.modules[kind])


def is_local(one: ScriptObject) -> bool:
    """Whether an input is a module by itself."""
    return one.kind == "module"


def read_input(one: ScriptObject, parts: Parts, gaps: Gaps) -> dict[str, object] | None:
    """The input of a profile; None, and a gap, where none of its type is known."""
    kind = module_name(one) if is_local(one) else (one.text("type") or "").lower()
    model = _MODELS.get(kind)
    if model is None:
        gaps.miss(one.origin, f"input {kind}: a profile has no such input")
        return None
    own = [_spelled(each) for each in one.parameters if each.key not in _ELSEWHERE]
    data: dict[str, object] = {"type": kind}
    if issubclass(model, Listener):
        data["address"] = ANYWHERE
    data |= _OWN_DEFAULTS.get(kind, {})
    if not is_local(one):
        own = [*_shared(model, parts.modules.get(kind, ()), own, gaps), *own]
    data |= known(model, own, f"input {kind}", gaps)
    data |= certificates(model, data, parts.globals, gaps)
    if kind == "imfile" and data.get("mode") != "polling" and "pollingInterval" in data:
        del data["pollingInterval"]
        gaps.change(one.origin, "imfile ignores pollingInterval in mode inotify: left out")
    if data.get("address") in {"*", ""}:
        data["address"] = ANYWHERE
    if issubclass(model, Listener) and "port" not in data:
        gaps.miss(one.origin, f"input {kind} without one port")
        return None
    return data


def _spelled(one: Parameter) -> Parameter:
    return replace(one, name=_SPELLED.get(one.key, one.name))


def _shared(
    model: type[Input], given: tuple[Parameter, ...], own: list[Parameter], gaps: Gaps
) -> Iterator[Parameter]:
    """What the module sets for all of its inputs, as far as an input does not."""
    keys = {key.lower() for key in (*keys_of_model(model), *of_module(model))}
    written = {one.key for one in own}
    for one in map(_spelled, given):
        if one.key in keys and one.key not in written:
            yield one
        elif one.key not in keys | _ELSEWHERE:
            gaps.miss(one.origin, f"the parameter {one.name} of the module")


WORK_DIRECTORY = "/var/spool/rsyslog"
_DEFAULT = DEFAULT_RULESET.lower()
_ORDER = (
    "name", "release", "global", "lookup_tables", "ratelimits", "inputs", "parser", "parse",
    "steps", "main_queue", "streams", "snippets",
    "outputs", "impstats", "guardrails",
)  # fmt: skip
_PARSERS = {name for literal in get_args(get_args(Parsers)[0])[:1] for name in get_args(literal)}


def translate(configuration: Configuration, name: str) -> Imported:
    """The profile of a configuration."""
    gaps = Gaps(list(configuration.refused))
    parts = parts_of(modern(configuration.block))
    file = configuration.files[0] if configuration.files else ""
    return _Translation(name, file, parts, gaps, Rest(parts, gaps)).imported()


@dataclass
class _Translation:
    name: str
    file: str
    parts: Parts
    gaps: Gaps
    rest: Rest
    data: dict[str, object] = field(default_factory=dict)
    comments: Comments = field(default_factory=dict)
    entries: dict[str, list[tuple[ScriptObject, dict[str, object]]]] = field(default_factory=dict)
    streams: dict[str, dict[str, object]] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)

    def imported(self) -> Imported:
        """All sections in the order in which a profile shows them."""
        self.data["name"] = self.name
        self.globals()
        shared = cast(dict[str, Any], self.data.get("global", {}))
        folder = str(shared.get("workDirectory", WORK_DIRECTORY))
        outputs = Outputs(self.parts, self.rest, folder)
        self.inputs()
        self.impstats()
        for ruleset in self.entries or {_DEFAULT: []}:
            self.ruleset(ruleset, outputs)
        if not outputs.made and not self.rest.bodies:
            self.hand_over(outputs)
        if self.streams:
            self.data["streams"] = self.streams
        queue = self.parts.main_queue
        if queue is not None:
            own = entry_queue_of(queue, "main_queue()", self.gaps)
            if own:
                self.data["main_queue"] = own
                self.comments["main_queue",] = queue.origin
        self.keep_objects()
        snippets = self.settled(outputs)
        for number, (_, reached) in enumerate(outputs.made):
            self.comments["outputs", number] = reached.statement.origin
        visited = self.visited | self.rest.rulesets
        for gap in self.parts.unreached([one.statement for _, one in outputs.made], visited):
            self.gaps.miss(gap.origin, gap.message)
        self.data |= guardrails_of(self.data)
        data = {key: self.data[key] for key in _ORDER if key in self.data}
        missing, changed = sorted(self.gaps.missing), sorted(self.gaps.changed)
        kept = sorted(self.rest.kept)
        return Imported(data, self.comments, tuple(missing), tuple(changed), tuple(kept), snippets)

    def settled(self, outputs: Outputs) -> Mapping[str, str]:
        """The snippets, when every output is in the profile that lint lets be there."""
        nowhere = ScriptPosition(self.file, 1, 1)
        while True:
            self.data["outputs"] = [data for data, _ in outputs.made]
            self.data |= shared_settings(self.data, WORK_DIRECTORY, nowhere, self.gaps)
            self.data |= release_of(self.data, nowhere, self.gaps)
            snippets = self.snippets()
            refused = refused_outputs(self.data)
            if not refused:
                return snippets
            outputs.keep_refused(refused)

    def globals(self) -> None:
        """What global() sets."""
        keys = keys_of_model(Global)
        for one in self.parts.globals:
            if one.key not in keys:
                self.parts.others.append(ScriptObject("global", (one,), one.origin))
        ours = [one for one in self.parts.globals if one.key in keys]
        given = known(Global, ours, "global()", self.gaps)
        if given:
            self.data["global"] = given
            self.comments["global",] = ours[0].origin

    def inputs(self) -> None:
        """The inputs, each with the ruleset that it hands its events to; local sources know only
        the default one.  What no input of a profile says is kept."""
        partly: list[tuple[str, ScriptObject, dict[str, object] | None, Gaps]] = []
        sources = [*local_inputs(self.parts), *self.parts.inputs]
        for one in sources:
            ruleset = (one.text("ruleset") or _DEFAULT).lower()
            gaps = Gaps()
            data = read_input(one, self.parts, gaps)
            found = self.parts.rulesets.get(ruleset)
            parser = None if found is None else found.get("parser")
            if parser is not None and not {name.lower() for name in parser.texts} <= _PARSERS:
                gaps.miss(one.origin, f"ruleset {ruleset} has a parser of its own")
            if data is None or gaps.missing:
                partly.append((ruleset, one, data, gaps))
            else:
                self.gaps.take(gaps)
                self.entries.setdefault(ruleset, []).append((one, data))
        # Without an input nothing comes in: better one of which something is missing.
        is_empty = not self.entries
        kept: dict[str, list[tuple[ScriptObject, Gap]]] = {}
        for ruleset, one, data, gaps in partly:
            if is_empty and data is not None:
                self.gaps.take(gaps)
                self.entries.setdefault(ruleset, []).append((one, data))
            else:
                kept.setdefault(ruleset, []).append((one, gaps.missing[0]))
        made: list[dict[str, object]] = []
        for ruleset, pairs in self.entries.items():
            stream = self.stream_of(ruleset)
            for one, data in pairs:
                self.comments["inputs", len(made)] = one.origin
                made.append(data if stream is None else {**data, "stream": stream})
        self.data |= {"inputs": made} if made else {}
        if not made:
            what = "no input that a profile has: name the file with the inputs as well"
            self.gaps.miss(ScriptPosition(self.file, 1, 1), what)
        for ruleset, ones in kept.items():
            self.keep_inputs(ruleset, ones)

    def keep_inputs(self, ruleset: str, ones: list[tuple[ScriptObject, Gap]]) -> None:
        """Keep inputs that no profile says: they hand their events to the rendered ruleset, or to
        their own, which is kept with them."""
        stream = self.stream_of(ruleset)
        target = self.name if stream is None else f"stream.{stream}"
        for one, why in ones:
            kept = one
            if ruleset in self.entries:
                name = Parameter.of("ruleset", target, one.origin)
                others = (each for each in one.parameters if each.key != "ruleset")
                kept = replace(one, parameters=(*others, name))
            if one.kind == "module" and ruleset in self.entries:
                self.rest.keep_object(one, why)
                if not any(is_local(source) for source, _ in self.entries[ruleset]):
                    self.rest.end.append(Call(target, one.origin))
            elif ruleset in self.entries or ruleset in self.parts.rulesets:
                self.rest.keep_object(kept, why)
                self.visited.add(ruleset)
            else:
                self.gaps.miss(why.origin, why.message)

    def stream_of(self, ruleset: str) -> str | None:
        """The stream that stands for a ruleset; None for what the profile says itself."""
        own = _DEFAULT if _DEFAULT in self.entries else next(iter(self.entries), _DEFAULT)
        if ruleset == own and (ruleset == _DEFAULT or not self.has_queues(ruleset)):
            return None
        word = as_name(ruleset)
        return word if word[:1].isalpha() else f"stream-{word}".strip("-")

    def has_queues(self, ruleset: str) -> bool:
        """Whether a ruleset has a queue beside a main queue that is written too."""
        found = self.parts.rulesets.get(ruleset)
        own = found is not None and any(one.key.startswith(QUEUE) for one in found.parameters)
        return own and (self.parts.main_queue is not None or len(self.entries) > 1)

    def ruleset(self, name: str, outputs: Outputs) -> None:
        """The outputs of what enters a ruleset, with the parsing before them."""
        found = self.parts.rulesets.get(name)
        body: Block = tuple(self.parts.rules) if name == _DEFAULT else ()
        origins = [one.origin for one, _ in self.entries.get(name, ())]
        if name != _DEFAULT and found is None:
            self.gaps.miss(origins[0], f"there is no ruleset {name}")
        elif found is not None and name != _DEFAULT:
            body = found.body or ()
        walk = Walk(self.parts.rulesets, Gaps())
        walk.block(body, ())
        self.visited |= {name, *walk.visited}
        stream = self.stream_of(name)
        section = outputs.ruleset(body, walk, stream)
        section |= self.of_ruleset(found, stream)
        if stream is None:
            self.data |= section
        else:
            self.streams[stream] = section
            self.comments["streams", stream] = origins[0] if found is None else found.origin

    def hand_over(self, outputs: Outputs) -> None:
        """Hand events to rulesets that nothing leads to, as files do that others include."""
        for name, ruleset in self.parts.rulesets.items():
            if name in self.visited | self.rest.rulesets:
                continue
            what = f"nothing leads to ruleset {ruleset.text('name')}"
            self.gaps.miss(ruleset.origin, f"{what}: the profile hands it every event")
            call = Call(name, ruleset.origin)
            walk = Walk(self.parts.rulesets, Gaps())
            walk.block((call,), ())
            self.visited |= walk.visited
            self.data |= outputs.ruleset((call,), walk, None)

    def of_ruleset(self, ruleset: ScriptObject | None, stream: str | None) -> dict[str, object]:
        """The parser and the queue of a ruleset."""
        if ruleset is None:
            return {}
        section: dict[str, object] = {}
        parser = ruleset.get("parser")
        if parser is not None and {text.lower() for text in parser.texts} <= _PARSERS:
            section["parser"] = [text.lower() for text in parser.texts]
        queue = entry_queue_of(ruleset, f"ruleset {ruleset.text('name')}", self.gaps)
        if queue:
            section["main_queue" if stream is None else "queue"] = queue
        for one in ruleset.parameters:
            if one.key not in {"name", "parser"} and not one.key.startswith(QUEUE):
                self.gaps.miss(one.origin, f"ruleset(): the parameter {one.name}")
        return section

    def impstats(self) -> None:
        """rsyslog's own counters, with the stream of their ruleset; kept as they are where a
        profile cannot say how they are written."""
        module = self.parts.module_objects.get("impstats")
        if module is None:
            return
        gaps = Gaps()
        given = self.parts.modules["impstats"]
        own = [one for one in given if one.key not in {"load", "ruleset"}]
        data: dict[str, object] = {"interval": 300, "format": "legacy", "log.syslog": True}
        data |= known(Impstats, own, "impstats", gaps)
        if gaps.missing:
            self.rest.keep_object(module, gaps.missing[0])
            return
        ruleset = (module.text("ruleset") or "").lower()
        if ruleset in self.parts.rulesets and data["log.syslog"]:
            self.entries.setdefault(ruleset, [])
            stream = self.stream_of(ruleset)
            data |= {"stream": stream}
        self.data["impstats"] = data
        self.comments["impstats",] = module.origin

    def keep_objects(self) -> None:
        """Keep the objects that a profile has no section for."""
        sections: list[dict[str, Any]] = [self.data, *self.streams.values()]
        used = {step.get("lookup") for each in sections for step in each.get("steps", ())}
        tables = {name: one for name, one in self.parts.tables.items() if name in used}
        if tables:
            files = {name: {"file": one.text("file")} for name, one in tables.items()}
            self.data["lookup_tables"] = files
        for one in self.parts.others:
            if one in tables.values() or (isinstance(one, ScriptObject) and self.limit(one)):
                continue
            if isinstance(one, Directive):
                self.rest.keep_object(one, Gap(one.origin, f"the directive ${one.name}"))
                continue
            names = ", ".join(parameter.name for parameter in one.parameters)
            what = f"global(): {names}" if one.kind == "global" else f"{one.kind}()"
            self.rest.keep_object(one, Gap(one.origin, what))

    def limit(self, one: ScriptObject) -> bool:
        """Whether an object is a rate limit that a profile can say, which it then does."""
        name, gaps = one.text("name") or "", Gaps()
        if one.kind != "ratelimit" or not re.fullmatch(LIMIT_NAME, name):
            return False
        own = [each for each in one.parameters if each.key != "name"]
        data = known(RateLimitPolicy, own, f"ratelimit {name}", gaps)
        if gaps.missing:
            return False
        self.gaps.take(gaps)
        cast(dict[str, object], self.data.setdefault("ratelimits", {}))[name] = data
        self.comments["ratelimits", name] = one.origin
        return True

    def snippets(self) -> Mapping[str, str]:
        """The snippets, named in the profile."""
        loaded = loaded_modules(self.data)
        late = self.rest.late_modules(loaded)
        own: dict[str, object] = {"modules": late} if late else {}
        files = {one: one.text for one in self.rest.files(self.name, loaded) if one.text}
        for one in files:
            section = own if one.stream is None else self.streams[one.stream]
            section[one.place] = [one.name]
        self.data |= {"snippets": own} if own else {}
        return {one.name: text for one, text in files.items()}
