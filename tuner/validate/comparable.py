"""A configuration of rsyslogd as it is run to be compared: what it sends to engines goes into a
sink, and what it writes or forwards into files that say where it would have gone; pure."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from tuner.lab.base_documents import HERE, constant
from tuner.lab.base_script import TOWARDS_ENGINE, without_host
from tuner.lab.confined import confined
from tuner.lab.ports import free_port
from tuner.rainerscript.legacy import action_of
from tuner.rainerscript.script import (
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
    Word,
    module_name,
    printed,
    rewritten,
)

# Inputs that a lab can send to, and the directives that start them.
LISTENERS: dict[str, Literal["tcp", "udp"]] = {"imtcp": "tcp", "imptcp": "tcp", "imudp": "udp"}
_STARTERS = {
    "inputtcpserverrun": "imtcp", "inputptcpserverrun": "imptcp", "udpserverrun": "imudp",
}  # fmt: skip
# What takes events of the host itself, or needs what a lab has not.
_LEFT_OUT = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark", "imfile", "impstats"})
_OF_THE_HOST = (
    "privdrop", "inputfile", "inputrunfile", "fileowner", "filegroup", "dirowner", "dirgroup",
    "umask", "actionqueuefilename", "mainmsgqueuefilename", "includeconfig",
    "defaultnetstreamdriver",
)  # fmt: skip
_QUEUE_FILES = frozenset({"queue.filename", "queue.spooldirectory", "queue.maxdiskspace"})
_REPLACED = TOWARDS_ENGINE | _QUEUE_FILES | {
    "errorfile", "bulkmode", "searchtype", "dynsearchtype", "esversion.major"
}  # fmt: skip
_TLS_OF_INPUT = ("streamdriver", "permittedpeer", "gnutls", "tls")
_OF_INPUT = frozenset({"address", "port", "device", "listenportfilename", "namespace"})
_PATH, _LINE = "$.rsyslogtunepath", "$.rsyslogtuneline"
# What sends or writes events elsewhere, with the template that it has without one; omfile's is
# that of omfile here too.
_LINES = {
    "omfile": "", "omfwd": "RSYSLOG_TraditionalForwardFormat", "omrelp": "RSYSLOG_ForwardFormat",
    "omkafka": "RSYSLOG_FileFormat", "ompipe": "RSYSLOG_TraditionalFileFormat",
    "omprog": "RSYSLOG_FileFormat",
}  # fmt: skip


@dataclass
class ComparableScript:
    """A configuration with a sink, ports and a folder of the lab's, or listening where it says;
    `entries` are where events enter, each the kind of an input and its port."""

    sink_url: str
    folder: str
    keeps_inputs: bool = False
    entries: list[tuple[str, int]] = field(default_factory=list)
    templates: list[ScriptObject] = field(default_factory=list)

    @property
    def files(self) -> str:
        """The folder of what it writes."""
        return f"{self.folder}/files"

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
        nothing = ScriptObject("ruleset", (name,), HERE, body=body)
        return printed(confined((*self.templates, *made, nothing), self.folder).block)

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
        kind = one.type
        match one.kind:
            case "module" if module_name(one) in _LEFT_OUT:
                return
            case "module" if module_name(one) == "omfile":
                template = (each for each in one.parameters if each.key in {"load", "template"})
                yield replace(one, parameters=tuple(template))
            case "input" if self.keeps_inputs and kind not in _LEFT_OUT:
                yield _without_tls(one)
            case "input" if kind in LISTENERS:
                here = {"address": "127.0.0.1", "port": self.port(kind)}
                yield _without_tls(one).without(_OF_INPUT).with_values(here)
            case "input":
                return
            case "global":
                yield from without_host(one)
            case "ruleset" | "main_queue":
                yield one.without(_QUEUE_FILES)
            case _:
                yield one

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
            yield Word("continue", one.origin)

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
        if isinstance(made, Word):
            yield one
        elif made.type not in _LINES:
            yield Word("continue", one.origin)
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
            yield _worked_out(_LINE, template or _LINES[kind])
            template = self.template(_LINE, "", "\n")
        if template:
            made["template"] = template
        if named is None:
            return {**made, "file": self.path(one, kind)}
        yield _worked_out(_PATH, named)
        before = f"{self.files}/" if kind == "omfile" else f"{self.sent}/{kind}:"
        return {**made, "dynaFile": self.template(_PATH, before, "")}

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
        is_left_out = one.key.startswith(_OF_THE_HOST) or (
            any(name in one.text for name in _LEFT_OUT)
            if one.key == "modload"
            else one.key == "udpserveraddress" and not self.keeps_inputs
        )
        if one.key in _STARTERS and not self.keeps_inputs:
            yield replace(one, text=self.port(_STARTERS[one.key]))
        elif one.key == "workdirectory":
            yield replace(one, text=self.folder)
        elif not is_left_out:
            yield one

    def port(self, kind: str) -> str:
        """A port of the lab's on which events enter."""
        port = free_port()
        self.entries.append((kind, port))
        return str(port)


def _worked_out(variable: str, template: str) -> SetVariable:
    """What puts a text that a template writes into a variable."""
    value = FunctionCall("exec_template", (Quoted(template, HERE),), HERE)
    return SetVariable("set", variable, value, HERE)


def _without_tls(one: ScriptObject) -> ScriptObject:
    kept = (each for each in one.parameters if not each.key.startswith(_TLS_OF_INPUT))
    return replace(one, parameters=tuple(kept))


def _dynamic(one: ScriptObject, kind: str) -> str | None:
    """The template of where events go, where that depends on them."""
    if kind == "omfile":
        return one.text("dynaFile")
    return one.text("topic") if kind == "omkafka" and one.is_on("dynatopic") else None
