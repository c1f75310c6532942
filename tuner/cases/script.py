"""A configuration of rsyslogd as it runs to be tested: whatever it writes says of which case it is
and by which output it came; what it sends to engines goes into a sink, and what it writes or
forwards into files that say where it would have gone.

A message that we send before those of a case, and another after them, set the number of the case,
which each message takes along in a variable of its own.  What is written has it in the name of the
index or of the file: no text of the user's is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from posixpath import normpath

from tuner.lab.confined import TLS, confined, is_of_host, parameters, without_host
from tuner.lab.entrances import EventSource, ReadFile, TcpPort, UdpPort, UnixSocket, free_port
from tuner.lab.numbered import OWN
from tuner.modules.input import LOOPBACK
from tuner.modules.omelasticsearch import DEFAULT_INDEX
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.output import Lines
from tuner.modules.registry import OUTPUTS, name_of
from tuner.script.configuration import loading_missing
from tuner.script.objects import Base
from tuner.script.parser import parse
from tuner.script.printing import printed
from tuner.script.quoting import quote
from tuner.script.script import (
    HERE,
    Block,
    BsdBlock,
    Directive,
    Gap,
    LegacyAction,
    ScriptObject,
    Statement,
    loading,
    module_name,
    nothing,
    rewritten,
)

_ENTERED = frozenset({"imtcp", "imptcp", "imudp", "imfile", "imuxsock"})
_CASE, _FENCE, _INDEX = "$.rsyslogtunecase", "$.rsyslogtunefence", "$.rsyslogtuneindex"
_PATH, _LINE = "$.rsyslogtunepath", "$.rsyslogtuneline"
_CURRENT = "$/rsyslogtunecase"
# Messages of rsyslogd itself, and documents that come back to be sent again, are of no case.
_OF_NO_CASE = ("rsyslogd", "omelasticsearch")
# One worker keeps the order, and what is left at the end is written.
_QUEUE = {"queue.type": "LinkedList", "queue.workerThreads": 1, "queue.timeoutShutdown": 10000}
_INDEXES = "omelasticsearch"
# TLS needs files of the host's.
_DRIVER = "defaultnetstreamdriver"
_OF_ENGINE = parameters("servers", "login", "sending")
_OF_LISTENER, _OF_FILES, _UNORDERED, _JOINS_LINES = map(
    parameters, ("listening", "reading", "unordered", "joins_lines")
)
_LIMITS = ("ratelimit.", "syssock.ratelimit.")
_WILDCARDS = re.compile(r"[*?\[\]]")
# What sends or writes events elsewhere, with the template that it has without one; omfile's is
# that of omfile here too.
_LINES: Mapping[str, str] = {
    name_of(output): output.rsyslogs_format or output.own_format
    for output in OUTPUTS
    if issubclass(output, Lines) and output is not OmhttpOutput
} | {"omfile": "", "omprog": "RSYSLOG_FileFormat", "ompipe": "RSYSLOG_TraditionalFileFormat"}
# What says where, with what rsyslog takes without it.
_PLACE = ("protocol", "target", "port", "topic", "broker", "pipe", "binary")
_FORWARDED = {"protocol": "udp", "port": "514"}


@dataclass
class CaseScript:
    """A configuration with a sink and a folder of the lab's, in which `mark` names our messages.

    `entrances` are where messages enter, by the input as it is written, and `outputs` the names of
    its actions; what of both is not tested is in `gaps`.
    """

    base: Base
    sink_url: str
    folder: str
    mark: str
    entrances: dict[str, EventSource] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    templates: list[Statement] = field(default_factory=list)
    has_sockets: bool = False
    has_journal: bool = False
    number: int = 0
    passed: str = ""

    @property
    def read(self) -> str:
        """The folder of the files that it reads."""
        return f"{self.folder}/read"

    @property
    def fence(self) -> str:
        """The file that says which of our messages has passed."""
        return f"{self.folder}/fence"

    @property
    def written(self) -> str:
        """The folder of what is written: NUMBER OF CASE/NUMBER OF OUTPUT/..."""
        return f"{self.folder}/written"

    def message(self, case: str) -> tuple[bytes, ...]:
        """Our message before, or after, those of a case, in each format that a parser may want."""
        mark = f"{self.mark}{case}{self.mark}"
        return (f"<13>1 - - - - - - {mark}".encode(), f"<13>Jan  1 00:00:00 - -: {mark}".encode())

    def text(self) -> str:
        """The configuration for the lab."""
        block = self.base.block
        self.passed = self.template(_property(_FENCE), _constant("\n"))
        statements = rewritten((*loading_missing(block), *block), self.statement)
        statements = tuple(_once((*statements, *self.stand_in())))
        rules = (place for place, statement in enumerate(statements) if _is_rule(statement))
        first = next(rules, len(statements))
        statements = (*statements[:first], *self.entrance(), *statements[first:])
        queue = ScriptObject("main_queue", (), HERE).with_values(_QUEUE)
        safe = confined((queue, *self.templates, *statements), self.folder, _PATH)
        self.gaps += safe.left_out
        return printed(safe.block)

    def stand_in(self) -> Iterator[Statement]:
        """A socket for imjournal, and where no input takes messages that a lab can send."""
        if self.has_journal or not self.entrances:
            if not self.has_sockets:
                yield from _parsed('module(load="imuxsock" sysSock.use="off")')
            path = self.socket("imjournal" if self.has_journal else "imuxsock")
            yield from _parsed(f'input(type="imuxsock" socket={quote(path)})')

    def entrance(self) -> Block:
        """What stands before all else: our own messages end here, each other takes the number of
        its case along."""
        mark = quote(self.mark)
        is_new = " and ".join(f'$inputname != "{name}"' for name in _OF_NO_CASE)
        return _parsed(
            f"""
            if $rawmsg contains {mark} then {{
                set {_FENCE} = field($rawmsg, {mark}, 2);
                set {_CURRENT} = {_FENCE};
                action(type="omfile" file={quote(self.fence)} template={quote(self.passed)})
                stop
            }}
            if {_CASE} == "" and {is_new} then {{ set {_CASE} = {_CURRENT}; }}
            """
        )

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        match statement:
            case ScriptObject(kind="action"):
                yield from self.action(statement)
            case ScriptObject():
                yield from self.object(statement)
            case Directive():
                self.note(statement, f"${statement.name}")
            case BsdBlock():
                self.note(statement, f"{statement.text}: what follows gets all messages")
            case LegacyAction():
                self.note(statement, statement.text)
                yield nothing(statement.origin)
            case _:
                yield statement

    def object(self, written: ScriptObject) -> Iterator[Statement]:
        """An object in the lab that is no action."""
        match written.kind:
            case "module":
                yield from self.module(written)
            case "main_queue":
                return
            case "global":
                yield from without_host(written.without_beginning(_DRIVER))
            case "ruleset":
                queue = _QUEUE if written.queue else {}
                body = (*self.entrance(), *(written.body or ()))
                yield replace(_without_queue(written).with_values(queue), body=body)
            case "input":
                yield from self.input(written)
            case _:
                yield written

    def module(self, written: ScriptObject) -> Iterator[ScriptObject]:
        """A module in the lab, which brings nothing of this machine's."""
        match module_name(written):
            case "imuxsock":
                self.has_sockets = True
                use, module = written.get("sysSock.use"), written.without_beginning(_LIMITS)
                if use is None or use.is_on:
                    module = module.with_values({"sysSock.name": self.socket("imuxsock")})
                yield module
            case "imjournal":
                self.has_journal = True
                self.note(written, "imjournal: a socket of the lab's stands for it")
            case "imrelp":
                yield loading("imptcp", written.origin)
            case "imfile":
                yield written.without(_OF_FILES)
            case "omfile":
                parameters = (p for p in written.parameters if p.key in {"load", "template"})
                yield replace(written, parameters=tuple(parameters))
            case name if is_of_host(name) or (name.startswith("om") and name != _INDEXES):
                return
            case _:
                yield written.without(_UNORDERED).without_beginning(TLS)

    def input(self, written: ScriptObject) -> Iterator[ScriptObject]:
        """An input of the lab's; none where no test sends to it."""
        label = _label_of_input(written)
        if written.type == "imrelp":
            parameters = (p for p in written.parameters if p.key in {"name", "ruleset"})
            written = replace(written, parameters=tuple(parameters)).with_values({"type": "imptcp"})
            self.note(written, f"{label}: an imptcp stands for it")
        is_sent_to = written.type in _ENTERED and label not in self.entrances
        if not is_sent_to or any(map(written.get, _JOINS_LINES)):
            self.note(written, f"input {label}: no test sends to it")
        elif written.type == "imfile":
            path = self.file(label, written.text("File") or "")
            yield written.without(_OF_FILES).with_values({"File": path})
        elif written.type == "imuxsock":
            path = self.socket(label)
            yield written.without_beginning(_LIMITS).with_values({"Socket": path})
        else:
            port = free_port()
            self.entrances[label] = (UdpPort if written.type == "imudp" else TcpPort)(port)
            bound = written.without_beginning(TLS).without(_OF_LISTENER)
            yield bound.with_values({"address": LOOPBACK, "port": port})

    def file(self, label: str, path: str) -> str:
        """The lab's file in place of one that is read."""
        lab_path = f"{self.read}{normpath('/' + _WILDCARDS.sub('x', path).lstrip('/'))}"
        self.entrances[label] = ReadFile(lab_path)
        return lab_path

    def socket(self, label: str) -> str:
        """A socket of the lab's in place of another."""
        socket = self.entrances.get(label)
        if not isinstance(socket, UnixSocket):
            socket = UnixSocket(f"{self.folder}/socket{len(self.entrances)}")
            self.entrances[label] = socket
        return socket.path

    def action(self, written: ScriptObject) -> Iterator[Statement]:
        """An action in the lab, which says of which case and output its documents and lines are."""
        addresses, kind = self.base.address_by_origin, written.type.removeprefix("builtin:")
        address = addresses[written.origin]
        self.number = [*addresses.values()].index(address)
        name = address.removeprefix("action[").removesuffix("]")
        # One without a name of its own is called by its address.
        label = address if name.isdecimal() else name
        if kind.startswith("mm"):
            yield _without_queue(written)
        elif kind == _INDEXES or kind in _LINES:
            self.outputs[label] = str(self.number)
            yield from self.lines(written, kind) if kind in _LINES else self.documents(written)
        else:
            self.note(written, f"output {label}: {kind} is not tested")
            yield nothing(written.origin)

    def documents(self, written: ScriptObject) -> Iterator[Statement]:
        """What writes the same documents into the sink."""
        index = written.text("searchIndex") or DEFAULT_INDEX
        target = _constant(index)
        if written.is_on("dynSearchIndex"):
            yield from _parsed(f"set {_INDEX} = exec_template({quote(index)});")
            target = _property(_INDEX)
        values = {
            "searchIndex": self.of_case("", target), "dynSearchIndex": True,
            "server": self.sink_url, "bulkmode": "on", "searchType": "",
        }  # fmt: skip
        yield _without_queue(written).without(_OF_ENGINE).with_values(values)

    def lines(self, written: ScriptObject, kind: str) -> Iterator[Statement]:
        """What writes the same lines into a file of the lab's."""
        template, dynamic = written.text("template"), _dynamic(written, kind)
        if kind != "omfile":
            # Without a line end of their own they would be one line.
            line = quote(template or _LINES[kind])
            yield from _parsed(f"set {_LINE} = exec_template({line});")
            template = self.template(_property(_LINE), _constant("\n"))
        place = _constant(_place(written, kind))
        if dynamic is not None:
            yield from _parsed(
                f"""
                set {_PATH} = exec_template({quote(dynamic)});
                set {_PATH} = replace({_PATH}, "..", "__");
                """
            )
            before = _constant("files/" if kind == "omfile" else f"sent/{kind}:")
            place = f"{before} {_property(_PATH)}"
        parameters = (p for p in written.parameters if p.key.startswith("action."))
        into = {"type": "omfile", "dynaFile": self.of_case(f"{self.written}/", place)}
        into |= {"template": template} if template else {}
        yield replace(written, parameters=tuple(parameters)).with_values(into)

    def note(self, written: Directive | BsdBlock | LegacyAction | ScriptObject, what: str) -> None:
        """Note what is not tested."""
        self.gaps.append(Gap(written.origin, what))

    def of_case(self, before: str, name: str) -> str:
        """The name of a template of a name behind the numbers of the case and of the output."""
        number = _constant(f"/{self.number}/")
        return self.template(_constant(f"{before}c"), _property(_CASE), number, name)

    def template(self, *parts: str) -> str:
        """The name of a template of such parts."""
        name = f"{OWN}{len(self.templates)}"
        whole = f'template(name={quote(name)} type="list") {{ {" ".join(parts)} }}'
        self.templates += _parsed(whole)
        return name


