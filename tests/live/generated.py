"""Configurations that rsyslogd accepts, made by a grammar: inputs, templates, filters, variables,
calls and actions, in the old form and the new; the same for the same number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.live.generated_conditions import WORDS
from tests.live.generated_inputs import FILES, Entry, Inputs
from tests.live.generated_templates import Templates

ENGINES = ("127.0.0.1", "127.0.0.6")
TARGETS = (("127.0.0.2", 514), ("127.0.0.2", 5141), ("127.0.0.3", 5142))
RELP = ("127.0.0.4", 2514)
_SYSLOG_PORT = 514
_RULES = 3


@dataclass(frozen=True)
class Generated:
    """A configuration, the files that it reads beside it, where events enter, and what of rsyslog
    it uses."""

    text: str
    files: Mapping[str, str]
    entries: tuple[Entry, ...]
    features: frozenset[str]


@dataclass
class Grammar(Inputs):
    """What one number makes; a ruleset may call those that stand before it."""

    callable: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.templates = Templates(self.random, self.features, self.age, self.parses)

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
        self.chance(0.5)
        # Directives that bind inputs want their rulesets before them.
        head = [*self.modules.values(), *self.globals(), *main, templates]
        lines = [*head, *rulesets, *inputs, *rules] if self.chance(0.5) else [
            *head, *rulesets, *rules, *inputs
        ]  # fmt: skip
        text = "\n".join(lines) + "\n"
        return Generated(text, self.files, tuple(self.entries), frozenset(self.features))

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
        make: dict[str, Callable[[], str]] = {
            "if": lambda: self.condition_block(depth),
            "selector": lambda: self.rule_of("selector", self.selector),
            "filter": lambda: self.rule_of("property filter", self.property_filter),
            "set": self.variable,
            "call": self.calling,
            "change": self.change,
            "action": lambda: self.action(depth),
        }
        return make[self.random.choice(kinds)]()

    def rule_of(self, feature: str, condition: Callable[[], str]) -> str:
        """A rule of the old form."""
        self.use(feature)
        return self.old_rule(condition())

    def calling(self) -> str:
        """A call of a ruleset that stands before."""
        self.use("call")
        return f"call {self.random.choice(self.callable)}"

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
            value = f'"{self.random.choice(WORDS)}"'
        elif kind < 5:
            value = self.word(
                "$msg",
                "$hostname",
                "$programname",
                "$syslogseverity",
                "$fromhost-ip",
                "$timereported",
            )
        elif kind == 5:
            self.use("set &")
            value = f'$hostname & "-" & {self.word("$programname", "$syslogtag")}'
        elif kind == 6:
            self.use("set function")
            value = self.word(
                "tolower($hostname)", "field($msg, 32, 2)", "strlen($msg)",
                "cnum($syslogseverity) + 1",
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
                more = self.word(
                    "", "", ' fileCreateMode="0640"', ' asyncWriting="on"', ' ioBufferSize="4k"'
                )
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
        parts += (
            [self.word('searchType=""', 'searchType="events"', 'searchType="_doc"')]
            if self.chance(0.4)
            else []
        )
        if self.chance(0.1):
            self.use("errorFile")
            parts.append(f'errorFile="{FILES}/spool/errors{next(self.names)}"')
        parts += ['timeout="1m"'] if self.chance(0.05) else []
        return " ".join(parts)
