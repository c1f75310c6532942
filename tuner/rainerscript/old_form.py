"""The words of the form before version 6: directives, selectors, property filters and actions."""

from __future__ import annotations

from tuner.modules.priorities import FACILITIES, SEVERITIES
from tuner.rainerscript.gaps import Inexpressible
from tuner.rainerscript.script import (
    Expression,
    FunctionCall,
    LegacyAction,
    Operation,
    Parameter,
    PropertyFilter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    SelectorFilter,
    Variable,
    Word,
)
from tuner.rainerscript.template import extended

DEFAULT_RULESET = "RSYSLOG_DefaultRuleset"
SHUTDOWN = "workertimeoutthreadshutdown"
"""The only queue parameter that is called otherwise today."""

# Parameters with directives of their names, by the module and what stands before the name.
_SAME_NAME = {
    ("omfile", ""): (
        "fileOwner", "fileGroup", "fileCreateMode", "dirCreateMode", "dirOwner", "dirGroup",
        "createDirs", "failOnChOwnFailure", "dynaFileCacheSize",
    ),
    ("omfile", "omfile"): (
        "zipLevel", "ioBufferSize", "flushOnTXEnd", "asyncWriting", "flushInterval",
    ),
    ("omfwd", "actionsend"): (
        "streamDriverMode", "streamDriverAuthMode", "resendLastMSGOnReconnect",
    ),
    ("imtcp", "inputtcpserver"): (
        "addtlFrameDelimiter", "supportOctetCountedFraming", "disableLFDelimiter", "keepAlive",
        "preserveCase",
    ),
    ("imtcp", "inputtcp"): ("flowControl", "maxSessions", "maxListeners"),
    ("imudp", "udpserver"): ("address", "timeRequery"),
    ("imptcp", "inputptcpserver"): ("keepAlive", "supportOctetCountedFraming"),
    ("imfile", "inputfile"): (
        "tag", "stateFile", "severity", "facility", "readMode", "persistStateInterval",
        "maxLinesAtOnce",
    ),
}  # fmt: skip
# What holds for every later action of a type, or of any type, and for later inputs.
LASTING = {
    f"{prefix}{name.lower()}": (kind, name)
    for (kind, prefix), names in _SAME_NAME.items()
    for name in names
} | {
    "actionresumeretrycount": ("", "action.resumeRetryCount"),
    "actionresumeinterval": ("", "action.resumeInterval"),
    "actionexeconlywhenpreviousissuspended": ("", "action.execOnlyWhenPreviousIsSuspended"),
    "actionfileenablesync": ("omfile", "sync"),
    "actionfiledefaulttemplate": ("omfile", "template"),
    "actionforwarddefaulttemplate": ("omfwd", "template"),
    "actionsendstreamdriverpermittedpeer": ("omfwd", "streamDriverPermittedPeers"),
    "actionsendtcprebindinterval": ("omfwd", "rebindInterval"),
    "actionsendudprebindinterval": ("omfwd", "rebindInterval"),
    "inputtcpserverbindruleset": ("imtcp", "ruleset"),
    "inputtcpserverinputname": ("imtcp", "name"),
    "inputtcpserverstreamdrivermode": ("imtcp", "streamDriver.mode"),
    "inputtcpserverstreamdriverauthmode": ("imtcp", "streamDriver.authMode"),
    "inputtcpserverstreamdriverpermittedpeer": ("imtcp", "permittedPeer"),
    "inputudpserverbindruleset": ("imudp", "ruleset"),
    "inputptcpserverbindruleset": ("imptcp", "ruleset"),
    "inputptcpserverlistenip": ("imptcp", "address"),
    "inputptcphelperthreads": ("imptcp", "threads"),
    "inputrelpserverbindruleset": ("imrelp", "ruleset"),
    "inputfilename": ("imfile", "file"),
    "inputfilebindruleset": ("imfile", "ruleset"),
    "inputfilepollinterval": ("imfile", "pollingInterval"),
}
# What makes an input, with the parameter that its text is, and what it uses up.
RUNS = {
    "inputtcpserverrun": ("imtcp", "port", ()),
    "inputptcpserverrun": ("imptcp", "port", ()),
    "inputrelpserverrun": ("imrelp", "port", ()),
    "udpserverrun": ("imudp", "port", ("address",)),
    "inputrunfilemonitor": ("imfile", "", ("file", "tag", "stateFile")),
}
GLOBALS = {
    name.lower(): name
    for name in (
        "workDirectory", "maxMessageSize", "preserveFQDN", "localHostname", "umask",
        "defaultNetstreamDriver", "defaultNetstreamDriverCAFile", "defaultNetstreamDriverCertFile",
        "defaultNetstreamDriverKeyFile", "abortOnUncleanConfig",
    )
} | {
    "privdroptouser": "privdrop.user.name",
    "privdroptogroup": "privdrop.group.name",
    "escapecontrolcharactersonreceive": "parser.escapeControlCharactersOnReceive",
    "controlcharacterescapeprefix": "parser.controlCharacterEscapePrefix",
    "droptrailinglfonreception": "parser.dropTrailingLFOnReception",
    "spacelfonreceive": "parser.spaceLFOnReceive",
    "optimizeforuniprocessor": "",
}  # fmt: skip
# Those of rsyslogd as a whole without an object: no module need be loaded for them.
CORE = frozenset(
    {
        "repeatedmsgreduction", "allowedsender", "maxopenfiles", "errormessagestostderr",
        "debugfile", "debuglevel",
    }
)  # fmt: skip
# The queues of the old form have defaults of their own (reference: rsyslog action.c, rsconf.c).
OLD_ACTION_QUEUE = {
    "dequeueBatchSize": "16", "timeoutEnqueue": "50", "timeoutShutdown": "0",
}  # fmt: skip
OLD_MAIN_QUEUE = {
    "size": "100000", "dequeueBatchSize": "256", "workerThreads": "2",
    "workerThreadMinimumMessages": "40000",
}  # fmt: skip


