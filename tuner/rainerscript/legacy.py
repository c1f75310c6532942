"""The form before version 6 as the objects that stand for it today: directives, selectors, property
filters and actions.

`$` directives change what follows: some wait for the next action or input, some hold from there
on.  rsyslog's source knows which (the `cfsysline` handlers of each module), and the tables here say
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain

from tuner.rainerscript.old_template import template_object
from tuner.rainerscript.script import (
    ON,
    QUEUE,
    Block,
    Call,
    Directive,
    If,
    Include,
    LegacyAction,
    Parameter,
    PropertyFilter,
    ScriptObject,
    ScriptPosition,
    SelectorFilter,
    Statement,
    Word,
    loading,
    module_name,
    with_inner,
)
from tuner.rainerscript.selectors import condition_of

DEFAULT_RULESET = "RSYSLOG_DefaultRuleset"
_NOT_USED = f"{DEFAULT_RULESET}, not used"
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
    # Of sockets beside the system's (plugins/imuxsock/imuxsock.c).
    ("imuxsock", "inputunixlistensocket"): (
        "hostName", "flowControl", "annotate", "createPath", "useSysTimeStamp", "usePIDFromSystem",
    ),
    ("imfile", "inputfile"): (
        "tag", "severity", "facility", "readMode", "persistStateInterval", "maxLinesAtOnce",
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
    "inputunixlistensocketignoremsgtimestamp": ("imuxsock", "ignoreTimestamp"),
    "imuxsockratelimitinterval": ("imuxsock", "rateLimit.interval"),
    "imuxsockratelimitburst": ("imuxsock", "rateLimit.burst"),
    "imuxsockratelimitseverity": ("imuxsock", "rateLimit.severity"),
    "inputfilename": ("imfile", "file"),
    "inputfilebindruleset": ("imfile", "ruleset"),
    "inputfilepollinterval": ("imfile", "pollingInterval"),
}
# What makes an input, with the parameter that its text is, and what it uses up.
RUNS = {
    "inputtcpserverrun": ("imtcp", "port", ()),
    "inputptcpserverrun": ("imptcp", "port", ()),
    "inputrelpserverrun": ("imrelp", "port", ()),
    "udpserverrun": ("imudp", "port", ()),
    "addunixlistensocket": ("imuxsock", "socket", ("hostName",)),
    "inputrunfilemonitor": ("imfile", "", ("file", "tag")),
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
    "inputfilestatefile": "",  # imfile names that file itself (imfile.c)
}  # fmt: skip
# Parameters of modules that are loaded by a line of their own.
_OF_MODULES = {
    "systemlogsocketname": ("imuxsock", "sysSock.name"),
    "systemlogsocketignoremsgtimestamp": ("imuxsock", "sysSock.ignoreTimestamp"),
    "systemlogsocketannotate": ("imuxsock", "sysSock.annotate"),
    "systemlogflowcontrol": ("imuxsock", "sysSock.flowControl"),
    "systemlogusepidfromsystem": ("imuxsock", "sysSock.usePIDFromSystem"),
    "systemlogusesystimestamp": ("imuxsock", "sysSock.useSysTimeStamp"),
    "systemlogparsetrusted": ("imuxsock", "sysSock.parseTrusted"),
    "systemlogratelimitinterval": ("imuxsock", "sysSock.rateLimit.interval"),
    "systemlogratelimitburst": ("imuxsock", "sysSock.rateLimit.burst"),
    "systemlogratelimitseverity": ("imuxsock", "sysSock.rateLimit.severity"),
    "imjournalstatefile": ("imjournal", "stateFile"),
    "imjournalratelimitinterval": ("imjournal", "ratelimit.interval"),
    "imjournalratelimitburst": ("imjournal", "ratelimit.burst"),
    "imjournalignorepreviousmessages": ("imjournal", "ignorePreviousMessages"),
    "klogpermitnonkernelfacility": ("imklog", "permitNonKernelFacility"),
    "klogparsekerneltimestamp": ("imklog", "parseKernelTimestamp"),
    "klogkeepkerneltimestamp": ("imklog", "keepKernelTimestamp"),
    "klogconsoleloglevel": ("imklog", "consoleLogLevel"),
    "klogpath": ("imklog", "logPath"),
}
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


def modern(block: Block) -> Block:
    """The same configuration without the old form; directives that have no object stay, and so
    does what rsyslog 8 itself refuses."""
    return _Modernised().whole(block)


_NOWHERE = ScriptPosition("", 1, 1)


@dataclass
class _Modernised:
    """What the directives so far have set."""

    once: dict[str, Parameter] = field(default_factory=dict)
    lasting: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    main: dict[str, Parameter] = field(default_factory=dict)
    rulesets: dict[str, list[Statement]] = field(default_factory=dict)
    given: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    current: str = DEFAULT_RULESET
    of_modules: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    default: Call | None = None
    first_main: ScriptPosition | None = None

    def whole(self, block: Block) -> Block:
        """Everything, with the queues and rulesets that directives described along the way."""
        done = tuple(map(self.with_directives, self.block(block)))
        for name, body in self.rulesets.items():
            given = self.given.get(name, {})
            origin = next((one.origin for one in (*body, *given.values())), _NOWHERE)
            named = Parameter.of("name", name, origin)
            made = ScriptObject("ruleset", (named, *given.values()), origin, body=tuple(body))
            done = _with_ruleset(done, made)
        if self.default is not None:
            done = self.with_default(done, self.default)
        is_object = any(isinstance(one, ScriptObject) and one.kind == "main_queue" for one in done)
        if self.first_main is not None and not is_object:
            defaults = {f"queue.{key}": value for key, value in OLD_MAIN_QUEUE.items()}
            parameters = _completed(self.main, defaults, self.first_main)
            done += (ScriptObject("main_queue", parameters, self.first_main),)
        return done

    def with_directives(self, one: Statement) -> Statement:
        """A module with what directives say of it; its own line has no parameters then."""
        if not isinstance(one, ScriptObject) or one.kind != "module":
            return one
        given = self.of_modules.get(module_name(one), {})
        return replace(one, parameters=(*one.parameters, *given.values()))

    def with_default(self, block: Block, default: Call) -> Block:
        """With another default ruleset: events of inputs that name none go there, and the rules
        outside of rulesets are those of one that no event comes to."""
        rules, others = list[Statement](), list[Statement]()
        for one in block:
            is_outside = _is_rule(one) and not isinstance(one, Directive)
            (rules if is_outside else others).append(one)
        named = Parameter.of("name", _NOT_USED, default.origin)
        unused = ScriptObject("ruleset", (named,), default.origin, body=tuple(rules))
        return (*others, *((unused,) if rules else ()), default)

    def block(self, block: Block) -> Block:
        """One block; at the outermost level what belongs to a `$RuleSet` goes there."""
        kept: list[Statement] = []
        for statement in block:
            for made in self.statement(statement):
                inside = self.current != DEFAULT_RULESET and _is_rule(made)
                (self.rulesets[self.current] if inside else kept).append(made)
        return tuple(kept)

    def inner(self, block: Block) -> Block:
        """A block inside of a statement, which stays whole."""
        return tuple(chain.from_iterable(map(self.statement, block)))

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """What stands for a statement today: nothing for most directives."""
        match statement:
            case Directive():
                yield from self.directive(statement)
            case LegacyAction():
                yield self.action(statement)
            case ScriptObject(kind="action"):
                yield self.with_template(statement)
            case ScriptObject(kind="ruleset") if self.is_ruleset(statement.name):
                return  # rsyslogd refuses a second one of that name
            case SelectorFilter() | PropertyFilter():
                body = self.inner(statement.body)
                yield If(condition_of(statement), body, (), statement.origin)
            case Include():
                for one in chain(*statement.files):
                    yield from self.statement(one)
            case _:
                yield with_inner(statement, self.inner)

    def directive(self, one: Directive) -> Iterator[Statement]:
        """Note what a directive sets; an object where it makes one."""
        key, text = one.key, _word(one.text)
        if key.startswith("actionqueue"):
            _set(self.once, _queue_name(key[11:]), text, one)
        elif key.startswith("mainmsgqueue"):
            self.first_main = self.first_main or one.origin
            _set(self.main, _queue_name(key[12:]), text, one)
        elif key == "actionname":
            _set(self.once, "name", text, one)
        elif key in LASTING:
            kind, name = LASTING[key]
            _set(self.lasting.setdefault(kind, {}), name, text, one)
        elif key in RUNS:
            yield self.input(one, text)
        elif key in GLOBALS:
            name = GLOBALS[key]
            if name:
                yield ScriptObject("global", (Parameter.of(name, text, one.origin),), one.origin)
        elif not self.is_of_module(one, text):
            yield from self.other(one, text)

    def is_of_module(self, one: Directive, text: str) -> bool:
        """Whether a directive is about a module that was loaded before, which is noted."""
        kind, name = _OF_MODULES.get(one.key, ("", ""))
        if one.key == "omitlocallogging":
            kind, name, text = "imuxsock", "sysSock.use", "off" if text.lower() in ON else "on"
        if kind:
            _set(self.of_modules.setdefault(kind, {}), name, text, one)
        else:
            return False
        return True

    def other(self, one: Directive, text: str) -> Iterator[Statement]:
        """Modules, templates and rulesets."""
        match one.key:
            case "modload":
                yield loading(text.rpartition("/")[2].removesuffix(".so"), one.origin)
            case "template":
                yield template_object(one)
            case "ruleset":
                own = (DEFAULT_RULESET, *self.rulesets)
                self.current = next((one for one in own if one.lower() == text.lower()), text)
                if self.current != DEFAULT_RULESET:
                    self.rulesets.setdefault(self.current, [])
            case "defaultruleset":
                is_own = text == DEFAULT_RULESET
                self.default = None if is_own else Call(text, one.origin)
            case "rulesetparser":
                _set(self.given.setdefault(self.current, {}), "parser", text, one)
            case "rulesetcreatemainqueue":
                if text.lower() in ON:
                    self.given.setdefault(self.current, {}).update(self.main)
            case "repeatedmsgreduction" if text.lower() == "off":
                return
            case _:
                yield one

    def is_ruleset(self, name: str) -> bool:
        """Whether a directive has begun a ruleset of that name."""
        return name.lower() in map(str.lower, self.rulesets)

    def input(self, one: Directive, text: str) -> ScriptObject:
        """The input that a directive starts, with all that waited for it."""
        kind, name, used = RUNS[one.key]
        parameters = {"type": Parameter.of("type", kind, one.origin)}
        if name:
            parameters[name] = Parameter.of(name, text, one.origin)
        waiting = self.lasting.get(kind, {})
        parameters |= waiting
        for key in used:
            waiting.pop(key, None)
        return ScriptObject("input", tuple(parameters.values()), one.origin)

    def with_template(self, one: ScriptObject) -> ScriptObject:
        """An action of the new form with the template that a directive before it names: of all that
        directives say only this holds for it (getDfltTpl() of omfile.c and omfwd.c)."""
        named = self.lasting.get(one.type.removeprefix("builtin:"), {}).get("template")
        if named is None or one.get("template") is not None:
            return one
        return replace(one, parameters=(*one.parameters, named))

    def action(self, one: LegacyAction) -> Statement:
        """The action of an old line, with all that waited for it."""
        made = action_of(one)
        if not isinstance(made, ScriptObject):
            return made
        kind = made.text("type") or ""
        lasting = self.lasting.get("", {}) | self.lasting.get(kind, {})
        waiting, self.once = self.once, {}
        queue_type = waiting.get("queue.type")
        if queue_type is not None and (queue_type.text or "").lower() != "direct":
            defaults = {f"queue.{key}": value for key, value in OLD_ACTION_QUEUE.items()}
            waiting = {key.key: key for key in _completed(waiting, defaults, one.origin)}
        own = {parameter.name: parameter for parameter in made.parameters}
        return replace(made, parameters=tuple((lasting | waiting | own).values()))


def _with_ruleset(block: Block, made: ScriptObject) -> Block:
    """With a ruleset of directives, or with its rules in the object of that name before them."""
    for at, one in enumerate(block):
        if isinstance(one, ScriptObject) and (one.kind, one.key) == ("ruleset", made.key):
            has_queue, keys = bool(one.queue), {each.key for each in one.parameters}
            more = (
                each
                for each in made.parameters
                if each.key not in keys and not (has_queue and each.key.startswith(QUEUE))
            )
            body = (*(one.body or ()), *(made.body or ()))
            joined = replace(one, parameters=(*one.parameters, *more), body=body)
            return (*block[:at], joined, *block[at + 1 :])
    return (*block, made)


def _is_rule(one: Statement) -> bool:
    return not isinstance(one, ScriptObject) or one.kind == "action"


def _set(given: dict[str, Parameter], name: str, text: str, one: Directive) -> None:
    given[name] = Parameter.of(name, text, one.origin)


def _completed(
    given: dict[str, Parameter], defaults: dict[str, str], origin: ScriptPosition
) -> tuple[Parameter, ...]:
    written = {one.key for one in given.values()}
    missing = (key for key in defaults if key.lower() not in written)
    return (*given.values(), *(Parameter.of(key, defaults[key], origin) for key in missing))


def _queue_name(suffix: str) -> str:
    return f"queue.{'timeoutworkerthreadshutdown' if suffix == SHUTDOWN else suffix}"


def _word(text: str) -> str:
    """The first word, which may stand in quotes."""
    if text.startswith('"') and '"' in text[1:]:
        return text[1 : text.index('"', 1)]
    return text.split()[0] if text.split() else ""
