"""Full queues against the memory of a host."""

from __future__ import annotations

from tests.profile.examples import SMALL
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.profile.edit import edit
from tuner.validate.layers import memory_problems


def loaded(**changes: object) -> LoadedProfile:
    return parse_profile(edit(SMALL, changes), "p.yaml")


def test_full_queues_take_at_most_half_of_the_memory() -> None:
    """150,000 messages of 244 bytes, 700 more for each, are 141,600,000 bytes."""
    assert memory_problems(loaded(), 283_200_000) == ()
    (found,) = memory_problems(loaded(), 283_199_000)
    assert (found.code, found.line, found.severity.value) == ("RT508", 5, "warning")
    assert "at most 149999" in found.message


def test_what_the_profile_allows_counts_instead_where_it_says_so() -> None:
    allowed = {"guardrails.rss_bytes": "1g"}
    assert memory_problems(loaded(**allowed), 1_000_000) == ()


def test_a_disk_queue_takes_no_memory() -> None:
    disk = {"type": "Disk", "filename": "q", "spoolDirectory": "/var/spool", "size": 50000}
    main: dict[str, object] = {f"main_queue.{key}": value for key, value in disk.items()}
    assert memory_problems(loaded(**main), 95_000_000) == ()
