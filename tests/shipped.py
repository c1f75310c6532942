"""The profiles that come with the project; `examples/` has other YAML files too."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def _is_profile(path: Path) -> bool:
    """The one of config-repo/ needs a secret of its host's; tests/examples has tests of it."""
    is_profile = "\ninputs:" in path.read_text(encoding="utf-8")
    return is_profile and "config-repo" not in path.parts


PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
EXAMPLES = sorted(filter(_is_profile, (ROOT / "examples").rglob("*.yaml")))
