"""A configuration: its files and what they include, and its objects by kind."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeGuard

from tuner.importer.gaps import Inexpressible
from tuner.importer.old_form import CORE
from tuner.importer.parser import parse
from tuner.importer.script import (
    Array,
    Block,
    Directive,
    Foreach,
    If,
    Include,
    Parameter,
    PropertyFilter,
    ScriptPosition,
    SelectorFilter,
    Statement,
    Thing,
)
from tuner.importer.template import Template, template_of
from tuner.importer.tokens import Refusal

MAX_BYTES = 4 << 20
_MOST_FILES = 500
_DEEPEST = 20


@dataclass(frozen=True)
class Configuration:
    """All statements of some files and of what they include, in rsyslogd's order; `refused` is
    what could not be read."""

    files: tuple[str, ...]
    block: Block
    refused: tuple[Refusal, ...]


def configuration(paths: Iterable[Path]) -> Configuration:
    """The configuration that begins with the files `paths`, one after the other."""
    reader = _Files()
    block: Block = ()
    for path in paths:
        block += reader.file(path, ScriptPosition(str(path), 1, 1))
    return Configuration(tuple(reader.files), block, tuple(reader.refused))


@dataclass
class _Files:
    files: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    under_way: list[Path] = field(default_factory=list)

    def file(self, path: Path, asked: ScriptPosition) -> Block:
        """The statements of one file, those of included ones in their places."""
        if path.resolve() in self.under_way:
            return self._refuse(asked, f"{path} includes itself")
        if len(self.under_way) >= _DEEPEST or len(self.files) >= _MOST_FILES:
            return self._refuse(asked, f"{path} is not read: too many files are included")
        try:
            text = _text(path)
        except OSError as bad:
            return self._refuse(asked, f"{path} cannot be read: {bad.strerror or bad}")
        self.files.append(str(path))
        block, refused = parse(text, str(path))
        self.refused.extend(refused)
        self.under_way.append(path.resolve())
        block = self._block(block)
        self.under_way.pop()
        return block

    def _block(self, block: Block) -> Block:
        return tuple(self._statement(statement) for statement in block)

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case Include():
                return replace(statement, files=self._included(statement))
            case If():
                then, otherwise = self._block(statement.then), self._block(statement.otherwise)
                return replace(statement, then=then, otherwise=otherwise)
            case SelectorFilter() | PropertyFilter() | Foreach():
                return replace(statement, body=self._block(statement.body))
            case Thing(body=tuple() as body):
                return replace(statement, body=self._block(body))
            case _:
                return statement

    def _included(self, include: Include) -> tuple[Block, ...]:
        given = {one.key: one for one in include.parameters}
        if "text" in given and "file" not in given:
            place = given["text"].value.origin
            if given["text"].text is None:
                self._refuse(place, "what is included is known only when rsyslogd starts")
                return ()
            block, refused = parse(given["text"].texts[0], place.file)
            # The places of a text inside a text would mislead.
            self.refused.extend(replace(one, origin=place) for one in refused)
            return (self._block(block),)
        if "file" not in given:
            self._refuse(include.origin, "include() needs a file")
            return ()
        value = given["file"].value
        if isinstance(value, Array) or value.backtick:
            self._refuse(value.origin, "the file to include must be one path here")
            return ()
        mode = (given["mode"].text or "").lower() if "mode" in given else "required"
        found = _matching(value.text, Path(value.origin.file).parent)
        if not found and not _is_pattern(value.text) and mode != "optional":
            self._refuse(value.origin, f"there is no file {value.text} to include")
        return tuple(self.file(path, value.origin) for path in found)

    def _refuse(self, origin: ScriptPosition, message: str) -> Block:
        self.refused.append(Refusal(origin, message))
        return ()


def _is_pattern(path: str) -> bool:
    return glob.has_magic(path) or path.endswith("/")


def _matching(pattern: str, folder: Path) -> list[Path]:
    """The files that a pattern names, which may be a folder; relative to `folder`."""
    full = os.path.join(folder, pattern)  # noqa: PTH118 - Path drops the slash that ends a folder
    if full.endswith("/"):
        full += "*"
    if not glob.has_magic(full):
        path = Path(full)
        if path.is_dir():
            return sorted(one for one in path.iterdir() if not one.name.startswith("."))
        return [path] if path.exists() else []
    return sorted(path for path in map(Path, glob.glob(full)) if path.is_file())  # noqa: PTH207


def _text(path: Path) -> str:
    """The text of a file in UTF-8, or in Latin-1 where it is not; a FIFO without a writer is
    empty.  Raises OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        raw = file.read(MAX_BYTES + 1) or b""
    if len(raw) > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES >> 20} MiB")
    if b"\0" in raw:
        raise OSError("it is a binary file")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


@dataclass
class Parts:
    """The objects of a configuration by kind; `rules` are those of the default ruleset."""

    globals: list[Parameter] = field(default_factory=list)
    modules: dict[str, tuple[Parameter, ...]] = field(default_factory=dict)
    module_origins: dict[str, ScriptPosition] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    rulesets: dict[str, Thing] = field(default_factory=dict)
    inputs: list[Thing] = field(default_factory=list)
    main_queue: Thing | None = None
    module_things: dict[str, Thing] = field(default_factory=dict)
    template_things: dict[str, Thing] = field(default_factory=dict)
    others: list[Thing | Directive] = field(default_factory=list)
    rules: list[Statement] = field(default_factory=list)

    @property
    def tables(self) -> dict[str, Thing]:
        """The lookup tables that are files read again after a HUP, as a profile has them."""
        return {
            one.text("name") or "": one
            for one in self.others
            if isinstance(one, Thing)
            and one.kind == "lookup_table"
            and {each.key for each in one.parameters} == {"name", "file"}
        }

    def add(self, one: Thing) -> None:
        """Sort one object in."""
        match one.kind:
            case "global":
                self.globals.extend(one.parameters)
            case "module":
                kind = module_name(one)
                self.modules[kind] = (*self.modules.get(kind, ()), *one.parameters)
                self.module_origins.setdefault(kind, one.origin)
                self.module_things.setdefault(kind, one)
            case "template":
                self._template(one)
            case "ruleset":
                self.rulesets[(one.text("name") or "").lower()] = one
            case "input":
                self.inputs.append(one)
            case "main_queue":
                self.main_queue = one
            case _:
                self.others.append(one)

    def _template(self, one: Thing) -> None:
        self.template_things[(one.text("name") or "").lower()] = one
        try:
            template = template_of(one)
        except Inexpressible:
            return  # what uses it says so
        self.templates[template.name.lower()] = template


def is_module(one: Statement) -> TypeGuard[Thing]:
    """Whether a statement loads a module."""
    return isinstance(one, Thing) and one.kind == "module"


def module_name(one: Thing) -> str:
    """The module that is loaded, without its folder."""
    name = (one.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
    return name.removeprefix("builtin:")


def parts_of(block: Block) -> Parts:
    """The objects among statements; the others are the rules of the default ruleset."""
    parts = Parts()
    for statement in block:
        if isinstance(statement, Thing) and statement.kind != "action":
            parts.add(statement)
        elif isinstance(statement, Directive) and statement.key in CORE:
            parts.others.append(statement)
        else:
            parts.rules.append(statement)
    return parts
