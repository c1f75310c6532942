"""Conditions that a grammar makes: selectors, property filters and expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

WORDS = ("sshd", "nginx", "plain", "web1", "123", "app", "word", "nowhere", "10.1", "key=value")
_PROGRAMS = ("sshd", "sudo", "nginx", "CRON", "nothing")
_SEVERITIES = ("debug", "info", "notice", "warning", "err", "crit")
_ON_JSON = 6
# Comparisons by their numbers, each with what it uses.
_SIMPLE: dict[int, tuple[str, tuple[str, ...]]] = {
    _ON_JSON: ("condition on JSON", (
        '$parsesuccess == "OK"', '$!user == "ann"', '$!level contains "warn"', "$!status == 200",
        '$!user != ""',
    )),
    7: ("function in a condition", (
        "strlen($msg) > 20", 'tolower($programname) == "cron"',
        "($syslogfacility >= 16 and $syslogfacility <= 23)", "cnum($procid) > 10",
    )),
    9: ("", (
        '$syslogseverity-text == "info"', '$syslogseverity-text == "err"',
        '$syslogfacility-text == "local0"', '$syslogfacility-text == "mail"',
    )),
}  # fmt: skip


@dataclass
class Choice:
    """What a number chooses, and the features of rsyslog that it comes to use."""

    number: int
    random: Random = field(init=False)
    features: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.random = Random(self.number)

    def chance(self, share: float) -> bool:
        """True in that share of all cases."""
        return self.random.random() < share

    def word(self, *options: str) -> str:
        """One of several texts."""
        return self.random.choice(options)

    def use(self, feature: str) -> None:
        """Note what of rsyslog is used."""
        self.features.add(feature)


@dataclass
class Conditions(Choice):
    """Conditions; those on JSON where messages are parsed."""

    parses: bool = field(init=False, default=False)

    def property_filter(self) -> str:
        """A property-based filter."""
        name = self.word(
            "msg", "hostname", "programname", "syslogtag", "rawmsg", "fromhost-ip",
            "syslogseverity-text",
        )  # fmt: skip
        operation = self.word("contains", "startswith", "isequal", "regex", "ereregex", "isempty")
        self.use(f"filter {operation}")
        negated = "!" if self.chance(0.25) else ""
        text = self.random.choice(_PROGRAMS if name == "programname" else WORDS)
        if operation == "isempty":
            text = ""
        return f':{name}, {negated}{operation}, "{text}"'

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
        kind = self.random.randrange(12)
        if kind in _SIMPLE and (kind != _ON_JSON or self.parses):
            feature, texts = _SIMPLE[kind]
            if feature:
                self.use(feature)
            return self.word(*texts)
        make = {
            0: self._of_severity, 1: self._of_program, 2: self._of_priority, 3: self._of_several,
            4: self._of_expression, 5: self._of_variable, 8: self._of_sender,
        }.get(kind, self._of_text)  # fmt: skip
        return make()

    def _of_severity(self) -> str:
        operator = self.word("<=", ">", "==", "<", ">=")
        return f"$syslogseverity {operator} {self.random.randrange(8)}"

    def _of_program(self) -> str:
        return f'$programname {self.word("==", "!=")} "{self.word(*_PROGRAMS)}"'

    def _of_priority(self) -> str:
        self.use("prifilt()")
        return f'prifilt("{self.selector()}")'

    def _of_several(self) -> str:
        self.use("array")
        words = ", ".join(f'"{one}"' for one in self.random.sample(WORDS, 2))
        name, operator = self.word("msg", "hostname"), self.word("contains", "startswith", "==")
        return f"${name} {operator} [{words}]"

    def _of_expression(self) -> str:
        self.use("re_match()")
        name = self.word("msg", "hostname")
        return f're_match(${name}, "{self.word("^ ?plain", "[0-9]+", "a|b")}")'

    def _of_variable(self) -> str:
        self.use("condition on a variable")
        name, operator = self.word("$!own", "$.loc", "$.x"), self.word("==", "!=", "contains")
        return f'{name} {operator} "{self.word(*WORDS)}"'

    def _of_sender(self) -> str:
        name = self.word("fromhost", "fromhost-ip", "inputname")
        self.use(f"condition on {name}")
        operator = self.word("==", "!=", "startswith")
        return f'${name} {operator} "{self.word("127.0.0.1", "localhost", "imtcp", "imudp")}"'

    def _of_text(self) -> str:
        operation = self.word("contains", "startswith", "==", "!=", "contains_i", "startswith_i")
        self.use(f"if {operation}")
        name = self.word("msg", "hostname", "syslogtag", "rawmsg")
        return f'${name} {operation} "{self.word(*WORDS)}"'

    def selector(self) -> str:
        """One to three parts of a selector."""
        parts = []
        for _ in range(self.random.choice((1, 1, 2, 3))):
            facility = self.word("*", "*", "auth,authpriv", "mail", "local0", "kern", "user,daemon")
            level = self.random.choice(_SEVERITIES)
            severity = self.word("*", level, f"={level}", f"!{level}", f"!={level}", "none")
            parts.append(f"{facility}.{severity}")
        if parts[0].endswith(("none", "!debug")) or ".!" in parts[0]:
            parts.insert(0, "*.*")
        return self.word(";", ";", ",").join(parts)
