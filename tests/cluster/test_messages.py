"""What goes from one machine to another arrives as it was sent, or says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tests.shipped import PROFILES
from tuner.cluster.access import (
    Versions,
    new_certificate,
    require_safe,
    require_same_versions,
    sources_digest,
    versions_here,
)
from tuner.cluster.messages import (
    QUESTIONS,
    REPLIES,
    Failed,
    RunTrial,
    profile_json,
    profile_of,
)
from tuner.errors import JobFailed, Locked, Refused
from tuner.lint.load import load_profile
from tuner.measure.measurement import TrialPlan
from tuner.profile.edit import edit
from tuner.search.study import Asked, Phase


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_profile_arrives_as_it_was_written(path: Path) -> None:
    profile = load_profile(path).profile
    assert profile_of(profile_json(profile)) == profile


def test_a_sample_travels_with_its_profile(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("Oct 11 22:14:15 web1 app[1]: started\n" * 20)
    file = tmp_path / "p.yaml"
    file.write_text(edit(SMALL, {"workload.sample": "app.log"}))
    profile = load_profile(file).profile
    (tmp_path / "app.log").unlink()
    there = profile_of(profile_json(profile))
    assert there.workload.learnt == profile.workload.learnt
    assert there.workload.learnt is not None


def test_a_configuration_does_not_travel(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(
        'module(load="imtcp")\ninput(type="imtcp" port="10514")\n'
        'action(type="omelasticsearch" server="127.0.0.1" searchIndex="a")\n'
    )
    file = tmp_path / "p.yaml"
    file.write_text(
        'name: own\nrelease: {rsyslog: "8.2302", elasticsearch: "8.19"}\n'
        "base: {rsyslog: rsyslog.conf}\n"
    )
    with pytest.raises(Refused, match="--cluster cannot measure a profile on a configuration"):
        profile_json(load_profile(file).profile)


def test_a_question_is_one_line_and_is_understood() -> None:
    asked = Asked(
        7, Phase.SEARCH, (("main_queue.size", 1000),), "why\nnot", TrialPlan(1.0, 2.0), machine="a"
    )
    line = QUESTIONS.line(RunTrial(asked, "{}"))
    assert line.count(b"\n") == 1
    assert QUESTIONS.message(line) == RunTrial(asked, "{}")


def test_an_error_keeps_its_exit_code_and_says_where() -> None:
    there = Failed.from_error(Locked("another run is measuring on this machine: lab up, pid 7"))
    reply = REPLIES.message(REPLIES.line(there))
    assert isinstance(reply, Failed)
    with pytest.raises(Locked, match="north: another run is measuring"):
        raise reply.as_error("north")


def test_what_is_no_error_of_ours_is_none_of_those_with_a_meaning() -> None:
    assert type(Failed("SystemExit", "x").as_error("north")).exit_code == JobFailed.exit_code


@pytest.mark.parametrize(
    ("address", "has_certificate", "said"),
    [
        ("tcp://10.0.0.1:8786", False, "not encrypted"),
        ("tcp://10.0.0.1:8786", True, "not encrypted"),
        ("tls://10.0.0.1:8786", False, "needs --tls-ca"),
        ("tls://10.0.0.1", True, "is not the URL of a scheduler"),
        ("http://10.0.0.1:8786", True, "is not the URL of a scheduler"),
        ("tls://10.0.0.1:port", True, "is not the URL of a scheduler"),
        ("tls://[::1", True, "is not the URL of a scheduler"),
    ],
)
def test_a_cluster_that_anybody_can_read_is_refused(
    address: str, has_certificate: bool, said: str
) -> None:
    with pytest.raises(Refused, match=said):
        require_safe(address, new_certificate() if has_certificate else None)


def test_without_tls_only_on_loopback() -> None:
    require_safe("tcp://127.0.0.1:8786", None)
    require_safe("tls://10.0.0.1:8786", new_certificate())


def test_versions_that_differ_are_named() -> None:
    here = Versions("0.1.0", "3.11.2", "2026.8.0", "8.2302", "a1")
    there = Versions("0.2.0", "3.11.2", "2026.8.0", "8.2306", "b2")
    assert here.differences(there) == (
        "rsyslog-tune 0.2.0 and not 0.1.0",
        "rsyslog 8.2306 and not 8.2302",
    )
    assert not here.differences(here)
    same_version = replace(here, sources="b2")
    assert here.differences(same_version) == ("other code of rsyslog-tune 0.1.0",)


def test_code_that_differs_in_a_byte_is_other_code(tmp_path: Path) -> None:
    package = tmp_path / "tuner"
    (package / "lab").mkdir(parents=True)
    module = package / "lab/sink.py"
    module.write_text("X = 1\n")
    before = sources_digest(package)
    (package / "lab/__pycache__").mkdir()
    (package / "lab/__pycache__/sink.cpython-311.pyc").write_bytes(b"compiled")
    assert sources_digest(package) == before
    module.write_text("X = 2\n")
    assert sources_digest(package) != before


def test_a_machine_with_other_code_of_the_same_version_is_refused_by_its_name() -> None:
    other = replace(versions_here(), sources="b2")
    with pytest.raises(Refused, match="south has other code of rsyslog-tune"):
        require_same_versions({"north": versions_here(), "south": other})
