"""What is a secret in a configuration: by the parameter, by a key inside of a text, or by the form
of a text; and texts without their secrets, as they are shown and kept."""

from __future__ import annotations

import re
from collections.abc import Container

from tuner.reading import table
from tuner.script.tokens import comments

_TABLE = table("script/secrets.toml")
_WORDS, _FORMS = tuple(_TABLE["words"]), tuple(map(re.compile, _TABLE["forms"]))
_NAMED = {module: frozenset(names) for module, names in _TABLE["named"].items()}
# In rotation.sizeLimitCommandPassFileName.
_HANDS_OVER = "passfilename"
_KEY = re.compile(
    r"passw|passphrase|pwd|secret|token|(?:api|access|account|private)[-_.]?key|key\.pem|jaas"
    r"|credential|kennwort|(?<![a-z])(?:pw|pass)(?![a-z])",
    re.IGNORECASE,
)
# Words are found whole first, and then asked for such keys: that takes no longer than they are.
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
    """Whether a parameter of a module, in lower case, is a secret as a whole."""
    return _is_secret_name(key, _NAMED[""] | _NAMED.get(owner, frozenset()))


def _is_secret_name(key: str, named: Container[str]) -> bool:
    """Whether a name in lower case says that its value is a secret, or is one of the others."""
    name = key.replace(_HANDS_OVER, "")
    return name in named or any(word in name for word in _WORDS)


def names_secret(name: str) -> bool:
    """Whether something of that name is a secret: a parameter, a variable, or a key."""
    key = name[-_LONGEST_NAME:].lower()
    return _is_secret_name(key, _ANY_NAMED) or _KEY.search(key) is not None


def _has_form(text: str, *, is_file: bool) -> bool:
    """Whether a text has what a secret has."""
    if any(form.search(text) for form in _FORMS) or any(map(_KEY.search, _ASSIGNED.findall(text))):
        return True
    is_random = _UUID.search(text) is not None or any(map(_is_random, _RUN.findall(text)))
    return is_random and not is_file


def _is_random(run: str) -> bool:
    """Words that are joined change from small letters to capitals as often, and have no digits."""
    return any(map(str.isdigit, run)) and len(_CHANGES.findall(run)) >= _FEW


def has_secret(written: str) -> bool:
    """Whether a text between quotes, as it is written, has the form of a secret."""
    text = _LINE_END.sub("", written).replace('\\"', '"').replace("\\'", "'")
    is_file = re.fullmatch(r"/\S*", text) is not None
    is_option = any(map(_KEY.search, _OPTION_NAME.findall(text)))
    return is_option or _HAS_LOGIN.search(text) is not None or _has_form(text, is_file=is_file)


def tells_secret(comment: str) -> bool:
    """Whether a comment may tell a secret; words about one are enough: nobody needs to see it."""
    return any(pattern.search(comment) for pattern in (_KEY, _WORD)) or has_secret(comment)


_LINE_END = re.compile(r"\\\r?\n[ \t]*+")
_WORD = re.compile(
    r"\b(?:pass|pw|bearer|login|authori[sz]ation|(?:mysql|mariadb|sshpass)[^\n]{0,100}\s-p)",
    re.IGNORECASE,
)


def introduces_secret(value: str) -> bool:
    """Whether a text ends with the name of a secret, which the next text is then."""
    introduction = _INTRODUCTION.search(value[-_LONGEST_NAME_AND_QUOTES:])
    return introduction is not None and (introduction[1] is None or names_secret(introduction[1]))


_LONGEST_NAME_AND_QUOTES = 200
_INTRODUCTION = re.compile(
    r"""([\w.-]++)(?:\\*["'])?\s*+[:=]\s*+(?:\\*["'])?$|"""
    r"\b(?:Bearer|Basic|Splunk|Token|ApiKey)\s++$"
)


LEFT_OUT = "left-out-by-rsyslog-tune"
"""What stands for a secret in files of ours from which a configuration is read again."""


