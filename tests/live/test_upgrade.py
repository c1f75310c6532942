"""The same messages through two releases of rsyslogd: what differs is found, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.conftest import tune
from tests.live.engines import running
from tests.live.rsyslogs import SUITES
from tests.shipped import ROOT
from tuner.engines.release import Release

pytestmark = [pytest.mark.live, pytest.mark.full]
PROGRAMS = {suite.release: suite.rsyslogd for suite in SUITES}
PAIRS = [("8.2102", "8.2302"), ("8.2302", "8.2504"), ("8.2504", "8.2610")]
HEAD = 'module(load="imtcp")\nmodule(load="omelasticsearch")\ninput(type="imtcp" port="10514")\n'
ES = 'action(type="omelasticsearch" name="es" server="127.0.0.1" bulkmode="on" {})\n'
# Variables that are numbers are compared as such since 8.2202 (rsyslog#4770).
NUMBERS = f"""{HEAD}
set $.limit = 900; set $.size = 1000;
if $.size > $.limit then {{ action(type="omfile" file="/var/log/large.log") }}
{ES.format('searchType=""')}"""
# An id is escaped by omelasticsearch itself since 8.2608.
IDS = f"""{HEAD}
template(name="id" type="string" string="x\\\\/%programname%")
{ES.format('searchType="" bulkid="id" dynBulkId="on"')}"""
# Positions from the end came in 8.2302.
FROM_THE_END = f"""{HEAD}
template(name="doc" type="list" option.jsonf="on") {{
  property(outname="message" name="msg" position.from="1" position.to="-2" format="jsonf")
}}
{ES.format('searchType="" template="doc"')}"""
SAME = {
    "Debian's own": ROOT / "tests/live/configurations/debian-12.conf",
    "the manual's": ROOT / "tests/live/configurations/manual-3.conf",
    "a collector": ROOT / "examples/collector/rsyslog.conf",
}


def compared(conf: Path, old: str, new: str) -> list[dict[str, object]]:
    """What differs, as the command says it."""
    for release in (old, new):
        if not PROGRAMS[release].is_file():
            pytest.skip(f"rsyslogd {release} is not here: make rsyslogs")
    done = tune(
        "advise", "--conf", conf, "--upgrade", f"rsyslog={old}..{new}", "--output", "json",
        "--rsyslogd", PROGRAMS[old], "--new-rsyslogd", PROGRAMS[new], folder=conf.parent,
    )  # fmt: skip
    assert done.code in {0, 2}, done.err
    found: list[dict[str, object]] = json.loads(done.out)["compared"]["differences"]
    return found


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("name", SAME)
def test_configurations_that_all_releases_read_alike(name: str, pair: tuple[str, str]) -> None:
    assert compared(SAME[name], *pair) == []


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize(
    ("text", "since", "what"),
    [(NUMBERS, "8.2302", "how many come"), (IDS, "8.2610", "id"),
     (FROM_THE_END, "8.2302", "the configuration")],
    ids=["numbers", "ids", "positions"],
)  # fmt: skip
def test_what_a_release_changed_is_found_between_these_two_alone(
    tmp_path: Path, text: str, since: str, what: str, pair: tuple[str, str]
) -> None:
    conf = tmp_path / "rsyslog.conf"
    conf.write_text(text)
    found = compared(conf, *pair)
    assert [one["what"] for one in found] == ([what] if pair[1] == since else [])


def test_an_engine_of_the_new_release_says_what_it_makes_of_the_templates(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    text = (ROOT / "profiles/default.yaml").read_text(encoding="utf-8")
    profile.write_text(text, encoding="utf-8")
    words = ("advise", profile, "--upgrade", "elasticsearch=9.5", "--output", "json")
    with running(Release.model_validate({"elasticsearch": "9.5"}), tmp_path) as client:
        done = tune(*words, "--new-elasticsearch", client.url, folder=tmp_path)
    assert done.code == 0, done.err
    assert json.loads(done.out)["engine"]["remark"] == "Elasticsearch 9.5.4 accepts it"
    with running(Release.model_validate({"elasticsearch": "8.19"}), tmp_path) as client:
        other = tune(*words, "--new-elasticsearch", client.url, folder=tmp_path)
    assert other.code == 2
    assert json.loads(other.out)["engine"]["problems"][0]["code"] == "RT501"
