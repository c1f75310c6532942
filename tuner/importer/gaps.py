"""What a profile does not say of a configuration, and what it says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.importer.script import ScriptPosition


@dataclass(frozen=True, order=True)
class Gap:
    """One thing at one place, and why."""

    origin: ScriptPosition
    message: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}"


@dataclass
class Gaps:
    """`missing` is what was not understood, `changed` what the profile does another way."""

    missing: list[Gap] = field(default_factory=list)
    changed: list[Gap] = field(default_factory=list)

    def miss(self, origin: ScriptPosition, message: str) -> None:
        """Note what the profile leaves out."""
        gap = Gap(origin, message)
        if gap not in self.missing:
            self.missing.append(gap)

    def change(self, origin: ScriptPosition, message: str) -> None:
        """Note what the profile does another way."""
        gap = Gap(origin, message)
        if gap not in self.changed:
            self.changed.append(gap)


class Inexpressible(Exception):
    """A part of the configuration that no key of a profile says."""

    def __init__(self, origin: ScriptPosition, message: str) -> None:
        super().__init__(message)
        self.gap = Gap(origin, message)
