"""Repairs and advised values under an outage, each against the configuration as it was: no event
fewer may arrive or be kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tests.live.outage import Account, Outage, Site, account, site_in
from tests.live.shapes import configuration
from tuner.cli.profiles import read_profile
from tuner.errors import BadProfile, BadUsage
from tuner.lint.advice import advise
from tuner.lint.candidate import Checker, candidate
from tuner.lint.load import LoadedProfile
from tuner.lint.repairs import every_change, repairs
from tuner.space.knob import Cost, Level
from tuner.space.knobs import knobs

_AT_ONCE = int(os.environ.get("OUTAGES_AT_ONCE", "12"))
# In flight when a fault begins or rsyslogd ends, of which it is chance how much is kept.
_CHANCE = 300
Changes = Sequence[tuple[str, Level]]


class Compared(Enum):
    """What is compared with a configuration as written: the advice alone, the repairs alone too, or
    each of their values, too."""

    ADVICE = 1
    REPAIRS = 2
    EACH = 3


@dataclass(frozen=True)
class Cell:
    """A shape of a pipeline with its input, in an outage."""

    shape: str
    udp: bool
    outage: Outage

    def __str__(self) -> str:
        return f"{self.shape}; {'udp' if self.udp else 'tcp'}; {self.outage}"


@dataclass(frozen=True)
class Figures:
    """What became of the events: as written, and with changes by what they are; the repairs that
    were made, and what they say of others that wait."""

    written: Account
    changed: Mapping[str, Account]
    made: str
    stops: str

    def fewer(self) -> list[str]:
        """What keeps fewer events than the configuration as written."""
        least, beside = self.written.kept - _CHANCE, self.written.beside - _CHANCE
        return [
            what for what, one in self.changed.items() if one.kept < least or one.beside < beside
        ]

    def unsaid(self) -> list[str]:
        """What makes a file beside stand still that went on before, and does not say so."""
        if self.written.stood or self.stops:
            return []
        return [what for what, one in self.changed.items() if one.stood]


@dataclass
class Outages:
    """Cells that are run a few at a time: they wait more than they work."""

    folder: Path
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE))
    running: dict[Cell, Future[Figures]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, cells: Sequence[Cell], what: Compared) -> None:
        """Start cells, whose figures are asked for later."""
        for cell in cells:
            self.running[cell] = self.pool.submit(self._figures, cell, what)

    def figures(self, cell: Cell) -> Figures:
        """Those of a cell, once it has run."""
        return self.running[cell].result()

    def account(self, cell: Cell, text: str = "", changes: Changes = ()) -> Account:
        """What becomes of the events in a place of its own, with changes of the configuration, or
        with another one."""
        with self._site(cell, text) as (site, written):
            return account(_with(written, changes), site, cell.outage, udp=cell.udp)

    def _site(self, cell: Cell, text: str = "") -> _Placed:
        return _Placed(self.folder, text or configuration(cell.shape, udp=cell.udp), self.lock)

    def _figures(self, cell: Cell, what: Compared) -> Figures:
        with self._site(cell) as (_, loaded):
            mends = repairs(loaded.profile)
            changes = dict(_several(loaded, what))
        figures = Figures(
            self.account(cell),
            {name: self.account(cell, changes=one) for name, one in changes.items()},
            ", ".join(one.code for one in mends),
            "; ".join(filter(None, (one.stops for one in mends))),
        )
        # What is lost because the machine was too busy to deliver in time is there in another run.
        again = {name: self.account(cell, changes=changes[name]) for name in figures.fewer()}
        return replace(figures, changed={**figures.changed, **again})


class _Placed:
    """A configuration in a place of its own, loaded as the commands load it."""

    def __init__(self, folder: Path, text: str, lock: threading.Lock) -> None:
        self._text, self._lock, self._site = text, lock, site_in(folder)

    def __enter__(self) -> tuple[Site, LoadedProfile]:
        site = self._site.__enter__()
        file = site.folder.parent / "written.conf"
        file.write_text(site.bound(self._text), encoding="utf-8")
        with self._lock:
            return site, read_profile(file)

    def __exit__(self, *raised: object) -> None:
        self._site.__exit__(None, None, None)


def _with(loaded: LoadedProfile, changes: Changes) -> str:
    """The text of the configuration with changes of the profile on top of it."""
    base = candidate(loaded, changes).profile.base
    assert base is not None
    (file,) = base.kept.changed.files.values()
    return file.text


def _several(loaded: LoadedProfile, what: Compared) -> Iterator[tuple[str, Changes]]:
    """What changes what the configuration says: the advice, which has all repairs; those without
    it; and each repair and each end of a setting by itself."""
    mends = repairs(loaded.profile)
    every: dict[str, Changes] = {"advice": advise(loaded, 4, 2**33).settings}
    if what is not Compared.ADVICE:
        every["repairs"] = every_change(mends)
    if what is Compared.EACH:
        every |= {one.code: one.changes for one in mends} | dict(_ends(loaded, every_change(mends)))
    known = {_with(loaded, ())}
    for name, changes in every.items():
        try:
            text = _with(loaded, changes)
        except (BadProfile, BadUsage):
            continue
        if text not in known:
            known.add(text)
            yield name, changes


def _ends(loaded: LoadedProfile, mends: Changes) -> Iterator[tuple[str, Changes]]:
    """The least and the most of what a search may turn that keeps what a crash would lose."""
    checker = Checker(loaded, repairs=tuple(mends))
    for knob in knobs(loaded.profile):
        if knob.cost is not Cost.RSYSLOG_RESTART or knob.gives_up:
            continue
        for level in dict.fromkeys((knob.levels[0], knob.levels[-1])):
            changes = tuple(sorted({**dict(mends), knob.path: level}.items()))
            if level != knob.current and checker.is_valid(changes):
                yield f"{knob.path} {level}", changes


def row(cell: Cell, figures: Figures) -> list[str]:
    """The line of the table for a cell."""
    changed = [f"{what}: {one}" for what, one in figures.changed.items()] or ["nothing to change"]
    verdict = "FEWER" if figures.fewer() else "UNSAID" if figures.unsaid() else "no fewer"
    transport = "udp" if cell.udp else "tcp"
    return [
        cell.shape, transport, str(cell.outage), str(figures.written), "; ".join(changed),
        figures.made or "-", verdict,
    ]  # fmt: skip
