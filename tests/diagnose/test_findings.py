"""What a diagnosis finds in the counters of a real rsyslogd, of which the sink knows what really
happened: every cause in its own log, and no other one."""

from __future__ import annotations

import pytest

from tests.diagnose.logged import NAMES, TRUTH, diagnosed, settings_of, text_of
from tuner.diagnose.finding import Cause, EventEffect, ProductionFinding
from tuner.diagnose.settings import Settings
from tuner.lint.codes import explained_codes

# All that is found in each log, with the configuration at hand.
EXPECTED: dict[str, set[Cause]] = {
    "healthy": set(),
    "healthy-legacy": set(),
    "healthy-reset": set(),
    "healthy-durable": set(),
    # The main queue reached its lightDelayMark for a moment.
    "burst": set(),
    "slow-engine": {Cause.SLOW_OUTPUT},
    "slow-engine-reset": {Cause.SLOW_OUTPUT},
    "queue-full": {Cause.QUEUE_FULL, Cause.SLOW_OUTPUT},
    "enqueue-timeout": {Cause.QUEUE_FULL, Cause.SLOW_OUTPUT},
    "less-severe-discarded": {Cause.LESS_SEVERE, Cause.SLOW_OUTPUT},
    "refused-bulks": {Cause.REFUSED_BULKS},
    "refused-items": {Cause.REFUSED_BULKS},
    "retried-items": {Cause.REFUSED_DOCUMENTS},
    "engine-away": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "engine-away-gives-up": {Cause.UNREACHABLE, Cause.GIVEN_UP},
    "transport-errors": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "connection-reset": {Cause.UNREACHABLE, Cause.SENT_AGAIN},
    "frozen-engine": {Cause.STANDS_STILL},
    "forward-away": {Cause.STANDS_STILL},
    "no-action-queue": {Cause.DIRECT_OUTPUT, Cause.SENDERS_SLOWED},
    "to-disk": {Cause.SLOW_OUTPUT, Cause.ON_DISK},
    "disk-queue": {Cause.DISK_QUEUE, Cause.SLOW_OUTPUT},
    "dynafile-cache": {Cause.DYNAFILES},
    "restarts": {Cause.RESTARTS},
    "in-band": {Cause.QUEUE_FULL, Cause.DIRECT_OUTPUT, Cause.COUNTERS_DELAYED},
    "local-socket-limit": {Cause.RATE_LIMIT},
    "workers-not-started": {Cause.SLOW_OUTPUT, Cause.FEW_WORKERS},
    "rebinds": {Cause.REBINDS},
}
# What only the settings show.
OF_SETTINGS = {Cause.FEW_WORKERS, Cause.SENDERS_SLOWED}


def findings(name: str, settings: Settings | None = None) -> dict[Cause, ProductionFinding]:
    found = diagnosed(text_of(name), settings).findings
    return {one.cause: one for one in reversed(found)}


def test_every_log_has_its_row() -> None:
    assert EXPECTED.keys() == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_cause_is_found_in_its_own_log_and_no_other(name: str) -> None:
    assert findings(name, settings_of(name)).keys() == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_without_settings_the_same_is_found_but_what_only_they_show(name: str) -> None:
    wanted = EXPECTED[name] - OF_SETTINGS
    if Cause.DISK_QUEUE in wanted:
        wanted = wanted - {Cause.DISK_QUEUE} | {Cause.SLOW_WORKERS}
    assert findings(name).keys() == wanted


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("queue-full", Cause.QUEUE_FULL),
        ("enqueue-timeout", Cause.QUEUE_FULL),
        ("less-severe-discarded", Cause.LESS_SEVERE),
        ("local-socket-limit", Cause.RATE_LIMIT),
    ],
)
def test_where_every_lost_event_is_counted_the_number_is_that_of_the_sink(
    name: str, cause: Cause
) -> None:
    events, lost = findings(name)[cause].events, TRUTH[name]["lost"]
    assert lost > 0
    assert (events.least, events.most) == (lost, lost)


@pytest.mark.parametrize("name", ["refused-bulks", "refused-items"])
def test_where_bulks_are_counted_the_number_lies_between_two(name: str) -> None:
    events = findings(name)[Cause.REFUSED_BULKS].events
    assert events.least is not None
    assert events.most is not None
    assert events.least <= TRUTH[name]["lost"] <= events.most < TRUTH[name]["sent"] / 10


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
    for name in ("healthy", "healthy-legacy", "healthy-reset", "healthy-durable"):
        made = diagnosed(text_of(name))
        assert made.findings == ()
        assert sum(made.came) == TRUTH[name]["sent"]
        assert 400 < made.peak < 3000


def test_the_gravest_comes_first_and_has_a_time_and_a_way_out() -> None:
    codes = {one.code for one in explained_codes()}
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
            assert not one.way_out.code or one.way_out.code in codes


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