def hidden(text: str) -> str:
    """A text of a configuration, or one that quotes such, as it is shown: *** stands for each
    secret, and for a comment that may tell one; as many lines."""
    return _Masks("***").all(_COMMENT.sub(_comment, text))


def hidden_members(document: str) -> str:
    """A document without the values of members that are called like a secret."""
    return _MEMBER.sub(
        lambda member: f'{member[1]}"***"' if names_secret(member[2]) else member[0], document
    )


def recordable(text: str) -> str:
    """The text of a configuration as it is kept where others may read it: without its comments,
    with a mark for each secret; as many lines, and read as the same statements."""
    pieces, at = list[str](), 0
    for start, end in comments(text):
        pieces += [text[at:start], _WORDS_OF_LINES.sub("", text[start:end]) or " "]
        at = end
    return _Masks(LEFT_OUT).all("".join((*pieces, text[at:])))


def recordable_profile(text: str) -> str:
    """The text of a profile as it is kept so: it names files for its own secrets, and only comments
    and what it changes in a configuration may tell one."""
    text = _IN_PROFILE.sub(_comment, text)
    return _CHANGE.sub(_Masks(LEFT_OUT).named, text)


# Quotes behind it may be those of a text that it is in.
_IN_PROFILE = re.compile(r"""(^[ \t]*#+)[^\n]*|([ \t]#+)[^\n"']*$""", re.MULTILINE)
_CHANGE = re.compile(
    r"""((?<![\w.]))([\w-]++\[[^\]\n]*\]\.[\w.-]++)(["']?[ \t]*+:[ \t]++["']?)"""
    r"""([^\s{\["'|>][^\n,}"']*+)"""
)
_COMMENT = re.compile(r"((?:^[ +-]?|[ \t])#+)[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/", re.MULTILINE)
_WORDS_OF_LINES = re.compile(r"[^\n]+")


def _comment(comment: re.Match[str]) -> str:
    if not tells_secret(comment[0]):
        return comment[0]
    start = next(filter(None, comment.groups()), None)
    return f"{start} ***" if start else _WORDS_OF_LINES.sub("***", comment[0])


