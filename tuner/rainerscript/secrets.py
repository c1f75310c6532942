"""Where a secret stands in a configuration: by the parameter, by a key inside of a text, or by the
form of a text; and how that is known."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from tuner.rainerscript.script import (
    Expression,
    Parameter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    Statement,
    expressions_of,
    inside,
)

# What is in the name of a parameter that is a secret as a whole.
_WORDS = ("pwd", "pass", "secret", "token", "apikey", "community")
# In rotation.sizeLimitCommandPassFileName.
_HANDS_OVER = "passfilename"
# Such parameters whose names say less, by the module; those of "" are every module's.
_NAMED = {
    "": frozenset({"cry.key", "queue.cry.key"}),
    "omazureeventhubs": frozenset({"azure_key"}),
    "omhttp": frozenset({"httpheadervalue"}),
}
# What has arguments of a program, headers of requests, and paths of URLs.
_COMMANDS = {
    "omprog": frozenset({"binary"}), "improg": frozenset({"binary"}),
    "mmexternal": frozenset({"binary"}),
}  # fmt: skip
_HEADERS = {"omhttp": frozenset({"httpheaders"})}
_PATHS = {"omhttp": frozenset({"restpath", "checkpath"})}
# Parameters that the action of an old line has, and no other.
_OLD_LINES = frozenset({"legacy", "program"})

_KEY = re.compile(
    r"passw|passphrase|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|key\.pem|jaas"
    r"|credential",
    re.IGNORECASE,
)
# Words are found whole first, and then asked for such keys: that takes no longer than they are.
_OPTION = re.compile(r"(?:^|\s)--?([\w.-]++)(?=[= ]\s*\S)")
_LOGIN = re.compile(r"(?:^|\s)(?:-u|--user)[= ]?[^\s:]+:\S")
_HEADER_NAME = re.compile(r"([\w-]++):")
_HEADER = re.compile(r"key|token|secret|auth|cookie|passw|credential|signature", re.IGNORECASE)
# A placeholder for a property of the event is no secret.
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)(?=[\"']?\s*+[=:]\s*+[\"']?(?![%$\"'\s,;:)}\]])\S)")
_FORMS = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), "a private key"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}"), "a JSON web token"),
    (re.compile(r"authorization\W{1,4}\w", re.IGNORECASE), "a login of HTTP"),
    (
        re.compile(r"\b(?:Bearer|Basic|Splunk|Token|ApiKey)\s+(?=\S*[\d=])[\w.~+/=-]{8,}"),
        "a login of HTTP",
    ),
    (
        re.compile(r"(?:^|//)(?:[^/@\s:%{]|%[\dA-F]{2})+:[^/@\s]+@", re.IGNORECASE),
        "a user and a password before a host",
    ),
    (re.compile(r"\[[^\[\]\s@%]{16,}@\d+"), "a token before a private enterprise number"),
)
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{20,}|[A-Za-z0-9_-]{40,}")
_CHANGES = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_FEW = 5
_LONGEST_NAME = 100


class FoundSecret(NamedTuple):
    """Where a secret may stand, and how that is known."""

    origin: ScriptPosition
    how: str

    def __str__(self) -> str:
        return f"{self.how} in line {self.origin.line}"


def is_secret(owner: str, one: Parameter) -> bool:
    """Whether a parameter of a module is a secret as a whole, and stands in the configuration."""
    return is_secret_name(owner, one.key) and any(one.texts)


def is_secret_name(owner: str, key: str) -> bool:
    """Whether a parameter of a module, in lower case, is a secret as a whole."""
    return _is_secret_name(key, _NAMED[""] | _NAMED.get(owner, frozenset()))


def _is_secret_name(key: str, named: Container[str]) -> bool:
    """Whether a name in lower case says that its value is a secret, or is one of the others."""
    said = key.replace(_HANDS_OVER, "")
    return said in named or any(word in said for word in _WORDS)


def secret_header(owner: str, one: Parameter, text: str) -> bool:
    """Whether a text of a parameter is a header of requests with a secret."""
    if one.key not in _HEADERS.get(owner, ()):
        return False
    name = _HEADER_NAME.match(text)
    is_named = name is not None and _HEADER.search(name[1]) is not None
    return is_named or form_of_secret(text) is not None


def form_of_secret(text: str, *, is_file: bool = False) -> str | None:
    """What a text has that a secret has; None where it has nothing of that."""
    for pattern, how in _FORMS:
        if pattern.search(text):
            return how
    if any(map(_KEY.search, _ASSIGNED.findall(text))):
        return "a key such as password= or token:"
    if is_file:
        return None
    if _UUID.search(text) or any(map(_is_random, _RUN.findall(text))):
        return "long random text"
    return None


def _is_random(run: str) -> bool:
    """Words that are joined change from small letters to capitals as often, and have no digits."""
    return any(map(str.isdigit, run)) and len(_CHANGES.findall(run)) >= _FEW


def _hands_over(text: str) -> bool:
    """Whether a command has a secret as one of its options."""
    return any(map(_KEY.search, _OPTION.findall(text)))


LEFT_OUT = "left-out-by-rsyslog-tune"
"""What stands for a secret in files of ours from which a configuration is read again."""


def hidden(text: str, mark: str = "***") -> str:
    """A text of a configuration with a mark for the values of passwords and keys, also those of old
    lines, and for the texts in quotes that have the form of a secret; as many lines."""

    def marked(value: str) -> str:
        return _WORDS_OF_LINES.sub(mark, value)

    def directive(found: re.Match[str]) -> str:
        start, name, blanks, value = found.groups()
        is_named = _is_secret_name(name[-_LONGEST_NAME:].lower(), ())
        return f"{start}{name}{blanks}{marked(value)}" if is_named else found[0]

    def bare(found: re.Match[str]) -> str:
        name, equals, value = found.groups()
        return f"{name}{equals}{marked(value)}" if _is_hidden(name, is_path=False) else found[0]

    def quoted(found: re.Match[str]) -> str:
        quote, value = found.groups()
        return f"{quote}{marked(value)}{quote}" if _has_secret(value) else found[0]

    text = _LOGIN_LINE.sub(lambda found: f"{found[1]}{marked(found[2])}", text)
    text = _ASSIGNED_WORD.sub(bare, _DIRECTIVE.sub(directive, text))
    pieces, at = list[str](), 0
    for found in _ASSIGNED_TEXT.finditer(text):
        start = found.end()
        if _is_hidden(found["name"], is_path=text.startswith("/", start)):
            value = _REST[found["quote"]].match(text, start)
            end = len(text) if value is None else value.end()
            pieces += [text[at:start], marked(text[max(at, start) : end])]
            at = max(at, end)
    return _TEXT.sub(quoted, "".join((*pieces, text[at:])))


_ANY_NAMED = frozenset[str]().union(*_NAMED.values())
_ASSIGNED_TEXT = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]++)\s*+=\s*+(?P<quote>["'])(?!`)""")
# A variable is no parameter, and a path is no secret.
_ASSIGNED_WORD = re.compile(r"""(?<![\w.$!-])([\w.-]++)(\s*+=\s*+)([A-Za-z0-9][^\s"'`,;)]*+)""")
# Up to the quote at the end: a text may go on in the next line, with a backslash and without.
_REST = {quote: re.compile(rf"(?:[^{quote}\\]++|\\[\s\S])*+(?={quote})") for quote in "\"'"}
# `>SERVER,DATABASE,USER,PASSWORD` and the same behind the name of the module (getSubString() of
# ommysql.c and ompgsql.c), and directives; a line of a difference has a sign before it.
_COMMA = r",(?:\\\r?\n)?[ \t]*+"
_FIELD = r"""[^\s,;"'>]{0,255}+"""
_LOGIN_LINE = re.compile(
    rf"((?<![^\s&{{+-])(?:>|:om(?:mysql|pgsql):){_FIELD}(?:{_COMMA}{_FIELD}){{2}}{_COMMA})"
    r"([^;\s](?:\\\r?\n|[^;\n])*+)",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(r"^([ +-]?[ \t]*+\$)(\w++)([ \t]++)(\S(?:\\\r?\n|[^\n])*+)", re.MULTILINE)
_TEXT = re.compile(r"""(["'])((?:(?!\1)[^\\\n]|\\[\s\S])*+)\1""")
_LINE_END = re.compile(r"\\\r?\n[ \t]*+")
_WORDS_OF_LINES = re.compile(r"[^\n]+")


def _is_hidden(name: str, *, is_path: bool) -> bool:
    """Whether the value with that name is a secret; a key may be the path of one."""
    key = name[-_LONGEST_NAME:].lower()
    return (key.endswith("key") and not is_path) or _is_secret_name(key, _ANY_NAMED)


def _has_secret(written: str) -> bool:
    """Whether a text in quotes has the form of a secret."""
    text = _LINE_END.sub("", written)
    is_file = re.fullmatch(r"/\S*", text) is not None
    is_login = _hands_over(text) or _LOGIN.search(text) is not None
    return is_login or form_of_secret(text, is_file=is_file) is not None


def embedded(owner: str, one: Parameter) -> FoundSecret | None:
    """A secret that is a part of a parameter's text, in which no reference may stand."""
    if is_secret(owner, one):
        return None
    if one.key in _OLD_LINES and any(one.texts):
        return FoundSecret(one.origin, f"{one.name} of an old line")
    for text in one.texts:
        is_file = re.fullmatch(r"/\S*", text) is not None
        is_file = is_file and one.key not in _PATHS.get(owner, ())
        how = form_of_secret(text, is_file=is_file)
        is_command = one.key in _COMMANDS.get(owner, ())
        if _hands_over(text) or (is_command and _LOGIN.search(text)):
            how = "an argument of a program"
        if how is not None and not secret_header(owner, one, text):
            return FoundSecret(one.origin, f"{how}, {one.name}")
    return None


def owner_of(one: ScriptObject) -> str:
    """The module that an object is of, in lower case; "" for any other."""
    load = (one.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
    return one.type or load


def secrets_in(statement: Statement) -> Iterator[FoundSecret]:
    """Those that are parts of texts of a statement, not of those inside of it."""
    if isinstance(statement, ScriptObject):
        found = [embedded(owner_of(statement), one) for one in statement.parameters]
        yield from (one for one in found if one is not None)
        for part in statement.parts:
            yield from secrets_in(part)
    for expression in expressions_of(statement):
        yield from secrets_of(expression)


def secrets_of(expression: Expression) -> Iterator[FoundSecret]:
    """Those of the texts of an expression."""
    for one in inside(expression):
        how = form_of_secret(one.text) if isinstance(one, Quoted) else None
        if how is not None:
            yield FoundSecret(one.origin, how)
