"""Templates that a grammar makes for its actions: documents, lines, names of indices and files."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_PROPERTIES = (
    "msg", "hostname", "programname", "syslogtag", "fromhost-ip", "procid", "msgid", "app-name",
    "syslogfacility-text", "syslogseverity-text", "syslogseverity", "pri-text", "rawmsg",
    "structured-data", "fromhost", "inputname", "$myhostname", "pri", "protocol-version",
)  # fmt: skip
_VARIABLES = ("$!own", "$.loc", "$!deep!er", "$.x")
_PARSED = ("$!user", "$!status", "$!nested!a", "$!level")
_TIMES = ("timereported", "timegenerated", "timestamp")
_BUILTIN = (
    "RSYSLOG_FileFormat", "RSYSLOG_TraditionalFileFormat", "RSYSLOG_ForwardFormat",
    "RSYSLOG_TraditionalForwardFormat", "RSYSLOG_SyslogProtocol23Format", "RSYSLOG_DebugFormat",
)  # fmt: skip
_STAMPS = (
    "%timegenerated%", "%timestamp:::date-rfc3339%", "%timereported:::date-mysql%", "%$now%",
    "%timestamp:1:6%",
)  # fmt: skip
_REPLACERS = (
    ":::drop-last-lf", ":::sp-if-no-1st-sp", ":::sp-if-no-1st-sp", ":::lowercase", ":::uppercase",
    ":2:$", ":1:10", ":::secpath-replace", ":F,32:2", ":F,58:1", ":::escape-cc", ":::space-cc",
    ":::drop-cc", ":::csv", ":::json", ":R,ERE,1,BLANK:([a-z]+)--end",
    ":R,ERE,0,DFLT:[0-9]+--end", ":::compressspace", ":2:4:uppercase",
)  # fmt: skip
_DATES = (
    ("year", "month", "day"), ("year", "month"), ("year", "month", "day", "hour"),
    ("year", "week"),
)  # fmt: skip


class Templates:
    """The templates so far; each is used by name, some more than once."""

    def __init__(self, random: Random, features: set[str], age: float, parses: bool) -> None:
        self.random, self.features, self.age, self.parses = random, features, age, parses
        self.made: dict[str, str] = {}
        self.kinds: dict[str, list[str]] = {}

    def text(self) -> str:
        """All of them."""
        return "\n".join(self.made.values())

    def document(self) -> str:
        """A template that writes JSON."""
        return self._one_of("doc", self._document)

    def line(self) -> str:
        """A template of what is forwarded, or one of rsyslog's own."""
        if self.random.random() < 0.35:
            return self.random.choice(_BUILTIN[:5])
        return self._one_of("sent", lambda name: self._line(name, ""))

    def file_line(self) -> str:
        """The same of a line of a file, which has an end: without one the order of events shows."""
        if self.random.random() < 0.35:
            return self.random.choice((*_BUILTIN[:2], _BUILTIN[4]))
        return self._one_of("line", lambda name: self._line(name, "\\n"))

    def path(self) -> str:
        """A template of a file's name."""
        return self._one_of("path", self._path)

    def index(self) -> str:
        """A template of an index' name."""
        return self._one_of("idx", self._index)

    def identity(self) -> str:
        """A template of a document's id."""
        return self._one_of("id", self._identity)

    def _one_of(self, kind: str, make: Callable[[str], str]) -> str:
        names = self.kinds.setdefault(kind, [])
        if names and (len(names) > 3 or self.random.random() < 0.4):
            return self.random.choice(names)
        name = f"{kind}{len(names)}"
        self.made[name] = make(name)
        names.append(name)
        return name

    def _use(self, feature: str) -> None:
        self.features.add(feature)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _string(self, name: str, text: str, *options: str) -> str:
        """A template of a text, in either form."""
        if self._chance(self.age):
            self._use("$template")
            return f'$template {name},"{text}"{"".join(f",{one}" for one in options)}'
        self._use("string template")
        given = "".join(f' option.{one}="on"' for one in options)
        return f'template(name="{name}" type="string" string="{text}"{given})'

    def _names(self, most: int) -> list[str]:
        pool = [*_PROPERTIES, *_VARIABLES, *(_PARSED if self.parses else ())]
        return self.random.sample(pool, self.random.randint(1, most))

    # --- documents

    def _document(self, name: str, end: str | None = None) -> str:
        end = self.random.choice(("", "", "\\n")) if end is None else end
        match self.random.randrange(10):
            case 0 | 1 | 2 | 3:
                return self._list_document(name, end)
            case 4 | 5 | 6:
                return self._string_document(name, end)
            case 7 | 8:
                return self._named_document(name, end)
            case _ if self.parses and self._chance(0.5):
                self._use("all-json template")
                return self._string(name, f"%$!all-json%{end}")
            case _ if end:
                return self._string_document(name, end)
            case _:
                self._use("subtree template")
                subtree = self.random.choice(("$!", "$!deep", "$!"))
                return f'template(name="{name}" type="subtree" subtree="{subtree}")'

    def _list_document(self, name: str, line_end: str) -> str:
        self._use("list template")
        members = [(self._key(one), self._value(one)) for one in self._names(5)]
        time = self.random.choice(_TIMES)
        members.append((time, f'property(name="{time}" {self._date()})'))
        parts, before = [], "{"
        for key, value in members:
            if self._chance(0.07):
                self._use("nested document")
                parts.append(
                    f'    constant(value="{before}\\"in-{key}\\":{{\\"{key}\\":\\"") {value}'
                )
                before = '\\"},'
            else:
                parts.append(f'    constant(value="{before}\\"{key}\\":\\"") {value}')
                before = '\\",'
        if self._chance(0.3):
            self._use("constant of a document")
            parts.append(f'    constant(value="{before}\\"kind\\":\\"x")')
            before = '\\",'
        end = before.removesuffix(",") + "}" + line_end
        return self._list(name, [*parts, f'    constant(value="{end}")'])

    def _value(self, name: str) -> str:
        """A property of a document, escaped."""
        options = self._options() if not name.startswith("$") or self._chance(0.3) else ""
        return f'property(name="{name}" format="json"{options})'

    def _options(self) -> str:
        if self._chance(0.6):
            return ""
        option = self.random.choice((
            'caseConversion="lower"', 'caseConversion="upper"', 'position.from="2"',
            'position.from="1" position.to="5"', 'position.from="3" position.to="8"',
            'position.from="1" position.to="-2"',
            'field.number="1" field.delimiter="32"', 'field.number="2" field.delimiter="58"',
            'regex.expression="[a-z]+" regex.type="ERE" regex.nomatchmode="BLANK"',
            'regex.expression="([a-z]+)=" regex.type="ERE" regex.submatch="1" '
            'regex.nomatchmode="FIELD"',
            'regex.expression="n[0-9]*" regex.nomatchmode="DFLT"',
            'controlCharacters="escape"', 'controlCharacters="drop"', 'controlCharacters="space"',
            'dropLastLf="on"', 'compressSpace="on"', 'spifno1stsp="on"',
        ))  # fmt: skip
        self._use(f"option {option.partition('=')[0]}")
        return f" {option}"

    def _date(self) -> str:
        if self._chance(0.6):
            return 'dateFormat="rfc3339"'
        date = self.random.choice((
            "", 'dateFormat="rfc3339" date.inUTC="on"', 'dateFormat="unixtimestamp"',
            'dateFormat="year"', 'dateFormat="mysql"', 'dateFormat="rfc3164"',
            'dateFormat="rfc3164" date.inUTC="on"', 'dateFormat="hour"', 'dateFormat="pgsql"',
        ))  # fmt: skip
        self._use(f"date {date or 'as it is'}")
        return date

    def _string_document(self, name: str, end: str) -> str:
        members = []
        escape = self.random.choice(("json", "json", "json", "option", ""))
        for one in self._names(5):
            key = self._key(one)
            members.append(f'\\"{key}\\":\\"%{one}{":::json" if escape == "json" else ""}%\\"')
        if self._chance(0.6):
            members.append('\\"time\\":\\"%timereported:::date-rfc3339%\\"')
        if self._chance(0.2):
            self._use("value without quotes")
            members.append('\\"sev\\":%syslogseverity%')
        if escape == "option":
            self._use("option.json")
            return self._string(name, "{" + ",".join(members) + "}" + end, "json")
        if not escape:
            self._use("document without escapes")
        return self._string(name, "{" + ",".join(members) + "}" + end)

    def _named_document(self, name: str, end: str) -> str:
        """A list whose properties bring their names."""
        if self._chance(0.5) and not end:
            self._use("option.jsonf")
            parts = [f"    {self._named(one)})" for one in self._names(4)]
            time = 'outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf"'
            parts.append(f"    property({time})")
            kind = ['    constant(outname="kind" value="x" format="jsonf")']
            parts += kind if self._chance(0.4) else []
            return "\n".join(
                [f'template(name="{name}" type="list" option.jsonf="on") {{', *parts, "}"]
            )
        self._use("jsonf by hand")
        parts, before = [], "{"
        for one in self._names(4):
            more = self.random.choice(("", "", "", "", ' mandatory="on"'))
            parts.append(f'    constant(value="{before}") {self._named(one)}{more})')
            before = ","
        return self._list(name, [*parts, f'    constant(value="}}{end}")'])

    def _named(self, name: str) -> str:
        return f'property(outname="{self._key(name)}" name="{name}" format="jsonf"'

    def _list(self, name: str, parts: list[str]) -> str:
        return "\n".join([f'template(name="{name}" type="list") {{', *parts, "}"])

    def _key(self, name: str) -> str:
        return name.strip("$!.").replace("!", "_")

    # --- lines

    def _line(self, name: str, end: str) -> str:
        end = end or self.random.choice(("", "\\n"))
        if self._chance(0.15) and end:
            return self._document(name, end)
        if self._chance(0.5):
            self._use("list of a line")
            parts = [self._with_blank(one) for one in self._names(4)]
            if self._chance(0.5):
                time = f'property(name="{self.random.choice(_TIMES)}" {self._date()})'
                parts.insert(0, f'    {time} constant(value=" ")')
            return self._list(name, [*parts, f'    constant(value="{end}")'])
        words = self._names(4)
        replaced = [f"%{one}{self._replacer()}%" for one in words]
        if self._chance(0.4):
            replaced.insert(0, self.random.choice(_STAMPS))
        text = self.random.choice((" ", " ", "|", ": ")).join(replaced)
        return self._string(name, f"{text}{end}")

    def _with_blank(self, name: str) -> str:
        before = f'    property(name="{name}"{self._options()})'
        return f'{before} constant(value="{self.random.choice((" ", ": ", " | ", ""))}")'

    def _replacer(self) -> str:
        if self._chance(0.5):
            return ""
        option = self.random.choice(_REPLACERS)
        self._use(f"replacer {option}")
        return option

    # --- names

    def _path(self, name: str) -> str:
        self._use("path template")
        path = self.random.choice((
            "by/%hostname%.log", "by/%hostname:::secpath-replace%.log", "by/%programname%.log",
            "by/%fromhost-ip%/all.log", "by/%hostname%/%programname%.log",
            "by/%syslogfacility-text%.log", "by/%$year%-%$month%-%$day%.log",
            "by/%hostname%-%$now%.log", "by/%syslogseverity-text%",
            "by/%timereported:::date-year%%timereported:::date-month%.log", "by/%fromhost%.log",
            "by/%$!own%.log", "by/%programname:::lowercase%.log", "by/all.log",
            "by/%timegenerated:::date-year%/%timegenerated:::date-month%/%hostname%.log",
        ))  # fmt: skip
        return self._string(name, f"/FOLDER/{path.replace('by/', f'{name}/')}")

    def _index(self, name: str) -> str:
        self._use("index template")
        kind = self.random.randrange(10)
        if kind < 3:
            time, separator = self.random.choice(_TIMES), self.random.choice((".", "-", "_"))
            parts = self.random.choice(_DATES)
            utc = ' date.inUTC="on"' if self._chance(0.2) else ""
            lines = ['    constant(value="logs-")']
            for number, part in enumerate(parts):
                lines += [f'    constant(value="{separator}")'] if number else []
                lines.append(f'    property(name="{time}" dateFormat="{part}"{utc})')
            return self._list(name, lines)
        return self._string(name, self.random.choice((
            "logs-%$YEAR%.%$MONTH%.%$DAY%", "logs-%timereported:1:10:date-rfc3339%", "fixed-name",
            "logs-%programname%", "logs-%programname%-%$year%.%$month%", "logs-%$now%",
            "logstash-%timereported:::date-year%.%timereported:::date-month%."
            "%timereported:::date-day%",
            "logs-%$!own%", "syslog-%$now-utc%", "%$year%-logs", "logs-%syslogfacility-text%",
        )))  # fmt: skip

    def _identity(self, name: str) -> str:
        self._use("id template")
        return self._string(
            name,
            self.random.choice(("%uuid%", "%msgid%", "%$!own%", "%hostname%-%procid%", "%$.loc%")),
        )
