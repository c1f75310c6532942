"""An action of the form before version 6 as the object that stands for it today."""

from __future__ import annotations

from tuner.importer.script import LegacyAction, Parameter, Quoted, ScriptPosition, Thing, Word

_PORT = "514"
# What the first character of an action means: the module, and its parameter for the rest.
_BY_SIGN = {
    "/": ("omfile", "file"), "?": ("omfile", "dynaFile"), "|": ("ompipe", "pipe"),
    "^": ("omshell", "program"), ">": ("ommysql", "legacy"),
}  # fmt: skip


def action_of(one: LegacyAction) -> Thing | Word:
    """`/file`, `@host`, `:module:text` and the like as `action(...)`; `~` as `stop`."""
    text = one.text
    if text == "~":
        return Word("stop", one.origin)
    target, _, template = text.partition(";")
    parameters = _parameters(target.strip())
    # `:omusrmsg:*` and user names need none.
    if template.strip() and parameters["type"] != "omusrmsg":
        parameters["template"] = template.split()[0]
    return Thing("action", tuple(_parameter(*pair, one.origin) for pair in parameters.items()),
                 one.origin)  # fmt: skip


def _parameters(target: str) -> dict[str, str]:
    first = target.split()[0] if target.split() else ""
    if first[:1] == "@":
        return _forwarding(first)
    if first[:1] == ":":
        return _named(first)
    if first[:1] == "-":
        # The minus asked syslogd not to synchronise, which rsyslog does not do anyway.
        return _parameters(target[1:].strip())
    kind, key = _BY_SIGN.get(first[:1], ("omusrmsg", "users"))
    if first[:1] == "/":
        return {"type": kind, key: first}
    return {"type": kind, key: target[1:].strip() if first[:1] in _BY_SIGN else target}


def _named(text: str) -> dict[str, str]:
    """`:omrelp:host:port` and other actions that name their module."""
    _, module, rest = [*text.split(":", 2), "", ""][:3]
    if module == "omrelp":
        host, port = _host_and_port(rest, "514")
        return {"type": module, "target": host, "port": port}
    if module == "omfile":
        return {"type": module, "file": rest}
    return {"type": module, "users" if module == "omusrmsg" else "legacy": rest}


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
    host, port = _host_and_port(text, _PORT)
    return made | {"target": host, "port": port}


def _host_and_port(text: str, default: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":") or default
    host, _, port = text.partition(":")
    return host, port or default


def _parameter(name: str, text: str, origin: ScriptPosition) -> Parameter:
    return Parameter(name, Quoted(text, origin), origin)
