"""Parameters changed where they stand: everything else of the user's files stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tuner.script.legacy_names import GLOBALS, LASTING, ONCE, SHUTDOWN
from tuner.script.objects import GLOBAL, MAIN_QUEUE, Base, SourceFile
from tuner.script.quoting import quote
from tuner.script.script import (
    QUEUE,
    Array,
    Block,
    Parameter,
    ScriptObject,
    Statement,
    rewritten,
)
from tuner.script.tokens import SURROGATES

# What stands between the parentheses of an object: texts, comments, the end, and the backslash that
# joins a line to the next.
_WORD = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)|(?P<comment>/\*.*?\*/|#[^\n]*)|(?P<end>\))|'
    r"(?P<joined>\\)|\S",
    re.DOTALL,
)
# Not one whose value stands in the next line, after a backslash.
_DIRECTIVE = re.compile(r'\$(?P<name>\w+)[ \t]+(?P<value>"[^"\n]*"|(?!\\\s)[^\s;#]+)')
_PLAIN = re.compile(r"[^\s\"#;]+")


class _Stretch(NamedTuple):
    """A stretch of a file, and what stands there instead."""

    start: int
    end: int
    text: str


Changes = Mapping[tuple[str, str], str | None]
"""Values of parameters, by the address of their object and their name; None removes one."""


def edited(base: Base, changes: Changes) -> dict[str, bytes]:
    """The files that the changes touch, by path.  Raises LookupError with every address that names
    nothing, and all that the old form cannot say."""
    splices: dict[str, list[_Stretch]] = {}
    wrong: list[str] = []
    for address in dict.fromkeys(address for address, _ in changes):
        values = {name: value for (of, name), value in changes.items() if of == address}
        try:
            for path, splice in _object(base, address, values):
                splices.setdefault(path, []).append(splice)
        except LookupError as bad:
            wrong.append(str(bad.args[0]))
    if wrong:
        raise LookupError("; ".join(wrong))
    return {path: _spliced(base.files[path], found) for path, found in splices.items()}


def unheeded(written: Base, changed: Base, changes: Changes) -> str:
    """Why a configuration is not what was written with these changes made, and no others; "" where
    it is."""
    wrong = [
        f"{changed.key_of(address, name)}: the change has no effect where it stands"
        for (address, name), value in changes.items()
        if not _is_said(changed, address, name, value)
    ]
    asked = {(address, name.lower()) for address, name in changes}
    before, after = _parameters(written), _parameters(changed)
    wrong += [
        f"{changed.key_of(place[0], given.parameter.name)} would change too"
        for place, given in {**before, **after}.items()
        if place not in asked and not _stays(before.get(place), after.get(place))
    ]
    if not wrong and _statements(written) != _statements(changed):
        wrong.append("more than these parameters would change")
    return f"{'; '.join(wrong)}: make it in the configuration itself" if wrong else ""


def _is_said(base: Base, address: str, name: str, value: str | None) -> bool:
    found = base.parameter(address, name)
    if value is None:
        return found is None or not any(_places(base, base.objects[address], name))
    return found is not None and found.texts == (value,)


class _Given(NamedTuple):
    """A parameter, and whether it is a default of the old form, which nobody wrote."""

    parameter: Parameter
    is_default: bool


def _parameters(base: Base) -> dict[tuple[str, str], _Given]:
    """The parameters of all objects, by address and name in lower case."""
    given = {
        (address, one.key): _Given(one, one.key.startswith(QUEUE) and one.origin == found.origin)
        for address, found in base.objects.items()
        for one in found.parameters
    }
    return given | {(GLOBAL, one.key): _Given(one, is_default=False) for one in base.shared}


def _stays(before: _Given | None, after: _Given | None) -> bool:
    """Whether a parameter is as it was; the queue that a change makes has its defaults."""
    if before is None or after is None:
        only = before or after
        return only is not None and only.is_default
    return before.parameter.value == after.parameter.value


def _statements(base: Base) -> Block:
    """Everything but the parameters of what has an address; global() may stand several times."""
    addressed = {(one.kind, one.origin) for one in base.objects.values()}

    def bare(one: Statement) -> Iterator[Statement]:
        if isinstance(one, ScriptObject) and one.kind in {MAIN_QUEUE, GLOBAL}:
            return
        if isinstance(one, ScriptObject) and (one.kind, one.origin) in addressed:
            one = replace(one, parameters=())
        yield one

    return rewritten(base.block, bare)


def _spliced(file: SourceFile, splices: Sequence[_Stretch]) -> bytes:
    """The file with its splices; of several at one place the first comes first."""
    pieces, done = [], 0
    for one in sorted(splices, key=lambda splice: splice.start):
        pieces += [file.text[done : one.start], one.text]
        done = one.end
    return "".join((*pieces, file.text[done:])).encode("utf-8", SURROGATES)


def _object(
    base: Base, address: str, values: Mapping[str, str | None]
) -> Iterator[tuple[str, _Stretch]]:
    """The splices of one object, each with its file."""
    found = base.objects.get(address)
    given = {name: value for name, value in values.items() if value is not None}
    if found is None and address == MAIN_QUEUE:
        if given:
            yield _new_main_queue(base, given)
        return
    if found is None:
        raise LookupError(f"there is no {address}")
    if found.origin.file not in base.files:
        raise LookupError(f"{address} stands in {found.origin.file}: change it there yourself")
    missing: dict[str, str] = {}
    for name, value in values.items():
        places = list(_places(base, found, name))
        # The last counts where one is written twice; all of them go together.
        for place in places if value is None else places[-1:]:
            yield from _replaced(base, found, place, name, value)
        if not places and value is not None:
            missing[name] = value
    if missing:
        file = base.files[found.origin.file]
        at = file.offset(found.origin)
        if re.match(rf"{found.kind}\s*\(", file.text[at:], re.IGNORECASE):
            yield file.path, _added(file, at, missing)
        else:
            yield file.path, _directives_before(base, found, missing)


def _replaced(
    base: Base, found: ScriptObject, place: _Value, name: str, value: str | None
) -> Iterator[tuple[str, _Stretch]]:
    """The splices of a parameter that is written there."""
    if _is_shared(base, found, name):
        if value is None:
            address = base.address_of(found)
            raise LookupError(f"{address}: {name} is set for several objects at once")
        yield from _for_one(base, found, name, value)
    elif value is None:
        yield place.path, _Stretch(*place.gone, "")
    else:
        yield place.path, _Stretch(place.start, place.end, place.spelled(value))


class _Value(NamedTuple):
    """Where a value stands, in an object or after the name of a directive, and what goes with it
    when it is taken out."""

    path: str
    gone: tuple[int, int]
    start: int
    end: int
    in_quotes: bool

    def spelled(self, value: str) -> str:
        """The value as it may stand there."""
        return quote(value) if self.in_quotes or not _PLAIN.fullmatch(value) else value


def _places(base: Base, found: ScriptObject, name: str) -> Iterator[_Value]:
    """Everywhere that a parameter of an object has a value."""
    for one in base.shared if found.kind == GLOBAL else found.parameters:
        place = _written(base, found, one) if one.key == name.lower() else None
        if place is not None:
            yield place


def _written(base: Base, found: ScriptObject, one: Parameter) -> _Value | None:
    """Where a parameter has its value; None where that is a default that nobody wrote."""
    if one.origin.file not in base.files:
        return None
    file = base.files[one.origin.file]
    start = file.offset(one.origin)
    directive = _DIRECTIVE.match(file.text, start)
    if directive is not None:
        # A default of the old form has the place of what it follows from.
        if directive["name"].lower() != (_directive(found, one.name) or "").lower():
            return None
        line = file.text.rfind("\n", 0, start) + 1
        stop = file.text.find("\n", start) + 1
        in_quotes = directive["value"][0] == '"'
        gone = (line, stop or len(file.text))
        return _Value(file.path, gone, *directive.span("value"), in_quotes)
    if file.text[start : start + len(one.name)].lower() != one.key:
        return None
    begin = file.offset(one.value.origin)
    text = _WORD.match(file.text, begin)
    if text is None or text["text"] is None:
        return None
    end = text.end()
    if isinstance(one.value, Array):
        begin = file.text.rindex("[", start, begin)
        end = next(word.end() for word in _WORD.finditer(file.text, end) if word[0] == "]")
    return _Value(file.path, _without(file, start, end), begin, end, in_quotes=True)


def _without(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """The stretch to take out with a parameter: its line where nothing else is on that, else the
    blanks beside it."""
    line = file.text.rfind("\n", 0, start) + 1
    before = file.text[line:start]
    rest = file.text[end:].partition("\n")[0]
    if before.strip():
        return line + len(before.rstrip(" \t")), end
    if rest.strip():
        return start, end + len(rest) - len(rest.lstrip(" \t"))
    return line, min(len(file.text), end + len(rest) + 1)


def _added(file: SourceFile, at: int, values: Mapping[str, str]) -> _Stretch:
    """Parameters added to the object that begins at `at`: each on a line of its own where those
    before it stand so, and no backslash joins lines: rsyslogd puts a number after those, which may
    not stand inside of an object."""
    last = file.text.index("(", at) + 1
    end = stop = last
    comments: list[tuple[int, int]] = []
    for word in _WORD.finditer(file.text, last):
        if word["end"] is not None:
            stop = word.start()
            break
        if word["comment"] is not None:
            comments.append(word.span())
        elif word["joined"] is None:
            end = word.end()
    # Also inside of texts and comments.
    is_joined = re.search(r"\\\s*\n", file.text[last:stop]) is not None
    written = [f"{name}={quote(value)}" for name, value in values.items()]
    line = file.text.rfind("\n", 0, end) + 1
    if line <= at or is_joined:
        first = "" if end == last else " "
        return _Stretch(end, end, first + " ".join(written))
    begins = file.text[line:end]
    indent = begins[: len(begins) - len(begins.lstrip(" \t"))]
    # A comment at the end of the line belongs to what stands before it, unless it goes on.
    line_stop = file.text.find("\n", end)
    is_inside = any(begin <= line_stop < done for begin, done in comments)
    is_last = line_stop < 0 or stop < line_stop
    put = end if is_last or is_inside else line_stop - file.text.endswith("\r", 0, line_stop)
    return _Stretch(put, put, "".join(f"{file.line_end}{indent}{one}" for one in written))


def _line_start(file: SourceFile, at: int) -> int:
    """Where the line begins that a place belongs to, with those that a backslash joins to it."""
    start = file.text.rfind("\n", 0, at) + 1
    while start and file.text[: start - 1].rstrip(" \t\r").endswith("\\"):
        start = file.text.rfind("\n", 0, start - 1) + 1
    return start


def _directives_before(base: Base, found: ScriptObject, values: Mapping[str, str]) -> _Stretch:
    """Directives on lines of their own before an object of the old form; for the main queue before
    the first that it has."""
    file = base.files[found.origin.file]
    at = _line_start(file, file.offset(found.origin))
    lines = [f"{_line(found, *value)}{file.line_end}" for value in values.items()]
    return _Stretch(at, at, "".join(lines))


def _line(found: ScriptObject, name: str, value: str) -> str:
    """The line of a directive.  Raises LookupError where the old form has none."""
    directive = _directive(found, name)
    if directive is None:
        raise LookupError(f"{found.kind}: the old form has no directive for {name}")
    return f"${directive} {value}"


def _directive(found: ScriptObject, name: str) -> str | None:
    """The directive of the old form that sets a parameter; None where none does."""
    key = name.lower()
    if key.startswith(QUEUE) and found.kind in {"action", "main_queue"}:
        short = name[len(QUEUE) :]
        own = SHUTDOWN if short.lower() == "timeoutworkerthreadshutdown" else short
        return ("ActionQueue" if found.kind == "action" else "MainMsgQueue") + own
    kinds = {"", found.type, f"{found.type}/{found.text('protocol')}"}
    named = [one for one, (kind, own) in LASTING.items() if kind in kinds and own.lower() == key]
    if found.kind == "action":
        named += [one for one, own in ONCE.items() if own.lower() == key]
    if found.kind == "global":
        named += [one for one, own in GLOBALS.items() if own.lower() == key]
    return next(iter(named), None)


def _is_shared(base: Base, found: ScriptObject, name: str) -> bool:
    """Whether one directive sets a parameter of several objects."""
    given = found.get(name)
    every = [one.get(name) for one in base.objects.values()]
    places = [one.origin for one in every if one is not None]
    return given is not None and places.count(given.origin) > 1


def _for_one(
    base: Base, found: ScriptObject, name: str, value: str
) -> Iterator[tuple[str, _Stretch]]:
    """A directive that lasts, for one object alone: set before it, and as it was after it."""
    file = base.files[found.origin.file]
    given = found.get(name)
    before = "" if given is None else given.text or ""
    at = file.offset(found.origin)
    yield file.path, _directives_before(base, found, {name: value})
    stop = file.text.find("\n", at)
    after = len(file.text) if stop < 0 else stop + 1
    back = f"{_line(found, name, before)}{file.line_end}"
    yield file.path, _Stretch(after, after, back if stop >= 0 else f"{file.line_end}{back}")


def _new_main_queue(base: Base, values: Mapping[str, str]) -> tuple[str, _Stretch]:
    """A main_queue() before the first statement of the first file."""
    file = next(iter(base.files.values()))
    at = 0
    for line in file.text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        at += len(line)
    written = " ".join(f"{name}={quote(value)}" for name, value in values.items())
    return file.path, _Stretch(at, at, f"main_queue({written}){file.line_end}")
