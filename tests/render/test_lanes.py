"""Lanes in rsyslog.conf."""

from __future__ import annotations

import re

from tests.profile.examples import small
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import rsyslog_conf

PARSER: dict[str, object] = {"parser": ["rsyslog.rfc3164"]}


def lanes(changes: dict[str, object], more: dict[str, object] | None = None) -> str:
    return rsyslog_conf(small({"lanes": {"count": 3, **changes}, **(more or {})}))


def block(text: str, start: str) -> str:
    """A ruleset from its first line to the end of its body."""
    found = re.search(re.escape(start) + r".*?^}", text, re.MULTILINE | re.DOTALL)
    assert found is not None, text
    return found[0]


def test_each_lane_listens_on_a_port_of_its_own() -> None:
    text = lanes({})
    doors = re.findall(r'port="(\d+)".*?ruleset="([^"]+)"', text, re.DOTALL)
    assert doors == [
        ("10514", "lane-0.small"), ("10515", "lane-1.small"), ("10516", "lane-2.small")
    ]  # fmt: skip


def test_an_input_with_a_stream_of_its_own_has_one_port_beside_lanes() -> None:
    profile = small({"lanes": {"count": 2}})
    (first,) = profile.inputs
    own = first.model_copy(update={"port": 10600, "stream": "own"})
    profile = profile.model_copy(update={"inputs": (first, own)})
    assert sockets_of(profile) == ("tcp:10514", "tcp:10515", "tcp:10600")
    assert re.findall(r'port="(\d+)"', rsyslog_conf(profile)) == ["10514", "10515", "10600"]


def test_each_lane_has_a_queue_with_files_of_its_own() -> None:
    disk = {"type": "Disk", "filename": "lane", "spoolDirectory": "/var/spool/rsyslog"}
    text = lanes({"queue": disk})
    assert re.findall(r'queue\.filename="(.*?)"', text) == ["lane-0", "lane-1", "lane-2"]


def test_a_lane_hands_to_the_outputs_and_parses_what_enters_it() -> None:
    text = lanes({}, PARSER)
    lane = block(text, 'ruleset(\n    name="lane-1.small"')
    assert 'parser=["rsyslog.rfc3164"]' in lane
    assert lane.endswith("    call small\n}")
    assert "parser" not in block(text, 'ruleset(name="small"')


def test_with_a_hash_the_ruleset_of_the_input_hands_out() -> None:
    text = lanes({"spread": "hash", "property": "hostname"}, PARSER)
    assert 'module(load="fmhash")' in text
    split = block(text, 'ruleset(name="small" parser=["rsyslog.rfc3164"])')
    assert "set $.lane = hash64mod($hostname, 3);" in split
    assert "if $.lane == 2 then {\n        call lane-2.small\n" in split
    assert "call outputs.small" in block(text, 'ruleset(\n    name="lane-2.small"')
    assert text.count('input(') == 1  # fmt: skip


def test_without_a_hash_no_module_is_needed() -> None:
    text = lanes({"spread": "random"})
    assert "fmhash" not in text
    assert "set $.lane = random(3);" in text


def test_the_documents_are_those_of_a_profile_without_lanes() -> None:
    start = 'template(name="logs-document"'
    assert block(lanes({}), start) == block(rsyslog_conf(small()), start)
