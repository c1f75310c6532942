"""An action of the form before version 6 as the object that stands for it today."""

from __future__ import annotations

import re

from tuner.script.script import LegacyAction, Parameter, ScriptObject, Word

CHANNEL = "outchannel"
"""What no action of the new form has: the `$outchannel` that says its file."""
_PORT = "514"
# What the first character of an action means: the module, and its parameter for the rest.
_BY_SIGN = {
    "/": ("omfile", "file"), ".": ("omfile", "file"), "?": ("omfile", "dynaFile"),
    "|": ("ompipe", "pipe"), "^": ("omshell", "program"), ">": ("ommysql", "legacy"),
}  # fmt: skip
# Where it goes, and a template; what stands behind is a comment (cflineParseFileName() and
# cflineParseTemplateName() of conf.c).
_PARTS = re.compile(r"(-?\s*+[^\s;]*+)\s*+(?:;\s*+([^\s#]*+))?")


def action_of(one: LegacyAction) -> ScriptObject | Word:
    """`/file`, `@host`, `:module:text` and the like as `action(...)`; `~` as `stop`."""
    text = one.text
    if text[:1] == "~":
        return Word("stop", one.origin)
    parts = _PARTS.match(text)
    target, template = parts.groups() if parts is not None else (text, None)
    # A password may have blanks (getSubString() of ommysql.c).
    parameters = _parameters(text.partition(";")[0].strip() if text[:1] == ">" else target)
    # `:omusrmsg:*` and user names need none.
    if template and parameters["type"] != "omusrmsg":
        parameters["template"] = template
    made = tuple(Parameter.of(*pair, one.origin) for pair in parameters.items())
    return ScriptObject("action", made, one.origin)


def _parameters(target: str) -> dict[str, str]:
    first = target.split()[0] if target.split() else ""
    if first[:1] == "@":
        return _forwarding(first)
    if first[:1] == ":":
        return _named(first)
    if first[:1] == "-":
        # The minus says not to synchronise, which rsyslog does only where a directive asks it to.
        return _parameters(target[1:].strip())
    kind, key = _BY_SIGN.get(first[:1], ("omusrmsg", "users"))
    if first[:1] in {"/", "."}:
        return {"type": kind, key: first}
    return {"type": kind, key: target[1:].strip() if first[:1] in _BY_SIGN else target}


def _named(text: str) -> dict[str, str]:
    """`:omrelp:host:port` and other actions that name their module."""
    _, module, rest = [*text.split(":", 2), "", ""][:3]
    if module == "omrelp":
        host, port = _host_and_port(rest)
        return {"type": module, "target": host, "port": port}
    if module == "omfile" and rest.removeprefix("-")[:1] == "$":
        return {"type": module, CHANNEL: rest.partition("$")[2]}
    if module == "omfile":
        return _parameters(rest)
    made = {"type": module}
    return made | ({"users" if module == "omusrmsg" else "legacy": rest} if rest else {})


def _forwarding(text: str) -> dict[str, str]:
    """`@host`, `@@host:port`, `@@(o,z9)[::1]:port`."""
    protocol = "tcp" if text.startswith("@@") else "udp"
    text = text.lstrip("@")
    made = {"type": "omfwd", "protocol": protocol}
    if text.startswith("("):
        options, _, text = text[1:].partition(")")
        for option in options.split(","):
            if option[:1] == "z":
                made |= {"compression.mode": "single", "zipLevel": option[1:] or "9"}
            elif option == "o":
                made["tcp_framing"] = "octet-counted"
    host, port = _host_and_port(text)
    return made | {"target": host, "port": port}


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":") or _PORT
    host, _, port = text.partition(":")
    return host, port or _PORT


def channel_of(text: str) -> dict[str, str]:
    """What `$outchannel NAME,FILE,SIZE,COMMAND` says of a file (outchannel.c)."""
    file, size, command = [*(one.strip() for one in text.split(",", 2)), "", ""][:3]
    given = {"file": file, "rotation.sizeLimit": size, "rotation.sizeLimitCommand": command}
    return {name: value for name, value in given.items() if value and value != "0"}
