"""What `diagnose` says of the counters of a real rsyslogd is so, by the numbers of the events: each
loss, wait, restart and cause, in scenarios that go wrong and in healthy ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import asdict

import pytest

from tests.drill.drilled import drilling
from tests.drill.judge import Verdict
from tests.drill.rows import ROWS
from tests.drill.summary import DRILLED

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

Verdicts = Mapping[str, Future[Verdict]]


@pytest.fixture(scope="module")
def verdicts(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Verdicts]:
    """The scenarios that are asked for, under way, several at a time."""
    asked = {one.name for one in request.session.items}
    names = [one for one in ROWS if f"test_what_is_told_is_so[{one}]" in asked]
    with drilling(names, tmp_path_factory.mktemp("drill")) as every:
        yield every


@pytest.mark.parametrize("name", ROWS)
def test_what_is_told_is_so(
    name: str, verdicts: Verdicts, record_property: Callable[[str, object], None]
) -> None:
    verdict = verdicts[name].result()
    record_property(DRILLED, asdict(verdict))
    assert not verdict.false
    assert not verdict.missed
