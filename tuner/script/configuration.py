"""A configuration: its files and what they include, and its objects by kind."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from typing import Protocol, TypeVar

from tuner.errors import NotReadable
from tuner.reading import WAY_TO_READ, content, why
from tuner.script.native_yaml import begins_as_yaml, is_native_yaml, yaml_advice
from tuner.script.parser import parse
from tuner.script.script import (
    ENABLED,
    HERE,
    Array,
    Block,
    Gap,
    Include,
    Parameter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    Statement,
    is_enabled,
    loading,
    not_loaded,
    with_inner,
)
from tuner.script.secrets import is_secret_name
from tuner.script.tokens import SURROGATES, ReadAllowance

MAX_BYTES = 4 << 20
_MOST_FILES = 500
_DEEPEST = 20
MOST_STATEMENTS = 5_000
DEEPEST_STATEMENT = 200


@dataclass(frozen=True)
class Configuration:
    """All statements of some files and of what they include, in rsyslogd's order; `refused` is
    what could not be read, `sources` the files as they are, `unset` the variables that they name
    and that are not set."""

    block: Block
    refused: tuple[Gap, ...]
    sources: Mapping[str, bytes]
    unset: tuple[Gap, ...] = ()


class ConfigurationFiles(Protocol):
    """Where the files of a configuration are, and the environment that rsyslogd has there, None
    where that is not known."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Variables by name."""

    def read(self, path: str) -> bytes:
        """The first MAX_BYTES + 1 bytes of a file; raises OSError."""

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, each with whether it is a file; none where there is no folder.
        Raises PermissionError."""


class LocalFiles:
    """The files of this machine; rsyslogd has our environment."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Our environment."""
        return os.environ

    def read(self, path: str) -> bytes:
        """The first bytes of a file, one more than a configuration may have; raises OSError."""
        return content(path, MAX_BYTES + 1)

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, and whether each is a file or the like; empty where it cannot be
        listed."""
        try:
            return {entry.name: not entry.is_dir() for entry in Path(folder).iterdir()}
        except PermissionError:
            raise
        except OSError:
            return {}


class Denied(NotReadable):
    """This user may not read files, which `gaps` name."""

    def __init__(self, gaps: Sequence[Gap]) -> None:
        super().__init__(f"{'; '.join(map(str, gaps))}: {WAY_TO_READ}")
        self.gaps = gaps


def configuration(
    path: Path,
    store: ConfigurationFiles | None = None,
    root: str = "",
) -> Configuration:
    """The configuration that begins with the file `path`; without a `store` its files are on this
    machine, and what they include by its whole path is below `root`.  Raises Denied with every
    file that this user may not read."""
    reader = _Files(store or LocalFiles(), root)
    block = reader.file(str(path), ScriptPosition(str(path), 1, 1))
    if reader.denied:
        raise Denied(reader.denied)
    refused, sources = tuple(reader.refused), dict(reader.sources)
    unset = tuple(dict.fromkeys(reader.unset))
    return Configuration(block, refused, sources, unset)


def require_read(read: Configuration) -> None:
    """Raise NotReadable where nothing was read of what was named."""
    if not read.sources:
        raise NotReadable("; ".join(gap.message for gap in read.refused))


@dataclass
class _Files:
    store: ConfigurationFiles
    root: str = ""
    files_read: int = 0
    sources: dict[str, bytes] = field(default_factory=dict)
    refused: list[Gap] = field(default_factory=list)
    denied: list[Gap] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    folders: dict[str, Mapping[str, bool]] = field(default_factory=dict)
    allowance: ReadAllowance = field(default_factory=ReadAllowance)
    bytes_left: int = MAX_BYTES
    statements_left: int = MOST_STATEMENTS
    depth: int = 0
    unset: list[Gap] = field(default_factory=list)

    def file(self, path: str, asked: ScriptPosition) -> Block:
        """The statements of one file, those of included ones in their places."""
        if normpath(path) in map(normpath, self.under_way) or self._is_full:
            full = "is not read: too many or too deep includes"
            return self._refuse(asked, f"{path} {full if self._is_full else 'includes itself'}")
        try:
            raw = self.store.read(path)
            text = self._text(raw)
        except PermissionError as bad:
            self.denied.append(Gap(asked, f"{path} cannot be read: {bad.strerror}"))
            return ()
        except OSError as bad:
            return self._refuse(asked, f"{path} cannot be read: {why(bad)}")
        if is_native_yaml(path) or begins_as_yaml(text):
            return self._refuse(asked, f"{path} {yaml_advice(path)}")
        self.sources[path] = raw
        self.files_read += 1
        block, refused = parse(text, path, self.allowance)
        self.refused.extend(refused)
        self.under_way.append(path)
        block = self._block(block)
        self.under_way.pop()
        return block

    @property
    def _is_full(self) -> bool:
        return len(self.under_way) >= _DEEPEST or self.files_read >= _MOST_FILES

    def _text(self, raw: bytes) -> str:
        """The text of a file, with surrogates for bytes that are no UTF-8.  Raises OSError."""
        if len(raw) > self.bytes_left:
            files = "it is" if self.bytes_left == MAX_BYTES else "all files together are"
            raise OSError(f"{files} larger than {MAX_BYTES >> 20} MiB")
        if b"\0" in raw:
            raise OSError("it is a binary file")
        self.bytes_left -= len(raw)
        return raw.decode("utf-8", SURROGATES)

    def _block(self, block: Block) -> Block:
        """The statements with those of included files in their places, as far as they are read."""
        if block and self.depth >= DEEPEST_STATEMENT:
            nested = f"statements more than {DEEPEST_STATEMENT} levels deep in one another"
            return self._refuse(block[0].origin, f"{nested}: these are not read")
        allowed = self.statements_left
        self.statements_left -= len(block)
        if self.statements_left < 0 <= allowed:
            message = f"more than {MOST_STATEMENTS:,} statements: nothing is read from here on"
            self._refuse(block[allowed].origin, message)
        self.depth += 1
        read = tuple(map(self._statement, block[: max(0, allowed)]))
        self.depth -= 1
        return read

    def _statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Include):
            statement = self._started(statement, None)
            is_read = self._is_enabled(statement, "include")
            return replace(statement, files=self._included(statement)) if is_read else statement
        if isinstance(statement, ScriptObject):
            statement = self._started(statement, statement.type)
            self._is_enabled(statement, statement.kind)
        return with_inner(statement, self._block)

    def _started(self, item: _Object, owner: str | None) -> _Object:
        """An object of a module, or an include, with what rsyslogd reads as it starts: secrets and,
        but for what is included, files apart."""
        environment = None if self.root else self.store.environment
        if environment is None:
            return item

        def started(parameter: Parameter) -> Parameter:
            is_read = owner is None or parameter.key == ENABLED
            if not is_read and is_secret_name(owner or "", parameter.key):
                return parameter
            for origin, name in unset_in(parameter, environment):
                self.unset.append(Gap(origin, f"${name} {_UNSET.format(parameter.name)}"))
            return read_at_start(parameter, environment, self._content if is_read else None)

        return replace(item, parameters=tuple(map(started, item.parameters)))

    def _content(self, path: str) -> str | None:
        """A file that rsyslogd reads in place of its name, which is one in its own folder where it
        is no whole path."""
        try:
            return self._text(self.store.read(path)) if path[:1] == "/" else None
        except OSError:
            return None

    def _is_enabled(self, item: ScriptObject | Include, kind: str) -> bool:
        """Whether an object is surely not switched off; note where that cannot be known."""
        is_on = is_enabled(item)
        if is_on is None:
            unknown = f"{ENABLED} of {kind}() is known only when rsyslogd starts"
            self._refuse(item.origin, f"{unknown}: write on or off")
        return is_on is True

    def _included(self, include: Include) -> tuple[Block, ...]:
        given = {parameter.key: parameter for parameter in include.parameters}
        if "file" in given:
            path, origin = given["file"].text, given["file"].value.origin
            if path is not None:
                return self._included_files(include, path, origin)
            return (self._refuse(origin, "the file to include must be one path here"),)
        if "text" not in given:
            return (self._refuse(include.origin, "include() needs a file"),)
        place = given["text"].value.origin
        if given["text"].text is None:
            return (self._refuse(place, "what is included is known only when rsyslogd starts"),)
        # Its lines are not those of the file that includes it.
        name = f"the text that {place} includes"
        block, refused = parse(given["text"].texts[0], name, self.allowance)
        self.refused.extend(replace(parameter, origin=place) for parameter in refused)
        return (self._block(block),)

    def _included_files(
        self, include: Include, path: str, origin: ScriptPosition
    ) -> tuple[Block, ...]:
        folder = dirname(self.under_way[-1])
        whole = f"{self.root}{path}" if path[:1] == "/" else join(folder, path)
        if self.root and whole.startswith(self.root):
            # What leads above / leads to / on a host, and so it does below its copy.
            within = normpath(f"/{whole[len(self.root) :].lstrip('/')}")
            whole = f"{self.root}{within}{'/' if path.endswith('/') else ''}"
        try:
            files = list(self._matching(whole))
            self._require_few(path, "files", self.files_read + len(files))
        except PermissionError as bad:
            self.denied.append(Gap(origin, f"{bad.filename} cannot be read: {bad.strerror}"))
            return ()
        except OSError as bad:
            return (self._refuse(origin, why(bad)),)
        modes = [parameter.text for parameter in include.parameters if parameter.key == "mode"]
        is_optional = "optional" in (mode.lower() for mode in modes if mode)
        if not (files or is_optional or glob.has_magic(path) or path.endswith("/")):
            self._refuse(origin, f"there is no file {path} to include")
        return tuple(self.file(file, origin) for file in files)

    def _matching(self, pattern: str) -> Iterator[str]:
        """The files that a pattern names, which may be a folder."""
        if pattern.endswith("/"):
            pattern += "*"
        for path in self._spelled_out(pattern):
            is_file = self._listed(dirname(path) or ".").get(basename(path))
            if is_file:
                yield path
            elif is_file is not None and not glob.has_magic(pattern):
                names = self._listed(path)
                yield from (join(path, name) for name in sorted(names) if name[0] != ".")

    @staticmethod
    def _require_few(path: str, kind: str, number: int) -> None:
        """Raise OSError, before any is read, where a path leads to more than anybody has."""
        if number > _MOST_FILES:
            most = f"more than {_MOST_FILES} {kind} are not read"
            raise OSError(f"{path} leads to {number:,} {kind}: {most}")

    def _listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, read once: every file that a pattern names asks for them."""
        if folder not in self.folders:
            self.folders[folder] = self.store.listed(folder)
        return self.folders[folder]

    def _spelled_out(self, pattern: str) -> list[str]:
        """The paths that a pattern may mean, each of its wildcards filled in."""
        if not glob.has_magic(pattern):
            return [pattern]
        folder, last = dirname(pattern), basename(pattern)
        folders = self._spelled_out(folder) if folder not in {"", "/"} else [folder]
        self._require_few(pattern, "folders", len(folders))
        if not glob.has_magic(last):
            return [join(parent, last) for parent in folders]
        return [
            join(parent, name)
            for parent in folders
            for name in sorted(self._listed(parent or "."))
            if fnmatchcase(name, last) and (last[0] == "." or name[0] != ".")
        ]

    def _refuse(self, origin: ScriptPosition, message: str) -> Block:
        self.refused.append(Gap(origin, message))
        return ()


