"""The workload: what is written, what it means, and one clear line for what contradicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadProfile
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.flood.workload import flood_spec
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.workload import MessageSizes


def with_workload(written: str) -> Profile:
    return parse_profile(f"{SMALL}workload: {written}\n", "p.yaml").profile


def problem(written: str) -> str:
    with pytest.raises(BadProfile) as caught:
        with_workload(written)
    (found,) = caught.value.problems
    return found.message


def test_nothing_written_is_the_published_traffic() -> None:
    spec = flood_spec(with_workload("{}"), "0a1b2c3d")
    assert spec.begins_s is not None
    assert replace(spec, begins_s=None) == FloodSpec(
        Transport((loopback(10514),)), 5, MessageSizes(244), 1, "0a1b2c3d"
    )


def test_everything_written_reaches_the_flood() -> None:
    profile = with_workload(
        "{rate: 5000, connections: 10, format: rfc5424, framing: octet-counted, seed: 7, "
        "message_bytes: {mean: 400, min: 137, max: 2133, distribution: lognormal}}"
    )
    assert profile.workload.rate == 5000
    assert replace(flood_spec(profile, "0a1b2c3d", 99), begins_s=None) == FloodSpec(
        Transport((loopback(10514),)), 10, MessageSizes(400, 137, 2133, "lognormal"), 7,
        "0a1b2c3d", 99, "rfc5424", "octet-counted",
    )  # fmt: skip


def test_a_file_can_be_replayed() -> None:
    profile = with_workload("{replay: /var/log/own.log}")
    assert flood_spec(profile, "0a1b2c3d").replay == "/var/log/own.log"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            "{message_bytes: {mean: 400, min: 500, max: 2133, distribution: lognormal}}",
            "workload.message_bytes is wrong: mean 400 lies outside min 500 to max 2133",
        ),
        (
            "{message_bytes: {mean: 400, min: 137, max: 2133}}",
            "workload.message_bytes is wrong: uniform sizes from 137 to 2133 have a mean of 1135, "
            "not 400: change the mean, or use lognormal",
        ),
        (
            "{message_bytes: {mean: 400, distribution: lognormal}}",
            "workload.message_bytes is wrong: lognormal sizes need min and max",
        ),
        (
            "{message_bytes: {mean: 400, max: 500}}",
            "workload.message_bytes is wrong: give both min and max, or neither",
        ),
        (
            "{message_bytes: {max: 9000}}",
            "workload.message_bytes.max must be at most 8096, not 9000",
        ),
        (
            "{message_bytes: {distribution: gaussian}}",
            "message_bytes.distribution must be fixed, uniform or lognormal, not 'gaussian'",
        ),
        ("{format: rfc5425}", "must be rfc3164 or rfc5424 (did you mean rfc5424?), not 'rfc5425'"),
        ("{framing: octets}", "workload.framing must be lf or octet-counted, not 'octets'"),
        ("{replay: own.log}", "must be an absolute path"),
        ("{rate: fast}", "workload.rate must be max or a whole number"),
    ],
)
def test_what_contradicts_is_one_clear_line(written: str, said: str) -> None:
    assert said in problem(written)


def test_replayed_lines_are_as_long_as_the_configuration_takes_them() -> None:
    own = edit(SMALL, {"workload.replay": "/var/log/own.log"})
    longer = edit(own, {"global": {"maxMessageSize": "64k"}})
    found = [flood_spec(parse_profile(text, "p").profile, "0a1b2c3d") for text in (own, longer)]
    assert [one.longest_bytes for one in found] == [8096, 65_507]
