"""Actions as the outputs of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, get_args

from pydantic import BaseModel

from tuner.importer.document import STANDARD_JSON, line_of_template
from tuner.importer.flow import Walk
from tuner.importer.index_name import file_name_of
from tuner.importer.over_http import (
    Surrounding,
    engine_output,
    http_output,
    no_template,
    template_fields,
    without_unknown,
)
from tuner.importer.reached import (
    KEPT,
    OUTPUT,
    PARSED,
    PARSING,
    Reached,
    kind_of,
    name_of_statement,
    uses,
    uses_json,
    why_bound,
)
from tuner.importer.rest import Rest, refuses_create
from tuner.importer.steps import is_said_by_the_step, is_step, step_of
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.output import BuiltinTemplate, Lines
from tuner.modules.registry import OUTPUTS, name_of
from tuner.profile.source import at
from tuner.rainerscript.conditions import filter_of
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import certificates, is_text, known, misfit, queue_of
from tuner.rainerscript.script import QUEUE, Block, Parameter, ScriptObject, Statement, Word
from tuner.rainerscript.secrets import FoundSecret, secrets_in, secrets_of
from tuner.rainerscript.template import Template
from tuner.schema.scalars import as_name

_MODELS = {name_of(one): one for one in OUTPUTS}
_BUILTIN = {name.lower(): name for name in get_args(BuiltinTemplate)}


@dataclass
class Outputs(Surrounding):
    """The outputs so far, with the actions that they come from; `visited` are the rulesets that
    events go through."""

    rest: Rest = field(kw_only=True)
    visited: set[str] = field(default_factory=set)
    repairs: bool = False
    stream: str | None = None
    ids: dict[str | None, list[Reached]] = field(default_factory=dict)
    made: list[tuple[dict[str, object], Reached]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  # the last number behind each

    def ruleset(self, body: Block, stream: str | None) -> dict[str, object]:
        """How the events of a ruleset are parsed.  What a profile says of it becomes outputs, the
        rest is kept; all of it is, where the order of statements must not change."""
        walk = Walk(self.parts.rulesets, Gaps())
        walk.block(body, ())
        self.visited |= walk.visited
        self._begin(stream, walk)
        if body and not any(_place(one.statement, None) == OUTPUT for one in walk.reached):
            self.rest.keep_block(stream, body, Gap(body[0].origin, "events end here unsent"))
            return {}
        before, section = len(self.made), dict[str, Any]()
        taken = [self._take(one, section) for one in walk.reached]
        whys = _with_repairs(walk.reached, taken)
        places = [_place(one.statement, why) for one, why in zip(walk.reached, whys, strict=True)]
        pairs = zip(walk.reached, whys, strict=True)
        kept = [(one, why) for one, why in pairs if why is not None]
        if self.whole_message is not None:
            parse = {"format": "json", "cookie": ""}
            if section.setdefault("parse", parse) != parse:
                walk.bind(self.whole_message, "messages are parsed in two ways")
        bound = walk.bound
        if bound is None:
            bound = why_bound(walk.reached, places, self.parts.templates)
        if bound is None:
            deep = (why for one, why in kept if len(one.guards) > _MOST_AROUND)
            bound = next((Gap(why.origin, f"{why.message}; {_DEEP}") for why in deep), None)
        if bound is None:
            for one, why in kept:
                self._keep(stream, one, why)
            self.rest.gaps.take(self.gaps)
            return section
        del self.made[before:]
        self.names = {str(data["name"]): 1 for data, _ in self.made}
        whole = replace(bound, message=f"{bound.message}: its whole ruleset is kept")
        self.rest.keep_block(stream, body, whole)
        return {}

    def _begin(self, stream: str | None, walk: Walk) -> None:
        self.stream, self.identities, self.gaps = stream, walk.identities, walk.gaps
        self.repairs, self.whole_message = False, None
        self.ids[stream] = walk.take_out_ids(self.parts.templates)
        self.json_user = uses_json(walk.reached, self.parts.templates)

    def _keep(self, stream: str | None, one: Reached, why: Gap) -> None:
        """Keep a statement, and before it what sets the id that it reads."""
        ids = self.ids.get(stream, [])
        for each in [each for each in ids if uses(one, each, self.parts.templates)]:
            ids.remove(each)
            name = name_of_statement(each.statement)
            self.rest.keep(
                stream, each, Gap(each.statement.origin, f"{name}: what is kept uses it")
            )
        self.rest.keep(stream, one, why)

    def keep_refused(self, refused: Mapping[int, str]) -> None:
        """Keep as snippets, by their numbers, outputs that a profile would be refused for."""
        kept = [(*self.made[number], why) for number, why in sorted(refused.items())]
        self.made = [one for number, one in enumerate(self.made) if number not in refused]
        for data, one, why in kept:
            stream = data.get("stream")
            origin = one.statement.origin
            gap = Gap(origin, f"output {data['name']}: {why}")
            self._keep(None if stream is None else str(stream), one, gap)

    def _take(self, one: Reached, section: dict[str, Any]) -> Gap | None:
        """Translate one statement; why it is kept where a profile cannot say it."""
        action, kind = one.statement, kind_of(one.statement)
        if isinstance(action, Word):
            return None
        name = name_of_statement(action)
        if not isinstance(action, ScriptObject) and not is_step(action):
            return Gap(action.origin, name)
        if kind == "mmutf8fix" and not one.guards:
            self.repairs = True
            return None
        noted, self.gaps, self.unknown = self.gaps, Gaps(), []
        whole_message = self.whole_message
        try:
            self._translate(one, kind, section)
        except Inexpressible as bad:
            self.gaps, self.whole_message = noted, whole_message
            origin = bad.gap.origin
            place = "" if origin == action.origin else f" ({origin.file}:{origin.line})"
            return Gap(action.origin, f"{name}: {bad}{place}")
        noted.take(self.gaps)
        self.gaps = noted
        return None

    def _translate(self, one: Reached, kind: str, section: dict[str, Any]) -> None:
        """Add what parses, a step or an output.  Raises Inexpressible."""
        action = one.statement
        for found in self._secrets(one):
            raise Inexpressible(action.origin, f"it may hold a secret: {found}")
        if isinstance(action, ScriptObject) and kind in PARSING:
            parse = _parse_step(kind, action, bool(one.guards), self.gaps)
            if section.setdefault("parse", parse) is not parse:
                raise Inexpressible(action.origin, "a second step that parses")
            if "steps" in section:
                section["steps"].append({"type": "parse"})
            return
        step = step_of(one, self.parts, self.gaps) if is_step(action) else {}
        data = dict[str, object]()
        if isinstance(action, ScriptObject) and not step:
            data = self._filtered(kind, action, one)
        # What rsyslogd refuses itself is no use as it is: the rest of it is.
        for first in () if self.rest.lacks((action,)) else self.gaps.missing[:1]:
            raise Inexpressible(first.origin, first.message)
        self.gaps.missing += self.unknown
        if step:
            section.setdefault("steps", []).append(step)
        else:
            self.made.append((data, one))
            self.names[str(data["name"])] = 1

    def _secrets(self, one: Reached) -> Iterator[FoundSecret]:
        """Those that a profile would hold, of a statement, its conditions and its templates."""
        own = one.statement
        if isinstance(own, ScriptObject) and kind_of(own) in _OVER_HTTP:
            # Of its address a profile has no more than the host.
            own = own.without({"server"})
        yield from secrets_in(own)
        yield from chain.from_iterable(secrets_of(guard.condition) for guard in one.guards)
        parameters = one.statement.parameters if isinstance(one.statement, ScriptObject) else ()
        named = (self.parts.template_objects.get((each.text or "").lower()) for each in parameters)
        yield from chain.from_iterable(secrets_in(each) for each in named if each is not None)

    def _filtered(self, kind: str, action: ScriptObject, reached: Reached) -> dict[str, object]:
        """The whole output.  Raises Inexpressible."""
        stem = PurePosixPath(action.text("file") or "").stem
        name = self._name(action.text("name") or stem or _SHORT.get(kind, kind), kind)
        if refuses_create(action, self.rest.release):
            what = "rsyslogd refuses writeOperation create without a bulkid, and the action with it"
            raise Inexpressible(action.origin, what)
        if kind == "omelasticsearch":
            action, self.unknown = without_unknown(action, name)
        data = self._output(kind, action, name)
        taken = filter_of(reached.guards)
        if taken is not None:
            data["filter"] = taken
        queue = self._queue(action, name)
        if queue:
            data["queue"] = queue
        if self.stream is not None:
            data["stream"] = self.stream
        if not is_text(data):
            raise Inexpressible(action.origin, "it has NUL, or bytes that are no UTF-8")
        wrong = misfit(_MODELS[kind], data)
        if wrong is not None:
            raise Inexpressible(action.origin, _not_taken(wrong, data))
        return data

    def _queue(self, action: ScriptObject, name: str) -> dict[str, object]:
        """The queue of an action; a Direct one, which is the default, ignores everything else."""
        queue = queue_of(action, name, self.gaps)
        if queue.get("type", "Direct") == "Direct" and queue.keys() - {"type"}:
            ignored = ", ".join(sorted(queue.keys() - {"type"}))
            what = f"output {name}: rsyslog ignores {ignored} on a Direct queue: left out"
            self.gaps.change(action.origin, what)
            return {"type": "Direct"} if "type" in queue else {}
        return queue

    def _output(self, kind: str, action: ScriptObject, name: str) -> dict[str, object]:
        data: dict[str, object] = {"name": name, "type": kind}
        own = [one for one in action.parameters if one.key not in {"name", "type"}]
        own = [one for one in own if not one.key.startswith(QUEUE)]
        # A module's parameters hold where the action does not set them.
        set_here = {"load", *(one.key for one in own)}
        own += (one for one in self.parts.modules.get(kind, ()) if one.key not in set_here)
        whole = replace(action, parameters=tuple(own))
        if kind == "omelasticsearch":
            made = engine_output(whole, name, self)
            return data | made | ({} if self.repairs else {"mmutf8fix": False})
        if kind not in _MODELS:
            raise Inexpressible(action.origin, "a profile has no such output")
        return data | self._lines(kind, whole, name)

    def _lines(self, kind: str, action: ScriptObject, name: str) -> dict[str, object]:
        """What writes one line for each event."""
        # rsyslog's defaults where a profile's are others are written, so that nothing changes.
        data: dict[str, object] = {"protocol": "udp"} if kind == "omfwd" else {}
        model = _MODELS[kind]
        if issubclass(model, Lines) and model.rsyslogs_format is not None:
            data["template"] = model.rsyslogs_format
        for one in action.parameters:
            if one.key == "template":
                data |= self._format(kind, one)
                if data.keys() & {"document", "line"}:
                    data.pop("template", None)
            elif one.key == "dynafile":
                data["dynaFile"] = file_name_of(self._template(one), self.gaps)
        plain = action.without({"template", "dynafile"})
        if kind == "omhttp":
            if action.get("template") is None:
                data["document"] = [dict(one) for one in STANDARD_JSON]
            data |= http_output(plain, name, self.gaps)
        else:
            data |= known(model, plain.parameters, f"output {name}", self.gaps)
        if kind == "omfwd" and "targetSrv" not in data:
            data.setdefault("port", 514)
        data |= certificates(model, data, self.parts.globals, self.gaps)
        if self.repairs is not ("document" in data):
            data["mmutf8fix"] = self.repairs
        data.setdefault("action.resumeRetryCount", 0)
        return data

    def _format(self, kind: str, one: Parameter) -> dict[str, object]:
        text = (one.text or "").lower()
        if text in _BUILTIN:
            return {"template": _BUILTIN[text]}
        template = self._template(one)
        try:
            fields = template_fields(template, self)
        except Inexpressible:
            if kind != "omfile":
                raise
            return line_of_template(template, self.gaps)
        model = _MODELS[kind]
        if issubclass(model, Lines) and model.ends_lines and not template.ends_line:
            what = f"template {template.name} ends no line: the profile writes one document a line"
            self.gaps.change(template.origin, what)
        return {"document": fields}

    def _template(self, one: Parameter) -> Template:
        template = self.parts.template(one.text)
        if template is None:
            raise Inexpressible(one.origin, no_template(one))
        return template

    def _name(self, wanted: str, kind: str) -> str:
        """A name of a profile like the one wanted, that no other output has."""
        word = as_name(wanted)
        word = word if word[:1].isalpha() else f"{_SHORT.get(kind, 'out')}-{word}".strip("-")
        name = first = word[:90]
        while name in self.names:
            self.names[first] += 1
            name = f"{first}-{self.names[first]}"
        return name


_SHORT = {
    "omelasticsearch": "logs", "omfile": "file", "omfwd": "forward", "omrelp": "relp",
    "omkafka": "kafka", "omhttp": "http",
}  # fmt: skip


def _with_repairs(reached: Sequence[Reached], whys: Sequence[Gap | None]) -> Sequence[Gap | None]:
    """Why statements are kept, where what repairs messages for a kept one is kept with it."""
    last = max((number for number, why in enumerate(whys) if why is not None), default=0)
    what = "action mmutf8fix: what is kept behind it needs it"
    return [
        Gap(one.statement.origin, what)
        if why is None and kind_of(one.statement) == "mmutf8fix" and number < last
        else why
        for number, (one, why) in enumerate(zip(reached, whys, strict=True))
    ]


_MOST_AROUND = 300
_DEEP = f"more than {_MOST_AROUND} conditions before it"
_OVER_HTTP = frozenset({"omelasticsearch", "omhttp"})


def _place(statement: Statement, why_kept: Gap | None) -> int:
    """Where the rendered ruleset carries a statement out."""
    if why_kept is not None:
        return KEPT
    is_output = isinstance(statement, ScriptObject) and not kind_of(statement).startswith("mm")
    return OUTPUT if is_output else PARSED


def _not_taken(wrong: str, data: Mapping[str, object]) -> str:
    """What a profile does not take of an output, with the value that the configuration has."""
    keys = [step for step in wrong.split(".") if step not in {"type", ""}]
    value = at(data, tuple(keys))
    if not keys:
        return "a profile says no such destination"
    if value is None or isinstance(value, dict | list):
        return f"a profile does not take such a {'.'.join(keys)}"
    return f"a profile does not take {value} as {'.'.join(keys)}"


_PARSES: dict[str, tuple[type[BaseModel], dict[str, object]]] = {
    "mmjsonparse": (JsonParse, {"format": "json", "cookie": "@cee:"}),
    "mmnormalize": (NormalizeParse, {"format": "normalize"}),
}


def _parse_step(kind: str, action: ScriptObject, is_guarded: bool, gaps: Gaps) -> dict[str, object]:
    """How mmjsonparse or mmnormalize takes the text of events apart.  Raises Inexpressible.

    What some events only pass is done for all: outputs have their filters.
    """
    model, data = _PARSES[kind]
    own = [one for one in action.parameters if not is_said_by_the_step(one)]
    noted = Gaps()
    data = data | known(model, own, kind, noted)
    for first in noted.missing[:1]:
        raise Inexpressible(first.origin, first.message)
    if kind == "mmnormalize" and "rulebase" not in data:
        raise Inexpressible(action.origin, "no path of a rulebase")
    if not data.get("useRawMsg"):
        data.pop("useRawMsg", None)
    if is_guarded:
        gaps.change(action.origin, f"{kind} parses every event, not only some")
    return data
