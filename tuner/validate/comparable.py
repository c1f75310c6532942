"""A configuration of rsyslogd in a lab: what it sends to engines goes into a sink, and what it
writes or forwards into files that say where it would have gone; pure."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from posixpath import normpath
from typing import Literal

from tuner.lab.confined import confined
from tuner.lab.copy import TOWARDS_ENGINE, without_host
from tuner.lab.numbered import constant
from tuner.lab.ports import free_port
from tuner.modules.input import LOOPBACK, TransportKind
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.output import Lines
from tuner.modules.registry import OUTPUTS, name_of
from tuner.rainerscript.legacy_action import CHANNEL, action_of, channel_of
from tuner.rainerscript.legacy_names import RUNS
from tuner.rainerscript.printing import printed
from tuner.rainerscript.script import (
    HERE,
    QUEUE,
    Block,
    BsdBlock,
    Directive,
    FunctionCall,
    LegacyAction,
    Parameter,
    Quoted,
    ScriptObject,
    SetVariable,
    Statement,
    Variable,
    Word,
    module_name,
    nothing,
    rewritten,
)

# Inputs that a lab can send to, and how.
LISTENERS: dict[str, Literal["tcp", "udp"]] = {"imtcp": "tcp", "imptcp": "tcp", "imudp": "udp"}
ENTERED: Mapping[str, TransportKind] = {**LISTENERS, "imfile": "file", "imuxsock": "unix"}
# What takes events of the host itself, or needs what a lab has not.
_LEFT_OUT = frozenset({"imklog", "imkmsg", "imjournal", "immark", "impstats"})
_OF_THE_HOST = (
    "privdrop", "fileowner", "filegroup", "dirowner", "dirgroup",
    "umask", "actionqueuefilename", "mainmsgqueuefilename", "includeconfig",
    "defaultnetstreamdriver",
)  # fmt: skip
_QUEUE_FILES = frozenset({"queue.filename", "queue.spooldirectory", "queue.maxdiskspace"})
_REPLACED = TOWARDS_ENGINE | _QUEUE_FILES | {"errorfile", "bulkmode", "searchtype", "dynsearchtype"}
_TLS_OF_INPUT = ("streamdriver", "permittedpeer", "gnutls", "tls")
_OF_INPUT = frozenset({"address", "port", "device", "listenportfilename", "namespace"})
# How soon a lab's lines are read, and how many a second: not what becomes of them.
_OF_FILES = frozenset({"mode", "pollinginterval", "maxlinesatonce", "freshstarttail"})
_LIMITS = ("ratelimit.", "syssock.ratelimit.", "systemlogratelimit", "imuxsockratelimit")
_WILDCARDS = re.compile(r"[*?\[\]]")
PATH, _LINE = "$.rsyslogtunepath", "$.rsyslogtuneline"
# What sends or writes events elsewhere, with the template that it has without one; omfile's is
# that of omfile here too.
_LINES: Mapping[str, str] = {
    name_of(one): one.rsyslogs_format or one.own_format
    for one in OUTPUTS
    if issubclass(one, Lines) and one is not OmhttpOutput
} | {"omfile": "", "omprog": "RSYSLOG_FileFormat", "ompipe": "RSYSLOG_TraditionalFileFormat"}


@dataclass(frozen=True)
class Entry:
    """Where events enter in a lab: the kind of an input, and its port, or the path of its file or
    socket."""

    kind: str
    port: int = 0
    path: str = ""


@dataclass
class ComparableScript:
    """A configuration with a sink, ports and a folder of the lab's; `entries` are where events
    enter."""

    sink_url: str
    folder: str
    entries: list[Entry] = field(default_factory=list)
    templates: list[ScriptObject] = field(default_factory=list)

    @property
    def files(self) -> str:
        """The folder of what it writes."""
        return f"{self.folder}/files"

    @property
    def read(self) -> str:
        """The folder of the files that it reads."""
        return f"{self.folder}/read"

    @property
    def sent(self) -> str:
        """The folder of what it would send, in files that say where to."""
        return f"{self.folder}/sent"

    def text(self, block: Block) -> str:
        """The configuration for the lab."""
        made = rewritten(block, self.statement)
        # rsyslogd does not run without any action.
        file = Parameter.of("type", "omfile", HERE), Parameter.of("file", f"{self.folder}/0", HERE)
        name = Parameter.of("name", "rsyslog-tune-nothing", HERE)
        body = (ScriptObject("action", file, HERE),)
        empty = ScriptObject("ruleset", (name,), HERE, body=body)
        work = ScriptObject("global", (Parameter.of("workDirectory", self.folder, HERE),), HERE)
        return printed(confined((work, *self.templates, *made, empty), self.folder, PATH).block)

    def statement(self, one: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        match one:
            case ScriptObject(kind="action"):
                yield from self.action(one)
            case ScriptObject():
                yield from self.object(one)
            case Directive():
                yield from self.directive(one)
            case LegacyAction():
                yield from self.old_action(one)
            case BsdBlock():
                return
            case _:
                yield one

    def object(self, one: ScriptObject) -> Iterator[Statement]:
        """An object in the lab that is no action."""
        match one.kind:
            case "module" if module_name(one) in _LEFT_OUT:
                return
            case "module" if module_name(one) == "omfile":
                template = (each for each in one.parameters if each.key in {"load", "template"})
                yield replace(one, parameters=tuple(template))
            case "module" if module_name(one) in LISTENERS:
                yield one.without_beginning(_TLS_OF_INPUT)
            case "module" if module_name(one) == "imfile":
                yield one.without(_OF_FILES)
            case "module" if module_name(one) == "imuxsock":
                yield self.system_socket(one)
            case "input":
                yield from self.input(one)
            case "global":
                yield from without_host(one)
            case "ruleset" | "main_queue":
                yield one.without(_QUEUE_FILES)
            case _:
                yield one

    def input(self, one: ScriptObject) -> Iterator[Statement]:
        """An input in the lab; none where the lab has no events for it."""
        kind = one.type
        if kind == "imfile":
            yield one.without(_OF_FILES).with_values({"File": self.file(one.text("File") or "")})
        elif kind == "imuxsock":
            path = self.socket()
            yield one.without_beginning(_LIMITS).with_values({"Socket": path})
        elif kind in LISTENERS:
            made = one.without_beginning(_TLS_OF_INPUT).without(_OF_INPUT)
            yield made.with_values({"address": LOOPBACK, "port": self.port_for(kind)})

    def port_for(self, kind: str) -> str:
        """A port of the lab's at which events enter."""
        port = free_port()
        self.entries.append(Entry(kind, port))
        return str(port)

    def file(self, path: str) -> str:
        """The lab's file in place of one that is read."""
        here = f"{self.read}{normpath('/' + _WILDCARDS.sub('x', path).lstrip('/'))}"
        entry = Entry("imfile", path=here)
        self.entries += [entry] if entry not in self.entries else []
        return here

    def socket(self) -> str:
        """A socket of the lab's in place of another."""
        here = f"{self.folder}/socket{len(self.entries)}"
        self.entries.append(Entry("imuxsock", path=here))
        return here

    def system_socket(self, one: ScriptObject) -> ScriptObject:
        """imuxsock with a socket of the lab's as the system's, unless it has none."""
        given, kept = one.get("sysSock.use"), one.without_beginning(_LIMITS)
        if given is not None and not one.is_on("sysSock.use"):
            return kept
        path = self.socket()
        return kept.with_values({"sysSock.name": path})

    def action(self, one: ScriptObject) -> Iterator[Statement]:
        """An action in the lab: into the sink, into a file, or nothing where neither is known."""
        kind = one.type.removeprefix("builtin:")
        if kind == "omelasticsearch":
            sink = {"server": self.sink_url, "bulkmode": "on", "searchType": ""}
            yield one.without(_REPLACED).with_values(sink)
        elif kind in _LINES:
            yield from self.line(one, kind)
        elif kind.startswith("mm"):
            yield one
        else:
            yield nothing(one.origin)

    def line(self, one: ScriptObject, kind: str) -> Iterator[Statement]:
        """What writes the same lines into a file of the lab's."""
        kept = (p for p in one.parameters if p.key.startswith(("action.", QUEUE)))
        made = replace(one, parameters=tuple(kept)).without(_QUEUE_FILES)
        into = yield from self.into(one, kind)
        yield made.with_values({"type": "omfile", **into})

    def old_action(self, one: LegacyAction) -> Iterator[Statement]:
        """An action of the form before version 6, in that form: directives before it hold for
        it."""
        made = action_of(one)
        if isinstance(made, Word) or made.get(CHANNEL) is not None:
            yield one
        elif made.type not in _LINES:
            yield nothing(one.origin)
        else:
            into = yield from self.into(made, made.type)
            path = into.get("file") or f"?{into['dynaFile']}"
            template = f";{into['template']}" if "template" in into else ""
            yield replace(one, text=f"{path}{template}")

    def into(self, one: ScriptObject, kind: str) -> Generator[SetVariable, None, dict[str, str]]:
        """The file and the template of lines in the lab, after what works them out."""
        template, named, made = one.text("template"), _dynamic(one, kind), dict[str, str]()
        if kind != "omfile":
            # Without a line end of their own they would be one line.
            yield worked_out(_LINE, template or _LINES[kind])
            template = self.template(_LINE, "", "\n")
        if template:
            made["template"] = template
        if named is None:
            return {**made, "file": self.path(one, kind)}
        yield worked_out(PATH, named)
        above = Variable(PATH, HERE), Quoted("..", HERE), Quoted("__", HERE)
        yield SetVariable("set", PATH, FunctionCall("replace", above, HERE), HERE)
        before = f"{self.files}/" if kind == "omfile" else f"{self.sent}/{kind}:"
        return {**made, "dynaFile": self.template(PATH, before, "")}

    def path(self, one: ScriptObject, kind: str) -> str:
        """The file in the lab of what goes to one place."""
        if kind == "omfile":
            return f"{self.files}/{(one.text('file') or 'none').lstrip('/')}"
        keys = ("protocol", "target", "port", "topic", "broker", "pipe", "binary")
        given = {"protocol": "udp", "port": "514"} if kind == "omfwd" else {}
        texts = {key: ",".join(found.texts) for key in keys if (found := one.get(key)) is not None}
        parts = {**given, **{key: text for key, text in texts.items() if text}}
        where = ":".join([kind, *(parts[key] for key in keys if key in parts)])
        return f"{self.sent}/{where.lower().replace('/', '|')}"

    def template(self, variable: str, before: str, after: str) -> str:
        """The name of a template of a variable between two texts."""
        name = f"rsyslog-tune-{len(self.templates)}"
        given = Parameter.of("name", name, HERE), Parameter.of("type", "list", HERE)
        value = ScriptObject("property", (Parameter.of("name", variable, HERE),), HERE)
        parts = (
            *([constant(before)] if before else []), value, *([constant(after)] if after else []),
        )  # fmt: skip
        self.templates.append(ScriptObject("template", given, HERE, parts=parts))
        return name

    def directive(self, one: Directive) -> Iterator[Directive]:
        """A directive in the lab."""
        is_left_out = one.key.startswith((*_OF_THE_HOST, *_LIMITS)) or (
            any(name in one.text for name in _LEFT_OUT)
            if one.key == "modload"
            else one.key == "udpserveraddress"
        )
        kind, *_ = RUNS.get(one.key, ("",))
        if kind in LISTENERS:
            yield replace(one, text=self.port_for(kind))
        elif one.key == "workdirectory":
            yield replace(one, text=self.folder)
        elif not is_left_out:
            yield from self.local_directive(one)

    def local_directive(self, one: Directive) -> Iterator[Directive]:
        """A directive about files and sockets of the host, in the lab; or any other."""
        match one.key:
            case "inputfilename":
                yield replace(one, text=self.file(one.text.strip()))
            case "addunixlistensocket":
                yield replace(one, text=self.socket())
            case "outchannel":
                # Without a size no command of the host runs.
                name, _, rest = one.text.partition(",")
                file = channel_of(rest).get("file", "none").lstrip("/")
                yield replace(one, text=f"{name},{self.files}/{file}")
            case "inputfilepollinterval":
                yield replace(one, text="1")
            case "modload" if "imfile" in one.text:
                yield from (one, replace(one, name="InputFilePollInterval", text="1"))
            case "modload" if "imuxsock" in one.text:
                path = self.socket()
                yield from (one, replace(one, name="SystemLogSocketName", text=path))
            case "systemlogsocketname":
                return
            case "omitlocallogging" if one.text.strip().lower() == "on":
                for system in [each for each in self.entries if each.kind == "imuxsock"][:1]:
                    self.entries.remove(system)
                yield one
            case _:
                yield one


def worked_out(variable: str, template: str) -> SetVariable:
    """What puts a text that a template writes into a variable."""
    value = FunctionCall("exec_template", (Quoted(template, HERE),), HERE)
    return SetVariable("set", variable, value, HERE)


def _dynamic(one: ScriptObject, kind: str) -> str | None:
    """The template of where events go, where that depends on them."""
    if kind == "omfile":
        return one.text("dynaFile")
    return one.text("topic") if kind == "omkafka" and one.is_on("dynatopic") else None
