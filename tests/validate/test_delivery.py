"""What came of events in a lab, and when no more of them comes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.validate.arrival import Arrival
from tuner.validate.delivery import arrivals, await_same, bytes_below, outside

KEPT = (
    b'{"create":{"_index":"logs","_id":"7","pipeline":"pipe"}}\n{"message":"n00001 a"}\n\n'
    b'{"index":{"_index":"other"}}\n{"message":"n00002 b"}\n'
)


def test_what_the_sink_kept_is_told_by_document() -> None:
    assert list(arrivals(KEPT)) == [
        Arrival("logs", "7", '{"message":"n00001 a"}', "pipe"),
        Arrival("other", None, '{"message":"n00002 b"}'),
    ]


def test_a_file_that_is_read_is_called_in_documents_as_in_the_configuration() -> None:
    here = "/lab/read"
    escaped = here.replace("/", "\\/")
    line = Arrival("", None, f'{here}/var/log/app {{"f":"{escaped}\\/var\\/log\\/app"}}')
    assert outside(line, here).text == '/var/log/app {"f":"\\/var\\/log\\/app"}'


def test_the_end_is_awaited_until_nothing_more_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that stays the same for a moment; one that never does is waited for so long."""
    now, seen = [0.0], iter([1, 2, 3, 3, 4])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("tuner.validate.delivery.time", clock)
    await_same(lambda: next(seen), 2.0, 100.0)
    assert (now, next(seen)) == ([6.0], 4)
    await_same(object, 2.0, 10.0)
    assert now == [16.0]


def test_what_is_written_is_counted_in_every_folder_below(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "a").write_text("12345", encoding="utf-8")
    (tmp_path / "deep" / "er" / "b").write_text("678", encoding="utf-8")
    assert bytes_below(tmp_path) == 8
