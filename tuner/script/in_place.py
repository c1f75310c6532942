"""Changes parameters in place in the user's files; everything else stays as it is."""

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

# A token between the parentheses of an object: a string, a comment, the end, the backslash that
# joins two lines, or any other character.
_TOKEN = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)|(?P<comment>/\*.*?\*/|#[^\n]*)|(?P<end>\))|'
    r"(?P<joined>\\)|\S",
    re.DOTALL,
)
# A directive with its value, unless the value is in the next line after a backslash.
_DIRECTIVE = re.compile(r'\$(?P<name>\w+)[ \t]+(?P<value>"[^"\n]*"|(?!\\\s)[^\s;#]+)')
_PLAIN = re.compile(r"[^\s\"#;]+")


class _Splice(NamedTuple):
    """A range of a file, and the text that replaces it."""

    path: str
    start: int
    end: int
    text: str


Changes = Mapping[tuple[str, str], str | None]
"""New values of parameters, by the address of the object and the parameter's name; None removes the
parameter."""


def edited(base: Base, changes: Changes) -> dict[str, bytes]:
    """The changed files, by path.  Raises LookupError, which names every unknown address and every
    parameter that the legacy format cannot set."""
    by_address: dict[str, dict[str, str | None]] = {}
    for (address, name), value in changes.items():
        by_address.setdefault(address, {})[name] = value
    splices: list[_Splice] = []
    errors: list[str] = []
    for address, values in by_address.items():
        try:
            splices += _object(base, address, values)
        except LookupError as bad:
            errors.append(str(bad.args[0]))
    if errors:
        raise LookupError("; ".join(errors))
    paths = dict.fromkeys(splice.path for splice in splices)
    return {path: _spliced(base.files[path], splices) for path in paths}


def halved(base: Base, address: str, changes: Changes, name: str) -> dict[str, bytes]:
    """The one changed file in which the events of an action are drawn for it or, half of them, for
    the same with these changes and this name.  Raises LookupError where that has no place."""
    action = base.objects[address]
    file = base.files.get(action.origin.file)
    begin = -1 if file is None else file.offset(action.origin)
    if file is None or re.match(r"action\s*\(", file.text[begin:], re.IGNORECASE) is None:
        raise LookupError(f"{address} is not written as action(...)")
    end = _end(file.text, begin)
    before, after = _bare(file.text[:begin]), _bare(file.text[end:])
    if before.endswith("&") or after.startswith("&"):
        raise LookupError(f"{address} is one of several actions that & joins")
    (made,) = edited(base, {**changes, (address, "name"): name}).values()
    other = made.decode("utf-8", SURROGATES)
    both = f"{file.text[begin:end]}\n}} else {{\n{other[begin : _end(other, begin)]}"
    whole = f"if random(2) == 0 then {{\n{both}\n}}"
    return {file.path: _spliced(file, [_Splice(file.path, begin, end, whole)])}


def _bare(text: str) -> str:
    """The text without comments and blanks."""
    return "".join(token[0] for token in _TOKEN.finditer(text) if token["comment"] is None)


def _end(text: str, begin: int) -> int:
    """Where the object ends that begins there."""
    inside = text.index("(", begin) + 1
    ends = (token.end() for token in _TOKEN.finditer(text, inside) if token["end"] is not None)
    return next(ends)


def mismatch(original: Base, changed: Base, changes: Changes) -> str:
    """Why the changed configuration is not the original with exactly these changes; "" if it is."""
    errors = [
        f"{changed.key_of(address, name)}: the change has no effect where it stands"
        for (address, name), value in changes.items()
        if not _is_effective(changed, address, name, value)
    ]
    intended = {(address, name.lower()) for address, name in changes}
    before, after = _parameters(original), _parameters(changed)
    errors += [
        f"{changed.key_of(key[0], setting.parameter.name)} would change too"
        for key, setting in {**before, **after}.items()
        if key not in intended and not _is_same(before.get(key), after.get(key))
    ]
    if not errors and _statements(original) != _statements(changed):
        errors.append("more than these parameters would change")
    return f"{'; '.join(errors)}: make it in the configuration itself" if errors else ""


def _is_effective(base: Base, address: str, name: str, value: str | None) -> bool:
    parameter = base.parameter(address, name)
    if value is None:
        return parameter is None or not any(_values(base, base.objects[address], name))
    return parameter is not None and parameter.texts == (value,)


class _Setting(NamedTuple):
    """A parameter, and whether it is a default of the legacy format, which is in no file."""

    parameter: Parameter
    is_default: bool


def _parameters(base: Base) -> dict[tuple[str, str], _Setting]:
    """The parameters of all objects, by address and name in lower case."""
    settings: dict[tuple[str, str], _Setting] = {}
    for address, item in base.objects.items():
        for parameter in item.parameters:
            is_default = parameter.key.startswith(QUEUE) and parameter.origin == item.origin
            settings[address, parameter.key] = _Setting(parameter, is_default)
    shared = {(GLOBAL, parameter.key): _Setting(parameter, False) for parameter in base.shared}
    return settings | shared


