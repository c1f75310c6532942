"""What a diagnosis finds in the counters of a real rsyslogd, of which the sink knows what really
happened: every cause in its own log, and no other one."""

from __future__ import annotations

import pytest

from tests.diagnose.expected import EXPECTED, OF_PUBLIC, OF_SETTINGS, PAGE, found_in, with_table
from tests.diagnose.logged import NAMES, TRUTH, diagnosed, settings_of, text_of
from tests.diagnose.public import PUBLIC
from tuner.diagnose.finding import Cause, Certainty, EventEffect, ProductionFinding
from tuner.diagnose.settings import Settings


def findings(name: str, settings: Settings | None = None) -> dict[Cause, ProductionFinding]:
    found = diagnosed(text_of(name), settings).findings
    return {one.cause: one for one in reversed(found)}


@pytest.mark.parametrize("name", NAMES)
def test_each_cause_is_found_in_its_own_log_and_no_other(name: str) -> None:
    assert found_in(name) == EXPECTED[name]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_questions_get_the_answer_that_was_given(name: str) -> None:
    assert found_in(name) == OF_PUBLIC[name], PUBLIC[name].answer


def test_public_cases_count_what_was_quoted() -> None:
    """The busy worker is told from one that waits, and losses are exact."""
    busy = diagnosed(PUBLIC["issue-4746"].text).findings[0]
    assert "109% of a core" in busy.evidence
    assert busy.certainty is Certainty.LIKELY
    lost = diagnosed(PUBLIC["issue-1284"].text).findings[0]
    assert (lost.events.least, lost.events.most) == (54, 54)
    stuck = diagnosed(PUBLIC["issue-2646"].text).findings[0]
    assert stuck.why.startswith("its part on disk is not read")


def test_the_page_shows_the_matrix_of_all_logs() -> None:
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page


@pytest.mark.parametrize("name", NAMES)
def test_without_settings_the_same_is_found_but_what_only_they_show(name: str) -> None:
    wanted = EXPECTED[name] - OF_SETTINGS
    if Cause.DISK_QUEUE in wanted:
        wanted = wanted - {Cause.DISK_QUEUE} | {Cause.SLOW_WORKERS}
    assert findings(name).keys() == wanted


COUNTED = {
    "queue-full": Cause.QUEUE_FULL,
    "enqueue-timeout": Cause.QUEUE_FULL,
    "less-severe-discarded": Cause.LESS_SEVERE,
    "local-socket-limit": Cause.RATE_LIMIT,
}


@pytest.mark.parametrize(
    "name", [one for one in NAMES if one.rpartition("/")[2] in COUNTED and EXPECTED[one]]
)
def test_where_every_lost_event_is_counted_the_number_is_that_of_the_sink(name: str) -> None:
    cause = COUNTED[name.rpartition("/")[2]]
    events, lost = findings(name)[cause].events, TRUTH[name]["lost"]
    assert lost > 0
    assert events.least == lost
    # What rsyslogd itself says comes into the queues too, of no input.
    assert events.most == (None if cause is Cause.RATE_LIMIT else lost)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if EXPECTED[name] == {Cause.REFUSED_BULKS}]
)
def test_where_bulks_are_counted_the_number_lies_between_two(name: str) -> None:
    events = findings(name)[Cause.REFUSED_BULKS].events
    assert events.least is not None
    assert events.most is not None
    assert events.least <= TRUTH[name]["lost"] <= events.most < TRUTH[name]["sent"] / 5


def test_refused_documents_are_counted_one_by_one_with_retryfailures() -> None:
    every = diagnosed(text_of("retried-items")).findings
    both = [one for one in every if one.cause is Cause.REFUSED_DOCUMENTS]
    assert [one.effect for one in both] == [EventEffect.LOST, EventEffect.LATE]
    refused, rejected = both[0].events.most, both[1].events.least
    assert refused is not None
    assert rejected is not None
    # The ruleset of the log drops both kinds.
    assert refused + rejected == TRUTH["retried-items"]["lost"]


def test_nothing_is_called_lost_where_nothing_was() -> None:
    for name in NAMES:
        if TRUTH[name]["lost"] == 0:
            lost = [one for one in diagnosed(text_of(name)).findings
                    if one.effect is EventEffect.LOST]  # fmt: skip
            assert not lost, name


def test_events_that_were_given_up_are_counted_by_what_was_never_handed_over() -> None:
    found = findings("engine-away-gives-up")[Cause.GIVEN_UP]
    assert found.events.least == 16_000 - 5_984
    assert "were ever handed to omelasticsearch" in found.evidence


def test_a_healthy_log_says_what_was_carried() -> None:
    for name in (
        "healthy", "healthy-legacy", "healthy-reset", "healthy-durable", "healthy-ten-minutes"
    ):  # fmt: skip
        made = diagnosed(text_of(name))
        assert made.findings == ()
        assert sum(made.came) == TRUTH[name]["sent"]
        assert 400 < made.peak < 3000


def test_the_gravest_comes_first_and_has_a_time_and_a_way_out() -> None:
    for name in NAMES:
        made = diagnosed(text_of(name), settings_of(name))
        ranks = [one.effect.rank for one in made.findings]
        assert ranks == sorted(ranks)
        for one in made.findings:
            begin, end = one.span
            first, last = made.course.steps[0].begin, made.course.steps[-1].end
            assert first <= begin < end <= last, (name, one.cause)
            assert one.evidence
            assert one.way_out.text


def test_a_way_out_names_the_parameter_as_the_configuration_does() -> None:
    found = findings("queue-full", settings_of("queue-full"))[Cause.QUEUE_FULL]
    assert found.way_out.parameter == "action[es].queue.timeoutEnqueue"
    assert findings("queue-full")[Cause.QUEUE_FULL].way_out.parameter == "queue.timeoutEnqueue"


def test_what_cannot_be_told_depends_on_what_is_counted() -> None:
    without, known = diagnosed(text_of("healthy")), settings_of("healthy")
    assert any("--conf" in line for line in without.untold)
    assert not any("--conf" in line for line in diagnosed(text_of("healthy"), known).untold)
    assert any("errorfile" in line for line in diagnosed(text_of("refused-bulks")).untold)
    answers = "how many events the engine stored"
    assert any(line.startswith(answers) for line in without.untold)
    assert not any(line.startswith(answers) for line in diagnosed(text_of("retried-items")).untold)
