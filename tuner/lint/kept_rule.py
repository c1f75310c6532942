"""What a rule about a configuration is that a profile keeps: a check under a decorator that says
everything else about it.

    @of_base(
        "RT409",
        why="bulkmode is off unless it is set.",
        source="rsyslog's manual: omelasticsearch",
        bad=('action(type="omelasticsearch")',),
        good=('action(type="omelasticsearch" bulkmode="on")',),
    )
    def single_requests(asked: AskedBase) -> Iterator[Remark]: ...

The examples are the rule's tests, each after a few lines that load modules and take events, in
every form that rsyslogd reads; `rsyslog-tune explain RT409` shows the first of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple

from tuner.engines.release import Release
from tuner.errors import Severity
from tuner.rule import Rank
from tuner.script.script import ScriptObject, ScriptPosition

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase


class Remark(NamedTuple):
    """One breach: its place in the file as it is written, and what to do about it."""

    origin: ScriptPosition
    message: str


@dataclass(frozen=True)
class AskedBase:
    """A configuration with the changes of a profile, and the releases that the profile names."""

    kept: KeptBase
    release: Release

    @property
    def engine_actions(self) -> Sequence[tuple[str, ScriptObject]]:
        """The actions into an engine, each with its address."""
        return self.kept.changed.engine_actions

    def place(self, address: str, name: str) -> ScriptPosition:
        """Where a parameter is written, else its object."""
        written = self.kept.written.objects[address]
        return (written.get(name) or written).origin

    def template(self, name: str | None) -> ScriptObject | None:
        """The template of that name."""
        return None if name is None else self.kept.changed.template(name)


@dataclass(frozen=True)
class BaseRule:
    """A check of a configuration, with what is known about it; every example of `bad` breaks it,
    and none of `good` does."""

    code: str
    _: KW_ONLY
    why: str
    source: str
    bad: tuple[str, ...]
    good: tuple[str, ...]
    rank: Rank
    check: Callable[[AskedBase], Iterable[Remark]]

    @property
    def severity(self) -> Severity:
        """An error where no event of an action can arrive: rsyslogd runs so all the same, and
        `validate` alone refuses it."""
        return Severity.ERROR if self.rank is Rank.ALL_LOST else Severity.WARNING


def of_base(
    code: str,
    *,
    why: str,
    source: str,
    bad: tuple[str, ...],
    good: tuple[str, ...],
    rank: Rank = Rank.LOSS,
) -> Callable[[Callable[[AskedBase], Iterable[Remark]]], BaseRule]:
    """Makes a check a rule."""

    def rule(check: Callable[[AskedBase], Iterable[Remark]]) -> BaseRule:
        return BaseRule(code, why=why, source=source, bad=bad, good=good, rank=rank, check=check)

    return rule
