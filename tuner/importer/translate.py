"""A configuration as the plain data of a profile, and what the profile does not say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.importer.flow import Walk, name_of_statement
from tuner.importer.gaps import Gap, Gaps
from tuner.importer.guardrails import guardrails_of
from tuner.importer.inputs import input_of, is_known, local_input, unknown_of_module
from tuner.importer.legacy import DEFAULT_RULESET, modern
from tuner.importer.outputs import Outputs
from tuner.importer.parameters import QUEUE, keys_of_model, known, queue_of
from tuner.importer.parse_step import parse_step
from tuner.importer.parts import Parts, parts_of
from tuner.importer.reading import Configuration
from tuner.importer.rest import Rest
from tuner.importer.script import Call, ScriptPosition, Thing, every
from tuner.modules.impstats import Impstats
from tuner.profile.model import Global

WORK_DIRECTORY = "/var/spool/rsyslog"
# Where local programs and the kernel log to, which only the default ruleset takes.
_LOCAL = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark"})
_DEFAULT = DEFAULT_RULESET.lower()
_ORDER = (
    "name", "global", "inputs", "parser", "parse", "main_queue", "streams", "snippets",
    "outputs", "impstats", "guardrails",
)  # fmt: skip
# Modules that a profile loads by itself, where it uses them.
_PARSERS = ("mmjsonparse", "mmnormalize", "mmutf8fix")
_NAME = re.compile(r"[^a-z0-9_-]+")

Comments = dict[tuple[str | int, ...], ScriptPosition]
"""Where a section of a profile comes from."""


@dataclass(frozen=True)
class Imported:
    """A profile as plain data, where its sections come from, what is missing and what differs."""

    data: dict[str, object]
    comments: Comments
    missing: tuple[Gap, ...]
    changed: tuple[Gap, ...]
    kept: tuple[Gap, ...] = ()
    snippets: Mapping[str, str] = field(default_factory=dict)


def translate(configuration: Configuration, name: str) -> Imported:
    """The profile of a configuration."""
    gaps = Gaps([Gap(one.origin, one.message) for one in configuration.refused])
    parts = parts_of(modern(configuration.block))
    file = configuration.files[0] if configuration.files else ""
    return _Translation(name, file, parts, gaps, Rest(name, parts, gaps)).imported()


@dataclass
class _Translation:
    name: str
    file: str
    parts: Parts
    gaps: Gaps
    rest: Rest
    data: dict[str, object] = field(default_factory=dict)
    comments: Comments = field(default_factory=dict)
    doors: dict[str, list[Thing]] = field(default_factory=dict)
    visited: set[str] = field(default_factory=set)

    def imported(self) -> Imported:
        """All sections in the order in which a profile shows them."""
        self.data["name"] = self.name
        self.globals()
        self.find_doors()
        self.inputs()
        outputs = Outputs(
            templates=self.parts.templates,
            module_defaults={
                kind: tuple(one for one in parameters if one.key != "load")
                for kind, parameters in self.parts.modules.items()
            },
            gaps=self.gaps,
            rulesets=self.parts.rulesets,
            work_directory=self.work_directory,
            rest=self.rest,
        )
        for ruleset in self.doors or {_DEFAULT: []}:
            self.ruleset(ruleset, outputs)
        if outputs.made or self.data.get("inputs"):
            self.data["outputs"] = [data for data, _ in outputs.made]
        for number, (_, action) in enumerate(outputs.made):
            self.comments["outputs", number] = action.origin
        self.unreached([action for _, action in outputs.made])
        snippets = self.snippets(outputs)
        self.main_queue()
        self.impstats()
        if any(_asks_for_names(data) for data, _ in outputs.made):
            # rsyslog looks names up unless it is told not to; a profile does not.
            shared = self.data.get("global")
            names = {"net.enableDNS": True}
            self.data["global"] = names | (shared if isinstance(shared, dict) else {})
        self.data |= guardrails_of(self.data)
        data = {key: self.data[key] for key in _ORDER if key in self.data}
        missing, changed = sorted(self.gaps.missing), sorted(self.gaps.changed)
        kept = sorted(self.rest.kept)
        return Imported(data, self.comments, tuple(missing), tuple(changed), tuple(kept), snippets)

    def snippets(self, outputs: Outputs) -> Mapping[str, str]:
        """The snippets, named in the profile."""
        self.rest.keep_objects()
        loaded = [str(data["type"]) for data, _ in outputs.made]
        files = self.rest.files((*loaded, *_PARSERS))
        places = {f"{self.name}-{place}.conf": place for place in ("start", "outputs")}
        own = {places[name]: [name] for name in files if name in places}
        if own:
            self.data["snippets"] = own
        streams = self.data.get("streams")
        for name in files:
            stream = name.removeprefix(f"{self.name}-").removesuffix(".conf")
            if isinstance(streams, dict) and name not in places:
                streams[stream] = {**streams[stream], "snippets": [name]}
        return files

    def globals(self) -> None:
        """What global() sets."""
        keys = keys_of_model(Global)
        for one in self.parts.globals:
            if one.key not in keys:
                self.parts.others.append(Thing("global", (one,), one.origin))
        ours = [one for one in self.parts.globals if one.key in keys]
        given = known(Global, ours, "global()", self.gaps)
        if given:
            self.data["global"] = given
            self.comments["global",] = ours[0].origin

    def find_doors(self) -> None:
        """The rulesets that inputs hand their events to; local sources know only the default."""
        for kind, parameters in self.parts.modules.items():
            origin = self.parts.module_origins[kind]
            socket_only = any(one.text("type") == kind for one in self.parts.inputs)
            is_off = any(
                one.key == "syssock.use" and (one.text or "").lower() in {"off", "no", "0"}
                for one in parameters
            )
            if kind in _LOCAL and not socket_only and not is_off:
                self.doors.setdefault(_DEFAULT, []).append(Thing("module", parameters, origin))
            for given in unknown_of_module(kind, parameters) if is_known(kind) else ():
                what = f"module {kind}: no input has the parameter {given.name}"
                self.gaps.miss(given.origin, what)
        for one in self.parts.inputs:
            ruleset = (one.text("ruleset") or _DEFAULT).lower()
            if is_known((one.text("type") or "").lower()):
                self.doors.setdefault(ruleset, []).append(one)
            else:
                self.gaps.miss(one.origin, f"input {one.text('type')}: a profile has no such input")

    def stream_of(self, ruleset: str) -> str | None:
        """The stream that stands for a ruleset; None for what the profile says itself."""
        own = _DEFAULT if _DEFAULT in self.doors else next(iter(self.doors), _DEFAULT)
        if ruleset == own and (ruleset == _DEFAULT or not self.has_queues(ruleset)):
            return None
        word = _NAME.sub("-", ruleset).strip("-_")
        return word if word[:1].isalpha() else f"stream-{word}".strip("-")

    def has_queues(self, ruleset: str) -> bool:
        """Whether a ruleset has a queue beside a main queue that is written too."""
        found = self.parts.rulesets.get(ruleset)
        own = found is not None and any(one.key.startswith(QUEUE) for one in found.parameters)
        return own and (self.parts.main_queue is not None or len(self.doors) > 1)

    def inputs(self) -> None:
        """The inputs, each with its stream."""
        made: list[dict[str, object]] = []
        for ruleset, inputs in self.doors.items():
            stream = self.stream_of(ruleset)
            for one in inputs:
                if one.kind == "module":
                    data = local_input(one, self.gaps)
                else:
                    data = input_of(one, self.parts.modules, self.gaps)
                if data is not None:
                    self.comments["inputs", len(made)] = one.origin
                    made.append(data if stream is None else {**data, "stream": stream})
        if made:
            self.data["inputs"] = made
        else:
            nowhere = ScriptPosition(self.file, 1, 1)
            what = "no input that a profile has: name the file with the inputs as well"
            self.gaps.miss(nowhere, what)

    def ruleset(self, name: str, outputs: Outputs) -> None:
        """The outputs of what enters a ruleset, with the parsing before them."""
        walk = Walk(self.parts.rulesets, self.gaps)
        found = self.parts.rulesets.get(name)
        if name == _DEFAULT:
            walk.block(tuple(self.parts.rules), ())
        elif found is None:
            self.gaps.miss(self.doors[name][0].origin, f"there is no ruleset {name}")
        else:
            walk.block(found.body or (), ())
        self.visited |= {name, *walk.visited}
        stream = self.stream_of(name)
        section: dict[str, object] = {}
        outputs.begin(stream, walk.identities)
        for one in walk.reached:
            action = one.statement
            if not isinstance(action, Thing):
                why = Gap(action.origin, name_of_statement(action))
                self.rest.keep(stream, one, why)
                continue
            kind = (action.text("type") or "").lower()
            if kind == "mmutf8fix" and not one.guards:
                outputs.repairs = True
            elif kind in {"mmjsonparse", "mmnormalize"}:
                guarded = bool(one.guards)
                step = parse_step(kind, action, guarded, section.get("parse"), self.gaps)
                section |= {} if step is None else {"parse": step}
            else:
                outputs.add(action, one)
        if outputs.whole_message is not None and "parse" not in section:
            section["parse"] = {"format": "json", "cookie": ""}
        section |= self.of_ruleset(found, stream)
        if stream is None:
            self.data |= section
        else:
            streams = self.data.setdefault("streams", {})
            if isinstance(streams, dict):
                streams[stream] = section
                self.comments["streams", stream] = (found or self.doors[name][0]).origin

    def of_ruleset(self, ruleset: Thing | None, stream: str | None) -> dict[str, object]:
        """The parser and the queue of a ruleset."""
        if ruleset is None:
            return {}
        section: dict[str, object] = {}
        parser = ruleset.get("parser")
        if parser is not None:
            section["parser"] = [text.lower() for text in parser.texts]
        queue = queue_of(ruleset.parameters, f"ruleset {ruleset.text('name')}", self.gaps)
        if queue:
            section["main_queue" if stream is None else "queue"] = queue
        for one in ruleset.parameters:
            if one.key not in {"name", "parser"} and not one.key.startswith(QUEUE):
                self.gaps.miss(one.origin, f"ruleset(): the parameter {one.name}")
        return section

    def unreached(self, actions: list[Thing]) -> None:
        """What no imported input leads to; rulesets of retries are part of their output."""
        visited = self.visited
        for one in actions:
            retried = self.parts.rulesets.get((one.text("retryRuleset") or "").lower())
            if retried is not None:
                visited.add((retried.text("name") or "").lower())
                calls = [inner for inner in every(retried.body or ()) if isinstance(inner, Call)]
                visited |= {str(call.target).lower() for call in calls}
        for name, ruleset in self.parts.rulesets.items():
            if name not in visited:
                what = f"ruleset {ruleset.text('name')}: none of the imported inputs leads to it"
                self.gaps.miss(ruleset.origin, what)
        if _DEFAULT not in visited:
            for rule in self.parts.rules:
                what = "a rule of the default ruleset, to which none of the inputs leads"
                self.gaps.miss(rule.origin, what)

    def main_queue(self) -> None:
        """The main queue; that of the only ruleset with inputs takes its place."""
        one = self.parts.main_queue
        if one is not None:
            self.data["main_queue"] = queue_of(one.parameters, "main_queue()", self.gaps)
            self.comments["main_queue",] = one.origin

    def impstats(self) -> None:
        """rsyslog's own counters."""
        given = self.parts.modules.get("impstats")
        if given is None:
            return
        own = [one for one in given if one.key not in {"load", "format"}]
        data: dict[str, object] = {"interval": 300, "log.syslog": True}
        self.data["impstats"] = data | known(Impstats, own, "impstats", self.gaps)
        self.comments["impstats",] = self.parts.module_origins["impstats"]

    @property
    def work_directory(self) -> str:
        """Where files go that the configuration names without a folder."""
        given = self.data.get("global")
        folder = given.get("workDirectory") if isinstance(given, dict) else None
        return str(folder or WORK_DIRECTORY)


def _asks_for_names(output: Mapping[str, object]) -> bool:
    """Whether documents hold the name of the host that sent an event."""
    document = output.get("document")
    return isinstance(document, list) and any(
        isinstance(one, dict) and one.get("property") == "fromhost" for one in document
    )
