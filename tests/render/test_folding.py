"""What rsyslogd would cut, it gets in lines that it joins again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.profile.examples import at_hand, small
from tests.render.test_rsyslogd_accepts import verdict_on
from tests.render.tokens import parse
from tuner.profile.model import Profile
from tuner.rainerscript.quoting import fold
from tuner.render.artefacts import rsyslog_conf

LONG = ("x" * 30_000, " " * 30_000, "\\" * 9000, "\u20ac " * 9000, ("a" * 1999 + " ") * 9)


def of_constants(value: str) -> Profile:
    """A profile whose document is one stretch of text, many times that long."""
    pieces = [value[at : at + 1000] for at in range(0, len(value), 1000)]
    fields = [{"constant": one, "name": f"field{n}"} for n, one in enumerate(pieces)]
    return small({"outputs[logs].document": fields})


def test_short_lines_stay_as_they_are() -> None:
    assert fold("a  b\n\n  c\n") == "a  b\n\n  c\n"


@pytest.mark.parametrize("value", LONG)
def test_a_long_value_arrives_whole(value: str) -> None:
    profile = of_constants(value)
    text = rsyslog_conf(profile)
    assert max(len(line.encode()) for line in text.splitlines()) < 10_000
    (template,) = [one for one in parse(text) if one.kind == "template"]
    assert len(template.body) == 1
    shown = str(template.body[0].parameters["value"])
    assert shown.startswith('{"field0":"')
    assert "\n" not in shown


def test_a_long_list_in_an_object_of_many_parameters_arrives_whole() -> None:
    servers = [f"http://server-{n}.example.org:9200" for n in range(2000)]
    found = parse(rsyslog_conf(small({"outputs[logs].servers": servers})))
    (ruleset,) = [one for one in found if one.kind == "ruleset"]
    assert ruleset.body[-1].parameters["server"] == servers


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_reads_folded_objects(tmp_path: Path) -> None:
    # Since 8.2510 -N1 asks each of them: these refuse at once.
    servers = [f"http://127.9.{n // 200}.{n % 200}:9" for n in range(2000)]
    assert verdict_on(at_hand({"outputs[logs].servers": servers}), tmp_path) == ""
    assert verdict_on(of_constants("x" * 30_000), tmp_path) == ""
