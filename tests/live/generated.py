"""Configurations that rsyslogd accepts, made by a grammar: inputs, templates, filters, variables,
calls and actions; the same for the same number."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_PROPERTIES = ("msg", "hostname", "programname", "syslogtag", "fromhost-ip", "procid", "msgid")
_TIMES = ("timereported", "timegenerated")
_BUILTIN = ("RSYSLOG_FileFormat", "RSYSLOG_TraditionalFileFormat", "RSYSLOG_ForwardFormat")
_MODULES = ("omelasticsearch", "mmutf8fix")


class Grammar:
    """What one number makes."""

    def __init__(self, number: int) -> None:
        self.random = Random(number)
        self.documents = [f"doc{one}" for one in range(self.random.randint(1, 3))]
        self.rulesets = [f"rs{one}" for one in range(self.random.randint(0, 2))]
        self.ports = iter(range(20514, 20600))
        self.files = 0
        self.kinds: set[str] = set()

    def text(self) -> str:
        """The configuration."""
        inputs = list(self.inputs())
        lines = [f'module(load="{one}")' for one in (*sorted(self.kinds), *_MODULES)]
        lines.append('global(workDirectory="/var/spool/rsyslog")')
        lines += map(self.document, self.documents)
        lines += ['template(name="day" type="list") {', *self.day(), "}"]
        lines.append('template(name="path" type="string" string="/var/log/by/%hostname%.log")')
        for one in self.rulesets:
            queue = self.either('queue.type="LinkedList" queue.size="5000"', "")
            body = self.body(2, may_call=False)
            lines += [f'ruleset(name="{one}" {queue}) {{', *body, "}"]
        lines += self.body(3, may_call=True)
        lines += inputs
        return "\n".join(lines) + "\n"

    def inputs(self) -> Iterator[str]:
        """An input for the rules outside of rulesets, and one for each ruleset."""
        for bound in ("", *self.rulesets):
            kind = self.random.choice(("imtcp", "imptcp", "imudp"))
            self.kinds.add(kind)
            address = self.either('address="127.0.0.1"', "")
            ruleset = f'ruleset="{bound}"' if bound else ""
            yield f'input(type="{kind}" port="{next(self.ports)}" {address} {ruleset})'

    def document(self, name: str) -> str:
        """A template that writes JSON, every value escaped."""
        members = []
        for one in self.random.sample(_PROPERTIES, self.random.randint(1, 4)):
            options = self.random.choice(("", "", ' caseConversion="lower"'))
            members.append((one, f'property(name="{one}" format="json"{options})'))
        time = self.random.choice(_TIMES)
        members.append((time, f'property(name="{time}" dateFormat="rfc3339")'))
        parts = []
        for number, (key, value) in enumerate(members):
            before = "{" if number == 0 else '\\",'
            parts.append(f'    constant(value="{before}\\"{key}\\":\\"") {value}')
        body = "\n".join(parts)
        return f'template(name="{name}" type="list") {{\n{body}\n    constant(value="\\"}}")\n}}'

    def day(self) -> list[str]:
        """The parts of an index name with a date."""
        time, separator = self.random.choice(_TIMES), self.random.choice((".", "-"))
        parts = ['constant(value="logs-")']
        for number, part in enumerate(("year", "month", "day")):
            parts += [f'constant(value="{separator}")'] if number else []
            parts.append(f'property(name="{time}" dateFormat="{part}")')
        return parts

    def body(self, depth: int, *, may_call: bool) -> list[str]:
        """The statements of a block, the last of them an action."""
        made = [self.statement(depth, may_call=may_call) for _ in range(self.random.randint(0, 3))]
        return [*made, self.action()]

    def statement(self, depth: int, *, may_call: bool) -> str:
        """A condition, a selector, a variable, a call or an action."""
        kinds = ["action", "set", *(["if", "selector", "filter"] if depth else [])]
        kinds += ["call"] if may_call and self.rulesets else []
        match self.random.choice(kinds):
            case "if":
                then = self.body(depth - 1, may_call=may_call)
                stop = self.random.choice(([], [], ["stop"]))
                end = "}"
                if self.random.random() < 0.3:
                    end = "\n".join(["} else {", *self.body(depth - 1, may_call=may_call), "}"])
                return "\n".join([f"if {self.condition()} then {{", *then, *stop, end])
            case "selector":
                return f"{self.selector()} {{ {self.action()} }}"
            case "filter":
                return f":{self.comparison_of('msg', 'hostname')} {{ {self.action()} }}"
            case "set":
                return f'set $!own = "{self.word()}";'
            case "call":
                return f"call {self.random.choice(self.rulesets)}"
            case _:
                return self.action()

    def comparison_of(self, *names: str) -> str:
        """A comparison of a property filter."""
        operation = self.random.choice(("contains", "!contains", "startswith", "isequal"))
        return f'{self.random.choice(names)}, {operation}, "{self.word()}"'

    def condition(self) -> str:
        """A condition of one or two comparisons."""
        one = self.comparison()
        if self.random.random() < 0.3:
            one = f"{one} {self.random.choice(('and', 'or'))} {self.comparison()}"
        return f"not ({one})" if self.random.random() < 0.2 else one

    def comparison(self) -> str:
        """One comparison."""
        match self.random.randrange(4):
            case 0:
                return f"$syslogseverity <= {self.random.randrange(8)}"
            case 1:
                return f'$programname == "{self.word()}"'
            case 2:
                return f'prifilt("{self.selector()}")'
            case _:
                operation = self.random.choice(("contains", "startswith", "=="))
                name = self.random.choice(("msg", "hostname", "fromhost"))
                return f'${name} {operation} "{self.word()}"'

    def selector(self) -> str:
        """One or two parts of a selector."""
        facility = self.random.choice(("*", "auth,authpriv", "mail", "local0"))
        severity = self.random.choice(("*", "info", "=err", "!warning", "none"))
        more = self.random.choice(("", ";auth.none", ",mail.none"))
        return f"{facility}.{severity}{more}"

    def action(self) -> str:
        """Into the engine, a file, or elsewhere."""
        queue = self.either('queue.type="LinkedList"', "")
        match self.random.randrange(5):
            case 0 | 1:
                index = self.either('searchIndex="day" dynSearchIndex="on"', 'searchIndex="logs"')
                return (
                    f'action(type="omelasticsearch" server="es1.example" bulkmode="on" {index} '
                    f'template="{self.random.choice(self.documents)}" {queue})'
                )
            case 2:
                self.files += 1
                template = self.random.choice(_BUILTIN[:2])
                file = f'file="/var/log/f{self.files}.log" template="{template}"'
                return f'action(type="omfile" {file} {queue})'
            case 3:
                return f'action(type="omfile" dynaFile="path" {queue})'
            case _:
                protocol = self.either('protocol="tcp"', "")
                self.files += 1
                target = f"up{self.files}.example"
                return f'action(type="omfwd" target="{target}" port="514" {protocol} {queue})'

    def word(self) -> str:
        """A text that events hold, or none does."""
        return self.random.choice(("sshd", "nginx", "plain", "web1", "123", "user", "nowhere"))

    def either(self, one: str, other: str) -> str:
        """One of two texts."""
        return self.random.choice((one, other))
