"""Findings that no log in logs/ has: releases that are newer, limits that a lab does not reach."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.diagnose.worlds import (
    ACTION,
    CALM,
    ES,
    INTERVAL_S,
    MAIN,
    ROUNDS,
    Counters,
    World,
    action,
    made,
    only,
    queue,
)
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.finding import Cause, Certainty, EventEffect, Events
from tuner.diagnose.queues import lasting
from tuner.diagnose.settings import OutputSettings, QueueSettings, Settings
from tuner.modules.queue import Place, Queue, resolve
from tuner.modules.stats_rounds import StatsObject, StatsRound


def test_a_calm_world_has_no_finding() -> None:
    assert made(CALM).findings == ()


def cpu(share: float) -> World:
    used = int(share * INTERVAL_S * 1e6)
    return {("impstats", "resource-usage"): lambda n: {"utime": n * used, "stime": 0}}


def test_a_worker_without_time_left_is_told_from_one_that_waits() -> None:
    """The case of rsyslog's issue 4746: the ruleset's queue grows, the action's has room."""
    grows: World = {**CALM, MAIN: queue(4000, 1000)}
    busy = only({**grows, **cpu(0.95)})
    assert (busy.cause, busy.certainty) == (Cause.SLOW_WORKERS, Certainty.LIKELY)
    assert "95% of a core" in busy.evidence
    assert only({**grows, **cpu(0.6)}).certainty is Certainty.POSSIBLE
    without = {key: of for key, of in grows.items() if key != ES}
    assert only({**without, **cpu(0.1)}).cause is Cause.DIRECT_OUTPUT
    assert only({**without, **cpu(0.95)}).cause is Cause.SLOW_WORKERS


def test_a_burst_is_no_finding() -> None:
    """Two rounds in which events wait."""

    def of(n: int) -> Counters:
        return {**queue(1000, 1000)(n), "size": 50_000 if n in {10, 11} else 0}

    assert made({**CALM, MAIN: of}).findings == ()


def test_a_full_queue_that_lasts_is_one() -> None:
    def of(n: int) -> Counters:
        return {**queue(1000, 1000, start=100)(n), "full": max(0, n - 10) * 5}

    found = only({**CALM, ES: of})
    assert (found.cause, found.effect) == (Cause.SLOW_OUTPUT, EventEffect.LATE)
    assert found.span == (100.0, 390.0)


def settings(**parameters: object) -> Settings:
    written = Queue.model_validate({"type": "LinkedList", "size": 50_000, **parameters})
    known = QueueSettings("action[es].queue", resolve(written, Place.ACTION))
    return Settings({"es queue": known}, {"es": OutputSettings("omelasticsearch", -1)})


def test_batches_that_stay_small_while_events_wait_are_named_where_they_are_counted() -> None:
    waits: World = {**CALM, ES: queue(1000, 900)}
    counts: World = {**waits, ACTION: lambda n: {**action(n), "batchesprocessed": n * 900}}
    known = settings(dequeueBatchSize=2000)
    found = {one.cause: one for one in made(counts, known).findings}
    assert found.keys() == {Cause.SLOW_OUTPUT, Cause.SMALL_BATCHES}
    assert found[Cause.SMALL_BATCHES].evidence.startswith("1 events to a batch")
    large: World = {**waits, ACTION: lambda n: {**action(n), "batchesprocessed": n}}
    assert only(large, known).cause is Cause.SLOW_OUTPUT
    assert only(waits, known).cause is Cause.SLOW_OUTPUT


@pytest.mark.parametrize(
    ("key", "counter", "cause"),
    [
        (("imuxsock", "imuxsock"), "ratelimit.discarded", Cause.RATE_LIMIT),
        (("imjournal", "imjournal"), "discarded", Cause.RATE_LIMIT),
        (("imkubernetes", "imkubernetes"), "ratelimit.discarded", Cause.RATE_LIMIT),
        (ACTION, "ratelimit.dropped", Cause.RATE_LIMIT),
        (("ratelimit", "limit.per_source"), "per_source_dropped", Cause.RATE_LIMIT),
    ],
)
def test_what_a_module_counts_as_dropped_is_lost(
    key: tuple[str, str], counter: str, cause: Cause
) -> None:
    before = CALM.get(key, submitted)
    found = only({**CALM, key: lambda n: {**before(n), counter: 7 * n}})
    assert (found.cause, found.effect) == (cause, EventEffect.LOST)
    assert found.events.least == found.events.most == 7 * (ROUNDS - 1)
    assert made({**CALM, key: lambda n: {**before(n), counter: 0}}).findings == ()


