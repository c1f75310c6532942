"""What is said of events that are lost or late, against what is known of them: never more than is
true, and nothing where nothing is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.diagnose.logged import rounds_in
from tests.diagnose.worlds import (
    ACTION,
    CALM,
    ES,
    INTERVAL_S,
    MAIN,
    ROUNDS,
    USAGE,
    Counters,
    World,
    action,
    made,
    only,
    queue,
)
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import Diagnosed, diagnose
from tuner.diagnose.finding import Cause, Certainty, EventEffect, Events
from tuner.diagnose.queues import queues_of
from tuner.diagnose.settings import OutputSettings, QueueSettings, Settings
from tuner.modules.queue import Place, Queue, resolve
from tuner.modules.stats_rounds import StatsObject, StatsRound

PART = ("core.queue", "es queue[DA]")
FWD = ("core.action", "fwd")


def of_queue(place: Place = Place.ACTION, **written: object) -> QueueSettings:
    return QueueSettings("action[es].queue", resolve(Queue.model_validate(written), place))


MEMORY = Settings({"es queue": of_queue(type="LinkedList", size=50_000)})
ON_DISK = Settings({"es queue": of_queue(type="Disk", filename="q", size=50_000)})


# Given up.


def direct(failed: int, processed: int = 3000) -> World:
    def of(n: int) -> Counters:
        return {"processed": processed, "failed": failed} if n else {"processed": 0, "failed": 0}

    return {MAIN: queue(0, 0), FWD: of}


def test_failures_of_an_output_without_a_queue_count_an_event_twice() -> None:
    """On 8.2302 3,000 events that were all lost made it 5,633: each once when it came, and each
    batch that was dropped."""
    found = only(direct(failed=5633))
    assert (found.cause, found.events) == (Cause.GIVEN_UP, Events(2817, 3000))
    assert found.certainty is Certainty.LIKELY
    assert found.where == "action[fwd]"


def test_what_the_next_output_takes_is_not_called_lost() -> None:
    known = Settings({}, {"fwd": OutputSettings("omfwd", 0, has_stand_in=True)})
    found = only(direct(failed=40, processed=40), known)
    assert (found.effect, found.events) == (EventEffect.AT_RISK, Events(None, 40))


# Starts.


def lives(*usages: Counters, of: Callable[[int], Counters] | None = None) -> Diagnosed:
    rounds = (
        StatsRound(n * INTERVAL_S, (
            StatsObject(*USAGE, usage),
            StatsObject(*ES, dict((of or queue(10, 10))(n))), StatsObject(*ACTION, action(n)),
        ))
        for n, usage in enumerate(usages)
    )  # fmt: skip
    (one,) = diagnose(courses(rounds), Settings())
    return one


@pytest.mark.parametrize("counter", ["minflt", "oublock", "inblock", "majflt", "utime", "nivcsw"])
def test_any_count_of_the_process_that_falls_shows_a_start(counter: str) -> None:
    high = {"utime": 9, "nvcsw": 9, "minflt": 9, "oublock": 9, "inblock": 9, "majflt": 9,
            "nivcsw": 9}  # fmt: skip
    higher = dict.fromkeys(high, 20)
    assert len(lives(high, higher, {**higher, counter: 3}).course.starts) == 1
    assert not lives(high, higher, higher).course.starts


def held(before: int, after: int) -> Callable[[int], Counters]:
    """A queue that nothing leaves until a start in round 20."""

    def of(n: int) -> Counters:
        size = before if n < 20 else after
        return {"size": size, "enqueued": before if n < 20 else 0, "maxqsize": size, "full": 0,
                "discarded.full": 0, "discarded.nf": 0}  # fmt: skip

    return of


def starting(of: Callable[[int], Counters]) -> World:
    return {
        USAGE: lambda n: {"utime": n % 20}, ES: of, ACTION: lambda _: action(0),
        MAIN: queue(0, 0),
    }  # fmt: skip


def lost(world: World, settings: Settings | None = None) -> Mapping[Cause, Events]:
    return {one.cause: one.events for one in made(world, settings).findings
            if one.effect is EventEffect.LOST}  # fmt: skip


def test_what_a_queue_in_memory_held_when_rsyslogd_died_is_told() -> None:
    assert lost(starting(held(1840, 0)), MEMORY) == {Cause.LEFT_IN_MEMORY: Events(None, 1840)}
    assert lost(starting(held(1840, 0)), ON_DISK) == {}
    # It has them again, from its files.
    assert lost(starting(held(1840, 1840))) == {}


def test_a_start_with_a_queue_that_drains_is_no_finding() -> None:
    drains: World = {**CALM, USAGE: lambda n: {"utime": n % 20},
                     ES: lambda n: {**queue(1000, 1000)(n % 20), "size": 300}}  # fmt: skip
    assert lost(drains, MEMORY) == {}


def test_a_part_on_disk_that_is_not_there_after_a_start_did_not_come_back() -> None:
    def rounds(has_part: bool) -> Iterator[StatsRound]:
        for n in range(30):
            part = StatsObject(*PART, {"size": 1804, "enqueued": 1804 if n < 15 else 0})
            yield StatsRound(n * INTERVAL_S, (
                StatsObject(*USAGE, {"utime": n % 15}),
                StatsObject(*ES, {"size": 196 if n < 15 else 0, "enqueued": n % 15}),
                StatsObject(*ACTION, action(0)),
                *([part] if n < 15 or has_part else []),
            ))  # fmt: skip

    (gone,), (kept,) = (diagnose(courses(rounds(one)), Settings()) for one in (False, True))
    found = {one.cause: one for one in gone.findings}
    assert found[Cause.LEFT_IN_FILES].events == Events(None, 2000)
    assert "came back" not in found[Cause.ON_DISK].evidence
    assert Cause.LEFT_IN_FILES not in {one.cause for one in kept.findings}


# Queues whose files take nothing.


def standing(came: int, size: int = 742) -> World:
    def of(n: int) -> Counters:
        return {"size": size if n else 0, "enqueued": came * n, "full": 0, "discarded.full": 0,
                "discarded.nf": 0, "maxqsize": size}  # fmt: skip

    return {MAIN: queue(0, 0), ES: of, ACTION: action}


@pytest.mark.parametrize(("settings", "is_told"), [(ON_DISK, True), (None, True), (MEMORY, False)])
def test_a_size_that_stands_while_events_come_is_a_disk_that_takes_none(
    settings: Settings | None, is_told: bool
) -> None:
    told = lost(standing(250), settings)
    assert told == ({Cause.NOT_WRITTEN: Events(250 * (ROUNDS - 2))} if is_told else {})
    # A few events that come and leave are no proof, where the type is not known.
    assert lost(standing(9), settings) == {}


# Open files.


def open_files(of: Callable[[int], int]) -> World:
    return {**CALM, USAGE: lambda n: {"utime": n, "openfiles": of(n)}}


def test_open_files_that_cannot_be_counted_are_at_their_limit() -> None:
    found = only(open_files(lambda n: 0 if n > 20 else 30 * n + 10))
    assert (found.cause, found.certainty) == (Cause.OPEN_FILES, Certainty.CERTAIN)
    # Where /proc cannot be read they are never counted.
    assert made(open_files(lambda _: 0)).findings == ()
    assert made(open_files(lambda _: 30)).findings == ()


# imudp.


def udp(submitted: int, received: int) -> World:
    return {
        **CALM, ("imudp", "imudp(*:514)"): lambda n: {"submitted": min(n, 30) * submitted,
                                                      "disallowed": 0},
        ("imudp", "imudp(w0)"): lambda n: {"msgs.received": min(n, 30) * received},
    }  # fmt: skip


def test_datagrams_that_imudp_received_and_did_not_submit_are_told() -> None:
    found = only(udp(100, 1000))
    assert (found.cause, found.events) == (Cause.RATE_LIMIT, Events(27_000, 27_000))
    assert found.certainty is Certainty.LIKELY
    assert made(udp(1000, 1000)).findings == ()


def test_one_round_shows_what_imudp_did_not_submit() -> None:
    one: World = {
        ("imudp", "imudp(*:514)"): lambda _: {"submitted": 200},
        ("imudp", "imudp(w0)"): lambda _: {"msgs.received": 1500},
    }
    assert only(one, number=1).events == Events(1300 - 128, 1300)


def test_names_of_senders_are_a_reason_where_imudp_receives() -> None:
    slow: World = {**udp(100, 100), MAIN: queue(1000, 30)}
    slow = {key: of for key, of in slow.items() if key != ES}
    found = only(slow)
    assert "name of each new sender" in found.why
    assert found.certainty is Certainty.POSSIBLE
    no_udp = {key: of for key, of in slow.items() if key[0] != "imudp"}
    assert "name of" not in only(no_udp).why


# How long events waited.


def test_no_wait_is_told_that_no_event_had() -> None:
    """Random queues, served first in first out or otherwise, of which each event is known."""
    for seed in range(150):
        chance = random.Random(seed)
        interval = chance.choice([1, 2, 10])
        waits, rounds, ends = _served(chance, interval)
        (course,) = courses(rounds)
        (one,) = queues_of(course, Settings())
        longest = max(waits + ends, default=0.0)
        assert one.proven_wait_s <= longest + 1e-9, seed
        assert one.proven_wait_s <= course.seconds
        assert one.proven_late <= sum(wait >= 3 for wait in waits + ends), seed


def _served(
    chance: random.Random, interval: int
) -> tuple[list[float], list[StatsRound], list[float]]:
    """How long each event waited that left, the rounds, and how long those wait that are left."""
    here: list[float] = []
    waits: list[float] = []
    rounds = []
    came, at, rate = 0, 0.0, chance.choice([1, 5, 30])
    order = chance.choice(["first", "last", "any"])
    for n in range(40):
        for _ in range(interval):
            at += 1 + chance.uniform(-0.02, 0.02)
            for _ in range(chance.randrange(2 * rate)):
                came += 1
                here.append(at - chance.random())
            for _ in range(chance.choice([0, rate, rate, 2 * rate])):
                if here:
                    place = {"first": 0, "last": -1}.get(order, chance.randrange(len(here)))
                    waits.append(at - here.pop(place))
        rounds.append(StatsRound(float(int(1_000_000 + at)), (
            StatsObject(*USAGE, {"utime": n}),
            StatsObject(*MAIN, {"size": len(here), "enqueued": came, "maxqsize": came}),
        )))  # fmt: skip
    return waits, rounds, [at - one for one in here]


def test_a_queue_that_nothing_leaves_waited_nearly_as_long_as_the_log() -> None:
    (one,) = (each for each in made({**CALM, MAIN: queue(100, 0)}).queues if each.name == "main Q")
    assert one.proven_wait_s == (ROUNDS - 2) * INTERVAL_S - 1


# Workers, advice, error files.


FAILING = ("omelasticsearch", "omelasticsearch")


def test_workers_that_did_not_start_are_no_reason_while_the_engine_is_away() -> None:
    known = Settings(
        {"main Q": of_queue(Place.MAIN, size=50_000, workerThreads=4)},
        {"es": OutputSettings("omelasticsearch", -1), "local": OutputSettings("omfile", 0)},
    )
    away: World = {
        MAIN: queue(100, 0), ACTION: lambda _: {"processed": 500, "failed": 0, "suspended": 0},
        ("core.action", "local"): lambda _: {"processed": 500, "failed": 0, "suspended": 0},
        FAILING: lambda n: {"submitted": 0, "failed.http": 5 * (n > 3), "failed.checkConn": n // 9},
    }  # fmt: skip
    found = only(away, known)
    assert found.cause is Cause.UNREACHABLE
    assert "action[es] has no queue of its own" in found.meaning
    assert "local" in found.meaning


@pytest.mark.parametrize(
    ("module", "says"), [("omprog", "the program"), ("omfwd", "what is behind es"),
                         ("omelasticsearch", "bench --sustain")],
)  # fmt: skip
def test_an_output_is_advised_by_its_module(module: str, says: str) -> None:
    known = Settings({}, {"es": OutputSettings(module, -1)})
    found = only({**CALM, ES: queue(1000, 400)}, known)
    assert found.cause is Cause.SLOW_OUTPUT
    assert says in found.way_out.text
    assert ("bench" in found.way_out.text) == (module == "omelasticsearch")


def test_an_error_file_that_is_set_is_read_and_not_advised() -> None:
    refused: World = {**CALM, FAILING: lambda n: {"submitted": 1000 * n, "failed.es": n}}
    known = Settings({}, {"es": OutputSettings("omelasticsearch", -1, "/var/log/es-errors.json")})
    assert only(refused, known).way_out.text.startswith(
        "rsyslog-tune diagnose --refused /var/log/es-errors.json"
    )
    assert only(refused).way_out.text.startswith("set errorfile, whose reasons")


def full(size: int) -> World:
    def of(n: int) -> Counters:
        return {"size": size, "enqueued": 9 * n, "full": 9 * n, "discarded.full": 9 * n,
                "discarded.nf": 0, "maxqsize": size}  # fmt: skip

    return {MAIN: queue(0, 0), ES: of, ACTION: lambda _: action(0), PART: queue(0, 0)}


@pytest.mark.parametrize(("size", "says"), [(1000, "is full before"), (1200, "its files")])
def test_a_disk_assisted_queue_that_never_spools_is_not_told_to_be_one(
    size: int, says: str
) -> None:
    """On 8.2302 a queue of 1000 with 128 events in flight does not reach its highWatermark of 900;
    one with room for them does."""
    known = Settings({"es queue": of_queue(type="LinkedList", filename="q", size=size,
                                           highWatermark=900)})  # fmt: skip
    found = next(one for one in made(full(size), known).findings if one.cause is Cause.QUEUE_FULL)
    assert says in found.why
    assert "queue.filename" not in found.way_out.text
    assert found.way_out.parameter == "action[es].queue.size"


# One round, and rounds of several.


LEGACY = (
    "Sat Nov 28 11:00:00 2026: es queue: origin=core.queue size=900 enqueued=5000 full=2000 "
    "discarded.full=1900 discarded.nf=0 maxqsize=1000 \n"
)


@pytest.mark.parametrize("text", [LEGACY, LEGACY.partition(": ")[2]])
def test_one_round_tells_what_it_can(text: str) -> None:
    (one,) = diagnose(courses(rounds_in(text)), Settings())
    causes = {each.cause: each for each in one.findings}
    assert causes.keys() == {Cause.QUEUE_FULL, Cause.BACKLOG}
    assert causes[Cause.QUEUE_FULL].events == Events(1900, 1900)
    assert "held 900 events, and never more than 1,000" in causes[Cause.BACKLOG].evidence


def test_one_round_of_a_calm_world_has_no_finding() -> None:
    assert made(CALM, number=1).findings == ()


def daemon(number: int, n: int, is_alike: bool) -> StatsRound:
    """Of two rsyslogd the second uses less, and loses events."""
    name = "es queue" if is_alike or not number else "fwd queue"
    said = {"size": 0, "enqueued": 900 * n // (number + 1), "discarded.full": 7 * n * number}
    return StatsRound(n * INTERVAL_S + 3 * number, (
        StatsObject(*USAGE, {"utime": 500 * n // (1 + number), "nvcsw": 90 * n - 5 * number * n,
                             "minflt": 330 + n + 30 * number}),
        StatsObject("core.queue", name, said),
    ))  # fmt: skip


@pytest.mark.parametrize("is_alike", [True, False])
def test_two_rsyslogd_that_write_into_one_file_are_told_apart(is_alike: bool) -> None:
    rounds = [daemon(number, n, is_alike) for n in range(30) for number in (0, 1)]
    both = diagnose(courses(rounds), Settings())
    assert [one.course.daemon for one in both] == [1, 2]
    assert all(not one.course.starts for one in both)
    lost = {sum(each.events.least or 0 for each in one.findings) for one in both}
    assert lost == {0, 7 * 29}
    assert any("several write into one place" in line for line in both[0].untold)


def test_a_loop_of_starts_is_not_two_rsyslogd() -> None:
    """Lives of five rounds, each busier than the one before."""
    rounds = [
        StatsRound(n * INTERVAL_S, (
            StatsObject(*USAGE, {"utime": (n % 5) * (100 + n), "nvcsw": (n % 5) * 7 + n,
                                 "minflt": 330 + n % 5 * 9}),
            StatsObject(*MAIN, {"size": 0, "enqueued": n % 5 * 1000}),
        ))
        for n in range(40)
    ]  # fmt: skip
    (one,) = courses(rounds)
    assert (one.daemon, len(one.starts)) == (0, 7)
