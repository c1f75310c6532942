"""Cases from sample lines: what came of each, which is then what it must become; pure.

Each line was sent twice: what differs, and times and dates of today, become patterns; so does a
year that the line itself does not say, and what the name of its field calls a secret.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tuner.cases.run import Came
from tuner.engines.refusals import document_refusal
from tuner.errors import JobFailed
from tuner.profile.edit import written
from tuner.script.secrets import names_secret

TIME_ZONE = "UTC"
"""In which cases are recorded, so that they hold on every machine."""
_ANY, _YEAR, _UUID = ".+", r"\d{4}", r"[0-9A-F]{32}"
_LONGEST_NAME = 60
_DATE = r"(?:(?:[._/-]?\d\d)+|(?!\d))"
_APART = timedelta(minutes=10)
_Clock = Callable[[str, datetime], datetime]


def _dated(form: str, before: str = "") -> _Clock:
    """What reads a time of that form, behind the parts of the date of now that it lacks."""

    def clock(text: str, now: datetime) -> datetime:
        whole = f"{now:{before}}{text.partition('.')[0]}" if before else text
        return datetime.strptime(whole, before + form).replace(tzinfo=now.tzinfo)

    return clock


# Times as rsyslog writes them, and what reads them: RFC 3339, RFC 3164, for PostgreSQL, for MySQL,
# that of the day alone, which templates put together with a date of their own, and seconds or
# milliseconds since 1970.
_CLOCKS: Mapping[str, _Clock] = {
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)": lambda text, _: (
        datetime.fromisoformat(text)
    ),
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d": _dated("%b %d %H:%M:%S", "%Y "),
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d": _dated("%Y-%m-%d %H:%M:%S"),
    r"\b\d{14}\b": _dated("%Y%m%d%H%M%S"),
    r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b": _dated("%H:%M:%S", "%Y-%m-%d "),
    r"(?<!\d)\d{10}(?:\d{3})?(?!\d)": lambda text, now: datetime.fromtimestamp(
        int(text[:10]), now.tzinfo
    ),
}
_TIME = "|".join(_CLOCKS)


def recorded(
    about: Mapping[str, str],
    lines: Sequence[str],
    came: Sequence[Sequence[Came]],
    now: datetime,
    input_name: str | None = None,
) -> str:
    """The text of a file of cases `about` a profile or a configuration; of each line `came` has
    what it became, twice, by the input `input_name` where one was chosen.  Raises JobFailed where
    that is no document."""
    cases = [
        _case(name, line, came[2 * number], came[2 * number + 1], now)
        | ({} if input_name is None else {"input": input_name})
        for number, (name, line) in enumerate(zip(_names(lines), lines, strict=True))
    ]
    return written({**about, "timezone": TIME_ZONE, "cases": cases})


def _names(lines: Sequence[str]) -> Iterator[str]:
    """The beginning of each line, with a number where several begin so."""
    names = Counter[str]()
    for line in lines:
        printable = "".join(char if char.isprintable() else "?" for char in line).strip()
        name = printable[:_LONGEST_NAME] or "an empty line"
        names[name] += 1
        yield name if names[name] == 1 else f"{name} ({names[name]})"


def _case(
    name: str, line: str, first: Sequence[Came], second: Sequence[Came], now: datetime
) -> dict[str, object]:
    pairs = zip(first, second, strict=False)
    sending = _Sending(line, now)
    expect = [
        _arrival(came, repeated, sending)
        for came, repeated in pairs
        if came.output == repeated.output
    ]
    outputs = list(dict.fromkeys(came.output for came in first))
    return {"name": name, "line": line, "outputs": outputs} | ({"expect": expect} if expect else {})


@dataclass(frozen=True)
class _Sending:
    """The line that was sent, and when."""

    line: str
    now: datetime

    def is_of_now(self, text: str) -> bool:
        """Whether a date is today's or this month's, or a time is of today; those that the line
        has to the second are its own."""
        digits = re.sub(r"\D", "", text)
        is_today = digits[:8] == f"{self.now:%Y%m%d}" or digits == f"{self.now:%Y%m}"
        return is_today and not (":" in text and text in self.line)


def _arrival(came: Came, repeated: Came, sending: _Sending) -> dict[str, object]:
    arrival, second = came.arrival, repeated.arrival
    expectation: dict[str, object] = {"output": came.output}
    if arrival.place:
        expectation["file"] = _text(arrival.place, second.place, sending)
        expectation["line"] = _text(arrival.text, second.text, sending)
        return expectation
    refusal = document_refusal(arrival.text)
    if refusal is not None:
        raise JobFailed(
            f"{came.output} writes no JSON object for the line {sending.line!r} ({refusal}), which "
            "an engine refuses: nothing is recorded"
        )
    expectation["index"] = _text(arrival.index, second.index, sending)
    if arrival.document_id is not None:
        is_made = arrival.document_id != second.document_id
        expectation["id"] = {"pattern": _UUID} if is_made else arrival.document_id
    fields, repeated_fields = arrival.fields or {}, second.fields or {}
    patterns = {
        name: {"pattern": _ANY}
        if names_secret(name)
        else _value(value, repeated_fields.get(name), sending)
        for name, value in fields.items()
    }
    # An object without members is no value that a case can name.
    expectation["fields"] = {name: value for name, value in patterns.items() if value != {}}
    return expectation


def _value(value: object, repeated: object, sending: _Sending) -> object:
    if isinstance(value, str):
        return _text(value, repeated if isinstance(repeated, str) else "", sending)
    is_time = isinstance(value, int | float) and is_now(f"{value:.0f}", sending.now)
    return value if value == repeated and not is_time else {"pattern": _ANY}


def _text(text: str, repeated: str, sending: _Sending) -> object:
    """A text that is the same each time, or the pattern of one that is not."""
    year = str(sending.now.year)
    pattern, end = "", 0
    for match in re.finditer(rf"(?:{_TIME})|(?<!\d){year}{_DATE}", text):
        pattern += _escaped(text[end : match.start()])
        end = match.end()
        if is_now(match[0], sending.now) or sending.is_of_now(match[0]):
            pattern += _like(match[0])
        elif match[0].startswith(year) and year not in sending.line:
            pattern += _YEAR + _escaped(match[0].removeprefix(year))
        else:
            pattern += _escaped(match[0])
    pattern += _escaped(text[end:])
    if pattern == _escaped(text) and text == repeated:
        return text
    fits = re.fullmatch(pattern, repeated, re.DOTALL) is not None
    return {"pattern": pattern if fits else _ANY}


def is_now(text: str, now: datetime) -> bool:
    """Whether a time is that of a clock now, or ten minutes from it."""
    now = now.astimezone()
    for pattern, clock in _CLOCKS.items():
        if re.fullmatch(pattern, text):
            with suppress(ValueError):
                return abs(clock(text, now) - now) < _APART
    return False


def _like(time: str) -> str:
    """The pattern of times that are written like one."""
    digits = re.sub(r"\d+", r"\\d+", _escaped(time))
    return re.sub("[A-Z][a-z]{2} +", "[A-Z][a-z]{2} +", digits)


def _escaped(text: str) -> str:
    """A pattern of a text that people can read: re.escape escapes blanks and hyphens too."""
    return re.sub(r"[][.^$*+?{}\\|()]", r"\\\g<0>", text)