def test_senders_that_are_not_allowed_are_counted_once_in_a_row() -> None:
    """`disallowed` counts the first datagram of several; all of them are received."""
    found = only({
        **CALM, ("imudp", "imudp(*:514)"): lambda n: {"submitted": n * 1000, "disallowed": 7 * n},
        ("imudp", "imudp(w0)"): lambda n: {"msgs.received": n * 1100},
    })  # fmt: skip
    assert (found.cause, found.effect) == (Cause.NOT_ALLOWED, EventEffect.LOST)
    assert found.events == Events(7 * (ROUNDS - 1), 100 * (ROUNDS - 1))


def submitted(n: int) -> Counters:
    return {"submitted": n * 1000}


def test_events_of_imbeats_do_not_hide_what_a_limit_drops() -> None:
    """Its counter is events.submitted (plugins/imbeats/imbeats.c)."""

    def world(of_imtcp: int) -> World:
        return {
            **CALM,
            ("imtcp", "imtcp(514)"): lambda n: {"submitted": n * of_imtcp},
            ("imbeats", "imbeats"): lambda n: {"events.submitted": n * 500},
        }

    assert only(world(of_imtcp=900)).cause is Cause.RATE_LIMIT
    assert made(world(of_imtcp=500)).findings == ()


def test_what_all_workers_of_an_input_hold_back_is_no_sign_of_a_limit() -> None:
    """Seen on 8.2302: 2,305 events of four senders between imptcp and a full main queue."""

    def of(n: int) -> Counters:
        return {"submitted": 1000 * n + (5120 if n == ROUNDS - 1 else 0)}

    assert made({**CALM, ("imptcp", "imptcp(*/514)"): of}).findings == ()


def test_inputs_that_count_more_than_the_queues_are_limited() -> None:
    def of(came: int) -> World:
        return {**CALM, ("imptcp", "imptcp(*/514)"): lambda n: {"submitted": n * came}}

    assert made(of(1010)).findings == ()
    found = only(of(3000))
    assert found.cause is Cause.RATE_LIMIT
    least = found.events.least
    assert least is not None
    assert 1800 * (ROUNDS - 1) < least < 2000 * (ROUNDS - 1)


def test_what_the_journal_drops_is_not_among_what_it_submits() -> None:
    journal = ("imjournal", "imjournal")
    host = made({**CALM, journal: lambda n: {"submitted": 3000 * n, "discarded": 2000 * n}})
    assert [one.where for one in host.findings] == ["imjournal", "imjournal"]
    assert max(one.events.least or 0 for one in host.findings) == 2000 * (ROUNDS - 1)


def test_empty_lines_of_files_are_no_events_that_a_limit_drops() -> None:
    """imfile of 8.2606 and later counts them."""
    read = {**CALM, ("imfile", "/var/log/a.log"): lambda n: {"lines.processed": 1200 * n}}
    assert made(read).findings == ()


def test_open_files_just_below_a_usual_limit_are_told() -> None:
    def of(files: int) -> World:
        usage = ("impstats", "resource-usage")
        return {**CALM, usage: lambda n: {"utime": n, "openfiles": files if n > 20 else 50}}

    found = only(of(1023))
    assert (found.cause, found.certainty) == (Cause.OPEN_FILES, Certainty.POSSIBLE)
    assert made(of(700)).findings == made(of(2000)).findings == ()


