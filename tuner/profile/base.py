"""A configuration that a profile keeps: it says what the profile itself does not, and the changes
that the profile names are made in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from posixpath import abspath, basename, dirname, relpath

from tuner.engines.user_template import UserTemplate, user_template
from tuner.errors import BadProfile, KeyPath, Problem, Severity
from tuner.modules.field import DocumentField
from tuner.modules.output import Neighbours
from tuner.profile.documents import mapping_of, used_fields, with_own
from tuner.profile.layers import BASE, CHANGES
from tuner.profile.source import Position, Source, Spot, at, problem_at
from tuner.reading import WAY_TO_READ, why
from tuner.script.configuration import (
    Configuration,
    ConfigurationFiles,
    Denied,
    LocalFiles,
    configuration,
)
from tuner.script.in_place import Changes, edited, mismatch
from tuner.script.neighbours import neighbours
from tuner.script.objects import Base, base_of
from tuner.script.quoting import unquotable_in
from tuner.script.script import Gap, ScriptObject
from tuner.script.template import static_index, template_of
from tuner.script.tokens import SURROGATES
from tuner.script.view import TEMPLATE, View, view_of, wrong_setting

IN_BASE = "RT019"
# What a configuration says, not the profile on top of it.
_SAID_BY_BASE = (
    "inputs", "outputs", "main_queue", "streams", "lanes", "parse", "parser", "steps", "global",
    "snippets", "lookup_tables", "ratelimits", "impstats",
)  # fmt: skip
# More than any configuration that was seen; each is tuned and judged by itself.
_MOST_ENGINE_ACTIONS = 200


_STARS = re.compile(r"\*+")
_RSYSLOG = (BASE, "rsyslog")
MAPPING, EXPLICIT = "mapping", "explicit"
"""The change of an index template that is not about a setting, and what it can be."""
_NEEDS_USES = (
    "template.mapping: explicit needs base.uses, a file that says what each field must serve: "
    "rsyslog-tune import --uses writes one of what an engine was asked"
)


@dataclass(frozen=True)
class UsesOfFields:
    """A file that says what fields must serve, its text, and the fields."""

    file: str
    text: str
    fields: tuple[DocumentField, ...]

    def explicit(self, mappings: Mapping[str, object]) -> dict[str, object]:
        """The leanest mapping that serves these uses; fields that the template maps itself stay as
        they are there."""
        lean, given = mapping_of(self.fields)["properties"], mappings.get("properties")
        lean = lean if isinstance(lean, dict) else {}
        properties = with_own(lean, given if isinstance(given, dict) else {})
        return {**mappings, "dynamic": False, "properties": properties}


@dataclass(frozen=True)
class KeptBase:
    """A configuration as it is, and with the changes of a profile, with what a profile knows of
    that; the index template of its indices, where one is `given`, and that with its changes, and
    what `uses` say of their fields; `root`
    is the folder that stands for / where its files are a copy of a host's."""

    written: Base
    changed: Base
    view: View
    changes: Changes
    root: str = ""
    given: UserTemplate | None = None
    template: UserTemplate | None = None
    unset: tuple[Problem, ...] = ()
    uses: UsesOfFields | None = None

    @property
    def text(self) -> tuple[tuple[str, str], ...]:
        """Everything that is written, by file."""
        given = () if self.given is None else ((self.given.file, self.given.text),)
        return (*self.written.text, *given)

    @property
    def indices(self) -> str:
        """The indices that it writes to, for an engine: names and patterns with commas between
        them; "" where events make whole names."""
        patterns = self.index_patterns.values()
        known = {pattern for pattern in patterns if pattern is not None}
        return ",".join(sorted(known)) if None not in patterns else ""

    @property
    def changed_settings(self) -> frozenset[str]:
        """The settings of the index template that the profile changes, by their whole names."""
        if self.given is None or self.template is None:
            return frozenset()
        before, after = self.given.settings, self.template.settings
        names = before.keys() | after.keys()
        return frozenset(name for name in names if before.get(name) != after.get(name))

    @property
    def index_names(self) -> frozenset[str] | None:
        """The names of the indices that are written; None where events or rsyslogd make some."""
        return _index_names(self.changed)

    @property
    def index_patterns(self) -> Mapping[str, str | None]:
        """By the address of an action, the names of the indices that it writes, with * for what
        events or rsyslogd make of them; None where all of a name is made so."""
        return {
            address: _index_pattern(self.changed, action)
            for address, action in self.changed.engine_actions
        }

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """Its files without changes and its index template, by their whole paths and as
        in a `SourceFile`."""
        beside = (self.given, self.uses)
        files = [*self.written.text, *((file.file, file.text) for file in beside if file)]
        return {str(Path(path).absolute()): text for path, text in files}

    @cached_property
    def neighbours(self) -> Mapping[str, Neighbours]:
        """The neighbours of each action and of each ruleset with a queue, by address."""
        return neighbours(self.changed)

    def says(self, address: str, name: str) -> bool:
        """Whether a parameter is written, or a setting of the index template."""
        if address == TEMPLATE:
            return self.given is not None and name in self.given.settings
        return self.written.parameter(address, name) is not None

    def on_its_host(self, path: str) -> str:
        """The path of one of its files where rsyslogd reads it."""
        return f"/{relpath(path, self.root)}" if self.root else path

    def with_changes(self, contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The same changes made in other files of the same paths; raises LookupError where they
        have no place there."""
        first = Path(next(iter(self.written.files)))
        store = _Overlay(contents)
        read = configuration(first, store, root=self.root)
        files, _ = _changed(read, base_of(read), self.changes, first, store, self.root)
        return {**contents, **files}


def _index_names(base: Base) -> frozenset[str] | None:
    names = set[str]()
    for _, action in base.engine_actions:
        name = static_index(action)
        if name is None:
            return None
        names.add(name)
    return frozenset(names)


def _index_pattern(base: Base, action: ScriptObject) -> str | None:
    if not action.is_on("dynSearchIndex"):
        return static_index(action)
    name = action.text("searchIndex")
    written = None if name is None else base.template(name)
    template = None if written is None else template_of(written)
    pieces = () if template is None else template.pieces
    pattern = "".join(piece if isinstance(piece, str) else "*" for piece in pieces)
    return _STARS.sub("*", pattern) if pattern.strip("*") else None


def _too_many(written: Base) -> Iterator[Gap]:
    actions = written.engine_actions
    if len(actions) > _MOST_ENGINE_ACTIONS:
        _, first = actions[_MOST_ENGINE_ACTIONS]
        many = f"{len(actions):,} actions write to an engine, more than {_MOST_ENGINE_ACTIONS}"
        yield Gap(
            first.origin,
            f"{many}: let one action name its index by a template (dynSearchIndex), or move some "
            "of them into another configuration",
        )


def _changed(
    read: Configuration,
    written: Base,
    changes: Changes,
    first: Path,
    store: ConfigurationFiles,
    root: str,
) -> tuple[Mapping[str, bytes], Base]:
    """The files that the changes touch, and the configuration that begins with the file `first`
    with those on top of the others; raises LookupError where it says anything but the changes."""
    files = edited(written, changes)
    reread = configuration(first, _Overlay(files, store), root=root) if files else read
    changed = base_of(reread) if files else written
    reasons = [mismatch(written, changed, changes)]
    reasons += [str(gap) for gap in reread.refused if len(reread.refused) > len(read.refused)]
    if any(reasons):
        raise LookupError("; ".join(filter(None, reasons)))
    return files, changed


def with_base(
    source: Source,
    recorded: Sequence[tuple[str, str]] | None = None,
    read: Configuration | None = None,
) -> tuple[Source, KeptBase | None]:
    """What a profile says together with its base, and that base, None where it has none; its files
    are `read` already, or from this machine unless they are `recorded`, by path and as in a
    `SourceFile`.  Raises BadProfile with all that is wrong with the base."""
    if not isinstance(source.data, Mapping) or not isinstance(at(source.data, _RSYSLOG), str):
        return source, None
    store: ConfigurationFiles = LocalFiles()
    if recorded is not None:
        store = _Overlay({file: text.encode("utf-8", SURROGATES) for file, text in recorded})
    kept = _BaseReader(source, store).read(read)
    spots = {**dict(_spots(kept, source)), **source.spots}
    return replace(source, data={**kept.view.data, **source.data}, spots=spots), kept


@dataclass
class _BaseReader:
    """Reads what the base of a profile names, and notes all that is wrong with it."""

    source: Source
    store: ConfigurationFiles
    problems: list[Problem] = field(default_factory=list)

    def read(self, read: Configuration | None) -> KeptBase:
        """The base, with its changes.  Raises BadProfile."""
        path, root = self.place()
        try:
            read = read or configuration(path, self.store, root=root)
        except Denied as denied:
            gaps = [replace(gap, message=f"{gap.message}: {WAY_TO_READ}") for gap in denied.gaps]
            raise self.bad(*map(_in_base, gaps)) from None
        written = base_of(read)
        self.problems += map(_in_base, (*read.refused, *_too_many(written)))
        for key in _SAID_BY_BASE:
            if at(self.source.data, (key,)) is not None:
                advice = "change it there, or by an entry of changes"
                self.note((key,), f"{key} is what the base says: {advice}")
        given, uses = self.template(), self.uses()
        changes, settings = self.changes(written, given, uses)
        self.require_sound()
        try:
            _, changed = _changed(read, written, changes, path, self.store, root)
        except LookupError as bad:
            raise self.bad(self.problem((CHANGES,), str(bad.args[0]))) from None
        template = None if given is None else _changed_template(given, settings, uses)
        names = _index_names(changed)
        is_used = template is not None and (names is None or any(map(template.is_for, names)))
        view = view_of(changed, template.settings if template is not None and is_used else None)
        if is_used and uses is not None:
            view = view.with_uses(is_explicit=settings.get(MAPPING) == EXPLICIT)
        unset = tuple(replace(_in_base(gap), severity=Severity.WARNING) for gap in read.unset)
        return KeptBase(written, changed, view, changes, root, given, template, unset, uses)

    def place(self) -> tuple[Path, str]:
        """The first file, and the folder that stands for /, "" without one."""
        named = at(self.source.data, (BASE,))
        for key, name in named.items() if isinstance(named, Mapping) else ():
            if isinstance(name, str) and not name.isprintable():
                self.note((BASE, str(key)), f"{BASE}.{key} is {name!a}: no file is called so")
        path, root = self.path("rsyslog"), self.path("root")
        if root is not None and path is not None and not path.is_relative_to(root):
            self.note((BASE, "root"), f"{path} is not below {root}, which stands for /")
        self.require_sound()
        return path or Path(), "" if root is None else str(root)

    def path(self, key: str) -> Path | None:
        """What the base names by a key; None where it does not."""
        name = at(self.source.data, (BASE, key))
        folder = Path(self.source.file_of((BASE, key))).parent
        return folder / name if isinstance(name, str) else None

    def text(self, key: str) -> tuple[str, str] | None:
        """The path and the text of a file that the base names by a key."""
        path = self.path(key)
        if path is None:
            return None
        try:
            return str(path), self.store.read(str(path)).decode("utf-8")
        except OSError as bad:
            reason = f"cannot be read: {why(bad)}"
        except ValueError:
            reason = "is no text in UTF-8"
        self.note((BASE, key), f"{path} {reason}")
        return None

    def template(self) -> UserTemplate | None:
        """The index template that the base names."""
        file = self.text("template")
        try:
            return None if file is None else user_template(*file)
        except ValueError as bad:
            self.note((BASE, "template"), f"{file and file[0]} is no index template: {bad}")
            return None

    def uses(self) -> UsesOfFields | None:
        """What the base says of the uses of fields."""
        file = self.text("uses")
        if file is None:
            return None
        path, text = file
        try:
            return UsesOfFields(path, text, used_fields(text, path))
        except BadProfile as bad:
            self.problems += bad.problems
            return None

    def changes(
        self, base: Base, template: UserTemplate | None, uses: UsesOfFields | None
    ) -> tuple[Changes, dict[str, object]]:
        """The changes by address and parameter, and those of settings of the index template by
        their names."""
        given = at(self.source.data, (CHANGES,))
        changes: dict[tuple[str, str], str | None] = {}
        settings: dict[str, object] = {}
        for key, value in (given if isinstance(given, Mapping) else {}).items():
            address, _, setting = str(key).partition(".")
            place = base.place_of(str(key))
            wrong: str | None
            if address == TEMPLATE and template is not None:
                settings[setting] = value
                wrong = _wrong_change(setting, value, uses)
            elif place is None:
                file, addresses = next(iter(base.files), "the base"), [*base.addresses]
                addresses += [TEMPLATE] if template is not None else []
                wrong = f"{key} names nothing in {file}, which has {', '.join(addresses)}"
            else:
                text = ("off", "on")[value] if isinstance(value, bool) else str(value)
                changes[place] = None if value is None else text
                unquotable = unquotable_in(text)
                wrong = None if unquotable is None else f"{key}: {unquotable}"
            if wrong is not None:
                self.note((CHANGES, key), wrong)
        return changes, settings

    def note(self, path: KeyPath, message: str) -> None:
        """Note a problem at a key of the profile."""
        self.problems.append(self.problem(path, message))

    def problem(self, path: KeyPath, message: str) -> Problem:
        position = self.source.key_position(path)
        return problem_at(self.source.file_of(path), position, message, IN_BASE)

    def require_sound(self) -> None:
        """Raise BadProfile where something is wrong."""
        if self.problems:
            raise self.bad(*self.problems)

    def bad(self, *problems: Problem) -> BadProfile:
        return BadProfile((*self.source.problems, *problems))


def read_text(name: str, text: str) -> Base:
    """A configuration of one file, as text."""
    return base_of(configuration(Path(name), _Overlay({name: text.encode("utf-8", SURROGATES)})))


def _changed_template(
    given: UserTemplate, changes: Mapping[str, object], uses: UsesOfFields | None
) -> UserTemplate:
    """A template with other settings, and with the mapping that uses ask for where it is to be
    explicit."""
    settings = {name: value for name, value in changes.items() if name != MAPPING}
    template = given.with_settings(settings)
    if uses is None or changes.get(MAPPING) != EXPLICIT:
        return template
    return template.with_mappings(uses.explicit(template.mappings))


def _wrong_change(setting: str, value: object, uses: UsesOfFields | None) -> str | None:
    """Why an index template cannot have a change; None where it can."""
    if setting != MAPPING:
        return wrong_setting(setting, value)
    if value not in (EXPLICIT, "dynamic", None):
        return f"template.mapping is {EXPLICIT} or dynamic, not {value}"
    return _NEEDS_USES if value == EXPLICIT and uses is None else None


def _in_base(gap: Gap) -> Problem:
    origin = gap.origin
    return Problem(origin.file, origin.line, origin.column, gap.message, IN_BASE)


def _spots(kept: KeptBase, source: Source) -> Iterator[tuple[KeyPath, Spot]]:
    """Where the sections of the view stand in the files: what a change sets, at the change; else at
    the parameter, or its object."""
    yield (), source.spots.get((), Spot(Position(1, 1), Position(1, 1), file=source.name))
    for path in _paths(kept.view.data, ()):
        place = kept.view.place(path)
        address, name = place or (kept.view.sections.get(path, ""), "")
        item = kept.written.objects.get(address)
        change = (CHANGES, kept.written.key_of(address, name))
        if place is not None and change in source.spots:
            yield path, source.spots[change]
        elif item is not None:
            origin = (item.get(name) or item).origin
            position = Position(origin.line, origin.column)
            yield path, Spot(position, position, file=origin.file)


def _paths(data: object, path: KeyPath) -> Iterator[KeyPath]:
    if path:
        yield path
    steps: Iterable[str | int] = data if isinstance(data, Mapping) else ()
    for step in range(len(data)) if isinstance(data, list) else steps:
        yield from _paths(at(data, (step,)), (*path, step))


@dataclass(frozen=True)
class _Overlay(ConfigurationFiles):
    """Files with these contents by their paths, on top of others where there are some."""

    files: Mapping[str, bytes]
    below: ConfigurationFiles | None = None

    @property
    def environment(self) -> Mapping[str, str] | None:
        return (self.below or LocalFiles()).environment

    @cached_property
    def contents(self) -> dict[str, bytes]:
        return {abspath(path): raw for path, raw in self.files.items()}

    def read(self, path: str) -> bytes:
        if abspath(path) in self.contents:
            return self.contents[abspath(path)]
        if self.below is None:
            raise OSError("it is not among the files that were recorded")
        return self.below.read(path)

    def listed(self, folder: str) -> Mapping[str, bool]:
        if self.below is not None:
            return self.below.listed(folder)
        whole = abspath(folder)
        return {basename(path): True for path in self.contents if dirname(path) == whole}
