"""Actions as the outputs of a profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from tuner.importer.conditions import filter_of
from tuner.importer.fields import STANDARD_JSON, texts_of_template
from tuner.importer.flow import Reached, Walk, name_of_statement
from tuner.importer.index_name import file_name_of
from tuner.importer.into_engine import (
    credentials_of,
    engine_output,
    no_template,
    servers_of,
    template_fields,
    tls_of,
    without_unknown,
)
from tuner.importer.rest import Rest, why_of
from tuner.importer.steps import (
    KEPT,
    OUTPUT,
    PARSED,
    is_said_by_the_step,
    is_step,
    step_of,
    why_bound,
)
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omhttp import Header, OmhttpOutput
from tuner.modules.output import BuiltinTemplate, Lines
from tuner.modules.registry import OUTPUTS, name_of
from tuner.modules.secrets import HttpTls
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import (
    QUEUE,
    certificates,
    is_literal,
    known,
    queue_of,
    secret_of,
)
from tuner.rainerscript.script import Block, Parameter, ScriptObject, ScriptPosition, Statement
from tuner.rainerscript.template import Template
from tuner.schema.scalars import as_name

_PORT = "443"
_HANDLED = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "token", "httpheaders",
        "httpheadervalue", "httpretrycodes", "httpignorablecodes", "template", "tls.cacert",
        "tls.mycert", "tls.myprivkey", "allowunsignedcerts", "skipverifyhost",
    }
)  # fmt: skip
_HEADER: TypeAdapter[str] = TypeAdapter(Header)


def http_output(action: ScriptObject, name: str, gaps: Gaps) -> dict[str, object]:
    """The keys of the output, without its name, format, filter and queue.  Raises Inexpressible."""
    for one in action.parameters:
        if one.key == "retry.ruleset" or (one.key == "dynrestpath" and one.is_on):
            raise Inexpressible(one.origin, f"the parameter {one.name}")
    https = action.get("usehttps") is None or action.is_on("usehttps")
    servers, user = servers_of(action, gaps, _PORT, "https" if https else "http")
    if not servers:
        raise Inexpressible(action.origin, "no server that can be read")
    data: dict[str, object] = {"server": servers}
    data |= credentials_of(action, name, user, gaps)
    tls = tls_of(HttpTls, action, name, gaps)
    if tls:
        data["tls"] = tls
    for key in ("token", "httpheadervalue"):
        given = action.get(key)
        if given is not None:
            data[key] = _secret(given, f"{name}.{key}", gaps)
    headers = action.get("httpheaders")
    if headers is not None:
        data["httpheaders"] = _headers(headers, name, gaps)
    for key in ("httpretrycodes", "httpignorablecodes"):
        given = action.get(key)
        if given is not None:
            data[key] = _codes(given)
    plain = [one for one in action.parameters if one.key not in {*_HANDLED, "dynrestpath"}]
    return data | known(OmhttpOutput, plain, f"output {name}", gaps)


def _secret(given: Parameter, file: str, gaps: Gaps) -> dict[str, str]:
    kept = secret_of(given, file)
    if is_literal(given):
        gaps.change_secret(given.origin, f"/etc/rsyslog.d/{file}")
    return kept


def _codes(given: Parameter) -> list[int]:
    """Statuses of HTTP.  Raises Inexpressible."""
    codes = [int(text) for text in given.texts if text.isascii() and text.isdigit()]
    if len(codes) < len(given.texts) or not codes:
        raise Inexpressible(given.origin, f"a value of {given.name} that is no status")
    return codes


def _headers(given: Parameter, name: str, gaps: Gaps) -> list[object]:
    """The headers, one with a secret as the file to put it into.  Raises Inexpressible."""
    if not given.texts:
        raise Inexpressible(given.origin, f"{given.name} is read when rsyslogd starts")
    made: list[object] = []
    for number, text in enumerate(given.texts, 1):
        try:
            made.append(_HEADER.validate_python(text))
        except ValidationError:
            file = f"/etc/rsyslog.d/{name}-{number}.header"
            gaps.change_secret(given.origin, file)
            made.append({"file": file})
    return made


# rsyslog's defaults where a profile's are others: they are written, so that nothing changes.
_OWN_DEFAULTS: dict[str, dict[str, object]] = {
    "omfwd": {"protocol": "udp", "template": "RSYSLOG_TraditionalForwardFormat"},
    "omrelp": {"template": "RSYSLOG_ForwardFormat"},
}
_MODELS = {name_of(one): one for one in OUTPUTS if issubclass(one, Lines)}
_BUILTIN = {name.lower(): name for name in get_args(BuiltinTemplate)}


@dataclass
class Outputs:
    """The outputs so far, with the actions that they come from."""

    parts: Parts
    rest: Rest
    work_directory: str
    gaps: Gaps = field(default_factory=Gaps)
    identities: Collection[str] = ()
    repairs: bool = False
    stream: str | None = None
    whole_message: ScriptPosition | None = None
    unknown: list[Gap] = field(default_factory=list)
    made: list[tuple[dict[str, object], Reached]] = field(default_factory=list)

    def ruleset(self, body: Block, walk: Walk, stream: str | None) -> dict[str, object]:
        """How the events of a ruleset are parsed.  What a profile says of it becomes outputs, the
        rest is kept; all of it is, where the order of statements must not change."""
        self._begin(stream, walk)
        before, section = len(self.made), dict[str, Any]()
        places, kept = [], list[tuple[Reached, Gap]]()
        for one in walk.reached:
            why = self._take(one, section)
            places.append(_place(one.statement, why))
            if why is not None:
                kept.append((one, why))
        if self.whole_message is not None:
            parse = {"format": "json", "cookie": ""}
            if section.setdefault("parse", parse) != parse:
                walk.bind(self.whole_message, "messages are parsed in two ways")
        bound = walk.bound
        if bound is None:
            moved = why_bound(walk.reached, places, self.parts.templates)
            bound = None if moved is None else Gap(moved.origin, _BOUND)
        if bound is None:
            for one, why in kept:
                self.rest.keep(stream, one, why)
            self.rest.gaps.take(self.gaps)
            return section
        del self.made[before:]
        self.rest.keep_block(stream, body, bound)
        return {}

    def keep_refused(self, refused: Mapping[int, str]) -> None:
        """Keep as snippets, by their numbers, outputs that a profile would be refused for."""
        for number, why in sorted(refused.items(), reverse=True):
            data, one = self.made.pop(number)
            stream = data.get("stream")
            origin = one.statement.origin
            gap = Gap(origin, f"output {data['name']}: {why}")
            self.rest.keep(None if stream is None else str(stream), one, gap)

    def _begin(self, stream: str | None, walk: Walk) -> None:
        self.stream, self.identities, self.gaps = stream, walk.identities, walk.gaps
        self.repairs, self.whole_message = False, None

    def _take(self, one: Reached, section: dict[str, Any]) -> Gap | None:
        """Translate one statement; why it is kept where a profile cannot say it."""
        action = one.statement
        name, kind = name_of_statement(action), ""
        if isinstance(action, ScriptObject):
            kind = (action.text("type") or "").lower()
        elif not is_step(action):
            return Gap(action.origin, name)
        if kind == "mmutf8fix" and not one.guards:
            self.repairs = True
            return None
        noted, self.gaps, self.unknown = self.gaps, Gaps(), []
        try:
            self._translate(one, kind, section)
        except Inexpressible as bad:
            self.gaps = noted
            return why_of(bad, one, name)
        noted.take(self.gaps)
        self.gaps = noted
        return None

    def _translate(self, one: Reached, kind: str, section: dict[str, Any]) -> None:
        """Add what parses, a step or an output.  Raises Inexpressible."""
        action = one.statement
        if kind in {"mmjsonparse", "mmnormalize"} and isinstance(action, ScriptObject):
            parse = _parse_step(kind, action, bool(one.guards), self.gaps)
            if section.setdefault("parse", parse) is not parse:
                raise Inexpressible(action.origin, "a second step that parses")
            if "steps" in section:
                section["steps"].append({"type": "parse"})
            return
        step = step_of(one, self.parts, self.gaps) if is_step(action) else {}
        data = (
            {}
            if step or not isinstance(action, ScriptObject)
            else self._filtered(kind, action, one)
        )
        # What rsyslogd refuses itself is no use as it is: the rest of it is.
        for first in () if self.rest.lacks((action,)) else self.gaps.missing[:1]:
            raise Inexpressible(first.origin, first.message)
        self.gaps.missing += self.unknown
        if step:
            section.setdefault("steps", []).append(step)
        else:
            self.made.append((data, one))

    def _filtered(self, kind: str, action: ScriptObject, reached: Reached) -> dict[str, object]:
        """The whole output.  Raises Inexpressible."""
        stem = PurePosixPath(action.text("file") or "").stem
        name = self._name(action.text("name") or stem or _SHORT.get(kind, kind), kind)
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
        wrong = _first_wrong(data)
        if wrong is not None:
            raise Inexpressible(action.origin, f"{wrong} is not what a profile takes")
        return data

    def _queue(self, action: ScriptObject, name: str) -> dict[str, object]:
        """The queue of an action; a Direct one, which is the default, ignores everything else."""
        queue = queue_of(action.parameters, name, self.gaps)
        if queue.get("type", "Direct") == "Direct" and queue.keys() - {"type"}:
            ignored = ", ".join(sorted(queue.keys() - {"type"}))
            what = f"output {name}: rsyslog ignores {ignored} on a Direct queue: left out"
            self.gaps.change(action.origin, what)
            return {"type": "Direct"} if "type" in queue else {}
        return queue

    def _output(self, kind: str, action: ScriptObject, name: str) -> dict[str, object]:
        data: dict[str, object] = {"name": name, "type": kind}
        rest = tuple(one for one in action.parameters if one.key not in {"name", "type"})
        rest = tuple(one for one in rest if not one.key.startswith(QUEUE))
        rest = _with_defaults(rest, self.parts.modules.get(kind, ()))
        if kind == "omelasticsearch":
            own = engine_output(ScriptObject("action", rest, action.origin), name, self)
            return data | own | ({} if self.repairs else {"mmutf8fix": False})
        if kind not in _MODELS:
            raise Inexpressible(action.origin, "a profile has no such output")
        return data | self._lines(kind, ScriptObject("action", rest, action.origin), name)

    def _lines(self, kind: str, action: ScriptObject, name: str) -> dict[str, object]:
        """What writes one line for each event."""
        data = dict(_OWN_DEFAULTS.get(kind, {}))
        plain = []
        for one in action.parameters:
            if one.key == "template":
                data |= self._format(kind, one)
                if data.keys() & {"document", "line"}:
                    data.pop("template", None)
            elif one.key == "dynafile":
                data["dynaFile"] = file_name_of(self._template(one), self.gaps)
            else:
                plain.append(one)
        if kind == "omhttp":
            if action.get("template") is None:
                data["document"] = [dict(one) for one in STANDARD_JSON]
            data |= http_output(
                ScriptObject("action", tuple(plain), action.origin), name, self.gaps
            )
        else:
            data |= known(_MODELS[kind], plain, f"output {name}", self.gaps)
        data |= certificates(_MODELS[kind], data, self.parts.globals, self.gaps)
        data.setdefault("action.resumeRetryCount", 0)
        return data

    def _format(self, kind: str, one: Parameter) -> dict[str, object]:
        text = (one.text or "").lower()
        if text in _BUILTIN:
            return {"template": _BUILTIN[text]}
        template = self._template(one)
        try:
            return {"document": template_fields(template, self)}
        except Inexpressible:
            if kind != "omfile":
                raise
            return {"line": texts_of_template(template, self.gaps)}

    def _template(self, one: Parameter) -> Template:
        template = self.parts.templates.get((one.text or "").lower())
        if template is None:
            raise Inexpressible(one.origin, no_template(one))
        return template

    def _name(self, wanted: str, kind: str) -> str:
        """A name of a profile like the one wanted, that no other output has."""
        word = as_name(wanted)
        word = word if word[:1].isalpha() else f"{_SHORT.get(kind, 'out')}-{word}".strip("-")
        taken = {str(data["name"]) for data, _ in self.made}
        names = (word[:90] if number == 1 else f"{word[:90]}-{number}" for number in range(1, 999))
        return next(name for name in names if name not in taken)


def _first_wrong(data: Mapping[str, object]) -> str | None:
    """The first key of an output that the models refuse, if any."""
    model = next(one for one in OUTPUTS if name_of(one) == data["type"])
    try:
        model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as bad:
        location = bad.errors(include_url=False)[0]["loc"]
        return ".".join(str(step) for step in location if step != "type") or "its destination"
    return None


_SHORT = {
    "omelasticsearch": "logs", "omfile": "file", "omfwd": "forward", "omrelp": "relp",
    "omkafka": "kafka", "omprog": "program", "omhttp": "http",
}  # fmt: skip


def _with_defaults(
    own: tuple[Parameter, ...], defaults: Iterable[Parameter]
) -> tuple[Parameter, ...]:
    """Parameters of an action, with those of its module that it does not set."""
    written = {one.key for one in own}
    return (*own, *(one for one in defaults if one.key not in {"load", *written}))


_BOUND = "statements around it change what it asks or writes: its whole ruleset is kept"


def _place(statement: Statement, why_kept: Gap | None) -> int:
    """Where the rendered ruleset carries a statement out."""
    if why_kept is not None:
        return KEPT
    is_output = isinstance(statement, ScriptObject) and not (
        statement.text("type") or ""
    ).startswith("mm")
    return OUTPUT if is_output else PARSED


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
