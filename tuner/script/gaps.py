"""What is not read of a configuration, or does not run in a lab."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.script.script import ScriptPosition


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
