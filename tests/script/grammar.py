"""Configurations that rsyslogd accepts, made by a grammar: inputs, templates, filters, variables,
calls and actions, in the old form and the new, laid out in many ways; the same for the same
number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

FOLDER = "/lab"
"""Where their files are, and what they name."""
MAIN = f"{FOLDER}/rsyslog.conf"
_WORDS = ("sshd", "nginx", "plain", "web1", "123", "app", "word", "10.1", "key=value")
_PROPERTIES = (
    "msg", "hostname", "programname", "syslogtag", "fromhost-ip", "procid", "app-name",
    "syslogfacility-text", "syslogseverity-text", "rawmsg", "structured-data", "$myhostname",
    "$!own", "$.loc", "$!deep!er",
)  # fmt: skip
_LINES = ("RSYSLOG_FileFormat", "RSYSLOG_TraditionalFileFormat", "RSYSLOG_SyslogProtocol23Format")
_OPTIONS = (
    "", "", "", ' caseConversion="lower"', ' position.from="2" position.to="9"',
    ' field.number="2" field.delimiter="32"', ' controlCharacters="escape"', ' dropLastLf="on"',
    ' regex.expression="[a-z]+" regex.type="ERE" regex.nomatchmode="BLANK"',
)  # fmt: skip
_REPLACERS = (
    "", "", ":::drop-last-lf", ":::lowercase", ":2:$", ":1:10", ":::secpath-replace", ":F,32:2",
    ":::escape-cc", ":::csv", ":::json", ":R,ERE,1,BLANK:([a-z]+)--end",
)  # fmt: skip
_SIMPLE = (
    "$syslogseverity <= 4", '$programname == "sshd"', '$msg contains "a  b"', "strlen($msg) > 20",
    '$msg startswith ["a", "b"]', 're_match($msg, "[0-9]+")', 'prifilt("auth.info;mail.none")',
    '$!own != ""', '$fromhost-ip == "127.0.0.1"', "($syslogfacility >= 16)", "$!status == 200",
)  # fmt: skip
_QUEUE = {
    "size": ("1000", "5000", "20000"), "dequeueBatchSize": ("1", "64", "512"),
    "workerThreads": ("1", "2"), "timeoutShutdown": ("2000",), "saveOnShutdown": ("on",),
    "workerThreadMinimumMessages": ("500",), "timeoutEnqueue": ("100",),
}  # fmt: skip
_OLD_QUEUE = {"Type": ("LinkedList", "FixedArray"), "Size": ("4000",), "WorkerThreads": ("2",)}
_INPUTS = {
    "imtcp": ('keepAlive="on"', 'supportOctetCountedFraming="off"', 'name="in"'),
    "imptcp": ('keepAlive="on"', 'rateLimit.interval="0"'),
    "imudp": ('rcvbufSize="1m"', 'rateLimit.interval="0"'),
}  # fmt: skip
_OLD_KEYS = {"imtcp": "InputTCPServer", "imptcp": "InputPTCPServer", "imudp": "UDPServer"}
# What stands between the parameters of an object, and between statements.
_GAPS = (" ", " ", " ", "  ", "\t", "\n    ", "\n\t", "  # why\n  ", " /* why */ ")
_NOISE = (
    "", "", "", "# two  blanks,\ta tab, and blanks at the end   ", "   ", "\t",
    "/* of  many\n\n lines */",
)  # fmt: skip


@dataclass(frozen=True)
class Generated:
    """A configuration: its files by their paths, the first of them as rsyslogd reads it."""

    files: dict[str, str]

    @property
    def text(self) -> str:
        """The first file."""
        return self.files[MAIN]


class Grammar:
    """What one number makes; a ruleset may call those that stand before it."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.age = self.random.choice((0.0, 0.0, 0.3, 0.9))
        self.modules: dict[str, str] = {}
        self.templates: dict[str, str] = {}
        self.rulesets: list[str] = []
        self.names, self.ports = iter(range(1, 1000)), iter(range(20514, 20600))

    def case(self) -> Generated:
        """The configuration."""
        names = [f"rs{number}" for number in range(self.random.choice((0, 0, 1, 1, 2, 3)))]
        rulesets = [self.ruleset(name) for name in names]
        rules = self.body(3)
        inputs = [self.input(name) for name in ("", *names)]
        files, templates = {MAIN: ""}, list(self.templates.values())
        if templates and self.chance(0.15):
            path = f"{FOLDER}/templates.conf"
            files[path] = self.joined(templates)
            templates = [self.word(f'include(file="{path}")', f"$IncludeConfig {path}")]
        head = [*self.globals(), *self.modules.values(), *self.main_queue(), *templates]
        tail = [*inputs, *rules] if self.chance(0.5) else [*rules, *inputs]
        files[MAIN] = self.joined([*head, *rulesets, *tail])
        return Generated(files)

    def chance(self, share: float) -> bool:
        """True in that share of all cases."""
        return self.random.random() < share

    def word(self, *options: str) -> str:
        """One of several texts."""
        return self.random.choice(options)

    def is_old(self) -> bool:
        """Whether the next is in the old form."""
        return self.chance(self.age)

    def joined(self, lines: list[str]) -> str:
        """Statements, with what says nothing between some of them."""
        noise = [self.word(*_NOISE) if self.chance(0.4) else None for _ in lines]
        pairs = zip(lines, noise, strict=True)
        text = "".join(f"{line}\n" for pair in pairs for line in pair if line is not None)
        return text + self.word("", "", "\n  \n", "# no line end")

    def thing(self, kind: str, *parameters: str) -> str:
        """An object with these parameters, laid out in some way."""
        start = self.word("", "", " ", "\n    ")
        laid = "".join(f"{one}{self.word(*_GAPS)}" for one in parameters[:-1])
        return f"{kind}({start}{laid}{parameters[-1]}{self.word('', '', ' ', chr(10))})"

    # --- what is global, queues and inputs

    def globals(self) -> Iterator[str]:
        if self.is_old():
            yield f"$WorkDirectory {FOLDER}/spool"
        else:
            yield self.thing("global", f'workDirectory="{FOLDER}/spool"')
        if self.chance(0.1):
            yield self.word('global(net.enableDNS="off")', "$PreserveFQDN on", "$Umask 0022")
        if self.chance(0.1):
            yield f"$ActionFileDefaultTemplate {self.word(*_LINES)}"

    def main_queue(self) -> Iterator[str]:
        if self.chance(0.2):
            # The mark for discarding is above most sizes.
            yield self.thing("main_queue", *(q for q in self.queue() if "size=" not in q))
        elif self.chance(0.2):
            yield f"$MainMsgQueueSize 200000\n$MainMsgQueueType {self.word('LinkedList', 'Direct')}"

    def queue(self) -> list[str]:
        """Parameters of a queue."""
        parts = [f'queue.type="{self.word("LinkedList", "FixedArray")}"']
        if self.chance(0.25):
            parts += [f'queue.filename="q{next(self.names)}"', 'queue.maxDiskSpace="10m"']
        for key in self.random.sample(sorted(_QUEUE), self.random.randint(0, 3)):
            parts.append(f'queue.{key}="{self.word(*_QUEUE[key])}"')
        return parts

    def load(self, kind: str) -> None:
        """Load a module, once."""
        old = self.is_old()
        self.modules.setdefault(kind, f"$ModLoad {kind}" if old else f'module(load="{kind}")')

    def input(self, ruleset: str) -> str:
        kind, port = self.word(*_INPUTS), next(self.ports)
        self.load(kind)
        if self.is_old():
            key = _OLD_KEYS[kind]
            bound = ruleset or "RSYSLOG_DefaultRuleset"
            binding = "InputUDPServer" if kind == "imudp" else key
            return f"${binding}BindRuleset {bound}\n${key}Run {port}"
        parts = [f'type="{kind}"', f'port="{port}"']
        parts += ['address="127.0.0.1"'] if self.chance(0.6) else []
        parts += [self.word(*_INPUTS[kind])] if self.chance(0.3) else []
        parts += [f'ruleset="{ruleset}"'] if ruleset else []
        return self.thing("input", *parts)

    # --- rules

    def ruleset(self, name: str) -> str:
        body = "\n".join(self.body(2))
        self.rulesets.append(name)
        if self.is_old():
            return f"$RuleSet {name}\n{body}\n$RuleSet RSYSLOG_DefaultRuleset"
        queue = self.queue() if self.chance(0.4) else []
        return f"{self.thing('ruleset', f'name={chr(34)}{name}{chr(34)}', *queue)} {{\n{body}\n}}"

    def body(self, depth: int) -> list[str]:
        """The statements of a block, the last of them an action."""
        return [self.statement(depth) for _ in range(self.random.randint(0, 3))] + [
            self.action(depth)
        ]

    def statement(self, depth: int) -> str:
        """A condition, a selector, a variable, a call, a module for messages, or an action."""
        match self.random.randrange(8):
            case 0 | 1 if depth:
                return self.condition_block(depth)
            case 2 if depth:
                return self.old_rule(self.word(self.selector(), self.property_filter()))
            case 3:
                name = self.word("$!own", "$.loc", "$!deep!er")
                value = self.word('"a  b"', "$msg", '$hostname & "-"', "tolower($hostname)")
                return f"set {name} = {value};"
            case 4 if self.rulesets:
                return f"call {self.word(*self.rulesets)}"
            case 5:
                kind = self.word("mmutf8fix", "mmanon", "mmjsonparse")
                self.load(kind)
                return self.thing("action", f'type="{kind}"')
            case _:
                return self.action(depth)

    def condition_block(self, depth: int) -> str:
        condition = self.word(*_SIMPLE)
        if self.chance(0.3):
            condition = f"{condition} {self.word('and', 'or')} not ({self.word(*_SIMPLE)})"
        lines = [f"if {condition} then {{", *self.body(depth - 1)]
        if self.chance(0.3):
            lines += [f"}} else if {self.word(*_SIMPLE)} then {{", *self.body(depth - 1)]
        if self.chance(0.3):
            lines += ["} else {", *self.body(depth - 1)]
        return "\n".join([*lines, *(["stop"] if self.chance(0.25) else []), "}"])

    def selector(self) -> str:
        facility = self.word("*", "auth,authpriv", "mail", "local0", "kern")
        more = self.word("", "", ";mail.none", ";kern.!=info")
        return f"{facility}.{self.word('*', 'info', '=err', 'warning')}{more}"

    def property_filter(self) -> str:
        operation = self.word("contains", "startswith", "isequal", "regex", "!contains")
        return f':{self.word("msg", "programname")}, {operation}, "{self.word(*_WORDS)}"'

    def old_rule(self, condition: str) -> str:
        """A selector or a property filter with an action, a block, or several with &."""
        if self.chance(0.2):
            return f"{condition} {{ {self.action(0)} }}"
        lines = [f"{condition} {self.old_action()}"]
        if self.chance(0.3):
            lines.append(f"& {self.old_action()}")
        if self.chance(0.2):
            lines.append(f"& {self.word('stop', '~')}")
        directives = []
        if self.chance(0.3):
            keys = self.random.sample(sorted(_OLD_QUEUE), self.random.randint(1, 3))
            directives = [f"$ActionQueue{key} {self.word(*_OLD_QUEUE[key])}" for key in keys]
            directives += ["$ActionResumeRetryCount 3"] if self.chance(0.3) else []
        return "\n".join([*directives, *lines])

    def old_action(self) -> str:
        """An action of the old form in one line."""
        after = f";{self.line()}" if self.chance(0.3) else ""
        return self.word(
            f"{self.word('', '-')}{FOLDER}/o{next(self.names)}.log{after}", ":omusrmsg:*",
            f"@@127.0.0.2:{self.word('514', '5141')}{after}", f"?{self.path()}{after}",
        )  # fmt: skip

    def action(self, depth: int) -> str:
        """Into the engine, a file, or elsewhere."""
        if depth and self.is_old():
            return self.old_rule(self.selector())
        parts = self.into()
        parts += self.queue() if self.chance(0.3) else []
        parts += [f'name="a{next(self.names)}"'] if self.chance(0.3) else []
        retries = self.word('action.resumeRetryCount="-1"', 'action.resumeInterval="1"')
        return self.thing("action", *parts, *([retries] if self.chance(0.2) else []))

    def into(self) -> list[str]:
        match self.random.randrange(8):
            case 0 | 1 | 2 | 3:
                return list(self.engine())
            case 4:
                more = [f'template="{self.line()}"'] if self.chance(0.5) else []
                return ['type="omfile"', f'file="{FOLDER}/f{next(self.names)}.log"', *more]
            case 5:
                return ['type="omfile"', f'dynaFile="{self.path()}"']
            case _:
                target = f'target="127.0.0.{self.random.randint(2, 4)}"'
                return ['type="omfwd"', target, 'port="514"', self.word('protocol="tcp"', "")]

    def engine(self) -> Iterator[str]:
        self.load("omelasticsearch")
        yield from ('type="omelasticsearch"', f'template="{self.document()}"')
        yield self.word('server="127.0.0.1"', 'server=["127.0.0.1", "127.0.0.6"]')
        yield from ['bulkmode="on"'] if self.chance(0.9) else []
        yield self.word('searchIndex="logs"', 'searchType=""', f'errorFile="{FOLDER}/errors"')
        yield from ['timeout="1m"'] if self.chance(0.1) else []

    # --- templates

    def template(self, kind: str, text: str) -> str:
        """The name of a template of a text, in either form."""
        name = f"{kind}{len(self.templates)}"
        new = f'template(name="{name}" type="string" string="{text}")'
        self.templates[name] = f'$template {name},"{text}"' if self.is_old() else new
        return name

    def document(self) -> str:
        names = self.random.sample(_PROPERTIES, self.random.randint(1, 4))
        keys = {name: name.strip("$!.").replace("!", "_") for name in names}
        if self.chance(0.5):
            members = [f'\\"{keys[name]}\\":\\"%{name}:::json%\\"' for name in names]
            return self.template("doc", f"{{{','.join(members)}}}")
        name, before, parts = f"doc{len(self.templates)}", "{", list[str]()
        for one in names:
            value = f'property(name="{one}" format="json"{self.word(*_OPTIONS)})'
            parts.append(f'    constant(value="{before}\\"{keys[one]}\\":\\"") {value}')
            before = '\\",'
        body = "\n".join([*parts, '    constant(value="\\"}")'])
        self.templates[name] = f'template(name="{name}" type="list") {{\n{body}\n}}'
        return name

    def line(self) -> str:
        """A template of lines, or one of rsyslog's own."""
        names = self.random.sample(_PROPERTIES, self.random.randint(1, 4))
        text = " ".join(f"%{name}{self.word(*_REPLACERS)}%" for name in names)
        return self.word(*_LINES) if self.chance(0.4) else self.template("line", f"{text}\\n")

    def path(self) -> str:
        """A template of a file's name."""
        return self.template("path", f"{FOLDER}/%{self.word(*_PROPERTIES[:6])}:::secpath-replace%")
