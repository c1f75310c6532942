"""The levels of a knob, and where the profile's own value stands among them."""

from __future__ import annotations

import pytest

from tests.profile.examples import small
from tuner.profile.knobs import REPLY_FILTER, Level, knobs

REFRESH = "outputs[logs].index.settings.refresh_interval"
FLUSH = "outputs[logs].index.settings.translog.flush_threshold_size"


@pytest.mark.parametrize(
    ("path", "written", "levels"),
    [
        (REFRESH, None, (None, "1s", "5s", "10s", "30s")),
        (REFRESH, "500ms", ("500ms", "1s", "5s", "10s", "30s")),
        (REFRESH, "20s", ("1s", "5s", "10s", "20s", "30s")),
        (REFRESH, "1m", ("1s", "5s", "10s", "30s", "1m")),
        (REFRESH, "-1", ("1s", "5s", "10s", "30s", "-1")),
        (FLUSH, "384mb", (None, "256mb", "384mb", "512mb", "1gb", "2gb")),
        ("outputs[logs].queue.dequeueBatchSize", 700, (500, 700, 1000, 2000, 3000, 5000, 8000)),
        (
            "outputs[logs].filter_path",
            [*REPLY_FILTER, "took"],
            (None, REPLY_FILTER, (*REPLY_FILTER, "took")),
        ),
    ],
)
def test_the_current_level_stands_in_its_place(
    path: str, written: object, levels: tuple[Level, ...]
) -> None:
    profile = small({} if written is None else {path: written})
    found = {knob.path: knob for knob in knobs(profile)}[path]
    assert found.levels == levels
    assert found.current == (tuple(written) if isinstance(written, list) else written)


def test_the_workers_of_a_queue_on_disk_are_no_knob() -> None:
    on_disk = small({"main_queue.type": "Disk", "main_queue.filename": "main",
                     "main_queue.spoolDirectory": "/var/spool/rsyslog"})  # fmt: skip
    paths = {knob.path for knob in knobs(on_disk)}
    assert "main_queue.dequeueBatchSize" in paths
    assert not {path for path in paths if path.startswith("main_queue.workerThread")}
    assert "outputs[logs].queue.workerThreads" in paths
