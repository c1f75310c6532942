"""Actions that speak HTTP, omelasticsearch and omhttp, as outputs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote

from pydantic import TypeAdapter

from tuner.importer.document import (
    STANDARD_JSON,
    fields_of_template,
    merges_message,
    whole_json,
)
from tuner.importer.index_name import index_of
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omhttp import Header, OmhttpOutput
from tuner.modules.queue import Queue
from tuner.modules.secrets import HttpTls, Tls
from tuner.rainerscript.conditions import path_of
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import keys_of_model, known
from tuner.rainerscript.script import (
    OFF,
    QUEUE,
    Array,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    every,
)
from tuner.rainerscript.secrets import secret_header
from tuner.rainerscript.servers import servers_of
from tuner.rainerscript.template import Template, TemplateProperty

_TLS = {
    "tls.cacert": "cacert", "tls.mycert": "mycert", "tls.myprivkey": "myprivkey",
    "allowunsignedcerts": "allowunsignedcerts", "skipverifyhost": "skipverifyhost",
    "tls.tlsversion": "tlsversion", "tls.ciphersuites": "ciphersuites",
    "tls.keyexchangegroups": "keyexchangegroups",
}  # fmt: skip
# What is worked out of several parameters, or follows from others.
_CONNECTION = {"server", "serverport", "usehttps", "uid", "pwd", "apikey", "template", *_TLS}
_DERIVED = _CONNECTION | {
    "searchindex", "dynsearchindex", "bulkid", "dynbulkid", "retryfailures", "retryruleset",
    "bulkmode", "searchtype", "dynsearchtype", "esversion.major", "asyncrepl",
    "ratelimit.interval", "ratelimit.burst", "ratelimit.name",
}  # fmt: skip
_OF_HTTP = (_CONNECTION - {"apikey"}) | {
    "token", "httpheaders", "httpheadervalue", "httpretrycodes", "httpignorablecodes",
    "dynrestpath",
}  # fmt: skip
# Without these an output would get other events, or its files could be read by others.
_INDISPENSABLE = ("action.execonly", "queue.cry.")
_HEADER: TypeAdapter[str] = TypeAdapter(Header)


@dataclass
class Surrounding:
    """What else the configuration says; `identities` are variables that hold an id of the event's
    own, `unknown` is what an output goes without, `json_user` uses JSON that no message brings."""

    parts: Parts
    work_directory: str
    gaps: Gaps = field(default_factory=Gaps)
    identities: Collection[str] = ()
    whole_message: ScriptPosition | None = None
    json_user: Statement | None = None
    unknown: list[Gap] = field(default_factory=list)
    characters_left: int = 500_000


def engine_output(action: ScriptObject, name: str, around: Surrounding) -> dict[str, object]:
    """The keys of the output, without its name, filter and queue.  Raises Inexpressible."""
    gaps = around.gaps
    if not action.is_on("bulkmode"):
        action = _without_ids(action, gaps)
    servers, data = _connection(action, name, Tls, "9200", action.is_on("usehttps"), gaps)
    data = {"servers": servers, **data, "document": _document(action, around)}
    plain = [one for one in action.parameters if one.key not in _DERIVED]
    data |= known(OmelasticsearchOutput, plain, f"output {name}", gaps)
    data["index"] = index_of(action, around.parts, gaps, around.unknown) | {"mapping": "dynamic"}
    data |= _ids(action, around)
    _say_what_is_added(action, data, gaps)
    if action.is_on("retryfailures"):
        data["retryfailures"] = {"file": _rejected_file(action, name, around)}
        if isinstance(data.pop("bulkid", None), dict):
            gaps.miss(action.origin, "documents with an id from the event beside retryfailures")
        data.pop("writeoperation", None)
    data.setdefault("action.resumeRetryCount", 0)
    _say_what_changes(action, gaps)
    return data


def http_output(action: ScriptObject, name: str, gaps: Gaps) -> dict[str, object]:
    """The keys of the output, without its name, format, filter and queue.  Raises Inexpressible."""
    for one in action.parameters:
        if one.key == "retry.ruleset" or (one.key == "dynrestpath" and one.is_on):
            raise Inexpressible(one.origin, f"the parameter {one.name}")
    https = action.get("usehttps") is None or action.is_on("usehttps")
    servers, data = _connection(action, name, HttpTls, "443", https, gaps)
    data = {"server": servers, **data}
    for key in ("token", "httpheadervalue", "httpheaders", "httpretrycodes", "httpignorablecodes"):
        given = action.get(key)
        if given is None:
            continue
        if key == "httpheaders":
            data[key] = _headers(given, name, gaps)
        else:
            codes = key.endswith("codes")
            data[key] = _codes(given) if codes else _secret(given, f"{name}.{key}", gaps)
    plain = [one for one in action.parameters if one.key not in _OF_HTTP]
    return data | known(OmhttpOutput, plain, f"output {name}", gaps)


def _connection(
    action: ScriptObject, name: str, tls: type[HttpTls], port: str, https: bool, gaps: Gaps
) -> tuple[list[str], dict[str, object]]:
    """The servers; who logs in, and the section tls.  Raises Inexpressible."""
    servers, logins = _servers(action, gaps, port, https)
    if not servers:
        raise Inexpressible(action.origin, "no server that can be read")
    data = _credentials(action, name, logins, gaps)
    given = [replace(one, name=_TLS[one.key]) for one in action.parameters if one.key in _TLS]
    section = known(tls, given, f"output {name}", gaps)
    return servers, data | ({"tls": section} if section else {})


def without_unknown(action: ScriptObject, name: str) -> tuple[ScriptObject, list[Gap]]:
    """An action without the parameters that no key says, and these: only in the profile is it what
    measurements and lint are about.  What it must not be without stays in it."""
    keys = {"name", "type", *_DERIVED, *keys_of_model(OmelasticsearchOutput)}
    keys |= {f"{QUEUE}{key}" for key in keys_of_model(Queue)}
    unknown = [
        one
        for one in action.parameters
        if one.key not in keys and not one.key.startswith(_INDISPENSABLE)
    ]
    left = tuple(one for one in action.parameters if one not in unknown)
    what = f"output {name}: a profile has no key for the parameter"
    gaps = [Gap(one.origin, f"{what} {one.name}: it is left out") for one in unknown]
    return replace(action, parameters=left), gaps


def _credentials(
    action: ScriptObject, name: str, logins: Sequence[SplitResult], gaps: Gaps
) -> dict[str, object]:
    """Who logs in; `logins` are addresses that say so."""
    data: dict[str, object] = {}
    uid, pwd, key = action.text("uid"), action.get("pwd"), action.get("apikey")
    users = {unquote(one.username or "") for one in logins} | ({uid} if uid else set())
    if len(users) > 1 or len({one.password for one in logins}) > 1 or (logins and pwd):
        gaps.miss(action.origin, "more than one login")
    elif users:
        file = f"/etc/rsyslog.d/{name}.pwd"
        kept = {"file": file}
        if pwd is not None:
            kept = _secret(pwd, f"{name}.pwd", gaps)
        elif logins and logins[0].password:
            gaps.change_secret(action.origin, file)
        else:
            what = "a user without a password logs in with an empty one: make the empty file"
            gaps.change(action.origin, f"{what} {file}")
        data["auth"] = {"uid": users.pop(), "pwd": kept}
    elif pwd is not None:
        gaps.miss(pwd.origin, "a password without a user")
    if key is not None:
        data["apikey"] = _secret(key, f"{name}.key", gaps)
    return data


def _secret(given: Parameter, file: str, gaps: Gaps) -> dict[str, str]:
    """Where a secret is kept: where rsyslogd reads it from today, or a file to be made.  The secret
    itself goes nowhere."""
    value = given.value
    if not isinstance(value, Array) and value.backtick:
        command, _, rest = value.text.partition(" ")
        if command == "cat":
            return {"file": rest.strip()}
        if command == "echo" and rest.startswith("$"):
            return {"env": rest[1:].strip()}
    else:
        gaps.change_secret(given.origin, f"/etc/rsyslog.d/{file}")
    return {"file": f"/etc/rsyslog.d/{file}"}


def _codes(given: Parameter) -> list[int]:
    """Statuses of HTTP.  Raises Inexpressible."""
    codes = [int(text) for text in given.texts if re.fullmatch("[0-9]{1,9}", text)]
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
            if secret_header("omhttp", given, text):
                raise ValueError("it holds a secret")
            made.append(_HEADER.validate_python(text))
        except ValueError:
            file = f"/etc/rsyslog.d/{name}-{number}.header"
            gaps.change_secret(given.origin, file)
            made.append({"file": file})
    return made


def _document(action: ScriptObject, around: Surrounding) -> list[dict[str, object]]:
    given = action.get("template")
    template = None if given is None else around.parts.template(given.text)
    if template is None:
        if given is not None:
            if given.text is None or around.parts.is_template(given.text):
                raise Inexpressible(given.origin, no_template(given))
            what = f"{no_template(given)}: the profile writes what rsyslog does without one"
            around.unknown.append(Gap(given.origin, what))
        return [dict(one) for one in STANDARD_JSON]
    pieces = [one for one in template.pieces if not isinstance(one, str) or one.strip()]
    only = pieces[0] if len(pieces) == 1 else None
    if isinstance(only, TemplateProperty) and (only.lowered, dict(only.options)) == ("msg", {}):
        _parse_messages(template, around)
        return [whole_json(template)]
    return template_fields(template, around)


def template_fields(template: Template, around: Surrounding) -> list[dict[str, object]]:
    """The fields that a template writes, where it may write a message as JSON."""
    pieces = template.pieces
    around.characters_left -= sum(len(one) if isinstance(one, str) else 1 for one in pieces)
    if around.characters_left < 0:
        what = f"more than {Surrounding.characters_left:,} characters of templates"
        raise Inexpressible(template.origin, what)
    fields = fields_of_template(template, around.parts.statements, around.gaps)
    if "json" in template.options and _has_control_characters(around.parts):
        around.gaps.change(
            template.origin,
            f"template {template.name} does not escape control characters (option.json), and one "
            "in an event breaks the document: the profile escapes them",
        )
    if merges_message(template):
        _parse_messages(template, around)
    return fields


def _has_control_characters(parts: Parts) -> bool:
    """Whether events may have control characters: what is read from files is not parsed, and what
    is parsed has them escaped unless that is switched off."""
    return any(one.type == "imfile" for one in parts.inputs) or any(
        one.key == "parser.escapecontrolcharactersonreceive" and (one.text or "").lower() in OFF
        for one in parts.globals
    )


def _parse_messages(template: Template, around: Surrounding) -> None:
    """Have messages read as JSON, so that what a template passes on is JSON whatever they are.
    Raises Inexpressible where other statements use JSON of their own."""
    if around.json_user is not None:
        origin = around.json_user.origin
        what = f"what {origin.file}:{origin.line} uses would be in messages sent as they are"
        raise Inexpressible(template.origin, what)
    around.whole_message = template.origin
    cuts = any(
        isinstance(one, TemplateProperty)
        and one.lowered == "msg"
        and "regex.expression" in one.options
        for one in template.pieces
    )
    sends = "what messages hold from their first { on" if cuts else "messages as they are"
    around.gaps.change(
        template.origin,
        f"template {template.name} sends {sends}: the profile sends those that are a JSON object, "
        "and others, such as with @cee: before it, as the text of a field msg; for messages that "
        "all begin with @cee: write parse: {format: json}",
    )


def no_template(given: Parameter) -> str:
    """Why a template that an action names is not known."""
    if given.text is None:
        return "the template is known only when rsyslogd starts"
    is_own = given.text.lower().startswith("rsyslog_")
    return f"a profile has no template {given.text}" if is_own else f"no template {given.text}"


_IN_BULKS = frozenset({"bulkid", "dynbulkid", "writeoperation"})


def _without_ids(action: ScriptObject, gaps: Gaps) -> ScriptObject:
    """An action that sends no bulks without what rsyslogd writes into bulks alone."""
    for one in action.parameters:
        if one.key in _IN_BULKS - {"dynbulkid"}:
            gaps.change(one.origin, f"rsyslog ignores {one.name} without bulkmode: left out")
    return action.without(_IN_BULKS)


def _ids(action: ScriptObject, around: Surrounding) -> dict[str, object]:
    """An id of its own for each document, where the configuration makes one."""
    given = action.get("bulkid")
    if given is None or not action.is_on("dynbulkid"):
        if given is not None:
            around.gaps.miss(given.origin, "one bulkid for all documents")
        return {}
    template = around.parts.template(given.text)
    if (given.text or "").strip() == "$.omes!_id" or template is None:
        around.gaps.miss(given.origin, f"the id of documents: no template {given.text}")
        return {}
    only = template.pieces[0] if len(template.pieces) == 1 else None
    identities = {"uuid", "$uuid", *around.identities}
    if isinstance(only, TemplateProperty) and only.lowered in identities:
        return {"bulkid": "uuid"}
    if not isinstance(only, TemplateProperty) or only.options or only.name.startswith("$."):
        what = f"the id of documents: template {template.name} is not one property as it is"
        around.gaps.miss(given.origin, what)
        return {}
    around.gaps.change(
        given.origin, "an id that is not 1 to 512 visible ASCII characters becomes a new one"
    )
    source, path = path_of(only.name)
    return {"bulkid": {"property": only.lowered} if source is None else {source: path}}


def _rejected_file(action: ScriptObject, name: str, around: Surrounding) -> str:
    """Where the ruleset of what the engine refuses writes what it gives up."""
    ruleset = around.parts.rulesets.get((action.text("retryruleset") or "").lower())
    for statement in every((ruleset,) if ruleset is not None else ()):
        if isinstance(statement, ScriptObject) and statement.kind == "action":
            file = statement.text("file")
            if statement.type == "omfile" and file:
                return file
    file = f"{around.work_directory}/{name}-rejected.json"
    around.gaps.change(
        action.origin, f"what the engine refuses for good was lost: the profile writes it to {file}"
    )
    return file


def _say_what_is_added(action: ScriptObject, data: Mapping[str, object], gaps: Gaps) -> None:
    """Note the ids and the ruleset of retries that the rendered configuration has, and the action
    has not."""
    retries = action.is_on("retryfailures")
    creates = data.get("writeoperation") == "create"
    added = []
    if "bulkid" not in data and (retries or creates):
        added.append("gives each document a new id")
    if retries and not creates:
        added.append("only creates documents")
    if retries:
        ruleset = action.text("retryruleset")
        kept = "" if ruleset is None else f" instead of {ruleset}"
        added.append(f"sends again what the engine may take later by a ruleset of its own{kept}")
    if added:
        what = "retryFailures" if retries else "writeOperation create"
        gaps.change(action.origin, f"{what}: the profile {', and '.join(added)}")


def _say_what_changes(action: ScriptObject, gaps: Gaps) -> None:
    bulk = action.get("bulkmode")
    if bulk is None or not bulk.is_on:
        place = action.origin if bulk is None else bulk.origin
        gaps.change(place, "without bulkmode each event is a request: the profile sends bulks")
    kind = action.get("searchtype")
    if kind is not None and (kind.text or "") not in {"", "_doc"}:
        gaps.change(kind.origin, "searchType is left out: engines know no types since release 8")
    old = action.get("asyncrepl")
    if old is not None:
        gaps.change(old.origin, "asyncrepl is left out: rsyslog ignores it")
    limit = action.get("ratelimit.interval") or action.get("ratelimit.name")
    if limit is not None and limit.text != "0":
        gaps.change(limit.origin, "ratelimit of retries is left out: it drops events")


def _servers(
    action: ScriptObject, gaps: Gaps, port: str, https: bool
) -> tuple[list[str], list[SplitResult]]:
    """The addresses, each with its port, and those with a login in them, whose password goes
    nowhere."""
    found = list(servers_of(action, https, port))
    if not found:
        raise Inexpressible(action.origin, "the server is known only when rsyslogd starts")
    if None in found:
        gaps.miss(action.origin, "a server whose address cannot be read")
    read = [one for one in found if one is not None]
    if any(one.path.strip("/") for one in read):
        gaps.miss(action.origin, "a path in the address of a server")
    servers = [f"{one.scheme}://{one.netloc.rpartition('@')[2]}" for one in read]
    return servers, [one for one in read if one.username]
