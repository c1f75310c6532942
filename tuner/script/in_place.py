"""Parameters changed where they stand: everything else of the user's files stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tuner.script.directives import directives
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


class _Splice(NamedTuple):
    """A stretch of a file, and what stands there instead."""

    path: str
    start: int
    end: int
    text: str


Changes = Mapping[tuple[str, str], str | None]
"""Values of parameters, by the address of their object and their name; None removes one."""


def edited(base: Base, changes: Changes) -> dict[str, bytes]:
    """The files that the changes touch, by path.  Raises LookupError with every address that names
    nothing, and all that the old form cannot say."""
    by_address: dict[str, dict[str, str | None]] = {}
    for (address, name), value in changes.items():
        by_address.setdefault(address, {})[name] = value
    splices: list[_Splice] = []
    wrong: list[str] = []
    for address, values in by_address.items():
        try:
            splices += _object(base, address, values)
        except LookupError as bad:
            wrong.append(str(bad.args[0]))
    if wrong:
        raise LookupError("; ".join(wrong))
    paths = dict.fromkeys(splice.path for splice in splices)
    return {path: _spliced(base.files[path], splices) for path in paths}


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
    parameter = base.parameter(address, name)
    if value is None:
        return parameter is None or not any(_places(base, base.objects[address], name))
    return parameter is not None and parameter.texts == (value,)


class _Given(NamedTuple):
    """A parameter, and whether it is a default of the old form, which nobody wrote."""

    parameter: Parameter
    is_default: bool


def _parameters(base: Base) -> dict[tuple[str, str], _Given]:
    """The parameters of all objects, by address and name in lower case."""
    given: dict[tuple[str, str], _Given] = {}
    for address, item in base.objects.items():
        for parameter in item.parameters:
            is_default = parameter.key.startswith(QUEUE) and parameter.origin == item.origin
            given[address, parameter.key] = _Given(parameter, is_default)
    shared = {(GLOBAL, parameter.key): _Given(parameter, False) for parameter in base.shared}
    return given | shared


def _stays(before: _Given | None, after: _Given | None) -> bool:
    """Whether a parameter is as it was; the queue that a change makes has its defaults."""
    if before is None or after is None:
        only = before or after
        return only is not None and only.is_default
    return before.parameter.value == after.parameter.value


def _statements(base: Base) -> Block:
    """Everything but the parameters of what has an address; global() may stand several times."""
    addressed = {(item.kind, item.origin) for item in base.objects.values()}

    def bare(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, ScriptObject) and statement.kind in {MAIN_QUEUE, GLOBAL}:
            return
        if isinstance(statement, ScriptObject) and (statement.kind, statement.origin) in addressed:
            statement = replace(statement, parameters=())
        yield statement

    return rewritten(base.block, bare)


def _spliced(file: SourceFile, splices: Sequence[_Splice]) -> bytes:
    """The file with its splices; of several at one place the first comes first."""
    pieces, done = [], 0
    of_file = (splice for splice in splices if splice.path == file.path)
    for splice in sorted(of_file, key=lambda splice: splice.start):
        pieces += [file.text[done : splice.start], splice.text]
        done = splice.end
    return "".join((*pieces, file.text[done:])).encode("utf-8", SURROGATES)


def _object(base: Base, address: str, values: Mapping[str, str | None]) -> Iterator[_Splice]:
    """The splices of one object."""
    item = base.objects.get(address)
    given = {name: value for name, value in values.items() if value is not None}
    if item is None and address == MAIN_QUEUE:
        if given:
            yield _new_main_queue(base, given)
        return
    if item is None:
        raise LookupError(f"there is no {address}")
    if item.origin.file not in base.files:
        raise LookupError(f"{address} stands in {item.origin.file}: change it there yourself")
    missing: dict[str, str] = {}
    for name, value in values.items():
        places = list(_places(base, item, name))
        # The last counts where one is written twice; all of them go together.
        for place in places if value is None else places[-1:]:
            yield from _replaced(base, item, place, name, value)
        if not places and value is not None:
            missing[name] = value
    if missing:
        file = base.files[item.origin.file]
        at = file.offset(item.origin)
        if re.match(rf"{item.kind}\s*\(", file.text[at:], re.IGNORECASE):
            yield _added(file, at, missing)
        else:
            yield _directives_before(base, item, missing)


def _replaced(
    base: Base, item: ScriptObject, place: _Value, name: str, value: str | None
) -> Iterator[_Splice]:
    """The splices of a parameter that is written there."""
    if _is_shared(base, item, name):
        if value is None:
            address = base.address_of(item)
            raise LookupError(f"{address}: {name} is set for several objects at once")
        yield from _for_one_object(base, item, name, value)
    elif value is None:
        yield _Splice(place.path, *place.gone, "")
    else:
        yield _Splice(place.path, place.start, place.end, place.spelled(value))


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


def _places(base: Base, item: ScriptObject, name: str) -> Iterator[_Value]:
    """Everywhere that a parameter of an object has a value."""
    for parameter in base.shared if item.kind == GLOBAL else item.parameters:
        place = _written(base, item, parameter) if parameter.key == name.lower() else None
        if place is not None:
            yield place


def _written(base: Base, item: ScriptObject, parameter: Parameter) -> _Value | None:
    """Where a parameter has its value; None where that is a default that nobody wrote."""
    if parameter.origin.file not in base.files:
        return None
    file = base.files[parameter.origin.file]
    start = file.offset(parameter.origin)
    directive = _DIRECTIVE.match(file.text, start)
    if directive is not None:
        # A default of the old form has the place of what it follows from.
        if directive["name"].lower() != (directives().named(item, parameter.name) or "").lower():
            return None
        line = file.text.rfind("\n", 0, start) + 1
        stop = file.text.find("\n", start) + 1
        in_quotes = directive["value"][0] == '"'
        gone = (line, stop or len(file.text))
        return _Value(file.path, gone, *directive.span("value"), in_quotes)
    if file.text[start : start + len(parameter.name)].lower() != parameter.key:
        return None
    begin = file.offset(parameter.value.origin)
    text = _WORD.match(file.text, begin)
    if text is None or text["text"] is None:
        return None
    end = text.end()
    if isinstance(parameter.value, Array):
        begin = file.text.rindex("[", start, begin)
        end = next(word.end() for word in _WORD.finditer(file.text, end) if word[0] == "]")
    return _Value(file.path, _without(file, start, end), begin, end, in_quotes=True)


def _without(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """The stretch to take out with a parameter: its line where nothing else is on that, else the
    blanks beside it."""
    line = file.text.rfind("\n", 0, start) + 1
    before = file.text[line:start]
    behind = file.text[end:].partition("\n")[0]
    if before.strip():
        return line + len(before.rstrip(" \t")), end
    if behind.strip():
        return start, end + len(behind) - len(behind.lstrip(" \t"))
    return line, min(len(file.text), end + len(behind) + 1)


def _added(file: SourceFile, at: int, values: Mapping[str, str]) -> _Splice:
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
    parameters = [f"{name}={quote(value)}" for name, value in values.items()]
    line = file.text.rfind("\n", 0, end) + 1
    if line <= at or is_joined:
        first = "" if end == last else " "
        return _Splice(file.path, end, end, first + " ".join(parameters))
    begins = file.text[line:end]
    indent = begins[: len(begins) - len(begins.lstrip(" \t"))]
    # A comment at the end of the line belongs to what stands before it, unless it goes on.
    line_stop = file.text.find("\n", end)
    is_inside = any(begin <= line_stop < done for begin, done in comments)
    is_last = line_stop < 0 or stop < line_stop
    put = end if is_last or is_inside else line_stop - file.text.endswith("\r", 0, line_stop)
    lines = (f"{file.line_end}{indent}{parameter}" for parameter in parameters)
    return _Splice(file.path, put, put, "".join(lines))


def _line_start(file: SourceFile, at: int) -> int:
    """Where the line begins that a place belongs to, with those that a backslash joins to it."""
    start = file.text.rfind("\n", 0, at) + 1
    while start and file.text[: start - 1].rstrip(" \t\r").endswith("\\"):
        start = file.text.rfind("\n", 0, start - 1) + 1
    return start


def _directives_before(base: Base, item: ScriptObject, values: Mapping[str, str]) -> _Splice:
    """Directives on lines of their own before an object of the old form; for the main queue before
    the first that it has."""
    file = base.files[item.origin.file]
    at = _line_start(file, file.offset(item.origin))
    lines = [f"{_line(item, *value)}{file.line_end}" for value in values.items()]
    return _Splice(file.path, at, at, "".join(lines))


def _line(item: ScriptObject, name: str, value: str) -> str:
    """The line of a directive.  Raises LookupError where the old form has none."""
    directive = directives().named(item, name)
    if directive is None:
        raise LookupError(f"{item.kind}: the old form has no directive for {name}")
    return f"${directive} {value}"


def _is_shared(base: Base, item: ScriptObject, name: str) -> bool:
    """Whether one directive sets a parameter of several objects."""
    given = item.get(name)
    parameters = [sharer.get(name) for sharer in base.objects.values()]
    places = [parameter.origin for parameter in parameters if parameter is not None]
    return given is not None and places.count(given.origin) > 1


def _for_one_object(base: Base, item: ScriptObject, name: str, value: str) -> Iterator[_Splice]:
    """A directive that lasts, for one object alone: set before it, and as it was after it."""
    file = base.files[item.origin.file]
    given = item.get(name)
    before = "" if given is None else given.text or ""
    at = file.offset(item.origin)
    yield _directives_before(base, item, {name: value})
    stop = file.text.find("\n", at)
    after = len(file.text) if stop < 0 else stop + 1
    back = f"{_line(item, name, before)}{file.line_end}"
    yield _Splice(file.path, after, after, back if stop >= 0 else f"{file.line_end}{back}")


def _new_main_queue(base: Base, values: Mapping[str, str]) -> _Splice:
    """A main_queue() before the first statement of the first file."""
    file = next(iter(base.files.values()))
    at = 0
    for line in file.text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        at += len(line)
    written = " ".join(f"{name}={quote(value)}" for name, value in values.items())
    return _Splice(file.path, at, at, f"main_queue({written}){file.line_end}")
