"""Finds secrets in a configuration, by the name of a parameter, a key inside a text, or the form of
a text; and masks them in texts that are shown or recorded."""

from __future__ import annotations

import re
from collections.abc import Container

from tuner.reading import table
from tuner.script.tokens import comments

_TABLE = table("script/secrets.toml")
_WORDS, _FORMS = tuple(_TABLE["words"]), tuple(map(re.compile, _TABLE["forms"]))
_NAMED = {module: frozenset(names) for module, names in _TABLE["named"].items()}
# Part of rotation.sizeLimitCommandPassFileName, which is no password.
_HARMLESS = "passfilename"
_KEY = re.compile(
    r"passw|passphrase|pwd|secret|token|(?:api|access|account|private)[-_.]?key|key\.pem|jaas"
    r"|credential|kennwort|(?<![a-z])(?:pw|pass)(?![a-z])",
    re.IGNORECASE,
)
# Whole words are matched first and then searched for such keys, which takes linear time.
_OPTION_NAME = re.compile(r"(?:^|\s)--?([\w.-]++)(?=[= ]\s*\S)")
_HAS_LOGIN = re.compile(r"(?:^|\s)(?:-u|--user)[= ]?[^\s:]+:\S")
# A placeholder for a property of the event is no secret.
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)(?=[\"']?\s*+[=:]\s*+[\"']?(?![%$\"'\s,;:)}\]])\S)")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{20,}|[A-Za-z0-9_-]{40,}")
_CHANGES = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_FEW = 5
_LONGEST_NAME = 100
_ANY_NAMED = frozenset[str]().union(*_NAMED.values())


def is_secret_name(owner: str, key: str) -> bool:
    """Whether the value of a module's parameter, named in lower case, is a secret as a whole."""
    return _is_secret_name(key, _NAMED[""] | _NAMED.get(owner, frozenset()))


def _is_secret_name(key: str, named: Container[str]) -> bool:
    """Whether a name in lower case contains a word for secrets, or is one of `named`."""
    name = key.replace(_HARMLESS, "")
    return name in named or any(word in name for word in _WORDS)


def names_secret(name: str) -> bool:
    """Whether the value of a parameter, variable or key with that name is a secret."""
    key = name[-_LONGEST_NAME:].lower()
    return _is_secret_name(key, _ANY_NAMED) or _KEY.search(key) is not None


def _has_form(text: str, *, is_file: bool) -> bool:
    """Whether a text contains a secret by its form; random characters in a path do not count."""
    if any(form.search(text) for form in _FORMS) or any(map(_KEY.search, _ASSIGNED.findall(text))):
        return True
    is_random = _UUID.search(text) is not None or any(map(_is_random, _RUN.findall(text)))
    return is_random and not is_file


def _is_random(run: str) -> bool:
    """Whether letters and digits look random; names in camel case do not, having no digits."""
    return any(map(str.isdigit, run)) and len(_CHANGES.findall(run)) >= _FEW


def has_secret(quoted: str) -> bool:
    """Whether a text between quotes, with its escapes, contains a secret by its form."""
    text = _LINE_END.sub("", quoted).replace('\\"', '"').replace("\\'", "'")
    is_file = re.fullmatch(r"/\S*", text) is not None
    is_option = any(map(_KEY.search, _OPTION_NAME.findall(text)))
    return is_option or _HAS_LOGIN.search(text) is not None or _has_form(text, is_file=is_file)


def tells_secret(comment: str) -> bool:
    """Whether a comment may contain a secret; words about secrets are enough, as nobody needs to
    see such a comment."""
    return any(pattern.search(comment) for pattern in (_KEY, _WORD)) or has_secret(comment)


_LINE_END = re.compile(r"\\\r?\n[ \t]*+")
_WORD = re.compile(
    r"\b(?:pass|pw|bearer|login|authori[sz]ation|(?:mysql|mariadb|sshpass)[^\n]{0,100}\s-p)",
    re.IGNORECASE,
)


def introduces_secret(value: str) -> bool:
    """Whether a text ends with the name of a secret, so that the next text is the secret."""
    introduction = _INTRODUCTION.search(value[-_LONGEST_NAME_AND_QUOTES:])
    return introduction is not None and (introduction[1] is None or names_secret(introduction[1]))


_LONGEST_NAME_AND_QUOTES = 200
_INTRODUCTION = re.compile(
    r"""([\w.-]++)(?:\\*["'])?\s*+[:=]\s*+(?:\\*["'])?$|"""
    r"\b(?:Bearer|Basic|Splunk|Token|ApiKey)\s++$"
)


LEFT_OUT = "left-out-by-rsyslog-tune"
"""Replaces a secret in our files, from which a configuration is read again."""


def hidden(text: str) -> str:
    """A text of a configuration, or one that quotes it, for display: *** replaces each secret, and
    each comment that may contain one.  The number of lines stays the same."""
    return _Masks("***").mask(_COMMENT.sub(_comment, text))


def hidden_members(document: str) -> str:
    """A JSON document in which *** replaces the values of members with names of secrets."""
    return _MEMBER.sub(
        lambda member: f'{member[1]}"***"' if names_secret(member[2]) else member[0], document
    )


def recordable(text: str) -> str:
    """The text of a configuration for files that others may read: without comments, and with
    LEFT_OUT for each secret.  It has as many lines, and is parsed into the same statements."""
    pieces, at = list[str](), 0
    for start, end in comments(text):
        pieces += [text[at:start], _LINES.sub("", text[start:end]) or " "]
        at = end
    return _Masks(LEFT_OUT).mask("".join((*pieces, text[at:])))


def recordable_profile(text: str) -> str:
    """The text of a profile for files that others may read.  A profile keeps its own secrets in
    files, so only comments and changes to a configuration can contain secrets."""
    text = _PROFILE_COMMENT.sub(_comment, text)
    return _CHANGE.sub(_Masks(LEFT_OUT).after_name, text)


# If quotes follow, the # after other text may be inside a string.
_PROFILE_COMMENT = re.compile(r"""(^[ \t]*#+)[^\n]*|([ \t]#+)[^\n"']*$""", re.MULTILINE)
_CHANGE = re.compile(
    r"""((?<![\w.]))([\w-]++\[[^\]\n]*\]\.[\w.-]++)(["']?[ \t]*+:[ \t]++["']?)"""
    r"""([^\s{\["'|>][^\n,}"']*+)"""
)
_COMMENT = re.compile(r"((?:^[ +-]?|[ \t])#+)[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/", re.MULTILINE)
_LINES = re.compile(r"[^\n]+")


def _comment(comment: re.Match[str]) -> str:
    if not tells_secret(comment[0]):
        return comment[0]
    start = next(filter(None, comment.groups()), None)
    return f"{start} ***" if start else _LINES.sub("***", comment[0])


class _Masks:
    """Replaces secrets in a text by a mark."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._is_next = False

    def mask(self, text: str) -> str:
        """Mask secrets of every kind, first those that can span quotes and line ends."""
        text = _PEM.sub(lambda match: self._masked(match[0]), text)
        text = _LOGIN_LINE.sub(self._after_prefix, text)
        for pattern in (_DIRECTIVE, _ASSIGNED_WORD, _CONSTANT):
            text = pattern.sub(self.after_name, text)
        text = _CONSTANT_BEFORE.sub(self._before_name, text)
        text = _TEXT.sub(self._quoted, self._assigned(text))
        for pattern in (_URL, _LOGIN, _HEADER):
            text = pattern.sub(self._after_prefix, text)
        for pattern in (_OPTION, _YAML):
            text = pattern.sub(self.after_name, text)
        return text

    def _inside(self, value: str) -> str:
        """Mask the secrets inside a string, and keep the rest of it."""
        for pattern in (_URL, _LOGIN, _HEADER):
            value = pattern.sub(self._after_prefix, value)
        return _INNER.sub(self.after_name, value)

    def _masked(self, value: str) -> str:
        return _LINES.sub(self._mark, value)

    def _after_prefix(self, match: re.Match[str]) -> str:
        return f"{match[1]}{self._masked(match[2])}"

    def _before_name(self, match: re.Match[str]) -> str:
        start, value, between, name = match.groups()
        return f"{start}{self._masked(value)}{between}{name}" if names_secret(name) else match[0]

    def after_name(self, match: re.Match[str]) -> str:
        """Mask the value after a name, if the name is that of a secret."""
        start, name, between, *_, value = match.groups()
        return f"{start}{name}{between}{self._masked(value)}" if _is_hidden(name) else match[0]

    def _assigned(self, text: str) -> str:
        """Mask strings that are assigned to names of secrets, even without a closing quote."""
        pieces, at = list[str](), 0
        for match in _ASSIGNED_TEXT.finditer(text):
            start = match.end()
            if _is_hidden(match["name"], is_path=text.startswith("/", start)):
                value = _REST[match["quote"]].match(text, start)
                end = len(text) if value is None else value.end()
                pieces += [text[at:start], self._masked(text[max(at, start) : end])]
                at = max(at, end)
        return "".join((*pieces, text[at:]))

    def _quoted(self, match: re.Match[str]) -> str:
        """Mask a quoted string: only the secrets inside it if that leaves none, else all of it.

        If the string before ended with the name of a secret, as in a template, the start is masked.
        """
        before, quote, value = match.groups()
        follows, self._is_next = self._is_next and before is not None, introduces_secret(value)
        if follows:
            value = _FIRST.sub(self._after_prefix, value)
        elif has_secret(value):
            inner = self._inside(value)
            # The mark itself must not count as a secret.
            value = self._masked(value) if has_secret(inner.replace(self._mark, "")) else inner
        return f"{before or ''}{quote}{value}{quote}"


def _is_hidden(name: str, *, is_path: bool = False) -> bool:
    """Whether the value with that name is a secret; the value of a key can be a path instead."""
    return (name.lower().endswith("key") and not is_path) or names_secret(name)


_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*+(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
_OPERATOR = r"\s*+(?:[=!]?=|<>|(?:contains|startswith|endswith)(?:_i)?)\s*+"
_ASSIGNED_TEXT = re.compile(
    rf"""(?<![\w.-])(?P<name>[\w.-]++){_OPERATOR}(?P<quote>["'])(?!`)""", re.IGNORECASE
)
# The name is no variable, and the value no path.
_ASSIGNED_WORD = re.compile(r"""((?<![\w.$!-]))([\w.-]++)(\s*+=\s*+)([A-Za-z0-9][^\s"'`,;)]*+)""")
# Up to the closing quote; a string can span lines, with a backslash or without.
_REST = {quote: re.compile(rf"(?:[^{quote}\\]++|\\[\s\S])*+(?={quote})") for quote in "\"'"}
# `>SERVER,DATABASE,USER,PASSWORD`, also after the name of the module (getSubString() of ommysql.c
# and ompgsql.c), and directives.  Lines of a diff begin with a sign.
_COMMA = r",(?:\\\r?\n)?[ \t]*+"
_FIELD = r"""[^\s,;"'>]{0,255}+"""
_LOGIN_LINE = re.compile(
    rf"((?<![^\s&{{+-])(?:>|:om(?:mysql|pgsql):){_FIELD}(?:{_COMMA}{_FIELD}){{2}}{_COMMA})"
    r"([^;\s](?:\\\r?\n|[^;\n])*+)",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(r"^([ +-]?[ \t]*+\$)(\w++)([ \t]++)(\S(?:\\\r?\n|[^\n])*+)", re.MULTILINE)
_CONSTANT = re.compile(
    r"""(outname\s*+=\s*+["'])([\w.-]++)(["']\s*+value\s*+=\s*+["'])((?:[^"'\\]|\\.)++)"""
)
_CONSTANT_BEFORE = re.compile(
    r"""(\bvalue\s*+=\s*+")((?:[^"\\]|\\.)++)("\s++outname\s*+=\s*+")([\w.-]++)"""
)
# The start of a string, up to the first quote in it.
_FIRST = re.compile(r"""^()(?!%)((?:(?!\\*["'])[\s\S])++)""")
_TEXT = re.compile(r"""((?:\bvalue\s*+=|&)\s*+)?(["'])((?:(?!\2)[^\\\n]|\\[\s\S])*+)\2""")
# A key with its value inside a string: up to the closing quote, else up to the end of the word.
_INNER = re.compile(
    r"""((?<![\w.-]))([\w.-]++)((?:\\*["'])?\s*+[=:]\s*+(\\*["'])?)(?![%$])"""
    r"""((?(4)(?:(?!\\*["'])[\s\S])++|[^\s"'\\,;:&)}\]]++))"""
)
# A JSON member whose value is no object or list; a string may be cut off.
_MEMBER = re.compile(r"""("((?:[^"\\]|\\.)*+)"\s*+:\s*+)("(?:[^"\\]|\\.)*+"?|[^\s",{}\[\]]++)""")
_URL = re.compile(r"""(//[^/@\s:%{"']{1,200}:)([^/@\s"']++)(?=@)""")
_LOGIN = re.compile(r"""((?<!\S)(?:-u|--user)[= ]?[^\s:"']{1,200}:)([^\s"';]++)""")
_HEADER = re.compile(
    r"""(authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:\w{1,20}[ \t]{1,9})?)([^\s"',;]++)""",
    re.IGNORECASE,
)
_OPTION = re.compile(r"""((?<!\S)--?)([\w.-]++)([= ][ \t]*+)([^\s"';-][^\s"';]*+)""")
# A key of a profile with a plain value: no section, path or quoted string.
_YAML = re.compile(
    r"""((?:^|(?<=[\s{,"'])))([\w.\[\]-]++)(["']?[ \t]*+:[ \t]++)([^\s{\["'|>%/&*][^\n,}"']*+)""",
    re.MULTILINE,
)
