"""A configuration as the plain data of a profile, and what the profile does not say of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.importer.flow import Reached, Walk
from tuner.importer.gaps import Gap, Gaps, Inexpressible
from tuner.importer.guardrails import guardrails_of
from tuner.importer.inputs import input_of, is_known, unknown_of_module
from tuner.importer.legacy import DEFAULT_RULESET, modern
from tuner.importer.outputs import Outputs
from tuner.importer.parameters import QUEUE, known, queue_of
from tuner.importer.reading import Configuration
from tuner.importer.script import Block, Call, Parameter, ScriptPosition, Statement, Thing, every
from tuner.importer.template import Template, template_of
from tuner.modules.impstats import Impstats
from tuner.profile.model import Global

WORK_DIRECTORY = "/var/spool/rsyslog"
# Where local programs and the kernel log to, which only the default ruleset takes.
_LOCAL = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark"})

_DEFAULT = DEFAULT_RULESET.lower()

Comments = dict[tuple[str | int, ...], ScriptPosition]
"""Where a section of a profile comes from."""


@dataclass(frozen=True)
class Imported:
    """A profile as plain data, where its sections come from, what is missing and what differs."""

    data: dict[str, object]
    comments: Comments
    missing: tuple[Gap, ...]
    changed: tuple[Gap, ...]


def translate(configuration: Configuration, name: str) -> Imported:
    """The profile of a configuration."""
    gaps = Gaps([Gap(one.origin, one.message) for one in configuration.refused])
    parts = _parts(modern(configuration.block), gaps)
    file = configuration.files[0] if configuration.files else ""
    return _Translation(name, file, parts, gaps).imported()


@dataclass
class _Parts:
    """The objects of a configuration by kind; `rules` are those of the default ruleset."""

    globals: list[Parameter] = field(default_factory=list)
    modules: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    module_origins: dict[str, ScriptPosition] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    rulesets: dict[str, Thing] = field(default_factory=dict)
    inputs: list[Thing] = field(default_factory=list)
    main_queue: Thing | None = None
    rules: list[Statement] = field(default_factory=list)

    def add(self, one: Thing, gaps: Gaps) -> None:
        """Sort one object in."""
        match one.kind:
            case "global":
                self.globals.extend(one.parameters)
            case "module":
                kind = (one.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
                kind = kind.removeprefix("builtin:")
                self.modules[kind] = (*self.modules.get(kind, ()), *one.parameters)
                self.module_origins.setdefault(kind, one.origin)
            case "template":
                self._template(one, gaps)
            case "ruleset":
                self.rulesets[(one.text("name") or "").lower()] = one
            case "input":
                self.inputs.append(one)
            case "main_queue":
                self.main_queue = one
            case _:
                gaps.miss(one.origin, f"{one.kind}()")

    def _template(self, one: Thing, gaps: Gaps) -> None:
        try:
            template = template_of(one)
        except Inexpressible as bad:
            gaps.miss(bad.gap.origin, str(bad))
        else:
            self.templates[template.name.lower()] = template


def _parts(block: Block, gaps: Gaps) -> _Parts:
    parts = _Parts()
    for statement in block:
        if isinstance(statement, Thing) and statement.kind != "action":
            parts.add(statement, gaps)
        else:
            parts.rules.append(statement)
    return parts


@dataclass
class _Translation:
    name: str
    file: str
    parts: _Parts
    gaps: Gaps
    data: dict[str, object] = field(default_factory=dict)
    comments: Comments = field(default_factory=dict)

    def imported(self) -> Imported:
        """All sections in the order in which a profile shows them."""
        self.data["name"] = self.name
        self.globals()
        entry = self.inputs()
        outputs = self.outputs(self.walk(entry))
        self.queue(entry)
        if outputs:
            self.data["outputs"] = outputs
        self.impstats()
        self.data |= guardrails_of(self.data)
        order = (
            "name", "global", "inputs", "parser", "parse", "main_queue", "outputs", "impstats",
            "guardrails",
        )  # fmt: skip
        data = {key: self.data[key] for key in order if key in self.data}
        missing = sorted(self.gaps.missing)
        return Imported(data, self.comments, tuple(missing), tuple(sorted(self.gaps.changed)))

    def globals(self) -> None:
        """What global() sets."""
        given = known(Global, self.parts.globals, "global()", self.gaps)
        if given:
            self.data["global"] = given
            self.comments["global",] = self.parts.globals[0].origin

    def inputs(self) -> str:
        """The inputs; the name of the ruleset that they hand their events to."""
        doors: dict[str, list[Thing]] = {}
        for one in self.parts.inputs:
            doors.setdefault((one.text("ruleset") or _DEFAULT).lower(), []).append(one)
        for kind, parameters in self.parts.modules.items():
            origin = self.parts.module_origins[kind]
            if kind in _LOCAL and not any(one.text("type") == kind for one in self.parts.inputs):
                self.gaps.miss(origin, f"{kind}: logs of the host itself")
            for given in unknown_of_module(kind, parameters) if is_known(kind) else ():
                what = f"module {kind}: no input has the parameter {given.name}"
                self.gaps.miss(given.origin, what)
        entry = max(doors, key=lambda name: len(doors[name]), default=_DEFAULT)
        made: list[dict[str, object]] = []
        for ruleset, inputs in doors.items():
            for one in inputs:
                if ruleset != entry:
                    self.gaps.miss(one.origin, f"an input into another ruleset, {ruleset}")
                    continue
                data = input_of(one, self.parts.modules, self.gaps)
                if data is not None:
                    self.comments["inputs", len(made)] = one.origin
                    made.append(data)
        if made:
            self.data["inputs"] = made
        else:
            nowhere = ScriptPosition(self.file, 1, 1)
            what = "no input that a profile has: name the file with the inputs as well"
            self.gaps.miss(nowhere, what)
        return entry

    def walk(self, entry: str) -> Walk:
        """The actions that an event of the inputs reaches."""
        walk = Walk(self.parts.rulesets, self.gaps)
        ruleset = self.parts.rulesets.get(entry)
        if entry == _DEFAULT:
            walk.block(tuple(self.parts.rules), ())
        elif ruleset is None:
            self.gaps.miss(self.parts.inputs[0].origin, f"there is no ruleset {entry}")
        else:
            walk.block(ruleset.body or (), ())
            self.ruleset(ruleset)
            for one in self.parts.rules:
                self.gaps.miss(one.origin, "a rule for events of other inputs than those imported")
        self.unreached({entry, *walk.visited}, walk.reached)
        return walk

    def unreached(self, visited: set[str], reached: list[Reached]) -> None:
        """Rulesets that no imported input leads to; those of retries are part of their output."""
        for one in reached:
            retried = self.parts.rulesets.get((one.action.text("retryRuleset") or "").lower())
            if retried is not None:
                visited.add((retried.text("name") or "").lower())
                calls = [inner for inner in every(retried.body or ()) if isinstance(inner, Call)]
                visited |= {str(call.target).lower() for call in calls}
        for name, ruleset in self.parts.rulesets.items():
            if name not in visited:
                what = f"ruleset {ruleset.text('name')}: none of the imported inputs leads to it"
                self.gaps.miss(ruleset.origin, what)

    def ruleset(self, ruleset: Thing) -> None:
        """The parameters of the ruleset that inputs are bound to."""
        parser = ruleset.get("parser")
        if parser is not None:
            self.data["parser"] = [text.lower() for text in parser.texts]
        for one in ruleset.parameters:
            if one.key not in {"name", "parser"} and not one.key.startswith(QUEUE):
                self.gaps.miss(one.origin, f"ruleset(): the parameter {one.name}")

    def outputs(self, walk: Walk) -> list[dict[str, object]]:
        """The outputs, and the parsing before them."""
        outputs = Outputs(
            templates=self.parts.templates,
            module_defaults={
                kind: tuple(one for one in parameters if one.key != "load")
                for kind, parameters in self.parts.modules.items()
            },
            gaps=self.gaps,
            rulesets=self.parts.rulesets,
            work_directory=self.work_directory,
            identities=walk.identities,
        )
        for one in walk.reached:
            kind = (one.action.text("type") or "").lower()
            if kind == "mmutf8fix" and not one.guards:
                outputs.repairs = True
            elif kind in {"mmjsonparse", "mmnormalize"}:
                self.parse(kind, one)
            else:
                outputs.add(one)
        for number, (_, action) in enumerate(outputs.made):
            self.comments["outputs", number] = action.origin
        return [data for data, _ in outputs.made]

    def parse(self, kind: str, one: Reached) -> None:
        """How the text of events is taken apart."""
        action = one.action
        if one.guards or "parse" in self.data:
            self.gaps.miss(action.origin, f"{kind} for some events only, or a second one")
            return
        names = {"cookie", "rulebase", "userawmsg"}
        for parameter in action.parameters:
            if parameter.key not in names | {"type", "name"}:
                self.gaps.miss(parameter.origin, f"{kind}: the parameter {parameter.name}")
        raw = (action.text("useRawMsg") or "off").lower() in {"on", "yes", "true", "1"}
        data: dict[str, object] = {"useRawMsg": True} if raw else {}
        if kind == "mmjsonparse":
            cookie = action.text("cookie")
            data = {"format": "json", "cookie": "@cee:" if cookie is None else cookie} | data
        elif action.text("rulebase") is not None:
            data = {"format": "normalize", "rulebase": action.text("rulebase")} | data
        else:
            self.gaps.miss(action.origin, "mmnormalize without a rulebase")
            return
        self.data["parse"] = data
        self.comments["parse",] = action.origin

    def queue(self, entry: str) -> None:
        """The queue that the inputs fill: the ruleset's own, or the main queue."""
        ruleset = self.parts.rulesets.get(entry)
        own = queue_of(ruleset.parameters, "the ruleset", self.gaps) if ruleset else {}
        if own and ruleset is not None:
            self.data["main_queue"] = own
            self.comments["main_queue",] = ruleset.origin
            if self.parts.main_queue is not None:
                self.gaps.miss(self.parts.main_queue.origin, "main_queue() beside a ruleset's own")
        elif self.parts.main_queue is not None:
            one = self.parts.main_queue
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