def _is_same(before: _Setting | None, after: _Setting | None) -> bool:
    """Whether a parameter is unchanged; the defaults of a new or removed queue do not count."""
    if before is None or after is None:
        only = before or after
        return only is not None and only.is_default
    return before.parameter.value == after.parameter.value


def _statements(base: Base) -> Block:
    """All statements but global() and main_queue(), without parameters of addressed objects."""
    addressed = {(item.kind, item.origin) for item in base.objects.values()}

    def bare(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, ScriptObject) and statement.kind in {MAIN_QUEUE, GLOBAL}:
            return
        if isinstance(statement, ScriptObject) and (statement.kind, statement.origin) in addressed:
            statement = replace(statement, parameters=())
        yield statement

    return rewritten(base.block, bare)


def _spliced(file: SourceFile, splices: Sequence[_Splice]) -> bytes:
    """The file with its splices made; several at one offset keep their order."""
    pieces, done = [], 0
    own_splices = (splice for splice in splices if splice.path == file.path)
    for splice in sorted(own_splices, key=lambda splice: splice.start):
        pieces += [file.text[done : splice.start], splice.text]
        done = splice.end
    return "".join((*pieces, file.text[done:])).encode("utf-8", SURROGATES)


def _object(base: Base, address: str, values: Mapping[str, str | None]) -> Iterator[_Splice]:
    """The splices that change the parameters of one object."""
    item = base.objects.get(address)
    new_values = {name: value for name, value in values.items() if value is not None}
    if item is None and address == MAIN_QUEUE:
        if new_values:
            yield _new_main_queue(base, new_values)
        return
    if item is None:
        raise LookupError(f"there is no {address}")
    if item.origin.file not in base.files:
        raise LookupError(f"{address} stands in {item.origin.file}: change it there yourself")
    missing: dict[str, str] = {}
    for name, value in values.items():
        old_values = list(_values(base, item, name))
        # If a parameter is set twice, the last one counts; all of them must be removed.
        for old_value in old_values if value is None else old_values[-1:]:
            yield from _replaced(base, item, old_value, name, value)
        if not old_values and value is not None:
            missing[name] = value
    if missing:
        file = base.files[item.origin.file]
        at = file.offset(item.origin)
        if re.match(rf"{item.kind}\s*\(", file.text[at:], re.IGNORECASE):
            yield _added(file, at, missing)
        else:
            yield _directives_before(base, item, missing)


def _replaced(
    base: Base, item: ScriptObject, old_value: _Value, name: str, value: str | None
) -> Iterator[_Splice]:
    """The splices that replace or remove a parameter's old value."""
    if _is_shared(base, item, name):
        if value is None:
            address = base.address_of(item)
            raise LookupError(f"{address}: {name} is set for several objects at once")
        yield from _for_one_object(base, item, name, value)
    elif value is None:
        yield _Splice(old_value.path, *old_value.removal, "")
    else:
        yield _Splice(old_value.path, old_value.start, old_value.end, old_value.spelled(value))


class _Value(NamedTuple):
    """Where the value of a parameter or directive is in a file, and the range to remove with the
    parameter."""

    path: str
    removal: tuple[int, int]
    start: int
    end: int
    in_quotes: bool

    def spelled(self, value: str) -> str:
        """A new value, in quotes if it needs them here."""
        return quote(value) if self.in_quotes or not _PLAIN.fullmatch(value) else value


def _values(base: Base, item: ScriptObject, name: str) -> Iterator[_Value]:
    """All values that the files set for a parameter of an object."""
    for parameter in base.shared if item.kind == GLOBAL else item.parameters:
        value = _value(base, item, parameter) if parameter.key == name.lower() else None
        if value is not None:
            yield value


def _value(base: Base, item: ScriptObject, parameter: Parameter) -> _Value | None:
    """Where a file sets the value of a parameter; None for a default or an unknown spelling."""
    if parameter.origin.file not in base.files:
        return None
    file = base.files[parameter.origin.file]
    start = file.offset(parameter.origin)
    directive = _DIRECTIVE.match(file.text, start)
    if directive is not None:
        # A default of the legacy format has the position of the directive that it follows from.
        if directive["name"].lower() != (directives().setter(item, parameter.name) or "").lower():
            return None
        line = file.text.rfind("\n", 0, start) + 1
        stop = file.text.find("\n", start) + 1
        in_quotes = directive["value"][0] == '"'
        removal = (line, stop or len(file.text))
        return _Value(file.path, removal, *directive.span("value"), in_quotes)
    if file.text[start : start + len(parameter.name)].lower() != parameter.key:
        return None
    begin = file.offset(parameter.value.origin)
    text = _TOKEN.match(file.text, begin)
    if text is None or text["text"] is None:
        return None
    end = text.end()
    if isinstance(parameter.value, Array):
        brackets = (token for token in _TOKEN.finditer(file.text, start) if token[0] in {"[", "]"})
        begin, end = next(brackets).start(), next(brackets).end()
    return _Value(file.path, _removal(file, start, end), begin, end, in_quotes=True)