class _Masks:
    """Puts a mark in the place of secrets."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._is_next = False

    def all(self, text: str) -> str:
        """Every kind, those first whose texts go over quotes and line ends."""
        text = _PEM.sub(lambda match: self._marked(match[0]), text)
        text = _LOGIN_LINE.sub(self._behind, text)
        for pattern in (_DIRECTIVE, _ASSIGNED_WORD, _CONSTANT):
            text = pattern.sub(self.named, text)
        text = _CONSTANT_BEFORE.sub(self._before, text)
        text = _TEXT.sub(self._quoted, self._assigned(text))
        for pattern in (_URL, _LOGIN, _HEADER):
            text = pattern.sub(self._behind, text)
        for pattern in (_OPTION, _YAML):
            text = pattern.sub(self.named, text)
        return text

    def _inside(self, value: str) -> str:
        for pattern in (_URL, _LOGIN, _HEADER):
            value = pattern.sub(self._behind, value)
        return _INNER.sub(self.named, value)

    def _marked(self, value: str) -> str:
        return _WORDS_OF_LINES.sub(self._mark, value)

    def _behind(self, match: re.Match[str]) -> str:
        return f"{match[1]}{self._marked(match[2])}"

    def _before(self, match: re.Match[str]) -> str:
        start, value, between, name = match.groups()
        return f"{start}{self._marked(value)}{between}{name}" if names_secret(name) else match[0]

    def named(self, match: re.Match[str]) -> str:
        """A value behind its name, where that is the name of a secret."""
        start, name, between, *_, value = match.groups()
        return f"{start}{name}{between}{self._marked(value)}" if _is_hidden(name) else match[0]

    def _assigned(self, text: str) -> str:
        """The texts that are values of parameters and variables by such a name, also where they do
        not end."""
        pieces, at = list[str](), 0
        for match in _ASSIGNED_TEXT.finditer(text):
            start = match.end()
            if _is_hidden(match["name"], is_path=text.startswith("/", start)):
                value = _REST[match["quote"]].match(text, start)
                end = len(text) if value is None else value.end()
                pieces += [text[at:start], self._marked(text[max(at, start) : end])]
                at = max(at, end)
        return "".join((*pieces, text[at:]))

    def _quoted(self, match: re.Match[str]) -> str:
        """A text in quotes; of one that has a secret only that goes where it is seen, and what a
        template puts behind the name of one goes too."""
        before, quote, value = match.groups()
        follows, self._is_next = self._is_next and before is not None, introduces_secret(value)
        if follows:
            value = _FIRST.sub(self._behind, value)
        elif has_secret(value):
            inner = self._inside(value)
            # What stands for a secret is none.
            value = self._marked(value) if has_secret(inner.replace(self._mark, "")) else inner
        return f"{before or ''}{quote}{value}{quote}"


def _is_hidden(name: str, *, is_path: bool = False) -> bool:
    """Whether the value with that name is a secret; a key may be the path of one."""
    return (name.lower().endswith("key") and not is_path) or names_secret(name)


_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*+(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
_OPERATOR = r"\s*+(?:[=!]?=|<>|(?:contains|startswith|endswith)(?:_i)?)\s*+"
_ASSIGNED_TEXT = re.compile(
    rf"""(?<![\w.-])(?P<name>[\w.-]++){_OPERATOR}(?P<quote>["'])(?!`)""", re.IGNORECASE
)
# A variable is no parameter, and a path is no secret.
_ASSIGNED_WORD = re.compile(r"""((?<![\w.$!-]))([\w.-]++)(\s*+=\s*+)([A-Za-z0-9][^\s"'`,;)]*+)""")
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
_CONSTANT = re.compile(
    r"""(outname\s*+=\s*+["'])([\w.-]++)(["']\s*+value\s*+=\s*+["'])((?:[^"'\\]|\\.)++)"""
)
_CONSTANT_BEFORE = re.compile(
    r"""(\bvalue\s*+=\s*+")((?:[^"\\]|\\.)++)("\s++outname\s*+=\s*+")([\w.-]++)"""
)
# What comes first of a text, up to a quote in it.
_FIRST = re.compile(r"""^()(?!%)((?:(?!\\*["'])[\s\S])++)""")
_TEXT = re.compile(r"""((?:\bvalue\s*+=|&)\s*+)?(["'])((?:(?!\2)[^\\\n]|\\[\s\S])*+)\2""")
# What a text says of a key: up to the quote that ends it, else up to what may stand in no word.
_INNER = re.compile(
    r"""((?<![\w.-]))([\w.-]++)((?:\\*["'])?\s*+[=:]\s*+(\\*["'])?)(?![%$])"""
    r"""((?(4)(?:(?!\\*["'])[\s\S])++|[^\s"'\\,;:&)}\]]++))"""
)
# A member of JSON, its value whole or as far as it was written; one that is an object has its own.
_MEMBER = re.compile(r"""("((?:[^"\\]|\\.)*+)"\s*+:\s*+)("(?:[^"\\]|\\.)*+"?|[^\s",{}\[\]]++)""")
_URL = re.compile(r"""(//[^/@\s:%{"']{1,200}:)([^/@\s"']++)(?=@)""")
_LOGIN = re.compile(r"""((?<!\S)(?:-u|--user)[= ]?[^\s:"']{1,200}:)([^\s"';]++)""")
_HEADER = re.compile(
    r"""(authorization["']?\s{0,3}[:=]\s{0,3}["']?(?:\w{1,20}[ \t]{1,9})?)([^\s"',;]++)""",
    re.IGNORECASE,
)
_OPTION = re.compile(r"""((?<!\S)--?)([\w.-]++)([= ][ \t]*+)([^\s"';-][^\s"';]*+)""")
# A key of a profile whose value is no section, no path and nothing in quotes.
_YAML = re.compile(
    r"""((?:^|(?<=[\s{,"'])))([\w.\[\]-]++)(["']?[ \t]*+:[ \t]++)([^\s{\["'|>%/&*][^\n,}"']*+)""",
    re.MULTILINE,
)
