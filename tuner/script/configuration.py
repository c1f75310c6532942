"""Reads a configuration: the statements of its file and of all files that this includes."""

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
    """All statements of a configuration, included files in place, in rsyslogd's order.

    `refused` says what could not be read, `sources` are the contents of the files, and `unset` the
    environment variables that they use and that are not set.
    """

    block: Block
    refused: tuple[Gap, ...]
    sources: Mapping[str, bytes]
    unset: tuple[Gap, ...] = ()


class ConfigurationFiles(Protocol):
    """Access to the files of a configuration, on this machine or elsewhere."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """The environment variables of rsyslogd there, None if they are not known."""

    def read(self, path: str) -> bytes:
        """The first MAX_BYTES + 1 bytes of a file; raises OSError."""

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, with true for all but folders; empty if it is not a folder.
        Raises PermissionError."""


class LocalFiles:
    """The files of this machine; rsyslogd is assumed to have our environment."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Our environment variables."""
        return os.environ

    def read(self, path: str) -> bytes:
        """The first MAX_BYTES + 1 bytes of a file; raises OSError."""
        return content(path, MAX_BYTES + 1)

    def listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder, with true for all but folders; empty if it cannot be listed.
        Raises PermissionError."""
        try:
            return {entry.name: not entry.is_dir() for entry in Path(folder).iterdir()}
        except PermissionError:
            raise
        except OSError:
            return {}


class Denied(NotReadable):
    """This user may not read the files that `gaps` name."""

    def __init__(self, gaps: Sequence[Gap]) -> None:
        super().__init__(f"{'; '.join(map(str, gaps))}: {WAY_TO_READ}")
        self.gaps = gaps


def configuration(
    path: Path,
    store: ConfigurationFiles | None = None,
    root: str = "",
) -> Configuration:
    """Read the configuration whose main file is `path`, with all that it includes.

    Files are on this machine unless there is a `store`; included absolute paths are below `root`.
    Raises Denied, which names every file that this user may not read.
    """
    reader = _Reader(store or LocalFiles(), root)
    block = reader.file(str(path), ScriptPosition(str(path), 1, 1))
    if reader.denied:
        raise Denied(reader.denied)
    refused, sources = tuple(reader.refused), dict(reader.sources)
    unset = tuple(dict.fromkeys(reader.unset))
    return Configuration(block, refused, sources, unset)


def require_read(read: Configuration) -> None:
    """Raise NotReadable if no file of a configuration could be read."""
    if not read.sources:
        raise NotReadable("; ".join(gap.message for gap in read.refused))


@dataclass
class _Reader:
    store: ConfigurationFiles
    root: str = ""
    files_read: int = 0
    sources: dict[str, bytes] = field(default_factory=dict)
    refused: list[Gap] = field(default_factory=list)
    denied: list[Gap] = field(default_factory=list)
    open_files: list[str] = field(default_factory=list)
    folders: dict[str, Mapping[str, bool]] = field(default_factory=dict)
    allowance: ReadAllowance = field(default_factory=ReadAllowance)
    bytes_left: int = MAX_BYTES
    statements_left: int = MOST_STATEMENTS
    depth: int = 0
    unset: list[Gap] = field(default_factory=list)

    def file(self, path: str, origin: ScriptPosition) -> Block:
        """The statements of a file that is included at `origin`, with the files that it includes in
        place."""
        if normpath(path) in map(normpath, self.open_files) or self._is_full:
            full = "is not read: too many or too deep includes"
            return self._refuse(origin, f"{path} {full if self._is_full else 'includes itself'}")
        try:
            raw = self.store.read(path)
            text = self._text(raw)
        except PermissionError as bad:
            self.denied.append(Gap(origin, f"{path} cannot be read: {bad.strerror}"))
            return ()
        except OSError as bad:
            return self._refuse(origin, f"{path} cannot be read: {why(bad)}")
        if is_native_yaml(path) or begins_as_yaml(text):
            return self._refuse(origin, f"{path} {yaml_advice(path)}")
        self.sources[path] = raw
        self.files_read += 1
        block, refused = parse(text, path, self.allowance)
        self.refused.extend(refused)
        self.open_files.append(path)
        block = self._block(block)
        self.open_files.pop()
        return block

    @property
    def _is_full(self) -> bool:
        return len(self.open_files) >= _DEEPEST or self.files_read >= _MOST_FILES

    def _text(self, raw: bytes) -> str:
        """The text of a file, with surrogates for bytes that are not UTF-8.  Raises OSError if it
        is too long or binary."""
        if len(raw) > self.bytes_left:
            files = "it is" if self.bytes_left == MAX_BYTES else "all files together are"
            raise OSError(f"{files} larger than {MAX_BYTES >> 20} MiB")
        if b"\0" in raw:
            raise OSError("it is a binary file")
        self.bytes_left -= len(raw)
        return raw.decode("utf-8", SURROGATES)

    def _block(self, block: Block) -> Block:
        """The statements with included files in place, as far as the limits allow."""
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
            statement = self._with_backticks_read(statement, None)
            is_read = self._is_enabled(statement, "include")
            return replace(statement, files=self._included(statement)) if is_read else statement
        if isinstance(statement, ScriptObject):
            statement = self._with_backticks_read(statement, statement.type)
            self._is_enabled(statement, statement.kind)
        return with_inner(statement, self._block)

    def _with_backticks_read(self, item: _Object, module: str | None) -> _Object:
        """An object of a module, or an include (`module` None), with backticks replaced by what
        rsyslogd reads at start-up.

        Secrets are never read.  Files are read only for an include and for config.enabled.
        """
        environment = None if self.root else self.store.environment
        if environment is None:
            return item

        def read(parameter: Parameter) -> Parameter:
            reads_files = module is None or parameter.key == ENABLED
            if not reads_files and is_secret_name(module or "", parameter.key):
                return parameter
            for origin, name in unset_in(parameter, environment):
                self.unset.append(Gap(origin, f"${name} {_UNSET.format(parameter.name)}"))
            return read_at_start(parameter, environment, self._content if reads_files else None)

        return replace(item, parameters=tuple(map(read, item.parameters)))

    def _content(self, path: str) -> str | None:
        """The content of a file that rsyslogd reads; None if it cannot be read, or if the path is
        relative: it would be relative to rsyslogd's working directory."""
        try:
            return self._text(self.store.read(path)) if path[:1] == "/" else None
        except OSError:
            return None

    def _is_enabled(self, item: ScriptObject | Include, kind: str) -> bool:
        """Whether config.enabled surely enables an object; reports an object for which only
        rsyslogd can know that."""
        is_on = is_enabled(item)
        if is_on is None:
            unknown = f"{ENABLED} of {kind}() is known only when rsyslogd starts"
            self._refuse(item.origin, f"{unknown}: write on or off")
        return is_on is True

    def _included(self, include: Include) -> tuple[Block, ...]:
        parameters = {parameter.key: parameter for parameter in include.parameters}
        if "file" in parameters:
            path, origin = parameters["file"].text, parameters["file"].value.origin
            if path is not None:
                return self._included_files(include, path, origin)
            return (self._refuse(origin, "the file to include must be one path here"),)
        if "text" not in parameters:
            return (self._refuse(include.origin, "include() needs a file"),)
        origin = parameters["text"].value.origin
        if parameters["text"].text is None:
            return (self._refuse(origin, "what is included is known only when rsyslogd starts"),)
        # Line numbers in the text are not those of the including file, so it has a name of its own.
        name = f"the text that {origin} includes"
        block, refused = parse(parameters["text"].texts[0], name, self.allowance)
        self.refused.extend(replace(gap, origin=origin) for gap in refused)
        return (self._block(block),)

    def _included_files(
        self, include: Include, path: str, origin: ScriptPosition
    ) -> tuple[Block, ...]:
        folder = dirname(self.open_files[-1])
        pattern = f"{self.root}{path}" if path[:1] == "/" else join(folder, path)
        if self.root and pattern.startswith(self.root):
            # `..` cannot lead above / on a host, so it must not lead above `root` in a copy.
            below_root = normpath(f"/{pattern[len(self.root) :].lstrip('/')}")
            pattern = f"{self.root}{below_root}{'/' if path.endswith('/') else ''}"
        try:
            files = list(self._matching(pattern))
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
        """The files that match a pattern; the path of a folder gives the files in it."""
        if pattern.endswith("/"):
            pattern += "*"
        for path in self._expanded(pattern):
            is_file = self._listed(dirname(path) or ".").get(basename(path))
            if is_file:
                yield path
            elif is_file is not None and not glob.has_magic(pattern):
                names = self._listed(path)
                yield from (join(path, name) for name in sorted(names) if name[0] != ".")

    @staticmethod
    def _require_few(path: str, kind: str, number: int) -> None:
        """Raise OSError if a path leads to more files than are read, before any is read."""
        if number > _MOST_FILES:
            most = f"more than {_MOST_FILES} {kind} are not read"
            raise OSError(f"{path} leads to {number:,} {kind}: {most}")

    def _listed(self, folder: str) -> Mapping[str, bool]:
        """The names in a folder; cached, because each file that matches a pattern needs them."""
        if folder not in self.folders:
            self.folders[folder] = self.store.listed(folder)
        return self.folders[folder]

    def _expanded(self, pattern: str) -> list[str]:
        """The paths that match a pattern; one without wildcards need not exist."""
        if not glob.has_magic(pattern):
            return [pattern]
        folder, last = dirname(pattern), basename(pattern)
        folders = self._expanded(folder) if folder not in {"", "/"} else [folder]
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
    """Statements that load the modules which a drop-in uses and does not load itself."""
    return tuple(loading(name, HERE) for name in not_loaded(block))


