"""The stream of the measured output runs alone in a lab, through a queue of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.test_lanes import measured
from tests.profile.examples import SMALL
from tuner.lint.candidate import candidate
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.space.knob import Knob
from tuner.space.knobs import knobs

pytestmark = pytest.mark.live

WRITTEN = parse_profile(
    edit(
        SMALL.replace("- name: logs\n", "- name: logs\n    stream: fast\n")
        + "  - {name: rest, type: omfile, file: /var/log/rest.log}\n",
        {
            "inputs": [
                {"type": "imtcp", "port": 10514},
                {"type": "imptcp", "port": 10515, "stream": "fast"},
            ],
            "streams": {"fast": {"queue": {"type": "FixedArray", "size": 90_000}}},
        },
    ),
    "streams.yaml",
)


def test_the_events_of_the_measured_stream_pass_its_queue(tmp_path: Path) -> None:
    outcome = measured(tmp_path, WRITTEN.profile)
    assert outcome.delivery.exact
    assert outcome.effective is not None
    held = {queue.name: queue.most_held for queue in outcome.effective.queues}
    assert held["stream.fast"]


def test_a_search_varies_the_queue_of_the_measured_stream() -> None:
    by_path: dict[str, Knob] = {knob.path: knob for knob in knobs(WRITTEN.profile)}
    batch = by_path["streams[fast].queue.dequeueBatchSize"]
    changed = candidate(WRITTEN, [(batch.path, batch.levels[0])])
    queue = changed.profile.streams["fast"].queue
    assert queue is not None
    assert queue.dequeue_batch_size == batch.levels[0]
    assert not [path for path in by_path if path.startswith("main_queue")]