def test_rounds_that_come_late_again_and_again_are_told() -> None:
    def rounds(late: int) -> list[StatsRound]:
        at, every = 0.0, []
        for n in range(60):
            at += 45 if n % 6 == 5 and n < 6 * late else 10
            objects = tuple(StatsObject(*key, dict(of(n))) for key, of in CALM.items())
            every.append(StatsRound(at, objects))
        return every

    (one,) = diagnose(courses(rounds(late=5)), Settings())
    (found,) = one.findings
    assert found.cause is Cause.COUNTERS_DELAYED
    (one,) = diagnose(courses(rounds(late=2)), Settings())
    assert one.findings == ()


def test_what_another_output_gives_up_is_not_counted_by_an_engine_without_work() -> None:
    """omelasticsearch is loaded and idle; the output that failed is another one."""
    idle: World = {
        ("omelasticsearch", "omelasticsearch"): lambda n: {"submitted": 0, "failed.es": 0},
        ACTION: lambda n: {**action(n), "failed": 2 * n},
    }
    found = next(one for one in made({**CALM, **idle}).findings if one.cause is Cause.GIVEN_UP)
    assert found.events.least == 2 * (ROUNDS - 1)


def test_what_omhttp_drops_is_told_unless_it_is_sent_again() -> None:
    """With batch: on and no retry ruleset rsyslogd hears of no failure."""

    def posts(failed: int, again: int = 0) -> World:
        counts = {"messages.submitted": 1000, "messages.fail": failed, "messages.retry": again}
        return {
            **CALM,
            ("omhttp", "omhttp"): lambda n: {key: n * count for key, count in counts.items()},
        }

    found = only(posts(failed=40, again=10))
    assert (found.cause, found.where, found.effect) == (
        Cause.GIVEN_UP, "omhttp", EventEffect.LOST,
    )  # fmt: skip
    assert found.events.least == 30 * (ROUNDS - 1)
    assert made(posts(failed=40, again=40)).findings == ()
    waits: World = {ACTION: lambda n: {**action(n), "suspended": n, "suspended.duration": 5 * n}}
    assert [one.cause for one in made({**posts(40), **waits}).findings] == [Cause.UNREACHABLE]


@pytest.mark.parametrize(
    "world",
    [
        {("omhttp", "omhttp"): lambda n: {"messages.fail": 40 * n, "request.fail": 4 * n}},
        {
            ("omhttp", "omhttp"): lambda n: {"messages.fail": 40 * n},
            ACTION: lambda n: {**action(n), "resumed": 4 * n},
        },
    ],
    ids=["no answer", "5xx"],
)
def test_what_omhttp_tries_without_end_is_not_lost(world: World) -> None:
    """With action.resumeRetryCount -1 an output that waits is never counted as suspended, and each
    attempt counts its events as failed."""
    assert made({**CALM, **world}).findings == ()


def test_more_documents_than_events_are_no_retries_without_a_failure() -> None:
    """Counters are read one after the other, and rulesets may submit an event twice."""

    def engine(failed: int) -> World:
        key = ("omelasticsearch", "omelasticsearch")
        return {**CALM, key: lambda n: {"submitted": n * 1100, "failed.http": failed * n}}

    assert made(engine(0)).findings == ()
    assert {one.cause for one in made(engine(1)).findings} == {
        Cause.SENT_AGAIN,
        Cause.UNREACHABLE,
    }


@pytest.mark.parametrize("is_in_memory", [True, False])
def test_what_may_have_been_in_files_is_not_certainly_sent_again(is_in_memory: bool) -> None:
    """Of a queue whose settings nobody named that is not known."""
    key = ("omelasticsearch", "omelasticsearch")
    world: World = {**CALM, key: lambda n: {"submitted": n * 1100, "failed.http": n}}
    memory = resolve(Queue.model_validate({"type": "LinkedList"}), Place.ACTION)
    settings = Settings({"es queue": QueueSettings("queue", memory)} if is_in_memory else {})
    (found,) = (one for one in made(world, settings).findings if one.cause is Cause.SENT_AGAIN)
    assert found.certainty is (Certainty.CERTAIN if is_in_memory else Certainty.LIKELY)