def _removal(file: SourceFile, start: int, end: int) -> tuple[int, int]:
    """The range to remove with a parameter: its whole line if nothing else is on it, else also the
    blanks beside it."""
    line = file.text.rfind("\n", 0, start) + 1
    before = file.text[line:start]
    after = file.text[end:].partition("\n")[0]
    if before.strip():
        return line + len(before.rstrip(" \t")), end
    if after.strip():
        return start, end + len(after) - len(after.lstrip(" \t"))
    return line, min(len(file.text), end + len(after) + 1)


def _added(file: SourceFile, at: int, values: Mapping[str, str]) -> _Splice:
    """Parameters added to the object that begins at `at`, in the style of its last parameter: on a
    line of its own, or on the same line.

    If a backslash joins lines, they go on the same line: rsyslogd inserts a line number after
    joined lines, which cannot be inside an object.
    """
    inside = file.text.index("(", at) + 1
    end = stop = inside
    comments: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(file.text, inside):
        if token["end"] is not None:
            stop = token.start()
            break
        if token["comment"] is not None:
            comments.append(token.span())
        elif token["joined"] is None:
            end = token.end()
    # A backslash joins lines inside strings and comments, too.
    is_joined = re.search(r"\\\s*\n", file.text[inside:stop]) is not None
    parameters = [f"{name}={quote(value)}" for name, value in values.items()]
    line = file.text.rfind("\n", 0, end) + 1
    if line <= at or is_joined:
        separator = "" if end == inside else " "
        return _Splice(file.path, end, end, separator + " ".join(parameters))
    line_text = file.text[line:end]
    indent = line_text[: len(line_text) - len(line_text.lstrip(" \t"))]
    # The new lines go after a comment at the end of this line, unless it continues on the next.
    line_stop = file.text.find("\n", end)
    in_comment = any(begin <= line_stop < done for begin, done in comments)
    is_last = line_stop < 0 or stop < line_stop
    put = end if is_last or in_comment else line_stop - file.text.endswith("\r", 0, line_stop)
    lines = (f"{file.line_end}{indent}{parameter}" for parameter in parameters)
    return _Splice(file.path, put, put, "".join(lines))


def _line_start(file: SourceFile, at: int) -> int:
    """The start of the line that contains `at`, or of the first that backslashes join to it."""
    start = file.text.rfind("\n", 0, at) + 1
    while start and file.text[: start - 1].rstrip(" \t\r").endswith("\\"):
        start = file.text.rfind("\n", 0, start - 1) + 1
    return start


def _directives_before(base: Base, item: ScriptObject, values: Mapping[str, str]) -> _Splice:
    """Directives on lines of their own before an object of the legacy format; those of the main
    queue go before its first directive."""
    file = base.files[item.origin.file]
    at = _line_start(file, file.offset(item.origin))
    lines = [f"{_line(item, *value)}{file.line_end}" for value in values.items()]
    return _Splice(file.path, at, at, "".join(lines))


def _line(item: ScriptObject, name: str, value: str) -> str:
    """The directive that sets a parameter of an object; raises LookupError if there is none."""
    directive = directives().setter(item, name)
    if directive is None:
        raise LookupError(f"{item.kind}: the old form has no directive for {name}")
    return f"${directive} {value}"


def _is_shared(base: Base, item: ScriptObject, name: str) -> bool:
    """Whether one directive sets this parameter for several objects."""
    own = item.get(name)
    parameters = [sharer.get(name) for sharer in base.objects.values()]
    origins = [parameter.origin for parameter in parameters if parameter is not None]
    return own is not None and origins.count(own.origin) > 1


def _for_one_object(base: Base, item: ScriptObject, name: str, value: str) -> Iterator[_Splice]:
    """Change a directive that applies to all later objects for one object only: set the new value
    before the object and the old one after it."""
    file = base.files[item.origin.file]
    parameter = item.get(name)
    before = "" if parameter is None else parameter.text or ""
    at = file.offset(item.origin)
    yield _directives_before(base, item, {name: value})
    stop = file.text.find("\n", at)
    after = len(file.text) if stop < 0 else stop + 1
    restore = f"{_line(item, name, before)}{file.line_end}"
    yield _Splice(file.path, after, after, restore if stop >= 0 else f"{file.line_end}{restore}")


def _new_main_queue(base: Base, values: Mapping[str, str]) -> _Splice:
    """A new main_queue() before the first statement of the first file."""
    file = next(iter(base.files.values()))
    at = 0
    for line in file.text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        at += len(line)
    parameters = " ".join(f"{name}={quote(value)}" for name, value in values.items())
    return _Splice(file.path, at, at, f"main_queue({parameters}){file.line_end}")