_UNSET = (
    "is not set here, and so empty in {}: set it as it is for rsyslogd (systemctl show rsyslog "
    "-p Environment)"
)
_Object = TypeVar("_Object", ScriptObject, Include)


def loading_missing(block: Block) -> Block:
    """What a drop-in needs before it to be whole: statements of ours that load its modules."""
    return tuple(loading(name, HERE) for name in not_loaded(block))


_ECHO, _CAT = "echo ", "cat "
# A name that ends here on every release: before white space, a slash or the end (8.2302 to 8.2502
# take all else into it), and without braces, which newer ones know (expand_backticks_echo() of
# lexer.l).
_VARIABLE = re.compile(r"\$([A-Za-z0-9_]+)(?=[\s/]|$)")
_NAMED = re.compile(r"`echo [^`\n]*`")
_NAME = re.compile(r"\$\{?([A-Za-z0-9_]+)")
# What would change how rsyslogd itself runs, not what it reads.
_OF_PROGRAMS = re.compile(r"(?i)ld_|.*_proxy$|rsyslog|malloc_|glibc_")

Read = Callable[[str], str | None]
"""The content of a file by its path; None where it cannot be read."""


def variables_in(text: str) -> tuple[str, ...]:
    """The variables that stand in backticks of a configuration."""
    names = (name for command in _NAMED.findall(text) for name in _NAME.findall(command))
    return tuple(dict.fromkeys(name for name in names if not _OF_PROGRAMS.match(name)))


