"""The engine's own ceiling, on the sink and on a real Elasticsearch 8.19."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.engine import owned
from tuner.engine.client import EngineClient, EngineRefused
from tuner.engine.numbering import FIELD
from tuner.errors import JobFailed
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, attached_lab, lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.lint.candidate import candidate
from tuner.lint.load import load_profile
from tuner.measure.ceiling import CeilingPlan, Combination, ceiling
from tuner.measure.learning import documents_of

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

WRITTEN = load_profile(Path(__file__).parents[2] / "profiles" / "default.yaml")
PROFILE = WRITTEN.profile
QUICK = CeilingPlan((1, 2), (500, 1000), 5000, warm_up_s=0.2, window_s=0.5, engine_warm_up_s=0.0)


@contextmanager
def sink_lab(tmp_path: Path, *faults: str) -> Iterator[Lab]:
    with Sink(faults=[parse_fault(text) for text in faults]) as sink, scratch(tmp_path) as folder:
        lab = lab_of(SinkEngine(sink), folder, new_run_id())
        yield lab
        assert nothing_left_of(lab)
        lab.client.close()


@pytest.fixture
def engine_lab(elasticsearch: EngineClient, tmp_path: Path) -> Iterator[Lab]:
    client = EngineClient(elasticsearch.url)
    with scratch(tmp_path) as folder, attached_lab(client, folder, new_run_id(), "1g") as lab:
        yield lab
        assert nothing_left_of(lab)


def nothing_left_of(lab: Lab) -> bool:
    indices = owned.indices(lab.client, lab.owner.prefix)
    return not (templates_of(lab) or indices or list(lab.folder.iterdir()) or feeding())


def templates_of(lab: Lab) -> object:
    """Elasticsearch answers 404 where there are none, the sink an empty list."""
    try:
        return lab.client.get(f"/_index_template/{lab.owner.prefix}*")["index_templates"]
    except EngineRefused as error:
        if error.status != 404:
            raise
        return []


def feeding() -> bool:
    return any(thread.name == "feed" for thread in threading.enumerate())


def shape(one: Combination) -> tuple[int, int, bool]:
    return one.bulk, one.clients, one.invalid is None


def test_every_combination_is_measured_and_the_best_of_them_again(tmp_path: Path) -> None:
    told: list[str] = []
    with sink_lab(tmp_path) as lab:
        found = ceiling(lab, PROFILE, told.append, QUICK)
    assert [shape(one) for one in found.combinations] == [
        (500, 1, True), (500, 2, True), (1000, 1, True), (1000, 2, True)
    ]  # fmt: skip
    assert found.best.eps == max(one.eps for one in found.combinations)
    assert found.documents == 5000
    assert found.eps > 0
    assert found.eps != found.best.eps
    assert found.engine_cpu_us > 0
    assert found.client_cpu_us > 0
    assert told[-1].startswith("again: ")


def test_the_documents_are_those_that_rsyslog_writes_for_the_engine(
    engine_lab: Lab, tmp_path: Path
) -> None:
    """Fields, the number of the event, and the action line with the index of a trial."""
    lines = documents_of(engine_lab, PROFILE, "seen", 3000).split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == 6000
    index = f"{engine_lab.owner.prefix}seen-syslog"
    assert {json.dumps(json.loads(action)) for action in lines[0::2]} == {
        json.dumps({"index": {"_index": index}})
    }
    documents = [json.loads(document) for document in lines[1::2]]
    assert len({document[FIELD] for document in documents}) == 3000


def test_a_daily_index_is_fed_under_its_date(tmp_path: Path) -> None:
    daily = candidate(WRITTEN, [("outputs[logs].index.rotate", "daily")]).profile
    plan = replace(QUICK, clients=(1,), bulks=(500,))
    with sink_lab(tmp_path) as lab:
        action = documents_of(lab, daily, "seen", 10).split(b"\n")[0]
        assert re.search(rb'"rsyslog-tune-\w+-seen-syslog-\d{4}\.\d\d\.\d\d"', action)
        assert ceiling(lab, daily, lambda _: None, plan).eps > 0


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (("errors,after=3",), "refused with status 400"),
        (("status=429,after=3",), "HTTP 429"),
        (("reset,after=3",), "Connection"),
        # Of what rsyslog writes the first documents are fed: a late batch may hold one of these.
        (("drop-event=17", "drop-event=2017"), "acknowledged"),
        (("double-event=17", "double-event=2017"), "acknowledged"),
    ],
)
def test_a_fault_makes_its_combination_invalid_and_no_other(
    tmp_path: Path, faults: tuple[str, ...], said: str
) -> None:
    with sink_lab(tmp_path, *faults) as lab:
        found = ceiling(lab, PROFILE, lambda _: None, QUICK)
    # On a busy machine an event may come to its turn only with the second combination.
    struck = [one for one in found.combinations if one.invalid is not None]
    assert 1 <= len(struck) <= len(faults)
    assert all(said in (one.invalid or "") for one in struck)
    assert found.best not in struck


def test_where_nothing_is_valid_the_reason_is_told(tmp_path: Path) -> None:
    with (
        sink_lab(tmp_path, "status=403,after=1,times=100000") as lab,
        pytest.raises(JobFailed, match=r"ceiling.*bulks of 1,000.*HTTP 403"),
    ):
        ceiling(lab, PROFILE, lambda _: None, QUICK)


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """What a shell starts in the background ignores SIGINT, these tests among it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Between open() and its `with` an interrupt leaves a file to the garbage collector, which says so.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("after_s", [0.1, 0.5])
def test_ctrl_c_ends_the_clients_and_leaves_nothing(tmp_path: Path, after_s: float) -> None:
    """The fixture sees the processes, the lab the folders and threads; indices and templates go
    with the lab, for the engine may have got the signal as well."""
    told: list[str] = []

    def interrupt_soon(text: str) -> None:
        told.append(text)
        if len(told) == 2:
            threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGINT)).start()

    with sink_lab(tmp_path) as lab:
        with pytest.raises(KeyboardInterrupt):
            ceiling(lab, PROFILE, interrupt_soon, replace(QUICK, window_s=1.0))
        assert not feeding()
        owned.remove(lab.client, lab.owner, lab.owner.prefix)
    assert len(told) == 2


def test_a_real_engine_has_a_ceiling_and_keeps_nothing_of_it(engine_lab: Lab) -> None:
    plan = CeilingPlan((1, 2), (1000,), 10_000, warm_up_s=0.5, window_s=1.5, engine_warm_up_s=2.0)
    found = ceiling(engine_lab, PROFILE, lambda _: None, plan)
    assert [shape(one) for one in found.combinations] == [(1000, 1, True), (1000, 2, True)]
    assert found.eps > 1000
    assert found.engine_cpu_us > found.client_cpu_us > 0
