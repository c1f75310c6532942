"""A duet: the text with an action twice, what stands against it, and the course of its trial."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from tests.deploy.test_worlds import CALM
from tests.deploy.world import Time
from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.duet import SECOND, DuetHost, DuetTrial, duet_of
from tuner.deploy.production_trial import EndOfTrial
from tuner.deploy.switchback import Switchback, TrialClaim, TrialDesign, TrialRestart
from tuner.errors import Refused, Unreachable
from tuner.lint.load import parse_profile
from tuner.profile.base import KeptBase

ES = 'type="omelasticsearch" queue.type="LinkedList" queue.dequeueBatchSize="16"'
ACTION = f'action(name="es" {ES})'
TURNED = "{'action[es].queue.dequeueBatchSize': 2000}"


def kept(folder: Path, text: str, changes: str = TURNED, **files: str) -> KeptBase:
    for name, content in {"rsyslog.conf": text, **files}.items():
        (folder / name).write_text(f"{content}\n", encoding="utf-8")
    profile = f"name: p\nbase: {{rsyslog: {folder}/rsyslog.conf}}\nchanges: {changes}\n"
    base = parse_profile(profile, str(folder / "p.yaml")).profile.base
    assert base is not None
    return base.kept


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('module(load="omelasticsearch")\n', "\nstop"),
        ('module(load="omelasticsearch")\n*.* ', "   # all of it"),
        ('module(load="omelasticsearch")\nif $msg contains "x" then ', " else stop"),
        ('module(load="omelasticsearch")\nruleset(name="r") {\n  ', "\n}\n"),
    ],
    ids=["statement", "selector", "branch", "ruleset"],
)
def test_the_action_stands_twice_where_it_stood_and_all_else_stays(
    tmp_path: Path, before: str, after: str
) -> None:
    duet = duet_of(kept(tmp_path, f"{before}{ACTION}{after}"))
    second = ACTION.replace('"es"', f'"{SECOND}"').replace('"16"', '"2000"')
    both = f"if random(2) == 0 then {{\n{ACTION}\n}} else {{\n{second}\n}}"
    assert duet.text == f"{before}{both}{after}\n"
    assert duet.names == {Side.A: "es", Side.B: SECOND}


def test_it_stands_in_the_included_file(tmp_path: Path) -> None:
    text = f'module(load="omelasticsearch")\n$IncludeConfig {tmp_path}/es.inc'
    duet = duet_of(kept(tmp_path, text, **{"es.inc": ACTION}))
    assert duet.text.count("action(") == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ACTION.replace(')', ' retryRuleset="again")') + '\nruleset(name="again") { stop }',
         "what is sent again comes to its ruleset from both"),
        (ACTION.replace(')', ' queue.filename="q")'), "would stay there"),
        (ACTION.replace(')', ' dynBulkId="on" bulkId="id")'), "the older could come last"),
        (ACTION.replace("LinkedList", "Direct"), "no queue of its own"),
        (f'{ACTION}\naction(type="omfile" file="/var/log/x" '
         'action.execOnlyWhenPreviousIsSuspended="on")', "waits for another one to be suspended"),
        (ACTION.replace(")", ' action.execOnlyOnceEveryInterval="5")'), "twice as many"),
        (f'ruleset(name="duet-B queue" queue.type="LinkedList") {{ stop }}\n{ACTION}',
         "threads of the same name, rs:duet-B queue"),
        (f"*.* action(type=\"omfile\" file=\"/var/log/x\")\n& /* too */ {ACTION}", "that & joins"),
        (f"{ACTION}\n& stop", "several actions that & joins"),
        (f'*.* action(type="omfile" file="/var/log/x")\n& {ACTION}', "that & joins"),
    ],
)  # fmt: skip
def test_what_ties_events_together_stands_against_it(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        duet_of(kept(tmp_path, f'module(load="omelasticsearch")\n{text}'))


@pytest.mark.parametrize(
    ("action", "address", "why"),
    [
        (f"action({ES})", "action[1]", "give it a name"),
        ('action(name="es" type="omfile" file="/var/log/x" queue.type="LinkedList")',
         "action[es]", "only actions of omelasticsearch and omhttp"),
    ],
)  # fmt: skip
def test_only_a_named_action_of_an_engine_can_run_twice(
    tmp_path: Path, action: str, address: str, why: str
) -> None:
    text = f'module(load="omelasticsearch")\n{action}'
    changes = f"{{'{address}.queue.dequeueBatchSize': 2000}}"
    with pytest.raises(Refused, match=why):
        duet_of(kept(tmp_path, text, changes))


def test_threads_that_the_kernel_names_alike_cannot_be_told_apart(tmp_path: Path) -> None:
    both = "\n".join(f'action(name="elasticsearch-{end}" {ES})' for end in "ab")
    changes = "{'action[elasticsearch-a].queue.dequeueBatchSize': 2000}"
    with pytest.raises(Refused, match="threads of the same name, rs:elasticsearc: name it"):
        duet_of(kept(tmp_path, f'module(load="omelasticsearch")\n{both}', changes))


def test_it_is_for_the_changes_of_one_action(tmp_path: Path) -> None:
    text = f'module(load="omelasticsearch")\nmain_queue(queue.size="1000")\n{ACTION}'
    changes = "{'action[es].queue.size': 2000, 'main_queue.queue.size': 2000}"
    with pytest.raises(Refused, match=r"one action, not of action\[es\], main_queue"):
        duet_of(kept(tmp_path, text, changes))


@dataclass
class Played:
    """A host of a duet, whose figures are those of a script; a look at it takes `look_s`."""

    time: Time
    guard: list[BlockFigures] = field(default_factory=list)
    ratio: float = 0.8
    done: list[str] = field(default_factory=list)
    ends: bool = False
    look_s: float = 0.0
    is_lost: bool = False
    waits: list[int] = field(default_factory=list)
    name: str = "web"
    side: Side = Side.A
    due: float = math.inf

    def put_candidate(self, within_s: float) -> TrialRestart:
        self.side, self.due = Side.B, self.time.at + within_s
        self.done.append(f"both for {within_s:.0f}")
        return TrialRestart("web", 0.5, 0, 0)

    def put_back(self) -> TrialRestart | None:
        if self.is_lost:
            raise Unreachable("web is gone")
        if self.side is Side.A:
            return None
        self.side = Side.A
        assert self.time.at < self.due
        self.done.append("A")
        return TrialRestart("web", 0.5, 0, 0)

    def figures(self, _since: float) -> BlockFigures:
        self.time.at += self.look_s
        if self.side is Side.A:
            return replace(CALM, waiting=self.waits.pop(0) if self.waits else 0, cpu_s=self.beat)
        if self.ends:
            raise EndOfTrial("somebody changed a file of web")
        return replace(self.guard.pop(0) if self.guard else CALM, cpu_s=self.beat)

    @property
    def beat(self) -> float:
        """Another number each time: a host whose counters stand still ends a trial."""
        return self.time.at

    def sides(self, _since: float) -> dict[Side, BlockFigures]:
        block = self.time.at // 600
        cost = 1e-6 * (10 + block % 7)
        events = 100_000
        return {
            side: BlockFigures(600, events, events * cost * share, 0, 0.0, 0, 0, 0, 0.0)
            for side, share in ((Side.A, 1.0), (Side.B, self.ratio * (0.99 + block % 3 / 100)))
        }


def played(*hosts: Played, pairs: int = 8, before: Switchback | None = None) -> Switchback:
    duets = tuple(cast(DuetHost, host) for host in hosts)
    design = TrialDesign(pairs, alone=2, is_duet=True)
    record = before or Switchback(design, tuple(host.name for host in hosts))
    nothing: Callable[[object], None] = lambda _: None  # noqa: E731
    return DuetTrial(duets, hosts[0].time, nothing, nothing).run(record)


def test_both_run_block_by_block_after_one_restart_and_a_alone_is_back() -> None:
    host = Played(Time())
    record = played(host)
    assert host.done == ["both for 4900", "A"]
    assert record.claim is TrialClaim.LESS
    assert record.ratio is not None
    assert record.ratio.low < 0.8 < record.ratio.high
    assert len(record.restarts) == record.design.restarts == 2
    assert record.looked is None


def test_what_is_over_is_not_begun_again() -> None:
    host = Played(Time())
    record = played(host)
    assert played(host, before=record) == record
    assert host.done == ["both for 4900", "A"]


def test_a_guard_ends_it_at_once() -> None:
    host = Played(Time(), guard=[CALM] * 50 + [replace(CALM, failed=1)])
    record = played(host)
    assert record.claim is TrialClaim.ENDED
    assert record.ended.startswith("while both ran, web, pair 2: attempts that failed: 1")
    assert record.begun == 2
    assert host.done[-1] == "A"
    assert played(host, before=record) == record
    assert host.done.count("A") == 1


def test_another_hand_ends_it_and_what_was_counted_stays() -> None:
    host = Played(Time(), ends=True)
    record = played(host)
    assert record.ended == "somebody changed a file of web"
    assert len(record.blocks) == 2
    assert host.done[-1] == "A"


def test_it_ends_before_the_way_back_is_due() -> None:
    host = Played(Time(), look_s=27.0)
    record = played(host, pairs=44)
    assert record.ended == "the time was over for which the way back was armed"
    assert 30 < record.begun < 44
    assert host.done[-1] == "A"


def test_a_host_that_is_lost_keeps_no_other_from_its_own_configuration() -> None:
    time = Time()
    lost, other = Played(time, is_lost=True), Played(time, name="db")
    with pytest.raises(Unreachable):
        played(lost, other)
    assert other.done[-1] == "A"


def test_what_waits_in_queues_is_passed_on_before_the_restart() -> None:
    host = Played(Time(), waits=[0] * 84 + [90_000, 50_000, 20_000, 0])
    assert played(host).begun == 8
    assert not host.waits


def test_where_it_waits_for_ever_nothing_is_restarted() -> None:
    host = Played(Time(), waits=[90_000] * 1000)
    record = played(host)
    assert re.search("web: 8.,... events wait in queues that a restart empties", record.ended)
    assert not host.done


def test_equal_sides_are_not_told_apart() -> None:
    assert played(Played(Time(), ratio=1.0)).claim is TrialClaim.NOT_SHOWN