def test_what_was_lost_before_the_first_round_is_told_and_said_to_be_before_it() -> None:
    def high(n: int) -> Counters:
        return {**queue(1000, 1000)(n), "discarded.full": 777, "full": 999}

    found = only({**CALM, ES: high})
    assert (found.cause, found.events) == (Cause.QUEUE_FULL, Events(777, 777))
    assert "777 of them before the first round of this log" in found.evidence
    assert found.span[0] == found.span[1] == 0


def test_files_that_are_opened_for_the_first_time_are_no_finding() -> None:
    key = ("omfile", "dynafile cache path")

    def cache(evicted: int) -> World:
        return {
            **CALM,
            key: lambda n: {"requests": 1000 * n, "missed": 500 * n, "evicted": evicted * n},
        }

    assert made(cache(0)).findings == ()
    assert only(cache(490)).cause is Cause.DYNAFILES


@pytest.mark.parametrize(
    ("seconds", "late", "lasts"), [(400, 7, False), (400, 11, True), (60, 7, True), (60, 4, False)]
)
def test_a_stall_of_seconds_is_no_finding_in_a_long_log(
    seconds: int, late: int, lasts: bool
) -> None:
    """Seen in 8 minutes of a healthy flood on a machine that had no CPU time for 5 s."""
    rounds = (round_at(float(n)) for n in range(seconds + 1))
    (course,) = courses(rounds)
    is_so = [20 <= n < 20 + late for n in range(seconds)]
    assert bool(lasting(course, is_so)) is lasts


def round_at(at: float) -> StatsRound:
    return StatsRound(at, tuple(StatsObject(*key, dict(of(int(at)))) for key, of in CALM.items()))


def test_a_connection_that_is_made_anew_all_the_time_is_told() -> None:
    """omfwd of 8.2610 counts its connections."""
    key = ("omfwd", "TCP-10.0.0.9-514")

    def world(connects: int) -> World:
        return {**CALM, key: lambda n: {"bytes.sent": 90 * n, "num.connects": connects * n // 10}}

    found = only(world(40))
    assert (found.cause, found.where) == (Cause.REBINDS, key[1])
    assert made(world(5)).findings == ()


def test_a_part_on_disk_that_was_full_before_the_log_began_counts_what_it_held() -> None:
    def part(n: int) -> Counters:
        return {"size": 90_000 - 2000 * n, "enqueued": 0}

    found = only({**CALM, ("core.queue", "es queue[DA]"): part, ES: queue(1000, 1000)})
    assert (found.cause, found.events.least) == (Cause.ON_DISK, 90_000)
    assert "0 went to disk, 78,000 came back, 200 a second; it still holds some" in found.evidence


def test_a_part_on_disk_that_nothing_leaves_stands_still() -> None:
    """As in rsyslog's issue 2646, after a restart with files of the queue and no traffic."""
    stuck: World = {
        MAIN: queue(0, 0), ("core.queue", "es queue[DA]"): queue(0, 0, start=90_000),
        ES: queue(0, 0), ACTION: lambda _: action(0),
    }  # fmt: skip
    causes = {one.cause for one in made(stuck).findings}
    assert causes == {Cause.STANDS_STILL, Cause.ON_DISK}


@pytest.mark.parametrize(("last", "is_told"), [(ROUNDS, True), (ROUNDS - 4, False)])
def test_a_queue_whose_lines_were_lost_is_no_sign_of_a_rate_limit(last: int, is_told: bool) -> None:
    """Counters that are messages themselves: the last ones of the queue are missing."""

    def rounds() -> Iterator[StatsRound]:
        for n in range(ROUNDS):
            came = 1000 * n + (9000 if is_told else 0)
            objects = [StatsObject("imtcp", "imtcp", {"submitted": came})]
            if n < last:
                objects.append(StatsObject(*MAIN, dict(queue(1000, 1000)(n))))
            yield StatsRound(n * INTERVAL_S, tuple(objects))

    (one,) = diagnose(courses(rounds()), Settings())
    assert (Cause.RATE_LIMIT in {each.cause for each in one.findings}) is is_told
