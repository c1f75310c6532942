"""What a reader calls a setting: its path in a profile, its parameter in a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.lint.load import load_profile
from tuner.profile.model import Profile
from tuner.profile.schema import full_name, names_in

CONF = """\
module(load="imtcp")
module(load="omelasticsearch")
main_queue(queue.size="50000")
input(type="imtcp" name="tcp" port="514")
action(type="omelasticsearch" name="es" bulkmode="on")
action(type="omelasticsearch" name="far" bulkmode="on")
"""


@pytest.fixture
def base(tmp_path: Path) -> Profile:
    (tmp_path / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    path = tmp_path / "prod.yaml"
    path.write_text("name: prod\nbase: {rsyslog: rsyslog.conf}\n", encoding="utf-8")
    return load_profile(path).profile


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("outputs[es].queue.workerThreads", "action[es].queue.workerThreads"),
        ("outputs[es].filter_path", "action[es].filter_path"),
        ("outputs[es].timeout", "action[es].timeout"),
        ("main_queue.size", "main_queue.size"),
        ("inputs[0].flowControl", "input[tcp].flowControl"),
        ("node.heap", "node.heap"),
    ],
)
def test_of_a_configuration_it_is_the_parameter(base: Profile, path: str, name: str) -> None:
    assert full_name(base, path) == name


def test_two_that_end_alike_are_told_apart_by_their_actions(base: Profile) -> None:
    paths = ["outputs[es].queue.size", "outputs[far].queue.size", "main_queue.dequeueBatchSize"]
    assert list(names_in(base, paths).values()) == [
        "action[es].queue.size", "action[far].queue.size", "dequeueBatchSize",
    ]  # fmt: skip


def test_of_a_profile_it_is_the_path() -> None:
    assert full_name(small(), "outputs[logs].queue.size") == "outputs[logs].queue.size"
