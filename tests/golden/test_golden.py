"""What profiles become, for three releases of rsyslog and four of engines each.

`NAME/as-written.txt` is what `render` makes of a profile, all files one after the other.
`NAME/releases.txt` says what other releases change in that; a refusal stands there with its words.
`pytest --accept-golden tests/golden` writes both anew.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tests.conftest import Expect
from tuner.errors import BadProfile
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import render
from tuner.script.parser import parse
from tuner.script.printing import printed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROFILES = [*sorted((ROOT / "profiles").glob("*.yaml")), *sorted(HERE.glob("*.yaml"))]
RSYSLOGS = ("8.2102", "8.2302", "8.2610")
ENGINES = (
    ("elasticsearch", "7.17"), ("elasticsearch", "8.19"), ("elasticsearch", "9.2"),
    ("opensearch", "2.19"),
)  # fmt: skip


def rendered(text: str, name: str) -> list[str]:
    """All files of a profile as lines, warnings first; raises BadProfile."""
    loaded = parse_profile(text, name)
    lines = [str(warning) for warning in loaded.warnings]
    for artefact in render(loaded.profile):
        private = ", for its owner only" if artefact.private else ""
        lines += ["", f"=== {artefact.path}{private}", *artefact.text.splitlines()]
    return lines if lines[0] else lines[1:]


def variant(text: str, name: str, written: list[str], release: dict[str, str]) -> str:
    """What one pair of releases changes, or why it is refused."""
    try:
        lines = rendered(edit(text, {"release": release}), name)
    except BadProfile as bad:
        return f"refused\n{bad}\n"
    changed = list(difflib.unified_diff(written, lines, n=0, lineterm=""))[2:]
    return "\n".join(changed) + "\n" if changed else "as written\n"


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_becomes_the_same_files_as_before(path: Path, expect: Expect) -> None:
    text = path.read_text(encoding="utf-8")
    written = rendered(text, path.name)
    expect(HERE / path.stem / "as-written.txt", "\n".join(written) + "\n")
    pairs: dict[str, list[str]] = {}
    for rsyslog in RSYSLOGS:
        for engine, version in ENGINES:
            release = {"rsyslog": rsyslog, engine: version}
            found = variant(text, path.name, written, release)
            pairs.setdefault(found, []).append(f"rsyslog {rsyslog}, {engine} {version}")
    told = "\n".join(
        "".join(f"=== {pair}\n" for pair in alike) + found for found, alike in pairs.items()
    )
    expect(HERE / path.stem / "releases.txt", told)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_what_is_rendered_is_read_whole_and_printed_as_it_means(path: Path) -> None:
    rendered = render(parse_profile(path.read_text(encoding="utf-8"), path.name).profile)
    texts = [one.text for one in rendered if one.path.endswith(".conf")]
    assert texts
    for text in texts:
        block, gaps = parse(text, "f")
        assert not gaps
        again, _ = parse(printed(block), "f")
        assert again == block
        assert printed(again) == printed(block)
