"""Paths into a profile."""

from __future__ import annotations

import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadUsage
from tuner.lint.load import parse_profile
from tuner.profile.schema import get, resolve_path

DATA = parse_profile(SMALL, "small.yaml").data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "small"),
        ("main_queue.size", 100_000),
        ("outputs[logs].queue.workerThreads", 2),
        ("outputs[0].queue.workerThreads", 2),
        ("inputs[0].port", 10514),
        ("outputs[logs].servers[0]", "http://127.0.0.1:9200"),
        ("node.heap", None),
        ("main_queue.minDequeueBatchSize.timeout", None),
    ],
)
def test_a_path_gives_what_is_written(path: str, value: object) -> None:
    assert get(DATA, path) == value


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("main_queue.minDequeueBatchSize.timeout", ("main_queue", "minDequeueBatchSize.timeout")),
        ("main_queue.minDequeueBatchSize", ("main_queue", "minDequeueBatchSize")),
        ("outputs[logs].action.resumeRetryCount", ("outputs", 0, "action.resumeRetryCount")),
        ("node.indices.memory.index_buffer_size", ("node", "indices.memory.index_buffer_size")),
        ("outputs[logs].tls.cacert", ("outputs", 0, "tls", "cacert")),
    ],
)
def test_the_longest_known_key_is_taken(path: str, keys: tuple[str | int, ...]) -> None:
    assert resolve_path(DATA, path) == keys


@pytest.mark.parametrize("path", ["", "a..b", "inputs[", "inputs[]", ".name", "name."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(BadUsage, match="is not a path"):
        resolve_path(DATA, path)


def test_unknown_settings_are_refused_with_a_hint() -> None:
    with pytest.raises(BadUsage, match="no setting outputs"):
        resolve_path(DATA, "outputs[logs].index.sharts")
    with pytest.raises(BadUsage, match="did you mean dequeueBatchSize"):
        resolve_path(DATA, "main_queue.dequeueBatchsize")


def test_unknown_items_are_refused() -> None:
    with pytest.raises(BadUsage, match="there is no list"):
        resolve_path(DATA, "main_queue[0].size")
    with pytest.raises(BadUsage, match=r"no \[7\]"):
        resolve_path(DATA, "inputs[7].port")
