"""A diagnosis on a terminal, as JSON and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic_core import to_jsonable_python

from tests.diagnose.logged import diagnosed, settings_of, text_of
from tuner.diagnose.course import StepValues, courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.finding import Events
from tuner.diagnose.inputs import KernelCounts
from tuner.diagnose.settings import Settings
from tuner.modules.stats_rounds import StatsObject, StatsRound, Unreadable
from tuner.report.diagnosis import (
    FilesDiagnosis,
    UnreadLines,
    chart,
    diagnosis_blocks,
    diagnosis_json,
    diagnosis_report,
    output_rows,
)
from tuner.report.page import page
from tuner.report.sections import Table


def made(name: str, text: str | None = None) -> FilesDiagnosis:
    host = diagnosed(text_of(name) if text is None else text, settings_of(name))
    return FilesDiagnosis((f"{name}.log",), (host,), (), ())


def test_a_chart_shows_the_highest_of_each_part() -> None:
    assert chart((0, 1, 2, 4, 8)) == " ▂▃▅█"
    assert chart((0, 0)) == chart(()) == ""
    wide = chart((0,) * 99 + (7,) + (0,) * 60)
    assert (len(wide), wide.strip()) == (16, "█")


def test_numbers_of_events_say_how_exact_they_are() -> None:
    assert Events().text == Events(0).text == ""
    assert Events(5, 5).text == "5 events"
    assert Events(1, 1).text == "1 event"
    assert Events(40).text == "at least 40 events"
    assert Events(0, 19).text == "up to 19 events"
    assert Events(6, 348).text == "6 to 348 events"


def test_a_log_of_many_queues_shows_the_busiest() -> None:
    one = made("healthy")
    host = one.hosts[0]
    queue = host.queues[0]
    many = []
    for n in range(40):
        growth = StepValues(28)
        growth["enqueued"] = (n,) * 28
        series = replace(queue.series, name=f"q{n}", growth=growth)
        many.append(replace(queue, series=series))
    blocks = diagnosis_blocks(replace(one, hosts=(replace(host, queues=tuple(many)),)))
    (table,) = [block for block in blocks if isinstance(block, Table) and block.name == "Course"]
    names = [row[0] for row in table.rows]
    assert names[1:4] == ["q39", "q38", "q37"]
    assert names[-1] == "16 more, which had less to do"


def test_outputs_show_batches_failures_and_what_the_engine_answered() -> None:
    rows = {row[0]: row for row in output_rows(made("8.2610/refused-bulks").hosts[0].course)}
    # 8.2602 counts batches, 8.2610 requests.
    assert rows["es"][1] == "16,000"
    assert 1 <= int(rows["es"][2].replace(",", "")) <= 1000
    answers = rows["omelasticsearch"][-1]
    assert "requests, " in answers
    assert "ms each" in answers
    assert "failed.http 26" in answers
    (es, engine) = output_rows(made("retried-items").hosts[0].course)
    assert es[2] == ""
    assert "response.badargument" in engine[-1]
    (away, _) = output_rows(made("engine-away-gives-up").hosts[0].course)
    assert away[4].endswith(" s")


def test_the_limit_of_open_files_is_shown_where_it_is_known() -> None:
    one = made("healthy")
    (host,) = one.hosts
    known = replace(host, kernel=KernelCounts(0.0, 1.0, {}, 1024))
    for each, shows in ((host, False), (known, True)):
        blocks = diagnosis_blocks(replace(one, hosts=(each,)))
        (table,) = [one for one in blocks if isinstance(one, Table) and one.name == "Process"]
        assert str(table.rows[-1][1]).endswith(" of 1,024") is shows


def test_json_is_json_whatever_was_found() -> None:
    for name in ("frozen-engine", "restarts", "in-band"):
        text = json.dumps(to_jsonable_python(diagnosis_json(made(name))), allow_nan=False)
        assert json.loads(text)["hosts"][0]["findings"]


def test_a_page_shades_the_time_of_findings_and_is_the_same_every_time() -> None:
    slow, healthy = (page(diagnosis_report(made(name))) for name in ("slow-engine", "healthy"))
    assert slow == page(diagnosis_report(made("slow-engine")))
    assert "output slower than input: es queue" in slow
    assert "Nothing wrong" in healthy
    shaded = "BAD" if "BAD" in slow else "bad"
    assert slow.count(shaded) > healthy.count(shaded)
    for heading in ("Events that came in", "es queue", "CPU of rsyslogd", "Memory of rsyslogd"):
        assert heading in slow


def test_names_in_counters_cannot_become_part_of_a_page() -> None:
    hostile = "<script>alert(1)</script>\u202e"
    text = text_of("slow-engine").replace('"main Q"', json.dumps(hostile))
    one = replace(
        made("slow-engine", text),
        unread=(UnreadLines(Unreadable.CUT, 1, ((f"{hostile}.log", 3),)),),
    )
    shown = page(diagnosis_report(one))
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(
    ("objects", "says"),
    [
        (["core.action:file"], "no counters of an input or of the main queue are in it."),
        (["core.action:file", "imtcp:imtcp(514)"], None),
        (["core.action:file", "core.queue:main Q"], None),
    ],
)
def test_a_part_of_the_counters_is_no_reason_for_a_zero(
    rounds: int, objects: Sequence[str], says: str | None
) -> None:
    """As pasted into a question: outputs that took events, and nothing that they came in by."""
    counters = {
        "core.action": {"processed": 9, "failed": 0, "suspended": 0},
        "imtcp": {"submitted": 9},
        "core.queue": {"enqueued": 9, "size": 0, "full": 0, "discarded.full": 0, "maxqsize": 2},
    }
    told = [
        StatsObject(origin, name, counters[origin])
        for origin, name in (one.split(":") for one in objects)
    ]
    (host,) = diagnose(
        courses(StatsRound(10.0 * n, tuple(told)) for n in range(rounds)), Settings()
    )
    verdict_of = host.verdict
    assert "discarded" not in verdict_of or "core.queue:main Q" in objects
    if says is None:
        assert " 9 events" in verdict_of or "carried" in verdict_of
    else:
        assert verdict_of.endswith(says)
