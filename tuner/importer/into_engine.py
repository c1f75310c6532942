"""An omelasticsearch action as an output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Protocol
from urllib.parse import urlsplit

from tuner.importer.conditions import path_of
from tuner.importer.document import is_rest
from tuner.importer.fields import STANDARD_JSON, fields_of_template, whole_json
from tuner.importer.index_name import index_of
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.queue import Queue
from tuner.modules.secrets import HttpTls, Tls
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import QUEUE, is_literal, keys_of_model, known, secret_of
from tuner.rainerscript.script import Parameter, ScriptObject, ScriptPosition, every
from tuner.rainerscript.template import Template, TemplateProperty

_TLS = {
    "tls.cacert": "cacert", "tls.mycert": "mycert", "tls.myprivkey": "myprivkey",
    "allowunsignedcerts": "allowunsignedcerts", "skipverifyhost": "skipverifyhost",
    "tls.tlsversion": "tlsversion", "tls.ciphersuites": "ciphersuites",
    "tls.keyexchangegroups": "keyexchangegroups",
}  # fmt: skip
# What is worked out of several parameters, or follows from others.
_DERIVED = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "apikey", "template", "searchindex",
        "dynsearchindex", "bulkid", "dynbulkid", "retryfailures", "retryruleset", "bulkmode",
        "searchtype", "dynsearchtype", "esversion.major", "asyncrepl", "ratelimit.interval",
        "ratelimit.burst", "ratelimit.name", *_TLS,
    }
)  # fmt: skip
# Without these an output would get other events, or its files could be read by others.
_INDISPENSABLE = ("action.execonly", "queue.cry.")


class Surrounding(Protocol):
    """What else the configuration says."""

    parts: Parts
    gaps: Gaps
    work_directory: str
    identities: Collection[str]
    whole_message: ScriptPosition | None
    unknown: list[Gap]


def engine_output(action: ScriptObject, name: str, around: Surrounding) -> dict[str, object]:
    """The keys of the output, without its name, filter and queue.  Raises Inexpressible."""
    gaps = around.gaps
    servers, user = servers_of(action, gaps, _PORT, "https" if action.is_on("usehttps") else "http")
    if not servers:
        raise Inexpressible(action.origin, "no server that can be read")
    data: dict[str, object] = {"servers": servers}
    data |= credentials_of(action, name, user, gaps)
    tls = tls_of(Tls, action, name, gaps)
    if tls:
        data["tls"] = tls
    data["document"] = _document(action, around)
    plain = [one for one in action.parameters if one.key not in _DERIVED]
    data |= known(OmelasticsearchOutput, plain, f"output {name}", gaps)
    data["index"] = index_of(action, around.parts, gaps, around.unknown) | {"mapping": "dynamic"}
    data |= _ids(action, around)
    if action.is_on("retryfailures"):
        data["retryfailures"] = {"file": _rejected_file(action, name, around)}
        if isinstance(data.pop("bulkid", None), dict):
            gaps.miss(action.origin, "documents with an id from the event beside retryfailures")
        data.pop("writeoperation", None)
    data.setdefault("action.resumeRetryCount", 0)
    _say_what_changes(action, gaps)
    return data


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


def credentials_of(
    action: ScriptObject, name: str, user: str | None, gaps: Gaps
) -> dict[str, object]:
    """Who logs in, with the secrets as files: `user` is named by the address of a server."""
    data: dict[str, object] = {}
    uid, pwd, key = action.text("uid") or user, action.get("pwd"), action.get("apikey")
    if uid and pwd is not None:
        data["auth"] = {"uid": uid, "pwd": secret_of(pwd, f"{name}.pwd")}
    elif uid:
        data["auth"] = {"uid": uid, "pwd": {"file": f"/etc/rsyslog.d/{name}.pwd"}}
    elif pwd is not None:
        gaps.miss(pwd.origin, "a password without a user")
    if key is not None:
        data["apikey"] = secret_of(key, f"{name}.key")
    for one, ending in ((pwd, "pwd"), (key, "key")):
        if one is not None and is_literal(one):
            gaps.change_secret(one.origin, f"/etc/rsyslog.d/{name}.{ending}")
    return data


def tls_of(model: type[HttpTls], action: ScriptObject, name: str, gaps: Gaps) -> dict[str, object]:
    """The keys of the section tls, which `model` has."""
    given = [one for one in action.parameters if one.key in _TLS]
    renamed = [type(one)(_TLS[one.key], one.value, one.origin) for one in given]
    return known(model, renamed, f"output {name}", gaps)


def _document(action: ScriptObject, around: Surrounding) -> list[dict[str, object]]:
    given = action.get("template")
    if given is None:
        return [dict(one) for one in STANDARD_JSON]
    template = around.parts.templates.get((given.text or "").strip().lower())
    if template is None:
        name = (given.text or "").strip().lower()
        if given.text is None or name in around.parts.template_objects:
            raise Inexpressible(given.origin, no_template(given))
        what = f"{no_template(given)}: the profile writes what rsyslog does without one"
        around.unknown.append(Gap(given.origin, what))
        return [dict(one) for one in STANDARD_JSON]
    pieces = [one for one in template.pieces if not isinstance(one, str) or one.strip()]
    only = pieces[0] if len(pieces) == 1 else None
    if isinstance(only, TemplateProperty) and (only.lowered, dict(only.options)) == ("msg", {}):
        parse_messages(template, around)
        return [whole_json(template)]
    return template_fields(template, around)


def template_fields(template: Template, around: Surrounding) -> list[dict[str, object]]:
    """The fields that a template writes, where it may write a message as JSON."""
    fields = fields_of_template(template, around.gaps)
    if any(is_rest(piece) and piece.lowered == "msg" for piece in template.pieces):
        parse_messages(template, around)
    return fields


def parse_messages(template: Template, around: Surrounding) -> None:
    """Have messages read as JSON, so that what a template passes on is JSON whatever they are."""
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


def _ids(action: ScriptObject, around: Surrounding) -> dict[str, object]:
    """An id of its own for each document, where the configuration makes one."""
    given = action.get("bulkid")
    if given is None or not action.is_on("dynbulkid"):
        if given is not None:
            around.gaps.miss(given.origin, "one bulkid for all documents")
        return {}
    template = around.parts.templates.get((given.text or "").strip().lower())
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
            if (statement.text("type") or "").lower() == "omfile" and file:
                return file
    file = f"{around.work_directory}/{name}-rejected.json"
    around.gaps.change(
        action.origin, f"what the engine refuses for good was lost: the profile writes it to {file}"
    )
    return file


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


_PORT = "9200"


def servers_of(
    action: ScriptObject, gaps: Gaps, default_port: str, scheme: str
) -> tuple[list[str], str | None]:
    """The addresses, each with its port, and the user that one of them names; a password in one
    goes nowhere (omelasticsearch.c and omhttp.c, computeBaseUrl)."""
    given = action.get("server")
    texts = ("localhost",) if given is None else given.texts
    if not texts:
        raise Inexpressible(action.origin, "the server is known only when rsyslogd starts")
    port = action.text("serverport") or default_port
    servers, user = [], None
    for text in texts:
        has_scheme = text.lower().startswith(("http://", "https://"))
        full = text if has_scheme else f"{scheme}://{text}"
        try:
            parts = urlsplit(full)
            own_port = parts.port
        except ValueError:
            gaps.miss(action.origin, "a server whose address cannot be read")
            continue
        user = parts.username or user
        if parts.path.strip("/"):
            gaps.miss(action.origin, f"the path {parts.path} in the address of a server")
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        servers.append(f"{parts.scheme}://{host}:{own_port or port}")
    return servers, user
