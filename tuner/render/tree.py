"""Rendered files on disk: written whole or not at all, compared, and shown as a diff.

Files that cannot have our mark in them are listed with their digests in `rendered.sha256`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

from tuner.errors import BadUsage, JobFailed, Refused
from tuner.reading import content, resolved
from tuner.render.artefacts import HEADER, HOSTS, OPTIONAL, Artefact, mark_of
from tuner.render.export import FILES
from tuner.script.secrets import hidden
from tuner.script.tokens import ReadAllowance
from tuner.writing import put_all, raw_of, require_named, saying_why

DIGESTS = "rendered.sha256"
_PRIVATE, _PUBLIC = 0o600, 0o644
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Separates a line without secrets from the original.
_SEPARATOR = "\n\0"


class Status(Enum):
    """What rendering does to a file in the folder."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REMOVED = "removed"


@dataclass(frozen=True)
class Tree:
    """Rendered files and the folder that they go to; `inputs` are files that a profile reads."""

    artefacts: Sequence[Artefact]
    directory: Path
    inputs: Iterable[str] = ()

    def write(self) -> dict[str, Status]:
        """Write all files or none, then remove those that are left over; returns the status of each
        path.  Raises BadUsage if the folder is a file, and Refused if `require_ours` does."""
        directory = self.directory
        require_named(directory)
        if directory.exists() and not directory.is_dir():
            raise BadUsage(f"{directory} is a file: name a folder for the rendered files")
        self.require_ours()
        with saying_why():
            states = self.states
            for file in self._files:
                (directory / file.path).parent.mkdir(parents=True, exist_ok=True)
            put_all(
                (directory / file.path, file.text, _PRIVATE if file.private else _PUBLIC)
                for file in self._files
            )
            for path, state in states.items():
                if state is Status.REMOVED:
                    (directory / path).unlink()
        return states

    def require_ours(self) -> None:
        """Raise Refused if `write` would replace an input of the profile, a file that is not ours,
        or a symbolic link."""
        places = [self.directory / file.path for file in self._files]
        for place in places:
            if resolved(place) in self._input_paths:
                raise Refused(
                    f"{place} belongs to the base of the profile, which stays as it is: name "
                    "another folder"
                )
        if foreign := self._foreign():
            raise Refused(
                f"{self.directory / foreign[0]} was not rendered by rsyslog-tune, or was changed "
                "since, and would be overwritten: move it away, or name another folder"
            )
        for place in filter(Path.is_symlink, places):
            raise Refused(
                f"{place} is a symbolic link to {place.readlink()} and would be replaced by a "
                "file: remove it, or name another folder"
            )

    @property
    def states(self) -> dict[str, Status]:
        """What `write` would do to each path below the folder if all files there were ours."""
        states = {file.path: self._state(file) for file in self._files}
        removed = dict.fromkeys(self._left_over(), Status.REMOVED)
        return dict(sorted((states | removed).items()))

    def diff(self) -> str:
        """What `write` would change, as a unified diff; empty if nothing."""
        texts = {file.path: file.text for file in self._files}
        return "".join(
            line
            for path in stale(self.states)
            for line in unified(path, self._text(path), texts.get(path))
        )

    @cached_property
    def _input_paths(self) -> set[Path]:
        return set(map(resolved, self.inputs))

    @cached_property
    def _files(self) -> tuple[Artefact, ...]:
        """The files, and the list of those without our mark, in the format of sha256sum."""
        unmarked = [file for file in self.artefacts if not _has_mark(file.path, file.text)]
        if not unmarked:
            return tuple(self.artefacts)
        lines = (f"{_digest(file.text)}  {file.path}\n" for file in unmarked)
        text = f"# {HEADER}: files that do not say so themselves\n{''.join(lines)}"
        # A digest lets somebody who knows all of a file but a short password guess that.
        digests = Artefact(DIGESTS, text, private=any(file.private for file in unmarked))
        return (*self.artefacts, digests)

    def _state(self, file: Artefact) -> Status:
        text = self._text(file.path)
        if text is None:
            return Status.NEW
        return Status.UNCHANGED if text == file.text else Status.CHANGED

    def _foreign(self) -> list[str]:
        """The files to replace that have neither our mark nor the content that we last listed."""
        listed = self._listed()
        return [
            file.path
            for file in self._files
            if (text := self._text(file.path))
            and text != file.text
            and not _has_mark(file.path, text)
            and listed.get(file.path) != _digest(text)
        ]

    def _listed(self) -> dict[str, str]:
        """The digests of files without our mark by path, as the list in the folder has them."""
        lines = (self._text(DIGESTS) or "").split("\n")
        pairs = (line.partition("  ") for line in lines)
        return {path: digest for digest, _, path in pairs if path}

    def _left_over(self) -> list[str]:
        """Our files that are no longer rendered, except inputs of the profile."""
        paths = {file.path for file in self._files}
        candidates = [DIGESTS, *(folder + path for folder in ("", FILES) for path in OPTIONAL)]
        if any(path.startswith(HOSTS) for path in paths):
            host_files = sorted(self.directory.glob(f"{HOSTS}**/*.conf"))
            candidates += [str(file.relative_to(self.directory)) for file in host_files]
        marked = (path for path in candidates if _has_mark(path, self._text(path) or ""))
        left = (path for path in (*marked, *self._unchanged_listed()) if path not in paths)
        return [path for path in left if resolved(self.directory / path) not in self._input_paths]

    def _unchanged_listed(self) -> Iterator[str]:
        """The listed files that are unchanged.  Somebody else may have written the list, so files
        outside of the folder are ignored."""
        for path, digest in self._listed().items():
            is_inside = resolved(self.directory / path).is_relative_to(resolved(self.directory))
            text = self._text(path) if is_inside else None
            if text is not None and _digest(text) == digest:
                yield path

    def _text(self, path: str) -> str | None:
        """The text of a file in the folder, None if there is none; invalid UTF-8 is kept."""
        file = self.directory / path
        try:
            return content(file).decode("utf-8", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as bad:
            raise JobFailed(f"cannot read {file}: {bad.strerror}") from bad


def stale(states: Mapping[str, Status]) -> tuple[str, ...]:
    """The paths whose files are missing, differ or have to be removed."""
    return tuple(path for path, state in states.items() if state is not Status.UNCHANGED)


def unified(path: str, old: str | None, new: str | None) -> Iterator[str]:
    """The lines of a unified diff of one file, each with its line end, and without passwords and
    keys.  None stands for a file that does not exist.  Texts of too many lines are not compared:
    only their numbers of lines are given."""
    before, after = (
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    counts = [(text or "").count("\n") for text in (old, new)]
    if max(counts) > ReadAllowance().lines and old != new:
        yield from (f"--- {before}\n", f"+++ {after}\n")
        yield f"@@ {counts[0]:,} lines, now {counts[1]:,}: too many to compare them @@\n"
        return
    olds, news = (_marked(text or "") for text in (old, new))
    for marked in difflib.unified_diff(olds, news, before, after):
        line, _, _ = marked.partition(_SEPARATOR)
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _marked(text: str) -> list[str]:
    """Lines without secrets; a line with a secret is followed by a separator and the original, so
    that lines differ even if only their secrets do."""
    return [
        shown if shown == line else f"{shown}{_SEPARATOR}{line}"
        for line, shown in zip(_LINE.findall(text), _LINE.findall(hidden(text)), strict=True)
    ]


def _has_mark(path: str, text: str) -> bool:
    mark = mark_of(path)
    return mark is not None and mark in text


def _digest(text: str) -> str:
    return hashlib.sha256(raw_of(text)).hexdigest()
