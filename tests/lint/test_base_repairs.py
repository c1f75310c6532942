"""Repairs of a configuration that is kept: none takes events from what takes over, or from what
stands beside; what is said of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.lint.advice import advise
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.lint.repairs import repairs
from tuner.script.configuration import configuration
from tuner.script.neighbours import neighbours
from tuner.script.objects import base_of

HEAD = """\
global(workDirectory="/var/spool/rsyslog")
module(load="imtcp")
module(load="omelasticsearch")
template(name="d" type="list") {
    constant(value="{\\"m\\":\\"") property(name="msg" format="json") constant(value="\\"}")
}
"""
TCP = 'input(type="imtcp" port="10514")\n'
UDP = 'module(load="imudp")\ninput(type="imudp" port="514")\n'
BULK = 'type="omelasticsearch" template="d" searchType="" bulkmode="on"'
ES = f'action(name="es" {BULK})\n'
STANDS_IN = 'action.execOnlyWhenPreviousIsSuspended="on"'
FILE = f'action(name="fb" type="omfile" file="/var/log/fb" {STANDS_IN})\n'
LOCAL = 'action(name="local" type="omfile" file="/var/log/all")\n'
FORWARD = f'action(name="up" type="omfwd" target="10.0.0.1" protocol="tcp" {STANDS_IN})\n'
ENGINE = f'action(name="es2" {BULK} {STANDS_IN})\n'
OLD = "$ActionExecOnlyWhenPreviousIsSuspended on\n& /var/log/fb\n"
COUNT = "outputs[es].action.resumeRetryCount"


def loaded(folder: Path, body: str, head: str = HEAD + TCP) -> LoadedProfile:
    """A profile on top of a configuration."""
    (folder / "rsyslog.conf").write_text(head + body, encoding="utf-8")
    return parse_profile("name: p\nbase: {rsyslog: rsyslog.conf}\n", str(folder / "p.yaml"))


def changed_by(written: LoadedProfile) -> dict[str, object]:
    """What the repairs of it change."""
    return {path: value for one in repairs(written.profile) for path, value in one.changes}


def codes(written: LoadedProfile) -> set[str]:
    """The rules that it breaks."""
    return {one.code for one in written.warnings}


FAILOVERS = {
    "a file": ES + FILE,
    "a forwarder": ES + FORWARD,
    "an engine": ES + ENGINE,
    "a chain": ES + FORWARD + FILE,
    "a file behind two engines": ES + ENGINE + FILE,
    "the old form": f'*.* action(name="es" {BULK})\n{OLD}',
    "an if around the first": f"if $msg contains 'a' then {{\n{ES}}}\n{FILE}",
    "an if around both": f"if $msg contains 'a' then {{\n{ES}{FILE}}}\n",
    "an if around the second": f"{ES}if $msg contains 'a' then {{\n{FILE}}}\n",
    "a ruleset": f'ruleset(name="r") {{\n{ES}{FILE}}}\ncall r\n',
    "a ruleset with a queue": (
        f'ruleset(name="r" queue.type="LinkedList") {{\n{ES}{FILE}}}\ncall r\n'
    ),
    "a ruleset that is called between": f'ruleset(name="r") {{\n{ES}}}\ncall r\n{FILE}',
    "a ruleset that an expression names": (
        f'ruleset(name="r") {{\n{ES}}}\ncall_indirect $programname;\n{FILE}'
    ),
    "a queue on the first, which ends it": ES.replace(
        BULK, f'{BULK} queue.type="LinkedList" queue.timeoutEnqueue="90000"'
    )
    + FILE,
    "a selector": f"*.* {{\n{ES}{FILE}}}\n",
}  # fmt: skip


@pytest.mark.parametrize("body", FAILOVERS.values(), ids=FAILOVERS)
def test_a_failover_is_left_alone(tmp_path: Path, body: str) -> None:
    for count in ("", 'action.resumeRetryCount="5"'):
        counted = body.replace('name="es" ', f'name="es" {count} ')
        written = loaded(tmp_path, counted)
        assert COUNT not in changed_by(written)
        advice = advise(written, 4, 2**33)
        assert COUNT not in dict(advice.settings)
        assert not any(path.endswith("queue.type") for path, _ in advice.settings)
        assert not any(one.path.endswith("queue.type") for one in advice.left)


def test_a_failover_in_an_included_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "fallback.conf").write_text(FILE, encoding="utf-8")
    written = loaded(tmp_path, f'{ES}include(file="{tmp_path}/fallback.conf")\n')
    assert COUNT not in changed_by(written)


NO_FAILOVERS = {
    "nothing behind": ES,
    "a queue, which accepts everything": ES.replace(
        BULK, f'{BULK} queue.type="LinkedList" queue.timeoutEnqueue="90000"'
    ),
    "another ruleset": f'{ES}ruleset(name="r" queue.type="LinkedList") {{\n{FILE}}}\n',
}  # fmt: skip


@pytest.mark.parametrize("body", NO_FAILOVERS.values(), ids=NO_FAILOVERS)
def test_what_nothing_takes_over_from_is_repaired(tmp_path: Path, body: str) -> None:
    assert changed_by(loaded(tmp_path, body))[COUNT] == -1


def test_a_file_that_stands_in_for_another_file_is_no_failover(tmp_path: Path) -> None:
    """It takes over from the action that was run last; nothing takes over from the engine."""
    written = loaded(tmp_path, ES + LOCAL + FILE)
    read = base_of(configuration(tmp_path / "rsyslog.conf"))
    found = neighbours(read)
    assert found["action[es]"].take_over == ()
    assert found["action[fb]"].before == ("action[local]",)
    assert "RT208" in codes(written)


BESIDE = {
    "off": ES + FILE.replace('"on"', '"off"'),
    "behind a stop": f"if $msg contains 'a' then {{\n{ES}stop\n}}\n{LOCAL}{FILE}",
    "the other of two blocks": f"if $msg contains 'a' then {{\n{ES}}} else {{\n{LOCAL}{FILE}}}\n",
}


@pytest.mark.parametrize("body", BESIDE.values(), ids=BESIDE)
def test_what_stands_beside_takes_over_from_nothing(tmp_path: Path, body: str) -> None:
    written = loaded(tmp_path, body)
    assert "RT208" in codes(written)
    assert "RT255" not in codes(written)


def test_the_last_engine_of_a_failover_waits(tmp_path: Path) -> None:
    changes = changed_by(loaded(tmp_path, ES + ENGINE))
    assert changes["outputs[es2].action.resumeRetryCount"] == -1


def test_what_never_takes_over_is_said(tmp_path: Path) -> None:
    forever = ES.replace(BULK, f'{BULK} action.resumeRetryCount="-1"') + FILE
    queued = ES.replace(BULK, f'{BULK} queue.type="LinkedList"') + FILE
    assert "RT251" in codes(loaded(tmp_path, forever))
    assert "RT252" in codes(loaded(tmp_path, queued))
    assert not {"RT251", "RT252"} & codes(loaded(tmp_path, ES + FILE))
    in_ruleset = f'ruleset(name="r" queue.type="LinkedList") {{\n{ES}{FILE}}}\ncall r\n'
    assert not {"RT251", "RT252"} & codes(loaded(tmp_path, in_ruleset))


def test_larger_batches_that_lose_more_at_a_change_are_not_advised(tmp_path: Path) -> None:
    advice = advise(loaded(tmp_path, ES + FILE), 4, 2**33)
    assert not any("dequeueBatchSize" in path for path, _ in advice.settings)
    (left,) = (one for one in advice.left if one.path == "main_queue.dequeueBatchSize")
    assert "in flight are lost when another output takes over (was 512)" in left.price[0]
    alone = advise(loaded(tmp_path, ES), 4, 2**33)
    assert any(path == "main_queue.dequeueBatchSize" for path, _ in alone.settings)


@pytest.mark.parametrize("source", [TCP, UDP])
@pytest.mark.parametrize(
    "queue", ["", 'queue.type="LinkedList"', 'queue.type="Disk" queue.filename="q"']
)
def test_an_output_is_not_made_to_stop_what_stands_beside(
    tmp_path: Path, source: str, queue: str
) -> None:
    written = loaded(tmp_path, ES.replace(BULK, f"{BULK} {queue}") + LOCAL, HEAD + source)
    assert COUNT not in changed_by(written)
    (said,) = (one.message for one in written.warnings if one.code == "RT208")
    assert "action[local] waits too" in said
    assert ("what input[1] receives meanwhile is lost" in said) is (source == UDP)
    assert "first give this output a queue on disk" in said


def test_what_goes_to_disk_stops_nothing(tmp_path: Path) -> None:
    disk = 'queue.type="LinkedList" queue.filename="q" queue.size="20000"'
    written = loaded(tmp_path, ES.replace(BULK, f"{BULK} {disk}") + LOCAL)
    assert changed_by(written)[COUNT] == -1


def test_a_queue_that_discards_at_once_is_not_made_to_stop_the_others(tmp_path: Path) -> None:
    wait = "outputs[es].queue.timeoutEnqueue"
    for timeout, is_repaired in ((0, False), (50, False), (2000, True)):
        queue = f'queue.type="LinkedList" queue.timeoutEnqueue="{timeout}"'
        written = loaded(tmp_path, ES.replace(BULK, f"{BULK} {queue}") + LOCAL)
        assert (wait in changed_by(written)) is is_repaired
    (found,) = (one for one in repairs(written.profile) if one.code == "RT113")
    assert "with it action[local] then waits too" in found.why
    alone = loaded(tmp_path, ES.replace(BULK, f'{BULK} queue.type="LinkedList"'))
    (found,) = (one for one in repairs(alone.profile) if one.code == "RT113")
    assert found.stops == ""


ASSISTED = 'queue.type="LinkedList" queue.filename="q" action.resumeRetryCount="-1"'


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ("", 1300),
        ('queue.size="1200"', 1300),
        ('queue.size="1300"', None),
        ('queue.highWatermark="872"', None),
        ('queue.highWatermark="873"', 1100),
        ('queue.size="5000" queue.workerThreads="4"', 5200),
        ('queue.size="5200" queue.workerThreads="4"', None),
        ('queue.size="50000" queue.dequeueBatchSize="5000" queue.workerThreads="4"', 200_000),
    ],
)
def test_a_queue_that_is_full_before_it_spools_gets_room(
    tmp_path: Path, more: str, size: int | None
) -> None:
    written = loaded(tmp_path, ES.replace(BULK, f"{BULK} {ASSISTED} {more}"))
    assert changed_by(written).get("outputs[es].queue.size") == size
    assert ("RT134" in codes(written)) is (size is not None)


def test_advice_leaves_a_queue_with_files_what_it_keeps(tmp_path: Path) -> None:
    """What is in flight when rsyslogd ends in an outage is not on disk."""
    for kind in (ASSISTED, ASSISTED.replace("LinkedList", "Disk")):
        queue = f'{kind} queue.size="50000" queue.checkpointInterval="1000"'
        advice = advise(loaded(tmp_path, ES.replace(BULK, f"{BULK} {queue}")), 4, 2**33)
        assert "outputs[es].queue.dequeueBatchSize" not in dict(advice.settings)
        left = {one.path: one.price for one in advice.left}
        (price,) = left["outputs[es].queue.dequeueBatchSize"]
        assert "in flight are lost when rsyslogd ends while the engine is down (was 128)" in price


def test_what_stands_beside_is_named_in_every_form(tmp_path: Path) -> None:
    """An action without a name by what it writes to; inputs with a ruleset of their own, and those
    without, share the thread of the main queue."""
    old = f'*.* action(name="es" {BULK})\n*.* /var/log/all\n'
    (said,) = (one.message for one in loaded(tmp_path, old).warnings if one.code == "RT208")
    assert "action[2] (/var/log/all) waits too" in said
    bound = HEAD + TCP.replace('"10514"', '"10514" ruleset="r"')
    for queue, is_beside in (("", True), ('queue.type="LinkedList"', False)):
        body = f'ruleset(name="r" {queue}) {{\n{ES}}}\n{LOCAL}'
        assert (COUNT in changed_by(loaded(tmp_path, body, bound))) is not is_beside
    called = f'ruleset(name="r" queue.type="LinkedList") {{\n{ES}}}\n{LOCAL}call r\n'
    assert COUNT not in changed_by(loaded(tmp_path, called))


WAITS = ES.replace(BULK, f'{BULK} action.resumeRetryCount="-1"')
STOPPED = {
    "before": (WAITS + LOCAL, True),
    "behind": (LOCAL + WAITS, True),
    "called": (f'ruleset(name="r") {{\n{WAITS}}}\ncall r\n{LOCAL}', True),
    "in a ruleset with a queue": (
        f'ruleset(name="r" queue.type="LinkedList") {{\n{WAITS}}}\ncall r\n{LOCAL}', False
    ),
    "with a queue": (WAITS.replace(BULK, f'{BULK} queue.type="LinkedList"') + LOCAL, False),
    "without retries": (ES + LOCAL, False),
    "alone": (WAITS, False),
}  # fmt: skip


@pytest.mark.parametrize(("body", "stops"), STOPPED.values(), ids=STOPPED)
def test_what_a_waiting_action_stops_at_once_is_in_its_own_thread(
    tmp_path: Path, body: str, stops: bool
) -> None:
    messages = [one.message for one in loaded(tmp_path, body).warnings if one.code == "RT256"]
    assert [("action[local]" in message) for message in messages] == [True] * stops
