"""What follows the last event, and the account after the loss of a node, on a pipeline that follows
a script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.measure.test_watch import SENT, Run, Script, watching
from tuner.engine.delivery import DeliveryCheck, Expectation
from tuner.engine.numbering import FIELD, SentEvents, first_number
from tuner.engine.sampled import NOT_COMPARED, Content, learnt_documents
from tuner.host.usage import Usage
from tuner.lab.lab import Learnt
from tuner.lab.rsyslogd import Rsyslogd
from tuner.measure.measurement import FailureKind
from tuner.measure.settle import Settled, after_loss, settle
from tuner.modules.pstats import ElasticsearchCounters, QueueCounters, ResourceUsage, Snapshot

__all__ = ["watching"]

EVENTS = SentEvents((SENT,))
DRAINED_S = 5.0


def script(**more: object) -> Script:
    """All is indexed after five seconds."""
    return replace(Script(indexed=lambda s: min(SENT, SENT * s / DRAINED_S)), **more)  # type: ignore[arg-type]


def seconds(settled: Settled, run: Run) -> tuple[float, float | None]:
    """When it was drained and merged, since the beginning."""
    began_s, merged_s = run.script.began_s, settled.merged_at_s
    return settled.drained_at_s - began_s, None if merged_s is None else merged_s - began_s


@pytest.mark.parametrize(("patience_s", "merged_s"), [(15.0, 9.0), (2.0, None)])
def test_merges_get_their_time(
    watching: Callable[..., Run], patience_s: float, merged_s: float | None
) -> None:
    run = watching(script(merges=lambda s: int(s < 9)))
    settled = settle(run.watch, EVENTS, merges_s=patience_s)
    drained_s, ended_s = seconds(settled, run)
    assert drained_s == pytest.approx(DRAINED_S, abs=0.1)
    assert settled.durable_at_s - settled.drained_at_s < 0.1
    assert ended_s == (None if merged_s is None else pytest.approx(merged_s, abs=0.1))


def round_of(at_s: float, size: int = 0) -> Snapshot:
    queues = {"main Q": QueueCounters(0, 9, 0, 0, 0, 9), "q": QueueCounters(size, 9, 0, 0, 0, 9)}
    return Snapshot(at_s, queues, {}, ElasticsearchCounters(), ResourceUsage())


def reads(run: Run, patch: pytest.MonkeyPatch, emptied_s: float = 0.0) -> None:
    """rsyslogd writes a round of its counters each second; one queue is empty from then on."""

    def read(path: object) -> tuple[Snapshot, ...]:
        assert path == run.watch.pipe.stats
        began_s, now_s = run.script.began_s, run.script.at_s
        return tuple(round_of(began_s + at, int(at < emptied_s)) for at in range(int(now_s) + 1))

    for module in ("measure.settle", "lab.rsyslogd"):
        patch.setattr(f"tuner.{module}.read", read)


@pytest.mark.parametrize("awaits", [True, False])
def test_counters_of_all_that_was_delivered_are_awaited_where_that_is_asked_for(
    watching: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, awaits: bool
) -> None:
    run = watching(script())
    reads(run, monkeypatch)
    settled = settle(run.watch, EVENTS, await_counters=awaits)
    last_s = settled.snapshots[-1].at - run.script.began_s
    assert last_s == (6.0 if awaits else 5.0)


def test_what_rsyslogd_and_the_engine_used_and_said_is_handed_on(
    watching: Callable[..., Run],
) -> None:
    run = watching(script())
    rsyslogd = SimpleNamespace(
        check=lambda: None, usage=lambda: Usage(3.0, 4096), finish=lambda _: "it broke"
    )
    pipe = replace(run.watch.pipe, rsyslogd=cast(Rsyslogd, rsyslogd))
    settled = settle(replace(run.watch, pipe=pipe), EVENTS)
    assert (settled.shipper, settled.complaint) == (Usage(3.0, 4096), "it broke")
    assert settled.engine_cpu_ms == 700
    assert settled.delivery.exact


def test_documents_without_numbers_that_no_search_finds_are_lost(
    watching: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine has counted them all."""
    run = watching(script(), tells_apart=lambda _: False)
    monkeypatch.setattr("tuner.measure.settle.count", lambda *_: SENT - 3)
    delivery = settle(run.watch, EVENTS).delivery
    assert (delivery.indexed, delivery.found) == (SENT, SENT - 3)
    assert (delivery.lost, delivery.duplicated) == (3, 0)
    assert not delivery.identified


