"""What a profile does not say of a configuration, and what it says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuner.rainerscript.script import ScriptPosition


@dataclass(frozen=True, order=True)
class Gap:
    """One thing at one place, and why; bytes that are no UTF-8 as escapes."""

    origin: ScriptPosition
    message: str

    def __post_init__(self) -> None:
        shown = self.message.encode("utf-8", "backslashreplace").decode()
        object.__setattr__(self, "message", shown)

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}"


@dataclass
class Gaps:
    """`missing` is what was not understood, `changed` what the profile does another way."""

    missing: list[Gap] = field(default_factory=list)
    changed: list[Gap] = field(default_factory=list)

    def miss(self, origin: ScriptPosition, message: str) -> None:
        """Note what the profile leaves out."""
        self.missing.append(Gap(origin, message))

    def change(self, origin: ScriptPosition, message: str) -> None:
        """Note what the profile does another way."""
        self.changed.append(Gap(origin, message))

    def change_secret(self, origin: ScriptPosition, file: str) -> None:
        """Note that a secret must be put into a file."""
        what = "the secret stands in the configuration: put it, without a line end, into"
        self.change(origin, f"{what} {file}, readable by rsyslog alone")

    def take(self, other: Gaps) -> None:
        """Note what others have noted."""
        self.missing += other.missing
        self.changed += other.changed


class Inexpressible(Exception):
    """A part of the configuration that no key of a profile says."""

    def __init__(self, origin: ScriptPosition, message: str) -> None:
        super().__init__(message)
        self.gap = Gap(origin, message)
