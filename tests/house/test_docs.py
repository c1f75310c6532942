"""docs/: what is listed there is what the code has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

import pytest

from tests.house.pages import PAGES, ROOT, Block, blocks, profile_block, rows, section, text_of
from tests.modules.refused_bulks import REFUSED_BULKS, periods
from tuner.diagnose.finding import Cause
from tuner.engines.versions import VERSIONS
from tuner.lint.explain import explained_codes
from tuner.lint.load import parse_profile
from tuner.measure.measurement import DoubtKind
from tuner.profile.schema import every_key, fact_name, source_of
from tuner.render import artefacts, engine_files
from tuner.search.budget import NODE_PACE, SINK_PACE, smallest_budget_s
from tuner.space.guarantees import GUARANTEES
from tuner.space.knob import Bottleneck

DOCS = ROOT / "docs"
OURS = "rsyslog-tune's own: docs/profiles.md"


def test_rules_of_our_own_stand_where_they_say() -> None:
    table = section(DOCS / "profiles.md", "What is refused, and why")
    ours = {one.code for one in explained_codes() if one.source == OURS}
    assert ours
    assert ours <= set(re.findall(r"RT\d{3}", table))
    keys = {fact_name(key) for key in every_key() if source_of(fact_name(key)) == OURS}
    told = set(re.findall(r"`(\w+)`", section(DOCS / "profiles.md", "Keys of our own")))
    for key in keys:
        words = key.removeprefix("secret.").replace("[]", "").split(".")
        assert words[0] in told, key
        assert "message_bytes" in words or words[-1] in told, key


def named(page: str, heading: str) -> Sequence[str]:
    return [row[0] for row in rows(DOCS / page, heading)]


def test_doubts_and_bottlenecks_are_all_explained() -> None:
    assert sorted(named("measuring.md", "doubt")) == sorted(kind.value for kind in DoubtKind)
    for name, _, consequence in rows(DOCS / "measuring.md", "doubt"):
        assert consequence.startswith(DoubtKind(name).consequence.value)
    assert sorted(named("measuring.md", "bottleneck")) == sorted(b.value for b in Bottleneck)


def test_every_finding_of_a_diagnosis_is_explained() -> None:
    assert named("diagnose.md", "finding") == [cause.value for cause in Cause]


def test_the_table_of_refused_bulks_is_what_the_product_knows() -> None:
    assert rows(DOCS / "profiles.md", "reply to a bulk") == [
        (row.reply, *(row.fate_in(first).value for first, _ in periods())) for row in REFUSED_BULKS
    ]
    head = " | ".join(
        f"8.{first} and later" if last is None
        else f"8.{first}" if first == last
        else f"8.{first} to 8.{last}"
        for first, last in periods()
    )  # fmt: skip
    assert f"| reply to a bulk | {head} |" in text_of(DOCS / "profiles.md")


def test_search_says_what_runs_in_a_lab_how_short_it_can_be_and_what_can_be_allowed() -> None:
    table = rows(DOCS / "search.md", "profile says")
    for says, runs, java in table:
        engine, major = says.lower().split()
        same = [one for one in VERSIONS if one.version.startswith(f"{major}.")]
        there = [one for one in same if one.engine.value == engine]
        assert re.findall(r"\d+\.\d+\.\d+", runs) == [one.version for one in there]
        assert {java} >= {f"{one.java_lowest} to {one.java_highest}" for one in there}
    assert len(table) == 1 + len({(one.engine, one.version.partition(".")[0]) for one in VERSIONS})
    text = " ".join(text_of(DOCS / "search.md").split())
    minutes = [smallest_budget_s(pace) / 60 for pace in (NODE_PACE, SINK_PACE)]
    assert minutes == [4, 1]
    assert "budget is 4 minutes on an engine and 1 minute on the sink" in text
    allowed = text.partition("`--allow NAME` opens")[2].partition("The report")[0]
    assert re.findall(r"`([^`]+)`", allowed) == list(GUARANTEES)


@pytest.mark.parametrize(
    "block", [b for page in PAGES for b in blocks(page) if b.language == "sh"], ids=str
)
def test_a_shell_can_read_its_blocks(block: Block) -> None:
    done = subprocess.run(
        ["sh", "-n"], input=block.text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_file_that_is_rendered_has_a_place_to_go() -> None:
    text = " ".join(named("daily-work.md", "file"))
    always = {artefacts.RSYSLOG, engine_files.LIVE_SETTINGS}
    assert set(re.findall(r"`([^`]+)`", text)) == always | {*artefacts.OPTIONAL}


def test_deploying_installs_what_the_profile_renders_the_policy_first() -> None:
    profile = parse_profile(profile_block(), "rsyslog-tune.yaml").profile
    rendered = [one.path for one in artefacts.render(profile)]
    text = section(DOCS / "daily-work.md", "Deploying")
    put = re.findall(r"^put (\S+) (\S+)$", text, re.MULTILINE)
    installed = [file for file, _ in put]
    assert installed[0] == engine_files.LIFECYCLE
    # There is no open index yet; rsyslog.conf goes to the collectors.
    assert {*installed, engine_files.LIVE_SETTINGS, artefacts.RSYSLOG} == set(rendered)
    assert {path.rpartition("/")[2] for _, path in put} == {profile.measured.index.target}
    check = text.index("rsyslogd -N1 -f rendered")
    assert text.index("put index-template") < check < text.index("systemctl restart rsyslog")