_ECHO, _CAT = "echo ", "cat "
# A variable whose name every release reads alike.  From 8.2302 to 8.2502 a name ends only at white
# space, a slash or the end; newer releases also know braces (expand_backticks_echo() of lexer.l).
_VARIABLE = re.compile(r"\$([A-Za-z0-9_]+)(?=[\s/]|$)")
_ECHO_COMMAND = re.compile(r"`echo [^`\n]*`")
_NAME = re.compile(r"\$\{?([A-Za-z0-9_]+)")
# Variables that change how rsyslogd itself runs, not what it reads.
_OF_PROGRAMS = re.compile(r"(?i)ld_|.*_proxy$|rsyslog|malloc_|glibc_")

ReadFile = Callable[[str], str | None]
"""Returns the content of the file at a path, None if it cannot be read."""


def variables_in(text: str) -> tuple[str, ...]:
    """The environment variables that a configuration uses in backticks."""
    names = (name for command in _ECHO_COMMAND.findall(text) for name in _NAME.findall(command))
    return tuple(dict.fromkeys(name for name in names if not _OF_PROGRAMS.match(name)))


def unset_in(
    parameter: Parameter, environment: Mapping[str, str]
) -> Iterator[tuple[ScriptPosition, str]]:
    """The unset environment variables that a parameter uses, each with its position."""
    for item in parameter.items:
        if item.backtick and item.text.startswith(_ECHO):
            names = _NAME.findall(item.text)
            yield from ((item.origin, name) for name in names if name not in environment)


def read_at_start(
    parameter: Parameter, environment: Mapping[str, str], read: ReadFile | None = None
) -> Parameter:
    """A parameter with its backticks replaced by what rsyslogd reads at start-up, if every release
    reads the same.  Files are read only if there is a `read`."""

    def as_read(item: Quoted) -> Quoted:
        text = _output(item.text, environment, read) if item.backtick else None
        return item if text is None else Quoted(text, item.origin)

    value = parameter.value
    if isinstance(value, Array):
        return replace(parameter, value=replace(value, items=tuple(map(as_read, value.items))))
    return replace(parameter, value=as_read(value))


def _output(command: str, environment: Mapping[str, str], read: ReadFile | None) -> str | None:
    """The text that rsyslogd puts in place of a command in backticks; None if it is not known."""
    if command.startswith(_ECHO):
        words = command.removeprefix(_ECHO)
        is_known = "$" not in _VARIABLE.sub("", words)
        return _VARIABLE.sub(lambda name: environment.get(name[1], ""), words) if is_known else None
    if command.startswith(_CAT) and read is not None:
        return read(command.removeprefix(_CAT))
    return None
