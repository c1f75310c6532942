"""An omhttp action as an output, its format left aside."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from tuner.importer.gaps import Gaps, Inexpressible
from tuner.importer.into_engine import credentials_of, servers_of, tls_of
from tuner.importer.parameters import is_literal, known, secret_of
from tuner.importer.script import Parameter, Thing
from tuner.modules.omhttp import Header, OmhttpOutput
from tuner.modules.secrets import HttpTls

_PORT = "443"
_HANDLED = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "token", "httpheaders",
        "httpheadervalue", "httpretrycodes", "httpignorablecodes", "template", "tls.cacert",
        "tls.mycert", "tls.myprivkey", "allowunsignedcerts", "skipverifyhost",
    }
)  # fmt: skip
_HEADER: TypeAdapter[str] = TypeAdapter(Header)


def http_output(action: Thing, name: str, gaps: Gaps) -> dict[str, object]:
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
