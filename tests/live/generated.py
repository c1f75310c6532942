"""Configurations that rsyslogd accepts, made by a grammar: inputs, templates, filters, variables,
calls and actions, in the old form and the new; the same for the same number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from tests.live.generated_templates import Templates

FILES = "/FOLDER"
"""What stands for the folder of all files."""
ENGINES = ("127.0.0.1", "127.0.0.6")
TARGETS = (("127.0.0.2", 514), ("127.0.0.2", 5141), ("127.0.0.3", 5142))
RELP = ("127.0.0.4", 2514)
_WORDS = ("sshd", "nginx", "plain", "web1", "123", "app", "word", "nowhere", "10.1", "key=value")
_PROGRAMS = ("sshd", "sudo", "nginx", "CRON", "nothing")
_HOSTS = ("web1", "db2", "127.0.0.1", "localhost")
_SEVERITIES = ("debug", "info", "notice", "warning", "err", "crit")
_OLD_KEYS = {"imtcp": "TCPServer", "imptcp": "PTCPServer", "imudp": "UDPServer"}


@dataclass(frozen=True)
class Entry:
    """Where events are sent to: tcp or udp, host and port."""

    kind: str
    host: str
    port: int

    @property
    def socket(self) -> str:
        """The socket, without its address."""
        return f"{self.kind}{self.port}"


@dataclass(frozen=True)
class Generated:
    """A configuration, the files that it reads beside it, where events enter, and what of rsyslog
    it uses."""

    text: str
    files: Mapping[str, str]
    entries: tuple[Entry, ...]
    features: frozenset[str]


@dataclass
class Grammar:
    """What one number makes."""

    number: int
    random: Random = field(init=False)
    features: set[str] = field(default_factory=set)
    entries: list[Entry] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = Random(self.number)
        self.age = self.pick(0.0, 0.0, 0.3, 0.9)
        self.ports = iter(range(20514, 20600))
        self.names = iter(range(1, 1000))
        self.modules: dict[str, str] = {}
        self.rulesets = [f"rs{one}" for one in range(self.pick(0, 0, 1, 1, 2, 3))]
        # A ruleset may call those that stand before it.
        self.callable: list[str] = []
        self.parses = self.chance(0.25)
        self.templates = Templates(self.random, self.features, self.age, self.parses)

    def chance(self, share: float) -> bool:
        """True in that share of all cases."""
        return self.random.random() < share

    def pick(self, *options: object) -> object:
        """One of several."""
        return self.random.choice(options)

    def word(self, *options: str) -> str:
        """One of several texts."""
        return self.random.choice(options)

    def use(self, feature: str) -> None:
        """Note what of rsyslog is used."""
        self.features.add(feature)

    def is_old(self) -> bool:
        """Whether the next is in the old form."""
        return self.chance(self.age)

    def case(self) -> Generated:
        """The configuration."""
        rulesets = [line for one in self.rulesets for line in self.ruleset(one)]
        rules = self.body(3)
        inputs = list(self.inputs())
        templates = self.templates.text()
        if self.chance(0.15):
            self.use("include")
            self.files["templates.conf"] = templates
            templates = self.word(
                f'include(file="{FILES}/templates.conf")', f"$IncludeConfig {FILES}/templates.conf"
            )
        main = list(self.main_queue())
        blocks = [*rulesets, *rules]
        if self.chance(0.5):
            blocks = [*rules, *rulesets]
        # Directives that bind inputs want their rulesets before them.
        head = [*self.modules.values(), *self.globals(), *main, templates]
        lines = [*head, *rulesets, *inputs, *rules] if self.chance(0.5) else [
            *head, *rulesets, *rules, *inputs
        ]  # fmt: skip
        text = "\n".join(lines) + "\n"
        return Generated(text, self.files, tuple(self.entries), frozenset(self.features))

    # --- what stands around rules

    def globals(self) -> Iterator[str]:
        if self.chance(0.4):
            yield f"$WorkDirectory {FILES}/spool"
        else:
            yield f'global(workDirectory="{FILES}/spool")'
        if self.chance(0.1):
            self.use("global net.enableDNS")
            yield 'global(net.enableDNS="off")'
        if self.chance(0.1):
            self.use("global escape off")
            yield self.word(
                'global(parser.escapeControlCharactersOnReceive="off")',
                "$EscapeControlCharactersOnReceive off",
            )
        if self.chance(0.1):
            self.use("global preserveFQDN")
            yield self.word('global(preserveFQDN="on")', "$PreserveFQDN on")
        if self.chance(0.08):
            self.use("global maxMessageSize")
            yield self.word('global(maxMessageSize="16k")', "$MaxMessageSize 4k")
        if self.chance(0.08):
            self.use("$Umask")
            yield "$Umask 0022"
        if self.chance(0.08):
            self.use("$ActionFileDefaultTemplate")
            yield f"$ActionFileDefaultTemplate {self.word('RSYSLOG_TraditionalFileFormat', 'RSYSLOG_FileFormat')}"
        if self.chance(0.05):
            self.use("impstats")
            yield (
                'module(load="impstats" interval="600" format="json" log.syslog="off" '
                f'log.file="{FILES}/spool/counters")'
            )

    def main_queue(self) -> Iterator[str]:
        if self.chance(0.15):
            self.use("main_queue()")
            yield f"main_queue({self.queue(is_main=True)})"
        elif self.chance(0.15):
            self.use("$MainMsgQueue")
            yield "$MainMsgQueueSize 200000"
            if self.chance(0.5):
                yield f"$MainMsgQueueType {self.word('LinkedList', 'FixedArray')}"
            if self.chance(0.3):
                yield "$MainMsgQueueWorkerThreads 1"

    def queue(self, *, is_main: bool = False) -> str:
        """Parameters of a queue, without workers that would change the order of statements."""
        kind = self.word("LinkedList", "FixedArray", "LinkedList")
        self.use(f"queue {kind}")
        parts = [f'queue.type="{kind}"']
        more = {
            "size": self.word("1000", "5000", "20000"), "dequeueBatchSize": self.word("1", "64", "512"),
            "workerThreads": self.word("1", "2"), "timeoutShutdown": "2000",
            "workerThreadMinimumMessages": "500", "saveOnShutdown": "on", "highWatermark": "800",
            "lowWatermark": "200", "discardMark": "900", "discardSeverity": "8",
            "timeoutEnqueue": "100", "lightDelayMark": "700",
        }  # fmt: skip
        if is_main:
            # Its mark for discarding is above most sizes.
            del more["size"], more["discardMark"]
        chosen = self.random.sample(sorted(more), self.random.randint(0, 3))
        if self.chance(0.25):
            self.use("queue with files")
            parts += [f'queue.filename="q{next(self.names)}"', 'queue.maxDiskSpace="10m"']
            parts += ['queue.spoolDirectory="%s/spool"' % FILES] if self.chance(0.3) else []
        for key in chosen:
            self.use(f"queue.{key}")
            parts.append(f'queue.{key}="{more[key]}"')
        return " ".join(parts)

    def ruleset(self, name: str) -> Iterator[str]:
        """A ruleset, in the new form, or in the old where it has no block around it."""
        body = self.body(2)
        if self.chance(self.age / 2):
            self.use("$RuleSet")
            yield from [f"$RuleSet {name}", *body, "$RuleSet RSYSLOG_DefaultRuleset"]
        else:
            self.use("ruleset()")
            parts = [self.queue()] if self.chance(0.3) else []
            if parts:
                self.use("ruleset() with a queue")
            if self.chance(0.1):
                self.use("ruleset() with a parser")
                parts.append(f'parser="{self.word("rsyslog.rfc3164", "rsyslog.rfc5424")}"')
            yield f'ruleset(name="{name}" {" ".join(parts)}) {{'
            yield from body
            yield "}"
        self.callable.append(name)

    def inputs(self) -> Iterator[str]:
        """An input for the rules outside of rulesets, and one for most rulesets."""
        bound = ["", *(one for one in self.rulesets if self.chance(0.7))]
        bound += [self.random.choice(bound)] if self.chance(0.3) else []
        for number, ruleset in enumerate(bound):
            kind = self.word("imtcp", "imptcp", "imudp")
            if number and self.chance(0.12):
                yield from self.file_input(ruleset)
            elif self.is_old():
                yield from self.old_input(kind, ruleset)
            else:
                yield from self.new_input(kind, ruleset)

    def load(self, kind: str) -> None:
        """Load a module, once."""
        more = {
            "imtcp": 'maxSessions="300"', "imptcp": 'threads="2"', "imudp": 'timeRequery="4"',
            "imfile": 'mode="inotify"',
        }  # fmt: skip
        if kind not in self.modules:
            given = f" {more[kind]}" if kind in more and self.chance(0.2) else ""
            line = f'module(load="{kind}"{given})'
            self.modules[kind] = f"$ModLoad {kind}" if self.is_old() else line

    def entry(self, kind: str, port: int, hosts: tuple[str, ...]) -> None:
        self.entries += [Entry("udp" if kind == "imudp" else "tcp", one, port) for one in hosts]

    def new_input(self, kind: str, ruleset: str) -> Iterator[str]:
        self.load(kind)
        self.use(f"input {kind}")
        port, parts = next(self.ports), []
        hosts: tuple[str, ...] = ("127.0.0.1",)
        match self.random.randrange(4):
            case 0 | 1:
                parts.append('address="127.0.0.1"')
            case 2:
                self.use("input without address")
                hosts = self.random.choice((("127.0.0.1",), ("127.0.0.1", "::1")))
            case 3 if kind != "imtcp":
                self.use("input with IPv6")
                parts.append('address="::1"')
                hosts = ("::1",)
        more = {
            "imtcp": ('keepAlive="on"', 'supportOctetCountedFraming="off"', 'name="in"'),
            "imptcp": ('keepAlive="on"', 'supportOctetCountedFraming="off"', 'rateLimit.interval="0"'),
            "imudp": ('rcvbufSize="1m"', 'rateLimit.interval="0"', 'name="in"'),
        }[kind]  # fmt: skip
        parts += [self.random.choice(more)] if self.chance(0.3) else []
        if ruleset:
            self.use("input bound to a ruleset")
            parts.append(f'ruleset="{ruleset}"')
        self.entry(kind, port, hosts)
        yield f'input(type="{kind}" port="{port}" {" ".join(parts)})'

    def old_input(self, kind: str, ruleset: str) -> Iterator[str]:
        self.load(kind)
        self.use(f"${_OLD_KEYS[kind]}Run")
        port, key = next(self.ports), _OLD_KEYS[kind]
        if ruleset:
            self.use("$Input...BindRuleset")
            yield f"$Input{key}BindRuleset {ruleset}"
        elif any(True for _ in self.rulesets):
            yield f"$Input{key}BindRuleset RSYSLOG_DefaultRuleset"
        if kind == "imudp" and self.chance(0.5):
            yield "$UDPServerAddress 127.0.0.1"
        self.entry(kind, port, ("127.0.0.1",))
        yield f"${'UDPServer' if kind == 'imudp' else f'Input{key}'}Run {port}"

    def file_input(self, ruleset: str) -> Iterator[str]:
        self.load("imfile")
        self.use("input imfile")
        number = next(self.names)
        name = f"in{number}.txt"
        lines = [f"n{300 + number * 20 + one:05d} {self.random.choice(_WORDS)}\ttail" for one in range(6)]
        self.files[name] = "\n".join(lines) + "\n"
        parts = [f'file="{FILES}/{name}"', f'tag="{self.word("app:", "access", "x-1:")}"']
        parts += ['facility="local3"'] if self.chance(0.5) else []
        parts += ['severity="warning"'] if self.chance(0.5) else []
        parts += ['addMetadata="on"'] if self.chance(0.2) else []
        parts += [f'ruleset="{ruleset}"'] if ruleset else []
        yield f'input(type="imfile" {" ".join(parts)})'

    # --- rules

    def body(self, depth: int) -> list[str]:
        """The statements of a block, the last of them an action."""
        made = [self.statement(depth) for _ in range(self.random.randint(0, 3))]
        if depth == 3 and self.parses:
            made.insert(0, self.parsing())
        return [*made, self.action(depth)]

    def parsing(self) -> str:
        """What parses messages, for all or for some events."""
        self.use("mmjsonparse")
        self.load("mmjsonparse")
        action = self.word('action(type="mmjsonparse")', 'action(type="mmjsonparse" cookie="")')
        return action if self.chance(0.7) else f"if {self.comparison()} then {action}"

    def statement(self, depth: int) -> str:
        """A condition, a selector, a variable, a call or an action."""
        kinds = ["action"] * 3 + ["set"] * 3
        kinds += ["if"] * 4 + ["selector"] * 2 + ["filter"] * 2 if depth else []
        kinds += ["call"] * 2 if self.callable else []
        kinds += ["change"]
        match self.random.choice(kinds):
            case "if":
                return self.condition_block(depth)
            case "selector":
                self.use("selector")
                return self.old_rule(self.selector())
            case "filter":
                self.use("property filter")
                return self.old_rule(self.property_filter())
            case "set":
                return self.variable()
            case "call":
                self.use("call")
                return f"call {self.random.choice(self.callable)}"
            case "change":
                return self.change()
            case _:
                return self.action(depth)

    def condition_block(self, depth: int) -> str:
        self.use("if")
        end = ["}"]
        for _ in range(2):
            if self.chance(0.2):
                self.use("else if")
                end = [*end[:-1], f"}} else if {self.condition()} then {{", *self.then(depth), "}"]
        if self.chance(0.3):
            self.use("else")
            end = [*end[:-1], "} else {", *self.then(depth), "}"]
        return "\n".join([f"if {self.condition()} then {{", *self.then(depth), *end])

    def then(self, depth: int) -> list[str]:
        stop = []
        if self.chance(0.25):
            self.use("stop")
            stop = ["stop"]
        return [*self.body(depth - 1), *stop]

    def old_rule(self, condition: str) -> str:
        """A selector or a property filter with an action, a block, or several with &."""
        if self.chance(0.25):
            return f"{condition} {{ {self.action(0)} }}"
        if self.chance(0.1):
            self.use("selector with stop")
            return f"{condition} {self.word('stop', '~')}"
        lines = [f"{condition} {self.old_action()}"]
        if self.chance(0.3):
            self.use("&")
            lines.append(f"& {self.old_action()}")
            if self.chance(0.4):
                lines.append(f"& {self.word('stop', '~')}")
        directives = self.old_directives() if self.chance(0.25) else []
        return "\n".join([*directives, *lines])

    def old_directives(self) -> list[str]:
        """Directives for the next action."""
        self.use("$Action...")
        lines = [f"$ActionQueueType {self.word('LinkedList', 'FixedArray', 'Direct')}"]
        lines += ["$ActionQueueSize 4000"] if self.chance(0.4) else []
        lines += ["$ActionResumeRetryCount 3"] if self.chance(0.3) else []
        lines += [f"$ActionQueueFileName old{next(self.names)}"] if self.chance(0.2) else []
        lines += ["$ActionQueueDequeueBatchSize 32"] if self.chance(0.2) else []
        return lines

    def old_action(self) -> str:
        """An action of the old form in one line."""
        after = f";{self.templates.file_line()}" if self.chance(0.3) else ""
        match self.random.randrange(6):
            case 0 | 1 | 2:
                self.use("old file")
                return f"{self.word('', '-')}{FILES}/o{next(self.names)}.log{after}"
            case 3:
                self.use("old dynafile")
                return f"?{self.templates.path()}{after}"
            case 4:
                self.use("old forward")
                host, port = self.random.choice(TARGETS)
                shown = host if port == 514 else f"{host}:{port}"
                after = f";{self.templates.line()}" if after else ""
                return f"{self.word('@', '@@', '@@')}{shown}{after}"
            case _:
                if self.chance(0.5):
                    self.use("omusrmsg")
                    return self.word(":omusrmsg:*", ":omusrmsg:root")
                self.use("old file")
                return f"{FILES}/o{next(self.names)}.log"

    def variable(self) -> str:
        """A variable that is set or unset."""
        name = self.word("$!own", "$.loc", "$!deep!er", "$.x")
        if self.chance(0.15):
            self.use("unset")
            return f"unset {name};"
        self.use(f"set {name[:2]}")
        kind = self.random.randrange(8)
        if kind < 3:
            value = f'"{self.random.choice(_WORDS)}"'
        elif kind < 5:
            value = self.word("$msg", "$hostname", "$programname", "$syslogseverity", "$fromhost-ip")
        elif kind == 5:
            self.use("set &")
            value = f'$hostname & "-" & {self.word("$programname", "$syslogtag")}'
        elif kind == 6:
            self.use("set function")
            value = self.word(
                "tolower($hostname)", 'field($msg, 32, 2)', "strlen($msg)", "cnum($syslogseverity) + 1",
                're_extract($msg, "([a-z]+)", 0, 1, "none")', 'replace($msg, "a", "b")',
            )  # fmt: skip
        else:
            value = self.word("$!own", "$.loc", "$.x")
        return f"{self.word('set', 'set', 'reset')} {name} = {value};"

    def change(self) -> str:
        """A module that changes messages."""
        kind = self.word("mmutf8fix", "mmanon", "mmrm1stspace")
        self.load(kind)
        self.use(kind)
        return f'action(type="{kind}")'

    # --- conditions

    def property_filter(self) -> str:
        """A property-based filter."""
        name = self.word("msg", "hostname", "programname", "syslogtag", "rawmsg", "fromhost-ip", "syslogseverity-text")
        operation = self.word("contains", "startswith", "isequal", "regex", "ereregex", "isempty")
        self.use(f"filter {operation}")
        negated = "!" if self.chance(0.25) else ""
        text = self.random.choice(_PROGRAMS if name == "programname" else _WORDS)
        return f':{name}, {negated}{operation}, "{text}"' if operation != "isempty" else f':{name}, {negated}isempty, ""'

    def condition(self) -> str:
        """A condition of one to three comparisons."""
        one = self.comparison()
        for _ in range(2):
            if self.chance(0.25):
                word = self.word("and", "or")
                self.use(word)
                one = f"{one} {word} {self.comparison()}"
        if self.chance(0.15):
            self.use("not")
            return f"not ({one})"
        return f"({one})" if self.chance(0.3) else one

    def comparison(self) -> str:
        """One comparison."""
        match self.random.randrange(12):
            case 0:
                return f"$syslogseverity {self.word('<=', '>', '==', '<', '>=')} {self.random.randrange(8)}"
            case 1:
                return f'$programname {self.word("==", "!=")} "{self.random.choice(_PROGRAMS)}"'
            case 2:
                self.use("prifilt()")
                return f'prifilt("{self.selector()}")'
            case 3:
                self.use("array")
                words = ", ".join(f'"{one}"' for one in self.random.sample(_WORDS, 2))
                return f"${self.word('msg', 'hostname')} {self.word('contains', 'startswith', '==')} [{words}]"
            case 4:
                self.use("re_match()")
                return f're_match(${self.word("msg", "hostname")}, "{self.word("^ ?plain", "[0-9]+", "a|b")}")'
            case 5:
                self.use("condition on a variable")
                return f'{self.word("$!own", "$.loc", "$.x")} {self.word("==", "!=", "contains")} "{self.random.choice(_WORDS)}"'
            case 6 if self.parses:
                self.use("condition on JSON")
                return self.word('$parsesuccess == "OK"', '$!user == "ann"', '$!level contains "warn"', '$!status == 200', '$!user != ""')
            case 7:
                self.use("function in a condition")
                return self.word("strlen($msg) > 20", 'tolower($programname) == "cron"', '($syslogfacility >= 16 and $syslogfacility <= 23)', "cnum($procid) > 10")
            case 8:
                name = self.word("fromhost", "fromhost-ip", "inputname")
                self.use(f"condition on {name}")
                return f'${name} {self.word("==", "!=", "startswith")} "{self.word("127.0.0.1", "localhost", "imtcp", "imudp")}"'
            case 9:
                return self.word(
                    '$syslogseverity-text == "info"', '$syslogseverity-text == "err"',
                    '$syslogfacility-text == "local0"', '$syslogfacility-text == "mail"',
                )
            case _:
                operation = self.word("contains", "startswith", "==", "!=", "contains_i", "startswith_i")
                self.use(f"if {operation}")
                return f'${self.word("msg", "hostname", "syslogtag", "rawmsg")} {operation} "{self.random.choice(_WORDS)}"'

    def selector(self) -> str:
        """One to three parts of a selector."""
        parts = []
        for _ in range(self.pick(1, 1, 2, 3)):  # type: ignore[call-overload]
            facility = self.word("*", "*", "auth,authpriv", "mail", "local0", "kern", "user,daemon")
            level = self.random.choice(_SEVERITIES)
            severity = self.word("*", level, f"={level}", f"!{level}", f"!={level}", "none")
            parts.append(f"{facility}.{severity}")
        if parts[0].endswith(("none", "!debug")) or ".!" in parts[0]:
            parts.insert(0, "*.*")
        return self.word(";", ";", ",").join(parts)

    # --- actions

    def action(self, depth: int) -> str:
        """Into the engine, a file, or elsewhere."""
        if depth and self.is_old():
            condition = self.selector() if self.chance(0.6) else "*.*"
            self.use("selector")
            return self.old_rule(condition)
        parts = [self.into()]
        if self.chance(0.3):
            self.use("action queue")
            parts.append(self.queue())
        if self.chance(0.2):
            self.use("action.*")
            parts.append(self.word(
                'action.resumeRetryCount="-1"', 'action.resumeRetryCount="3"',
                'action.resumeInterval="1"', 'action.writeAllMarkMessages="on"',
                f'name="a{next(self.names)}"',
            ))  # fmt: skip
        return f"action({' '.join(parts)})"

    def into(self) -> str:
        match self.random.randrange(10):
            case 0 | 1 | 2 | 3:
                return self.engine()
            case 4 | 5:
                self.use("omfile")
                template = f' template="{self.templates.file_line()}"' if self.chance(0.7) else ""
                more = self.word("", "", ' fileCreateMode="0640"', ' asyncWriting="on"', ' ioBufferSize="4k"')
                return f'type="omfile" file="{FILES}/f{next(self.names)}.log"{template}{more}'
            case 6:
                self.use("omfile dynaFile")
                template = f' template="{self.templates.file_line()}"' if self.chance(0.5) else ""
                return f'type="omfile" dynaFile="{self.templates.path()}"{template}'
            case 7 | 8:
                self.use("omfwd")
                host, port = self.random.choice(TARGETS)
                protocol = self.word(' protocol="tcp"', ' protocol="tcp"', "", ' protocol="udp"')
                template = f' template="{self.templates.line()}"' if self.chance(0.4) else ""
                return f'type="omfwd" target="{host}" port="{port}"{protocol}{template}'
            case _:
                self.use("omrelp")
                self.load("omrelp")
                return f'type="omrelp" target="{RELP[0]}" port="{RELP[1]}"'

    def engine(self) -> str:
        """An action into an engine."""
        self.use("omelasticsearch")
        self.load("omelasticsearch")
        parts = ['type="omelasticsearch"']
        server = self.word("127.0.0.1", "127.0.0.6", "http://127.0.0.1:9200", "")
        if server:
            parts.append(f'server="{server}"')
        if self.chance(0.1):
            self.use("several servers")
            parts = [parts[0], 'server=["127.0.0.1", "127.0.0.6"]']
        parts += ['bulkmode="on"'] if self.chance(0.9) else []
        match self.random.randrange(5):
            case 0:
                pass
            case 1 | 2:
                parts.append(f'searchIndex="{self.word("logs", "app-logs")}"')
            case _:
                self.use("dynSearchIndex")
                parts.append(f'searchIndex="{self.templates.index()}" dynSearchIndex="on"')
        if self.chance(0.85):
            parts.append(f'template="{self.templates.document()}"')
        if self.chance(0.15):
            self.use("bulkid")
            parts.append(f'bulkid="{self.templates.identity()}" dynbulkid="on"')
            parts += ['writeoperation="create"'] if self.chance(0.5) else []
        if self.chance(0.1):
            self.use("pipelineName")
            parts.append('pipelineName="pipe"')
        parts += [self.word('searchType=""', 'searchType="events"', 'searchType="_doc"')] if self.chance(0.4) else []
        if self.chance(0.1):
            self.use("errorFile")
            parts.append(f'errorFile="{FILES}/spool/errors{next(self.names)}"')
        parts += ['timeout="1m"'] if self.chance(0.05) else []
        return " ".join(parts)
