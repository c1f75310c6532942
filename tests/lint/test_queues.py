"""Queues as rsyslog completes them, and the backlog that keeps their workers busy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.lint.lint import lint
from tuner.lint.load import load_profile
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.placement import BacklogMarks, action_queue, backlog_marks, main_queue

ROOT = Path(__file__).parents[2]


def test_every_parameter_of_a_queue_in_memory_is_worked_out() -> None:
    queue = resolve(Queue(size=1050), Place.MAIN)
    missing = {name for name, value in queue.model_dump().items() if value is None}
    assert missing == {
        "filename", "spool_directory", "max_disk_space", "max_file_size", "checkpoint_interval",
        "sync_queue_files", "save_on_shutdown", "dequeue_time_begin", "dequeue_time_end",
        "sampling_interval", "take_flow_ctl_from_msg", "on_corruption", "disk_queue_type",
        "disk_queue_auto_upgrade", "disk_queue_idle_timeout", "mutex_contention_stats", "scope",
        "local_frontend_size", "local_max_frontends", "local_frontend_stats",
        "local_helper_batch_size",
    }  # fmt: skip
    assert (queue.light_delay_mark, queue.full_delay_mark) == (700, 970)


def test_the_marks_of_a_tiny_queue_are_those_that_rsyslog_puts_there() -> None:
    queue = resolve(Queue(size=50, type=QueueType.LINKED_LIST), Place.ACTION)
    assert (queue.high_watermark, queue.low_watermark, queue.discard_mark) == (50, 1, 50)
    assert (queue.full_delay_mark, queue.light_delay_mark) == (49, 49)


def test_a_queue_with_files_gets_the_defaults_of_files() -> None:
    main = resolve(Queue(filename="q"), Place.MAIN)
    action = resolve(Queue(type=QueueType.DISK, filename="q"), Place.ACTION)
    assert (main.max_file_size, action.max_file_size) == ("16m", "1m")
    assert (main.max_disk_space, main.save_on_shutdown) == ("0", True)


def test_written_values_stay() -> None:
    queue = resolve(Queue(size=5000, filename="q", saveOnShutdown=False), Place.MAIN)
    assert (queue.size, queue.save_on_shutdown) == (5000, False)


def test_a_profile_without_main_queue_has_the_implicit_one() -> None:
    queue = main_queue(small({"main_queue": None, "outputs[logs].queue.size": 100000}))
    assert (queue.workers, queue.batch, queue.minimum_messages) == (2, 256, 40_000)


def test_a_written_main_queue_has_other_defaults_than_the_implicit_one() -> None:
    queue = main_queue(small({"main_queue": {"size": 60000}}))
    assert (queue.workers, queue.batch, queue.minimum_messages) == (1, 1024, 60_000)


def test_an_action_without_queue_is_direct() -> None:
    queue = action_queue(small({"outputs[logs].queue": None}), 0)
    assert queue.is_direct
    assert (queue.size, queue.busy_backlog) == (0, 0)


@pytest.mark.parametrize(
    ("example", "marks"),
    [
        ("examples/published/stock.yaml", BacklogMarks(low=40_512, room=66_500)),
        ("examples/by-hand.yaml", BacklogMarks(low=36_024, room=47_500)),
        ("profiles/default.yaml", BacklogMarks(low=7_024, room=47_500)),
    ],
)
def test_the_backlog_keeps_workers_busy_and_inputs_unbraked(
    example: str, marks: BacklogMarks
) -> None:
    assert backlog_marks(load_profile(ROOT / example).profile) == marks


def test_without_a_light_delay_mark_the_size_limits_the_backlog() -> None:
    changes = {"main_queue.lightDelayMark": 0, "main_queue.size": 40000}
    assert backlog_marks(small(changes)).high == 38_000


_TWO: dict[str, object] = {"workerThreads": 2, "workerThreadMinimumMessages": 100}


@pytest.mark.parametrize(
    ("main", "release"),
    [
        ({"size": 2500, "workerThreads": 3}, "8.2302"),
        ({"size": 40_000, "lightDelayMark": 1500, **_TWO}, "8.2302"),
        ({"size": 40_000, "lightDelayMark": 1}, "8.2610"),
        ({"size": 2000, "lightDelayMark": 1500, **_TWO}, "8.2302"),
        ({"size": 40_000, "workerThreads": 6}, "8.2302"),
    ],
)
def test_what_is_advised_for_idle_workers_wakes_them(main: dict[str, object], release: str) -> None:
    slow = {"type": "LinkedList", "size": 40_000, "workerThreads": 8,
            "workerThreadMinimumMessages": 100}  # fmt: skip
    others = {"release.rsyslog": release, "outputs[logs].queue": slow}
    before = small({"main_queue": main, **others})
    (finding,) = [one for one in lint(before) if one.code == "RT112"]
    advised = re.findall(r"(?:set|raise) (\w+)( and size)? to (?:at least )?(\d+)", finding.message)
    mended = {key: int(value) for keys, both, value in advised
              for key in (keys, both.removeprefix(" and ")) if key}  # fmt: skip
    after = small({"main_queue": main | mended, **others})
    assert not {"RT105", "RT112"} & {one.code for one in lint(after)}


def test_a_queue_is_judged_by_its_own_workers() -> None:
    """The second worker of rsyslog's own main queue starts above 40,000 events: that once made an
    action queue of 20,000 too small for its four."""
    own = {"type": "LinkedList", "size": 20_000, "dequeueBatchSize": 1000, "workerThreads": 4,
           "workerThreadMinimumMessages": 1000}  # fmt: skip
    codes = {one.code for one in lint(small({"main_queue": None, "outputs[logs].queue": own}))}
    assert "RT112" not in codes


def test_where_queues_are_too_small_for_all_workers_the_flood_fills_what_is_before_them() -> None:
    stock = small({"main_queue": None, "outputs[logs].queue": {"type": "LinkedList"}})
    marks = backlog_marks(stock)
    assert marks.room == 950
    assert marks.room < marks.low < marks.high
