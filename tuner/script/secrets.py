"""What is a secret in a configuration: by the parameter, by a key inside of a text, or by the form
of a text."""

from __future__ import annotations

import re
from collections.abc import Container

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
_KEY = re.compile(
    r"passw|passphrase|pwd|secret|token|(?:api|access|account|private)[-_.]?key|key\.pem|jaas"
    r"|credential|kennwort|(?<![a-z])(?:pw|pass)(?![a-z])",
    re.IGNORECASE,
)
# Words are found whole first, and then asked for such keys: that takes no longer than they are.
_OPTION = re.compile(r"(?:^|\s)--?([\w.-]++)(?=[= ]\s*\S)")
_LOGIN = re.compile(r"(?:^|\s)(?:-u|--user)[= ]?[^\s:]+:\S")
# A placeholder for a property of the event is no secret.
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)(?=[\"']?\s*+[=:]\s*+[\"']?(?![%$\"'\s,;:)}\]])\S)")
_FORMS = tuple(
    re.compile(form, flags)
    for form, flags in (
        (r"-----BEGIN [A-Z ]*PRIVATE KEY", 0),
        # A JSON web token.
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}", 0),
        # A login of HTTP.
        (r"authorization\W{1,4}\w", re.IGNORECASE),
        (r"\b(?:Bearer|Basic|Splunk|Token|ApiKey)\s+(?=\S*[\d=])[\w.~+/=-]{8,}", 0),
        # A user and a password before a host.
        (r"(?:^|//)(?:[^/@\s:%{]|%[\dA-F]{2})+:[^/@\s]+@", re.IGNORECASE),
        # A token before a private enterprise number.
        (r"\[[^\[\]\s@%]{16,}@\d+", 0),
        # docs.aws.amazon.com/IAM, Google's API keys, GitHub's, GitLab's and Slack's tokens.
        (
            r"\b(?:A(?:KIA|SIA)[A-Z0-9]{8}|AIza[\w-]{20}|gh[oprsu]_\w{20}|glpat-[\w-]{15}|"
            r"xox[abprs]-\w{8})|hooks\.slack\.com/services/\w",
            0,
        ),
    )
)
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
    is_option = any(map(_KEY.search, _OPTION.findall(text)))
    return is_option or _LOGIN.search(text) is not None or _has_form(text, is_file=is_file)


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