def test_what_rsyslogd_repeats_before_it_ends_is_in_the_account(
    watching: Callable[..., Run],
) -> None:
    repeated: list[int] = []
    rsyslogd = SimpleNamespace(
        check=lambda: None, usage=lambda: Usage(1.0, 1), finish=lambda _: repeated.append(7)
    )

    def check(*_: object) -> DeliveryCheck:
        return DeliveryCheck(0, len(repeated), (), tuple(repeated))

    run = watching(script(), check_delivery=check)
    pipe = replace(run.watch.pipe, rsyslogd=cast(Rsyslogd, rsyslogd))
    delivery = settle(replace(run.watch, pipe=pipe), EVENTS).delivery
    assert (delivery.duplicated, delivery.doubled) == (1, (7,))


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_sample_of_the_documents_is_compared_with_what_was_learnt_once_all_are_there(
    watching: Callable[..., Run], is_exact: bool
) -> None:
    first = first_number("700", 0)
    lines = b"".join(
        b'{}\n{"m":"%d","%b":%d}\n' % (number % 2, FIELD.encode(), first + number)
        for number in range(4)
    )
    expectation = Expectation(((1, 1),))
    learnt = Learnt(expectation, (0.0,), learnt_documents(lines, "700", expectation), ())
    asked: list[object] = []

    def sampled(*given: object) -> object:
        asked.append(given)
        return ({"m": "1", FIELD: first + 6},)

    def check(*_: object) -> DeliveryCheck:
        return DeliveryCheck(int(not is_exact), 0, (), ())

    run = watching(script(), check_delivery=check, sampled=sampled)
    ready = replace(run.watch.pipe.prepared, learnt=learnt)
    watch = replace(run.watch, pipe=replace(run.watch.pipe, prepared=ready))
    settled = settle(watch, EVENTS)
    assert asked == ([(run.watch.pipe.pattern, SENT)] if is_exact else [])
    wrong = Content(1, 1, ("event 6: m",))
    assert settled.content == (wrong if is_exact else NOT_COMPARED)


def test_after_the_loss_of_a_node_the_account_waits_for_what_rsyslogd_still_holds(
    watching: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copies on other nodes have all; rsyslogd goes on with what it could not send."""
    held = script(indexed=lambda s: SENT if s >= 20 else 700)
    run = watching(held)
    reads(run, monkeypatch, emptied_s=20.0)
    failure = after_loss(run.watch, "a node died", EVENTS)
    assert failure.kind is FailureKind.ENGINE_DOWN
    assert failure.delivery is not None
    assert failure.delivery.exact
    assert failure.reason == f"a node died; {failure.delivery}"
    assert run.script.at_s == pytest.approx(21.0, abs=1.0)


@pytest.mark.parametrize(
    ("indexed", "lost", "doubled"), [(700, 300, 0), (SENT, 0, 0), (SENT + 5, 0, 5)]
)
def test_where_a_shard_is_gone_what_the_others_have_is_the_account(
    watching: Callable[..., Run], indexed: int, lost: int, doubled: int
) -> None:
    """And rsyslogd, which waits for that shard, is not waited for."""
    run = watching(Script(indexed=lambda _: indexed, lost_shards=1))
    failure = after_loss(run.watch, "a node died", EVENTS)
    account = failure.delivery
    assert account is not None
    assert (account.sent, account.indexed, account.found) == (SENT, indexed, indexed)
    assert (account.lost, account.duplicated) == (lost, doubled)
    assert failure.reason.startswith("a node died; ")
    assert f"of 1000 events sent {indexed} are in its other shards" in failure.reason
    assert 10.0 < run.script.at_s < 11.0
