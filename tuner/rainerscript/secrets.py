"""Where a secret stands in a configuration: by the parameter, by a key inside of a text, or by the
form of a text; and how that is known."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from tuner.rainerscript.script import (
    Expression,
    Operation,
    Parameter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Statement,
    Variable,
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
    r"passw|passphrase|pwd|secret|token|(?:api|access|account|private)[-_.]?key|key\.pem|jaas"
    r"|credential|kennwort|(?<![a-z])(?:pw|pass)(?![a-z])",
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
    (
        # docs.aws.amazon.com/IAM, Google's API keys, GitHub's, GitLab's and Slack's tokens.
        re.compile(
            r"\b(?:A(?:KIA|SIA)[A-Z0-9]{8}|AIza[\w-]{20}|gh[oprsu]_\w{20}|glpat-[\w-]{15}|"
            r"xox[abprs]-\w{8})|hooks\.slack\.com/services/\w"
        ),
        "a key of a cloud",
    ),
)
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{20,}|[A-Za-z0-9_-]{40,}")
_CHANGES = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_FEW = 5
_LONGEST_NAME = 100
_ANY_NAMED = frozenset[str]().union(*_NAMED.values())


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


def names_secret(name: str) -> bool:
    """Whether something of that name is a secret: a parameter, a variable, or a key."""
    key = name[-_LONGEST_NAME:].lower()
    return _is_secret_name(key, _ANY_NAMED) or _KEY.search(key) is not None


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


def hands_over(text: str) -> bool:
    """Whether a command has a secret as one of its options."""
    return any(map(_KEY.search, _OPTION.findall(text)))


def has_secret(written: str) -> bool:
    """Whether a text between quotes, as it is written, has the form of a secret."""
    text = _LINE_END.sub("", written).replace('\\"', '"').replace("\\'", "'")
    is_file = re.fullmatch(r"/\S*", text) is not None
    is_login = hands_over(text) or _LOGIN.search(text) is not None
    return is_login or form_of_secret(text, is_file=is_file) is not None


def tells_secret(comment: str) -> bool:
    """Whether a comment may tell a secret; words about one are enough: nobody needs to see it."""
    return any(one.search(comment) for one in (_KEY, _WORD)) or has_secret(comment)


_LINE_END = re.compile(r"\\\r?\n[ \t]*+")
_WORD = re.compile(
    r"\b(?:pass|pw|bearer|login|authori[sz]ation|(?:mysql|mariadb|sshpass)[^\n]{0,100}\s-p)",
    re.IGNORECASE,
)


def introduces_secret(value: str) -> bool:
    """Whether a text ends with the name of a secret, which the next text is then."""
    found = _INTRODUCTION.search(value[-_LONGEST_NAME_AND_QUOTES:])
    return found is not None and (found[1] is None or names_secret(found[1]))


_LONGEST_NAME_AND_QUOTES = 200
_INTRODUCTION = re.compile(
    r"""([\w.-]++)(?:\\*["'])?\s*+[:=]\s*+(?:\\*["'])?$|"""
    r"\b(?:Bearer|Basic|Splunk|Token|ApiKey)\s++$"
)


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
        if hands_over(text) or (is_command and _LOGIN.search(text)):
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
        yield from _constants(statement)
        for part in statement.parts:
            yield from secrets_in(part)
    named = isinstance(statement, SetVariable) and names_secret(statement.variable)
    if named and any(_texts(inside(value)) for value in expressions_of(statement)):
        yield FoundSecret(statement.origin, "a text for a variable by the name of a secret")
    for expression in expressions_of(statement):
        yield from secrets_of(expression)


def _constants(template: ScriptObject) -> Iterator[FoundSecret]:
    """Constants that a list template writes behind the name of a secret, or under it."""
    is_next = False
    for part in template.parts:
        value = part.text("value") if part.kind == "constant" else None
        if value and (is_next or names_secret(part.text("outname") or "")):
            yield FoundSecret(part.origin, "a constant behind the name of a secret")
        is_next = value is not None and introduces_secret(value)


def secrets_of(expression: Expression) -> Iterator[FoundSecret]:
    """Those of the texts of an expression, and texts that what has such a name is compared with."""
    for one in inside(expression):
        how = form_of_secret(one.text) if isinstance(one, Quoted) else None
        if how is not None:
            yield FoundSecret(one.origin, how)
        if isinstance(one, Operation) and _texts(one.operands):
            named = [each.name for each in one.operands if isinstance(each, Variable)]
            if any(map(names_secret, named)):
                yield FoundSecret(one.origin, f"a text that {named[0]} is compared with")


def _texts(expressions: Iterable[Expression]) -> bool:
    return any(isinstance(one, Quoted) and one.text for one in expressions)
