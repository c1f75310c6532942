"""A configuration as the plain data of a profile, and what the profile does not say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, cast, get_args

from tuner.engines.versions import DEFAULT
from tuner.importer.inputs import is_local, local_inputs, read_input
from tuner.importer.outputs import Outputs
from tuner.importer.release import as_profile, newer_release, of_release
from tuner.importer.rest import Rest
from tuner.importer.written import Comments, Imported
from tuner.lint.lint import Finding, errors_of
from tuner.lint.rules.releases import TOO_NEW
from tuner.modules.impstats import Impstats
from tuner.modules.input import Parsers
from tuner.modules.ratelimit import LIMIT_NAME, RateLimitPolicy
from tuner.profile.model import Global
from tuner.profile.source import at
from tuner.rainerscript.configuration import Configuration, Parts, parts_of
from tuner.rainerscript.enabled import without_switches
from tuner.rainerscript.gaps import Gap, Gaps
from tuner.rainerscript.legacy import DEFAULT_RULESET, modern
from tuner.rainerscript.parameters import (
    entry_queue_of,
    keys_of_model,
    known,
    ruleset_of,
)
from tuner.rainerscript.script import (
    BUILT_IN,
    Block,
    Call,
    Directive,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
)
from tuner.render.script import script
from tuner.schema.scalars import as_name

WORK_DIRECTORY = "/var/spool/rsyslog"
_DEFAULT = DEFAULT_RULESET.lower()
_ORDER = (
    "name", "release", "global", "lookup_tables", "ratelimits", "inputs", "parser", "parse",
    "steps", "main_queue", "streams", "snippets",
    "outputs", "impstats", "guardrails",
)  # fmt: skip
_PARSERS = {name for literal in get_args(get_args(Parsers)[0])[:1] for name in get_args(literal)}


def translate(
    configuration: Configuration,
    name: str,
    release: str | None = None,
    *,
    with_secrets: bool = False,
) -> Imported:
    """The profile of a configuration that an rsyslog of that release reads; where the release is
    not given, the profile says none.  Statements `with_secrets` become snippets where no reference
    can stand for these, and are left out otherwise."""
    gaps = Gaps(list(configuration.refused))
    parts = parts_of(without_switches(modern(configuration.block)))
    file = configuration.files[0] if configuration.files else ""
    number = int((release or DEFAULT.release.rsyslog).removeprefix("8."))
    rest = Rest(parts, gaps, number, with_secrets)
    translation = _Translation(name, file, parts, gaps, rest)
    if release is not None:
        engine = DEFAULT.release.model_copy(update={"rsyslog": release})
        translation.data["release"] = engine.model_dump(exclude_none=True)
    return translation.imported()


_PartlySaid = dict[str, list[tuple[ScriptObject, Gap]]]
"""By ruleset, inputs of which a profile does not say everything, and what it does not."""


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
    named: dict[str, str] = field(default_factory=dict)

    def imported(self) -> Imported:
        """All sections in the order in which a profile shows them."""
        self.data["name"] = self.name
        self.globals()
        shared = cast(dict[str, Any], self.data.get("global", {}))
        folder = str(shared.get("workDirectory", WORK_DIRECTORY))
        outputs = Outputs(self.parts, folder, rest=self.rest, visited=self.visited)
        partly = self.enter_inputs()
        # The ruleset of the counters is one more: what inputs are of a stream depends on it.
        self.impstats()
        self.inputs(partly)
        for ruleset in self.entries or {_DEFAULT: []}:
            self.ruleset(ruleset, outputs)
        if not outputs.made and not self.rest.bodies:
            self.hand_over(outputs)
        if self.streams:
            self.data["streams"] = self.streams
        queue = self.parts.main_queue
        own = {} if queue is None else entry_queue_of(queue, "main_queue()", self.gaps)
        if queue is not None and own:
            self.data["main_queue"] = own
            self.comments["main_queue",] = queue.origin
        self.keep_objects()
        snippets = self.settled(outputs)
        types = {one["type"] for key in ("inputs", "outputs") for one in self.listed(key)}
        loads = ", ".join(sorted(types - self.parts.modules.keys() - BUILT_IN))
        if loads:
            self.gaps.change(self.beginning, f"no file here loads {loads}: the profile does")
        for one in filter(_in_clear, self.listed("outputs")):
            what = f"{one['name']} logs in over HTTP without TLS: guardrails.secrets_in_clear is on"
            self.gaps.change(self.beginning, what)
        for number, (_, reached) in enumerate(outputs.made):
            self.comments["outputs", number] = reached.statement.origin
        visited = self.visited | self.rest.rulesets
        for gap in self.parts.unreached([one.statement for _, one in outputs.made], visited):
            self.gaps.miss(gap.origin, gap.message)
        data = {key: self.data[key] for key in _ORDER if key in self.data}
        noted = (self.gaps.missing, self.gaps.changed, self.rest.kept)
        missing, changed, kept = (tuple(sorted(set(gaps))) for gaps in noted)
        is_private = self.rest.with_secrets
        return Imported(data, self.comments, missing, changed, kept, snippets, is_private)

    def settled(self, outputs: Outputs) -> Mapping[str, str]:
        """The snippets, when every output is in the profile that lint lets be there."""
        while True:
            self.data["outputs"] = [data for data, _ in outputs.made]
            self.data |= self.shared_settings()
            snippets = self.snippets([one.statement for _, one in outputs.made])
            errors = self.fit()
            refused = {
                int(one.path[1]): f"{one.message} [{one.code}]"
                for one in errors
                if one.path[0] == "outputs" and len(one.path) > 1
            }
            if not [one for one in errors if self.is_left_out(one)] and not refused:
                return snippets
            outputs.keep_refused(refused)

    def is_left_out(self, refused: Finding) -> bool:
        """Whether what lint refuses are parameters of a queue that inputs hand events to: they are
        left out, as rsyslogd takes them, and a profile would not load with them."""
        *path, key = refused.path
        queue = at(self.data, tuple(path))
        if path[-1:] not in (["main_queue"], ["queue"]) or path[0] == "outputs":
            return False
        own = queue if isinstance(queue, dict) else {}
        wrong = [key] if key in own else [each for each in own if each in refused.message]
        for each in wrong:
            del own[each]
        if wrong:
            origin = self.comments.get(tuple(path[:2]), self.beginning)
            where = ".".join(map(str, path))
            self.gaps.miss(origin, f"{where}: {refused.message} [{refused.code}]")
        return bool(wrong)

    def shared_settings(self) -> dict[str, object]:
        """The `global` of the profile, with a folder for files that have none, and with the names
        of senders: rsyslog looks them up unless told not to, and they stand not only in fromhost
        but for the host of messages that name none."""
        given = cast(dict[str, object], self.data.get("global", {}))
        settings: dict[str, object] = {"net.enableDNS": True} | given
        queues = self.queues()
        # In the profile, or in a snippet.
        reads_files = any(one.type == "imfile" for one in self.parts.inputs)
        if "workDirectory" not in settings and (reads_files or any(map(_has_files, queues))):
            settings = {"workDirectory": WORK_DIRECTORY} | settings
            what = f"nothing sets workDirectory: the profile takes Debian's, {WORK_DIRECTORY}"
            self.gaps.change(self.beginning, what)
        return {"global": settings}

    def queues(self) -> list[object]:
        """The queues of the profile, None where something has none."""
        own = (one.get("queue") for one in (*self.listed("outputs"), *self.streams.values()))
        return [self.data.get("main_queue"), *own]

    def queue_files(self) -> Iterator[tuple[str, str]]:
        """The folder and the name of the files of each queue of the profile."""
        for one in self.queues():
            if isinstance(one, dict) and "filename" in one:
                yield str(one.get("spoolDirectory", "")), str(one["filename"])

    def fit(self) -> list[Finding]:
        """Give the profile the oldest release that knows all of its parameters, where that is newer
        than its own; a secret that crosses the network in the clear is kept, and said.  What lint
        refuses all the same although rsyslogd takes it is returned."""
        if any(map(_in_clear, self.listed("outputs"))):
            self.data["guardrails"] = {"secrets_in_clear": True}
        else:
            self.data.pop("guardrails", None)
        profile = as_profile(self.data)
        errors = [] if profile is None else errors_of(profile)
        too_new = sum(one.code in TOO_NEW for one in errors)
        if profile is not None and too_new:
            release = newer_release(profile, too_new)
            if release != profile.release.rsyslog_number:
                profile = of_release(profile, release)
                self.data["release"] = profile.release.model_dump(exclude_none=True)
                what = f"parameters that older rsyslogs refuse: release.rsyslog is 8.{release}"
                self.gaps.change(self.beginning, what)
                errors = errors_of(profile)
        return errors

    @property
    def beginning(self) -> ScriptPosition:
        """Where what no line says is said to be."""
        return ScriptPosition(self.file, 1, 1)

    def listed(self, key: str) -> list[dict[str, Any]]:
        """The items of a list of the profile."""
        return cast(list[dict[str, Any]], self.data.get(key, []))

    def globals(self) -> None:
        """What global() sets; what a profile has no key for is kept."""
        keys = keys_of_model(Global)
        ours = [one for one in self.parts.globals if one.key in keys]
        for one in self.parts.globals:
            if one.key not in keys:
                self.parts.others.append(ScriptObject("global", (one,), one.origin))
        given = known(Global, ours, "global()", self.gaps)
        if given:
            self.data["global"] = given
            self.comments["global",] = ours[0].origin

    def enter_inputs(self) -> _PartlySaid:
        """Note the inputs, each with the ruleset that it hands its events to; local sources know
        only the default one.  Those are returned that no input of a profile says."""
        partly: list[tuple[str, ScriptObject, dict[str, object] | None, Gaps]] = []
        for one in (*local_inputs(self.parts), *map(self.bound, self.parts.inputs)):
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
                self.enter(ruleset, one, data, gaps)
        # Without an input nothing comes in: better one of which something is missing.
        is_empty = not self.entries
        kept: _PartlySaid = {}
        for ruleset, one, data, gaps in partly:
            if is_empty and data is not None:
                self.enter(ruleset, one, data, gaps)
            else:
                kept.setdefault(ruleset, []).append((one, gaps.missing[0]))
        return kept

    def bound(self, one: ScriptObject) -> ScriptObject:
        """An input with the ruleset of its module where it names none itself."""
        name = ruleset_of(one, self.parts.modules.get(one.type, ()))
        if name == (one.text("ruleset") or ""):
            return one
        named = Parameter.of("ruleset", name, one.origin)
        return replace(one, parameters=(*one.parameters, named))

    def inputs(self, kept: _PartlySaid) -> None:
        """The inputs that were noted, each with its stream; what no input of a profile says is
        kept."""
        made: list[dict[str, object]] = []
        for ruleset, pairs in self.entries.items():
            stream = self.stream_of(ruleset)
            for one, data in pairs:
                self.comments["inputs", len(made)] = one.origin
                made.append(data if stream is None else {**data, "stream": stream})
        if made:
            self.data["inputs"] = made
        else:
            what = "no input that a profile has: name the file with the inputs as well"
            self.gaps.miss(self.beginning, what)
        for ruleset, ones in kept.items():
            self.keep_inputs(ruleset, ones)

    def enter(self, ruleset: str, one: ScriptObject, data: dict[str, object], gaps: Gaps) -> None:
        """Note an input that the profile says."""
        self.gaps.take(gaps)
        self.entries.setdefault(ruleset, []).append((one, data))

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
        word = word if word[:1].isalpha() else f"stream-{word}".strip("-")
        names = chain((word,), (f"{word}-{number}" for number in count(2)))
        taken = self.named.values()
        if ruleset not in self.named:
            self.named[ruleset] = next(name for name in names if name not in taken)
        return self.named[ruleset]

    def has_queues(self, ruleset: str) -> bool:
        """Whether a ruleset has a queue beside a main queue that is written too."""
        found = self.parts.rulesets.get(ruleset)
        has_own = found is not None and bool(found.queue)
        return has_own and (self.parts.main_queue is not None or len(self.entries) > 1)

    def ruleset(self, name: str, outputs: Outputs) -> None:
        """The outputs of what enters a ruleset, with the parsing before them."""
        found = self.parts.rulesets.get(name)
        body: Block = () if found is None else found.body or ()
        origins = [one.origin for one, _ in self.entries.get(name, ())]
        if name == _DEFAULT:
            body = tuple(self.parts.rules)
        elif found is None:
            self.gaps.miss(origins[0], f"there is no ruleset {name}")
        self.visited.add(name)
        stream = self.stream_of(name)
        section = outputs.ruleset(body, stream)
        section |= self.of_ruleset(found, stream)
        if stream is None:
            self.data |= section
        else:
            self.streams[stream] = section
            self.comments["streams", stream] = origins[0] if found is None else found.origin

    def hand_over(self, outputs: Outputs) -> None:
        """Hand events to rulesets that nothing leads to, as files do that others include."""
        for name, ruleset in self.parts.rulesets.items():
            if name not in self.visited | self.rest.rulesets:
                what = f"nothing leads to ruleset {ruleset.text('name')}"
                self.gaps.miss(ruleset.origin, f"{what}: the profile hands it every event")
                self.data |= outputs.ruleset((Call(name, ruleset.origin),), None)

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
            if one.key not in {"name", "parser"} and one not in ruleset.queue:
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
            data["stream"] = self.stream_of(ruleset)
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
            if isinstance(one, Directive):
                what = f"the directive ${one.name}"
            elif tables.get(one.name) is one or self.limit(one):
                continue
            else:
                names = ", ".join(parameter.name for parameter in one.parameters)
                what = f"global(): {names}" if one.kind == "global" else f"{one.kind}()"
            self.rest.keep_object(one, Gap(one.origin, what))

    def limit(self, one: ScriptObject) -> bool:
        """Whether an object is a rate limit that a profile can say, which it then does."""
        name, gaps = one.name, Gaps()
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

    def snippets(self, outputs: Sequence[Statement]) -> Mapping[str, str]:
        """The snippets, named in the profile, which has these actions as outputs."""
        profile = as_profile({key: value for key, value in self.data.items() if key != "snippets"})
        loaded = {"impstats"} if "impstats" in self.data else set[str]()
        loaded |= set() if profile is None else {one.name for one in script(profile).modules}
        late = self.rest.late_modules(loaded)
        own: dict[str, object] = {"modules": late} if late else {}
        texts: dict[str, str] = {}
        for place, stream, text in self.rest.files(loaded, self.queue_files(), outputs):
            section = own if stream is None else self.streams[stream]
            is_taken = stream in {"start", "outputs", "end"}
            file = f"{self.name}-{stream or place}{'-stream' if is_taken else ''}.conf"
            section[place] = [file]
            texts[file] = text
        self.data |= {"snippets": own} if own else {}
        return texts


# What an output logs in with.
_SECRETS = frozenset({"auth", "apikey", "token", "httpheadervalue"})


def _in_clear(output: Mapping[str, Any]) -> bool:
    """Whether an output sends what it logs in with over a network in the clear."""
    headers = output.get("httpheaders", ())
    has_secret = output.keys() & _SECRETS or any(isinstance(one, dict) for one in headers)
    servers = output.get("servers") or output.get("server")
    return bool(has_secret) and any(str(one).startswith("http:") for one in servers or ())


def _has_files(queue: object) -> bool:
    """Whether a queue names its files, and no folder."""
    return isinstance(queue, dict) and "filename" in queue and "spoolDirectory" not in queue
