"""The profiles that come with the project; `examples/` has other YAML files too."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def _is_profile(path: Path) -> bool:
    return "\ninputs:" in path.read_text(encoding="utf-8")


PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
EXAMPLES = sorted(filter(_is_profile, (ROOT / "examples").rglob("*.yaml")))