def _parsed(text: str) -> Block:
    """Statements of ours."""
    return parse(text, HERE.file)[0]


def _constant(text: str) -> str:
    """A part of a template that is always the same."""
    return f"constant(value={quote(text)})"


def _property(name: str) -> str:
    """A part of a template that is a variable."""
    return f"property(name={quote(name)})"


def _dynamic(written: ScriptObject, kind: str) -> str | None:
    """The template of where events go, where that depends on them."""
    if kind == "omfile":
        return written.text("dynaFile")
    return written.text("topic") if kind == "omkafka" and written.is_on("dynatopic") else None


def _place(written: ScriptObject, kind: str) -> str:
    """The file of what goes to one place, below the folder of its case and output."""
    if kind == "omfile":
        return f"files/{(written.text('file') or 'none').lstrip('/')}"
    default = _FORWARDED if kind == "omfwd" else {}
    parameters = ((key, written.get(key)) for key in _PLACE)
    texts = (",".join(p.texts) if p and any(p.texts) else default.get(key) for key, p in parameters)
    return f"sent/{':'.join([kind, *filter(None, texts)]).lower().replace('/', '|')}"


def _label_of_input(written: ScriptObject) -> str:
    """What an input is called: its type, and its port, file or socket."""
    place = next(filter(None, map(written.text, ("port", "file", "socket"))), None)
    return written.type if place is None else f"{written.type}:{place}"


def _once(block: Block) -> Iterator[Statement]:
    """The statements, each module loaded once."""
    loaded = set[str]()
    for statement in block:
        if isinstance(statement, ScriptObject) and statement.kind == "module":
            if module_name(statement) in loaded:
                continue
            loaded.add(module_name(statement))
        yield statement


def _is_rule(statement: Statement) -> bool:
    """Whether a statement does something with messages."""
    return not isinstance(statement, ScriptObject) or statement.kind == "action"


def _without_queue(written: ScriptObject) -> ScriptObject:
    return written.without({p.key for p in written.queue})
