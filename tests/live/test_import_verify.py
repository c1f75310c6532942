"""`import --verify`: the original and the rendered configuration on real daemons."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.errors import DifferencesFound
from tuner.rainerscript.parser import parse
from tuner.validate.equality import delivered, discrepancies, varied_events

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

RUN = CliRunner()
GOLDEN = Path(__file__).parents[1] / "importer/golden"


def test_a_profile_delivers_what_the_configuration_did() -> None:
    done = RUN.invoke(app, ["import", "--convert", str(GOLDEN / "modern.conf"), "--verify"])
    assert done.exit_code == 0, done.exception or done.stderr
    same = re.search(r"the same: (\d+) documents of 300 events, with their indices", done.stderr)
    assert same is not None
    assert 100 < int(same[1]) < 300, "some events are filtered out"


def test_what_differs_is_named_by_its_field() -> None:
    conf = (
        'module(load="omelasticsearch") module(load="imtcp")\n'
        'template(name="t" type="string" '
        'string="{\\"m\\":\\"%msg:::json%\\",\\"s\\":\\"%NAME%\\"}")\n'
        'input(type="imtcp" port="514")\n'
        'if $syslogseverity <= LEVEL then action(type="omelasticsearch" template="t")\n'
    )
    events = varied_events({})
    one, other = (
        delivered(parse(conf.replace("NAME", name).replace("LEVEL", level), "f")[0], events)
        for name, level in (("programname", "7"), ("procid", "6"))
    )
    found = {each.what: each for each in discrepancies(one, other)}
    assert found.keys() == {"documents", "s"}
    assert found["documents"].example.endswith(": 1 of the original, 0 of the profile")
    assert found["documents"].events + found["s"].events == len(one) == len(events)


@pytest.mark.full
def test_a_configuration_of_the_old_form_delivers_the_same_json() -> None:
    """It does not escape its messages: what is no JSON there is JSON here, and nothing else."""
    done = RUN.invoke(app, ["import", "--convert", str(GOLDEN / "old.conf"), "--verify"])
    assert isinstance(done.exception, DifferencesFound)
    named = [
        line.partition(" differs")[0] for line in done.stderr.splitlines() if "differs" in line
    ]
    assert named == ["JSON"]