Priorities = frozenset[tuple[int, int]]
"""Pairs of a facility's and a severity's code."""

EVERY: Priorities = frozenset(
    (facility, severity)
    for facility in range(len(FACILITIES))
    for severity in range(len(SEVERITIES))
)
OLD_SEVERITIES = {"error": "err", "warn": "warning", "panic": "emerg"}


def selected(text: str, origin: ScriptPosition) -> Priorities:
    """The priorities that a selector takes; each part changes what those before it say
    (DecodePRIFilter in rsyslog's parse.c)."""
    taken: set[tuple[int, int]] = set()
    for part in text.split(";"):
        if not part.strip():
            continue
        names, dot, level = part.strip().partition(".")
        if not dot:
            raise Inexpressible(origin, f"rsyslogd reads no severity in {part}")
        severities = _severities(level.lower(), origin)
        for facility in _facilities(names.lower(), origin):
            pairs = {(facility, severity) for severity in severities}
            if level.startswith("!"):
                taken -= pairs
            elif level.lower() == "none":
                taken -= {(facility, severity) for severity in range(len(SEVERITIES))}
            else:
                taken |= pairs
    return frozenset(taken)


def _facilities(names: str, origin: ScriptPosition) -> list[int]:
    codes: list[int] = []
    for name in names.split(","):
        word = "auth" if name.strip() == "security" else name.strip()
        if word == "*":
            codes.extend(range(len(FACILITIES)))
        elif word in FACILITIES:
            codes.append(FACILITIES.index(word))
        elif word != "mark":
            raise Inexpressible(origin, f"rsyslogd knows no facility {name}")
    return codes


def _severities(level: str, origin: ScriptPosition) -> range:
    """`info` and everything more urgent, `=info` alone."""
    word = level.removeprefix("!")
    exact = word.startswith("=")
    word = OLD_SEVERITIES.get(word.removeprefix("="), word.removeprefix("="))
    if word in {"*", "none"}:
        return range(len(SEVERITIES))
    if word not in SEVERITIES:
        raise Inexpressible(origin, f"rsyslogd knows no severity {word}")
    code = SEVERITIES.index(word)
    return range(code, code + 1) if exact else range(code + 1)


def condition_of(one: SelectorFilter | PropertyFilter) -> Expression:
    """The condition that stands for it."""
    if isinstance(one, SelectorFilter):
        return FunctionCall("prifilt", (Quoted(one.text, one.origin),), one.origin)
    name, operation, text = (part.strip() for part in one.text.removeprefix(":").split(",", 2))
    negate, operation = operation.startswith("!"), operation.removeprefix("!").strip().lower()
    variable = Variable(f"${name.removeprefix('$')}", one.origin)
    # Only quotes and backslashes are escaped here (runtime/stringbuf.c, parsQuotedCStr).
    wanted = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    value = Quoted(extended(wanted) if operation == "regex" else wanted, one.origin)
    condition: Expression
    if operation == "isempty":
        condition = Operation("==", (variable, Quoted("", one.origin)), one.origin)
    elif operation in {"regex", "ereregex"}:
        condition = FunctionCall("re_match", (variable, value), one.origin)
    else:
        operator = "==" if operation == "isequal" else operation
        condition = Operation(operator, (variable, value), one.origin)
    return Operation("not", (condition,), one.origin) if negate else condition


_PORT = "514"
# What the first character of an action means: the module, and its parameter for the rest.
_BY_SIGN = {
    "/": ("omfile", "file"), "?": ("omfile", "dynaFile"), "|": ("ompipe", "pipe"),
    "^": ("omshell", "program"), ">": ("ommysql", "legacy"),
}  # fmt: skip


def action_of(one: LegacyAction) -> ScriptObject | Word:
    """`/file`, `@host`, `:module:text` and the like as `action(...)`; `~` as `stop`."""
    text = one.text
    if text == "~":
        return Word("stop", one.origin)
    target, _, template = text.partition(";")
    parameters = _parameters(target.strip())
    # `:omusrmsg:*` and user names need none.
    if template.strip() and parameters["type"] != "omusrmsg":
        parameters["template"] = template.split()[0]
    made = tuple(Parameter.of(*pair, one.origin) for pair in parameters.items())
    return ScriptObject("action", made, one.origin)


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
        host, port = _host_and_port(rest)
        return {"type": module, "target": host, "port": port}
    if module == "omfile":
        return {"type": module, "file": rest}
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
