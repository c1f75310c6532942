"""What an apply does in which order, and what every failure leaves: without a host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.fleet import AFTER, BEFORE, CONF, NEW, OLD, TEMPLATE, Fleet, Holding, plan_of
from tests.profile.examples import SMALL, small
from tuner.deploy.apply import Apply, ApplyOptions, HostOutcome, HostState, entrance_of
from tuner.deploy.host_profile import PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.journal import (
    Beginning,
    Intents,
    Touched,
    confirm,
    left_intents,
    new_intents,
    recover,
)
from tuner.engine.client import JSON
from tuner.errors import GuardrailBreached, JobFailed, TuneError, Unreachable
from tuner.host.lock import state_folder

PLAIN = ApplyOptions()
SURE = ApplyOptions(event_within_s=0.01)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fleet:
    fleet = Fleet()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for module in ("apply", "journal"):
        monkeypatch.setattr(f"tuner.deploy.{module}.RemoteHost", fleet.connect)
    return fleet


@pytest.fixture
def objects() -> dict[str, JSON]:
    return {TEMPLATE: BEFORE}


@pytest.fixture
def engine(fleet: Fleet, objects: dict[str, JSON], monkeypatch: pytest.MonkeyPatch) -> Holding:
    engine = Holding(fleet, objects)
    clients = {"http://engine.invalid": engine}
    monkeypatch.setattr("tuner.deploy.journal.client_for", lambda url, _: clients[url])
    return engine


def journal() -> list[Intents]:
    with left_intents() as every:
        return list(every)


def recovered(said: list[str] | None = None, *machines: InventoryHost) -> int:
    """How many applies were undone; `said` gets what is said of hosts and engine."""
    told = [] if said is None else said
    with left_intents() as left:
        ended = recover(left, machines, told.append)
    told += ended.lines
    ended.require_whole("as before")
    return ended.applies


def confirmed(said: list[str] | None = None) -> int:
    with left_intents() as left:
        ended = confirm(left)
    if said is not None:
        said += ended.lines
    ended.require_whole("confirmed")
    return ended.applies


def test_what_an_apply_is_about_is_for_its_owner_alone(fleet: Fleet) -> None:
    """The profile is in it, with the files of its base and what the engine had."""
    with new_intents() as intents:
        intents.note(Beginning(PlannedProfile("small.yaml", SMALL), None))
        modes = [path.stat().st_mode & 0o777 for path in (intents.path, intents.path.parent)]
    assert modes == [0o600, 0o700]
    assert fleet.steps == []


def applied(
    engine: Holding | None, *hosts: str, manner: ApplyOptions = PLAIN
) -> dict[str, HostOutcome]:
    with new_intents() as intents:
        intents.note(Beginning(PlannedProfile("small.yaml", SMALL), "http://engine.invalid"))
        plan = plan_of(*hosts)
        outcomes = Apply(plan, engine, intents, manner, lambda _: None).run()
    return {one.name: one for one in outcomes}


def states(outcomes: dict[str, HostOutcome]) -> dict[str, HostState]:
    return {name: one.state for name, one in outcomes.items()}


def test_the_engine_comes_first_and_then_the_hosts_one_after_the_other(
    fleet: Fleet, engine: Holding
) -> None:
    done = applied(engine, "a", "b", manner=SURE)
    assert states(done) == dict.fromkeys("ab", HostState.APPLIED)
    assert fleet.live == {"a": NEW, "b": NEW}
    assert [name for name, _ in fleet.steps[:2]] == ["engine", "engine"]
    assert fleet.taken("a") == fleet.taken("b") == ["facts", "apply", "event", "keep"]
    assert fleet.steps.index(("a", "keep")) < fleet.steps.index(("b", "facts"))
    assert engine.objects == {TEMPLATE: AFTER, "/_index_template/logs": AFTER}
    assert journal() == []


def test_a_host_that_has_it_already_is_left_alone(fleet: Fleet) -> None:
    plan = plan_of("a")
    same = replace(plan, hosts=(replace(plan.hosts[0], diff=""),))
    with new_intents() as intents:
        (done,) = Apply(same, None, intents, PLAIN, lambda _: None).run()
    assert done.state is HostState.UNCHANGED
    assert fleet.steps == []


@pytest.mark.parametrize("step", ["facts", "apply", "event", "keep"])
def test_a_host_where_a_step_fails_is_as_it_was_and_so_is_the_engine(
    fleet: Fleet, engine: Holding, step: str
) -> None:
    fleet.fails["a", step] = JobFailed("it does not work")
    done = applied(engine, "a", "b", manner=SURE)
    begun = step != "facts"
    assert states(done) == {
        "a": HostState.RESTORED if begun else HostState.NOT_BEGUN, "b": HostState.NOT_BEGUN,
    }  # fmt: skip
    assert str(done["a"].error) == "it does not work"
    assert fleet.live["a"] == OLD
    assert fleet.taken("a")[-1] == ("restore" if begun else "facts")
    assert fleet.taken("b") == []
    assert engine.objects == {TEMPLATE: BEFORE}
    assert journal() == []


def test_a_change_that_was_kept_as_the_way_to_its_host_was_lost_is_said_to_be_there(
    fleet: Fleet, engine: Holding
) -> None:
    def lost(host: str, step: str) -> None:
        if (host, step) == ("a", "keep"):
            del fleet.under_way[host]
            raise Unreachable("a cannot be reached: connection reset")

    fleet.hear = lost
    done = applied(engine, "a", "b")
    assert states(done) == {"a": HostState.APPLIED, "b": HostState.NOT_BEGUN}
    assert isinstance(done["a"].error, Unreachable)
    assert (fleet.live["a"], engine.objects[TEMPLATE]) == (NEW, AFTER)
    assert journal() == []


def test_a_host_that_was_applied_before_another_failed_stays_and_so_does_the_engine(
    fleet: Fleet, engine: Holding
) -> None:
    fleet.fails["b", "apply"] = JobFailed("no")
    done = applied(engine, "a", "b", "c")
    assert states(done) == {
        "a": HostState.APPLIED, "b": HostState.RESTORED, "c": HostState.NOT_BEGUN,
    }  # fmt: skip
    assert fleet.live == {"a": NEW, "b": OLD}
    assert engine.objects[TEMPLATE] == AFTER
    assert journal() == []


def test_all_or_none_restores_every_host_and_the_engine(fleet: Fleet, engine: Holding) -> None:
    fleet.fails["b", "apply"] = JobFailed("no")
    done = applied(engine, "a", "b", manner=ApplyOptions(all_or_none=True))
    assert states(done) == dict.fromkeys("ab", HostState.RESTORED)
    assert fleet.live == {"a": OLD, "b": OLD}
    assert engine.objects == {TEMPLATE: BEFORE}
    assert ("a", "keep") not in fleet.steps


def test_all_of_all_or_none_is_kept_at_the_end_alone(fleet: Fleet, engine: Holding) -> None:
    applied(engine, "a", "b", manner=ApplyOptions(all_or_none=True))
    assert fleet.steps[-2:] == [("a", "keep"), ("b", "keep")]
    assert journal() == []


def test_a_host_that_is_lost_while_all_are_kept_is_confirmed_later(
    fleet: Fleet, engine: Holding
) -> None:
    """The hosts before it have the change for good: rolling it back there is no way out."""
    fleet.fails["b", "keep"] = Unreachable("b cannot be reached")
    done = applied(engine, *"abc", manner=ApplyOptions(all_or_none=True))
    assert states(done) == {
        "a": HostState.APPLIED, "b": HostState.WAITING, "c": HostState.APPLIED,
    }  # fmt: skip
    assert str(done["b"].error) == "b cannot be reached"
    said: list[str] = []
    with pytest.raises(JobFailed, match="b cannot be reached"):
        confirmed(said)
    assert said == ["a: confirmed", "c: confirmed"]
    fleet.fails.clear()
    assert confirmed(said) == 1
    assert (fleet.under_way, set(fleet.live.values())) == ({}, {NEW})
    assert engine.objects[TEMPLATE] == AFTER
    assert journal() == []


def test_hosts_of_one_wave_go_side_by_side_and_the_next_wave_not_after_a_failure(
    fleet: Fleet, engine: Holding
) -> None:
    fleet.fails["a", "apply"] = JobFailed("no")
    done = applied(engine, "a", "b", "c", manner=ApplyOptions(serial=2))
    assert states(done) == {
        "a": HostState.RESTORED, "b": HostState.APPLIED, "c": HostState.NOT_BEGUN,
    }  # fmt: skip


def test_every_host_is_in_one_wave(fleet: Fleet, engine: Holding) -> None:
    done = applied(engine, *"abc", manner=ApplyOptions(serial=2))
    assert states(done) == dict.fromkeys("abc", HostState.APPLIED)
    for host in "abc":
        assert fleet.taken(host) == ["facts", "apply", "keep"]
    assert fleet.steps.index(("c", "facts")) > fleet.steps.index(("b", "keep"))


def test_an_event_that_does_not_come_to_the_engine_is_a_failure(
    fleet: Fleet, engine: Holding
) -> None:
    engine.finds = False
    done = applied(engine, "a", manner=SURE)
    assert done["a"].state is HostState.RESTORED
    assert isinstance(done["a"].error, GuardrailBreached)
    assert "is not in the engine after 0.01 s" in str(done["a"].error)
    assert engine.objects == {TEMPLATE: BEFORE}


@pytest.mark.parametrize(
    ("given", "address"),
    [("127.0.0.1", "127.0.0.1"), ("::", "127.0.0.1"), ("10.1.2.3",) * 2],
)
def test_the_event_goes_in_where_those_of_others_do(
    fleet: Fleet, engine: Holding, given: str, address: str
) -> None:
    listening = SMALL.replace("port: 10514", f'port: 10514, address: "{given}"')
    with new_intents() as intents:
        plan = replace(plan_of("a"), profile=PlannedProfile("small.yaml", listening))
        Apply(plan, engine, intents, SURE, lambda _: None).run()
    assert fleet.events == [(address, 10514, "tcp")]


def test_no_event_is_sent_where_none_was_asked_for(fleet: Fleet, engine: Holding) -> None:
    applied(engine, "a")
    assert fleet.events == []


@pytest.mark.parametrize(
    ("source", "sent"),
    [
        ({"type": "imtcp", "port": 5514}, ("tcp", 5514)),
        ({"type": "imudp", "port": 5515}, ("udp", 5515)),
        ({"type": "imrelp", "port": 5516}, None),
        ({"type": "imuxsock", "socket": "/run/app.sock"}, None),
    ],
)
def test_an_event_is_sent_where_that_needs_no_key_and_no_library(
    source: dict[str, object], sent: tuple[str, int] | None
) -> None:
    found = entrance_of(small({"inputs": [source]}))
    assert (None if found is None else (str(found.transport), found.port)) == sent


def test_no_event_is_sent_that_the_engine_could_not_find() -> None:
    assert entrance_of(small()) is not None
    nothing = {"guardrails": {"tier": "berserk"}, "outputs[logs].index.mapping": "none"}
    assert entrance_of(small(nothing)) is None


QUEUED = (
    'global(workDirectory="/var/spool/rsyslog")\n'
    'action(type="omfile" file="/x" queue.type="LinkedList" queue.filename="q")\n'
)


@pytest.mark.parametrize(("there", "stays"), [("q.segq", False), ("q.qi", True), ("p.segq", True)])
def test_events_in_files_that_the_new_configuration_does_not_read_restore_the_host(
    fleet: Fleet, engine: Holding, there: str, stays: bool
) -> None:
    """rsyslog before 8.2608 does not know segmented files: they would stay undelivered."""
    fleet.spool = (there,)
    change = plan_of("a").hosts[0]
    queued = replace(change, candidate=replace(change.candidate, files=((CONF, QUEUED),)))
    with new_intents() as intents:
        plan = replace(plan_of(), hosts=(queued,))
        (done,) = Apply(plan, engine, intents, PLAIN, lambda _: None).run()
    assert done.state is (HostState.APPLIED if stays else HostState.RESTORED)
    assert fleet.live["a"] == (QUEUED.encode() if stays else OLD)
    assert stays or "q.segq holds events that this rsyslogd" in str(done.error)


def test_a_file_that_changed_since_the_plan_is_not_touched(fleet: Fleet, engine: Holding) -> None:
    fleet.live["a"] = b"somebody else's"
    done = applied(engine, "a")
    assert done["a"].state is HostState.NOT_BEGUN
    assert fleet.live["a"] == b"somebody else's"
    assert fleet.taken("a") == ["facts"]
    assert engine.objects == {TEMPLATE: BEFORE}


@pytest.mark.parametrize("step", ["apply", "event", "keep"])
def test_an_interrupt_leaves_everything_as_it_was(fleet: Fleet, engine: Holding, step: str) -> None:
    fleet.fails["a", step] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        applied(engine, "a", "b", manner=SURE)
    assert fleet.live == {"a": OLD}
    assert engine.objects == {TEMPLATE: BEFORE}
    assert journal() == []


def test_a_second_interrupt_while_a_host_is_restored_leaves_the_rest_to_recover(
    fleet: Fleet, engine: Holding
) -> None:
    interrupted = dict.fromkeys((("b", "apply"), ("b", "restore")), KeyboardInterrupt())
    fleet.fails |= interrupted
    with pytest.raises(KeyboardInterrupt):
        applied(engine, "a", "b")
    assert fleet.live == {"a": NEW, "b": NEW}
    fleet.fails.clear()
    assert recovered() == 1
    assert fleet.live == {"a": NEW, "b": OLD}


def test_what_is_put_into_the_engine_comes_out_again_where_it_refuses_the_next(
    fleet: Fleet, engine: Holding
) -> None:
    fleet.fails["engine", "PUT /_index_template/logs"] = JobFailed("no")
    with pytest.raises(JobFailed):
        applied(engine, "a")
    assert engine.objects == {TEMPLATE: BEFORE}
    assert fleet.taken("a") == []


def test_before_anything_is_touched_the_journal_says_so(fleet: Fleet, engine: Holding) -> None:
    seen: list[tuple[str, str, tuple[object, ...]]] = []

    def hear(host: str, step: str) -> None:
        (path,) = state_folder().glob("applies/*.jsonl")
        with path.open(encoding="utf-8") as file:
            seen.append((host, step, Intents(path, file).entries))

    fleet.hear = hear
    applied(engine, "a")
    for host, step, written in seen:
        if step == f"PUT {TEMPLATE}":
            assert plan_of("a").objects[0] in written
        if (host, step) == ("a", "apply"):
            assert written[-1] == Touched(plan_of("a").hosts[0].machine, (CONF,))


def failing_twice(fleet: Fleet, engine: Holding) -> dict[str, HostOutcome]:
    """An apply that fails, and whose host then cannot be restored."""
    fleet.fails |= {("a", "apply"): JobFailed("no"), ("a", "restore"): JobFailed("gone")}
    return applied(engine, "a")


def test_a_host_that_cannot_be_restored_stays_in_the_journal(fleet: Fleet, engine: Holding) -> None:
    done = failing_twice(fleet, engine)
    assert done["a"].state is HostState.UNKNOWN
    assert str(done["a"].error) == "no"
    (left,) = journal()
    assert any(isinstance(one, Touched) for one in left.entries)


def test_recover_keeps_the_journal_until_all_is_undone(fleet: Fleet, engine: Holding) -> None:
    failing_twice(fleet, engine)
    said: list[str] = []
    with pytest.raises(JobFailed, match="not everything is as before: gone"):
        recovered(said)
    assert len(journal()) == 1
    del fleet.fails["a", "restore"]
    assert recovered(said) == 1
    assert fleet.live["a"] == OLD
    assert engine.objects == {TEMPLATE: BEFORE}
    assert "a: restored: it has the configuration from before the change" in said
    assert journal() == []


def killed(fleet: Fleet, engine: Holding, host: str, step: str) -> None:
    """An apply that ends as by kill -9: nothing of it runs after that step."""

    class Killed(BaseException):
        """Nobody hears it."""

    def die(name: str, taken: str) -> None:
        if (name, taken) == (host, step):
            fleet.fails |= dict.fromkeys(
                [(one, "restore") for one in "ab"] + [("engine", f"PUT {TEMPLATE}"),
                ("engine", "DELETE /_index_template/logs")], Killed(),
            )  # fmt: skip
            raise Killed

    fleet.hear = die
    with pytest.raises(Killed):
        applied(engine, "a", "b")
    fleet.hear = lambda *_: None
    fleet.fails.clear()


@pytest.mark.parametrize("step", ["facts", "apply", "keep"])
def test_recover_undoes_what_a_killed_apply_left(fleet: Fleet, engine: Holding, step: str) -> None:
    killed(fleet, engine, "a", step)
    assert recovered() == 1
    assert fleet.live["a"] == OLD
    assert engine.objects == {TEMPLATE: BEFORE}
    assert journal() == []


def test_recover_keeps_the_journal_until_the_engine_is_as_before(
    fleet: Fleet, engine: Holding
) -> None:
    killed(fleet, engine, "a", "apply")
    fleet.fails["engine", f"PUT {TEMPLATE}"] = JobFailed("refused")
    with pytest.raises(JobFailed, match="refused"):
        recovered()
    assert fleet.live["a"] == OLD
    assert len(journal()) == 1
    fleet.fails.clear()
    recovered()
    assert engine.objects == {TEMPLATE: BEFORE}
    assert journal() == []


def test_where_a_host_was_finished_the_engine_stays_new(fleet: Fleet, engine: Holding) -> None:
    killed(fleet, engine, "b", "apply")
    said: list[str] = []
    recovered(said)
    assert fleet.live == {"a": NEW, "b": OLD}
    assert engine.objects[TEMPLATE] == AFTER
    assert said == [
        "a: it has the new configuration, which was confirmed and stays: recover --previous "
        "undoes that",
        "b: restored: it has the configuration from before the change",
    ]  # fmt: skip


WAITS = ApplyOptions(confirm_within_s=60)


def test_what_waits_is_kept_when_it_is_confirmed(fleet: Fleet, engine: Holding) -> None:
    done = applied(engine, "a", "b", manner=WAITS)
    assert states(done) == dict.fromkeys("ab", HostState.WAITING)
    assert fleet.confirmed_within_s == {"a": 60, "b": 60}
    assert ("a", "keep") not in fleet.steps
    with left_intents() as left:
        assert [one.waits for one in left] == [True]
    assert confirmed() == 1
    assert fleet.under_way == {}
    assert fleet.live == {"a": NEW, "b": NEW}
    assert journal() == []


def test_what_waited_and_was_restored_by_its_timer_is_not_confirmed(
    fleet: Fleet, engine: Holding
) -> None:
    applied(engine, "a", manner=WAITS)
    fleet.under_way.clear()
    with pytest.raises(JobFailed, match="was restored"):
        confirmed()
    assert len(journal()) == 1


def test_a_host_is_restored_whoever_changed_it(fleet: Fleet) -> None:
    fleet.live = {"a": NEW, "b": NEW, "c": OLD}
    fleet.under_way = {"a": "somebody's run"}
    said: list[str] = []
    machines = [one.machine for one in plan_of(*"abc").hosts]
    assert recovered(said, *machines) == 0
    assert fleet.live == {"a": OLD, "b": NEW, "c": OLD}
    assert said == [
        "a: restored: it has the configuration from before the change",
        "b: nothing is under way there: it stays as it is",
        "c: nothing is under way there: it stays as it is",
    ]


def test_one_thing_is_said_of_a_host_whoever_is_asked_for_it(fleet: Fleet, engine: Holding) -> None:
    """The journals here, and the host that is named: it was restored once."""
    failing_twice(fleet, engine)
    fleet.fails.clear()
    said: list[str] = []
    machine = plan_of("a").hosts[0].machine
    assert recovered(said, machine) == 1
    assert [one for one in said if one.startswith("a:")] == [
        "a: restored: it has the configuration from before the change"
    ]
    said.clear()
    assert recovered(said, machine) == 0
    assert said == ["a: nothing is under way there: it stays as it is"]


def test_an_apply_that_did_not_end_does_not_wait_to_be_confirmed(
    fleet: Fleet, engine: Holding
) -> None:
    failing_twice(fleet, engine)
    assert confirmed() == 0
    assert len(journal()) == 1


def test_one_failure_while_others_wait_restores_them_too(fleet: Fleet, engine: Holding) -> None:
    fleet.fails["b", "apply"] = JobFailed("no")
    done = applied(engine, "a", "b", manner=WAITS)
    assert states(done) == dict.fromkeys("ab", HostState.RESTORED)
    assert engine.objects == {TEMPLATE: BEFORE}


def test_errors_are_of_the_kind_that_says_how_the_command_ends(
    fleet: Fleet, engine: Holding
) -> None:
    fleet.fails["a", "apply"] = GuardrailBreached("too much")
    error = applied(engine, "a")["a"].error
    assert isinstance(error, TuneError)
    assert isinstance(error, GuardrailBreached)


def test_an_engine_that_is_gone_as_it_is_put_back_hides_no_host(
    fleet: Fleet, engine: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.fails["a", "event"] = JobFailed("no event came")

    def gone(*_: object) -> None:
        raise Unreachable("the engine does not answer")

    monkeypatch.setattr("tuner.deploy.objects.bring_back", gone)
    done = applied(engine, "a", manner=SURE)
    assert states(done) == {"a": HostState.RESTORED}
    assert str(done["a"].error) == "no event came"
    assert len(journal()) == 1