def unset_in(
    parameter: Parameter, environment: Mapping[str, str]
) -> Iterator[tuple[ScriptPosition, str]]:
    """The variables of a parameter that are not set, each with its place."""
    for item in parameter.items:
        if item.backtick and item.text.startswith(_ECHO):
            names = _NAME.findall(item.text)
            yield from ((item.origin, name) for name in names if name not in environment)


def read_at_start(
    parameter: Parameter, environment: Mapping[str, str], read: Read | None = None
) -> Parameter:
    """A parameter with the texts in backticks that rsyslogd reads in this environment, as far as
    every release reads the same; files only where there is a `read`."""

    def as_read(item: Quoted) -> Quoted:
        text = _output(item.text, environment, read) if item.backtick else None
        return item if text is None else Quoted(text, item.origin)

    value = parameter.value
    if isinstance(value, Array):
        return replace(parameter, value=replace(value, items=tuple(map(as_read, value.items))))
    return replace(parameter, value=as_read(value))


def _output(command: str, environment: Mapping[str, str], read: Read | None) -> str | None:
    """What rsyslogd takes for a command in backticks; None where that is not known."""
    if command.startswith(_ECHO):
        words = command.removeprefix(_ECHO)
        is_known = "$" not in _VARIABLE.sub("", words)
        return _VARIABLE.sub(lambda name: environment.get(name[1], ""), words) if is_known else None
    if command.startswith(_CAT) and read is not None:
        return read(command.removeprefix(_CAT))
    return None
