"""What another release changes for a configuration, from two tables of facts: what it does
differently (changes.toml), and known faults that are met or left behind (faults.toml); pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from tuner.reading import table
from tuner.script.objects import GLOBAL, Base
from tuner.script.script import (
    OFF,
    ON,
    Parameter,
    ScriptObject,
    ScriptPosition,
    module_name,
    objects_in,
)
from tuner.script.template import TemplateProperty, template_of

Version = tuple[int, ...]
_MOST_PLACES = 4
# Of faults, gravest first.
_EFFECTS = ("loss", "crash", "hang", "security", "wrong", "duplicates", "cpu", "leak")
# omfwd spells these otherwise since 8.2502.
_OF_OMFWD = {
    "streamdriver": "streamdriver.name",
    "streamdrivermode": "streamdriver.mode",
    "streamdriverauthmode": "streamdriver.authmode",
}
_OTHER_KINDS = ("module", "template", "parser", "lookup_table")


class Software(Enum):
    """What is upgraded."""

    RSYSLOG = "rsyslog"
    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"


class UpgradePart(Enum):
    """What a step is, in the order in which a reader needs it."""

    BREAKS = "breaks"
    DIFFERS = "differs"
    MEETS = "known fault met"
    WARNS = "warns"
    LEAVES = "known fault left behind"
    BETTER = "better"

    @property
    def rank(self) -> int:
        """Its place among all, the gravest is 0."""
        return list(UpgradePart).index(self)


@dataclass(frozen=True)
class FactNeed:
    """What one object of a configuration must be for a fact to concern it: its kind, its module, a
    parameter with one of some values, or without it where it is `absent`, or with the name of a
    template that `begins` with a text or with a property; or a regular expression that a line of
    the configuration must fit, comments left out."""

    kind: str
    type: str
    parameter: str
    values: frozenset[str]
    absent: bool
    text: str = ""
    begins: str = ""

    def fits(self, item: ScriptObject, base: Base) -> bool:
        """Whether an object is so."""
        kind = module_name(item) if item.kind == "module" else item.type
        if (self.kind and item.kind != self.kind) or (self.type and kind != self.type):
            return False
        if self.begins and self.begins != _beginning(base, item.text(self.parameter)):
            return False
        return not self.parameter or self.takes(item.parameters)

    def takes(self, parameters: Iterable[Parameter]) -> bool:
        """Whether the parameter is among these, or not, with one of the values; without a
        parameter, whether there are any."""
        if not self.parameter:
            return any(True for _ in parameters)
        names = {self.parameter, _OF_OMFWD.get(self.parameter) if self.type == "omfwd" else None}
        named = [one for one in parameters if one.key in names]
        if self.absent or not named:
            return self.absent and not named
        return not self.values or any(_word(text) in self.values for text in named[-1].texts)


@dataclass(frozen=True)
class ReleaseFact:
    """A fact about releases: from `since` on (None: always) and until `fixed` (None: still), what
    happens, what to do about it, and where that is known from.  It concerns a configuration that
    has an object for each of its needs; those of one kind and module are of one object.
    `is_first`: it is to be done before the upgrade; `is_sure`: the needs alone decide it, and no
    condition that `what` names."""

    of: Software
    source: str
    since: Version | None
    fixed: Version | None
    is_fault: bool
    effect: str
    needs: tuple[FactNeed, ...]
    what: str
    way_out: str
    is_first: bool = False
    is_sure: bool = False
    has_no_way_back: bool = False

    @property
    def state(self) -> str:
        """Whether a fault is mended, and by which release."""
        return "open" if self.fixed is None else f"fixed by {_text(self.fixed)}"

    def holds(self, version: Version) -> bool:
        """Whether it is so in a release."""
        return (self.since is None or version >= self.since) and (
            self.fixed is None or version < self.fixed
        )

    def concerns(self, base: Base) -> tuple[ScriptPosition, ...] | None:
        """The objects or lines that it is about, none where it is none in particular; None where
        it does not concern the configuration."""
        together: dict[tuple[str, str, str], list[FactNeed]] = {}
        for need in self.needs:
            together.setdefault((need.kind, need.type, need.text), []).append(need)
        places: tuple[ScriptPosition, ...] = ()
        for (kind, _, text), needs in together.items():
            if kind == GLOBAL:
                if not all(need.takes(base.shared) for need in needs):
                    return None
                continue
            found = tuple(_lines(base, text) if text else _fitting(base, needs))
            if not found:
                return None
            places = places or found
        return places


@dataclass(frozen=True)
class UpgradeStep:
    """What an upgrade means for a configuration in one respect, and the places that it is about."""

    part: UpgradePart
    fact: ReleaseFact
    at: tuple[ScriptPosition, ...]

    @property
    def where(self) -> str:
        """The first place, and where else; empty where it is about none in particular."""
        if not self.at:
            return ""
        first, *others = self.at
        also = ", ".join(f"{place.line}:{place.column}" for place in others[:_MOST_PLACES])
        more = len(others) - _MOST_PLACES
        also += f" and {more} more" if more > 0 else ""
        return f"{first}{f' (also {also})' if also else ''}"

    @property
    def is_broken(self) -> bool:
        """Whether it breaks for sure."""
        return self.part is UpgradePart.BREAKS and self.fact.is_sure

    @property
    def is_first(self) -> bool:
        """Whether it is to be looked at before the upgrade."""
        return self.fact.is_first or self.part is UpgradePart.BREAKS

    @property
    def order(self) -> tuple[bool, bool, int]:
        """What breaks comes first, then what is to be looked at before."""
        return not self.is_broken, not self.is_first, self.part.rank


def objects(base: Base) -> Iterator[ScriptObject]:
    """The objects that facts can be about."""
    yield from base.objects.values()
    yield from (item for kind in _OTHER_KINDS for item in objects_in(base.block, kind))


def _fitting(base: Base, needs: Sequence[FactNeed]) -> Iterator[ScriptPosition]:
    """Where the objects are that meet all of these needs."""
    fitting = (
        item.origin for item in objects(base) if all(need.fits(item, base) for need in needs)
    )
    yield from dict.fromkeys(fitting)


def _beginning(base: Base, name: str | None) -> str:
    """What a template begins with; empty where it cannot be read."""
    written = None if name is None else base.template(name)
    template = None if written is None else template_of(written)
    if template is None or not template.pieces:
        return ""
    return "property" if isinstance(template.pieces[0], TemplateProperty) else "text"


_COMMENT = re.compile(r"^\s*#")


def _lines(base: Base, pattern: str) -> Iterator[ScriptPosition]:
    """Where a text stands, comments left out."""
    for path, text in base.text:
        for number, line in enumerate(text.splitlines(), 1):
            found = None if _COMMENT.match(line) else re.search(pattern, line)
            if found is not None:
                yield ScriptPosition(path, number, found.start() + 1)


def upgrade_steps(
    base: Base, software: Software, before: Version, after: Version
) -> tuple[UpgradeStep, ...]:
    """What an upgrade changes for a configuration, in the order of what must be done first."""
    found: dict[tuple[str, str], UpgradeStep] = {}
    for fact in facts():
        part = _part(fact, before, after) if fact.of is software else None
        at = None if part is None else fact.concerns(base)
        if part is not None and at is not None:
            # Some facts have a row for each way in which they are recognised.
            found.setdefault((fact.source, fact.what), UpgradeStep(part, fact, at))
    return tuple(sorted(found.values(), key=lambda step: step.order))


def faults_met(base: Base, software: Software, release: Version) -> tuple[UpgradeStep, ...]:
    """The known faults of a release that this configuration can meet."""
    met = {
        (fact.source, fact.what): UpgradeStep(UpgradePart.MEETS, fact, at)
        for fact in known_faults(software, release)
        if (at := fact.concerns(base)) is not None
    }
    return tuple(sorted(met.values(), key=lambda step: _EFFECTS.index(step.fact.effect)))


def known_faults(software: Software, release: Version) -> Iterator[ReleaseFact]:
    """The known faults of a release, whatever the configuration."""
    return (
        fact for fact in facts()
        if fact.is_fault and fact.of is software and fact.holds(release)
    )  # fmt: skip


def _part(fact: ReleaseFact, before: Version, after: Version) -> UpgradePart | None:
    if fact.is_fault:
        was, will = fact.holds(before), fact.holds(after)
        if was == will:
            return None
        return UpgradePart.MEETS if will else UpgradePart.LEAVES
    if fact.since is None or not before < fact.since <= after:
        return None
    return UpgradePart(fact.effect)


@cache
def facts() -> tuple[ReleaseFact, ...]:
    """All facts of both tables."""
    changes = table("lint/changes.toml")["change"]
    faults = table("lint/faults.toml")["fault"]
    return (*(_fact(row, is_fault=False) for row in changes), *(_fact(row) for row in faults))


def _fact(row: Mapping[str, Any], *, is_fault: bool = True) -> ReleaseFact:
    return ReleaseFact(
        of=Software(row["of"]),
        source=row["source"],
        since=_optional_version(row.get("since")),
        fixed=_optional_version(row.get("fixed")),
        is_fault=is_fault,
        effect=row["effect"],
        needs=tuple(map(_need, row["needs"])),
        what=row["what"],
        way_out=row.get("way_out", row.get("do", "")),
        is_first=row.get("when") == "before",
        is_sure=row.get("sure", False),
        has_no_way_back=row.get("no_way_back", False),
    )


def _need(row: Mapping[str, Any]) -> FactNeed:
    value = row.get("value", ())
    values = [value] if isinstance(value, str) else value
    return FactNeed(
        row.get("kind", ""), row.get("type", "").lower(), row.get("parameter", "").lower(),
        frozenset(map(_word, values)), row.get("absent", False), row.get("text", ""),
        row.get("begins", ""),
    )  # fmt: skip


def _word(text: str) -> str:
    """A value as it is compared: words for true and false are one each."""
    lowered = text.lower()
    return "on" if lowered in ON - {"1"} else "off" if lowered in OFF - {"0"} else lowered


def fault_json(fact: ReleaseFact) -> dict[str, object]:
    """A fact for programs."""
    return {
        "of": fact.of.value,
        "what": fact.what,
        "way_out": fact.way_out,
        "effect": fact.effect,
        "source": fact.source,
        "since": None if fact.since is None else _text(fact.since),
        "fixed": None if fact.fixed is None else _text(fact.fixed),
    }


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def version_of(text: str) -> Version:
    """A release as numbers: `8.2610` gives (8, 2610), `9.5.4` gives (9, 5, 4).  Raises
    ValueError."""
    return tuple(int(part) for part in text.split("."))


def _optional_version(text: str | None) -> Version | None:
    if text is None:
        return None
    version = version_of(text)
    # The third number of rsyslog's releases is 0 but for repairs of the same month.
    return version[:-1] if len(version) > 2 and version[-1] == 0 else version
