"""What of a base its traffic does not test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.engine.test_owned import Engine as Keeper
from tests.engine.test_owned import Objects
from tests.lab.test_copy import ES, copy_of
from tests.measure.test_ceiling import lab_of
from tests.measure.test_watch import Script
from tests.profile.examples import small
from tests.profile.test_base import loaded
from tuner.engine.client import JSON
from tuner.errors import JobFailed, Refused
from tuner.flood.messages import POOL
from tuner.flood.pace import fixed
from tuner.flood.spec import FloodSpec
from tuner.lab.lab import Lab
from tuner.lab.receiver import Received
from tuner.lab.text import lab_text
from tuner.measure.learning import (
    SlowPass,
    documents_of,
    learnt,
    not_compared,
    refused_documents,
    seldom_reached,
    unreached,
)
from tuner.modules.pstats import ActionCounters, ElasticsearchCounters, ResourceUsage, Snapshot
from tuner.profile.base import read_text
from tuner.profile.model import Profile
from tuner.profile.workload import Workload
from tuner.script.objects import Base
from tuner.script.script import objects_in

CONF = f"""\
input(type="imtcp" port="514")
if $programname == "billing" then {{
  action(type="omfile" file="/var/log/billing.log")
}}
*.* {ES})
"""


def said(folder: Path, counted: dict[str, int], changes: str = "") -> list[str]:
    profile = loaded(folder, changes, CONF).profile
    actions = [*objects_in(copy_of(profile).block, "action")]
    return list(unreached(lab_text(profile, [None]), actions, counted))


@pytest.mark.parametrize("changes", ["", "changes: {main_queue.size: 20000}\n"])
def test_actions_that_got_no_event_are_told_with_their_places(changes: str, tmp_path: Path) -> None:
    """In the file as it is, whatever lines changes add to it."""
    (line,) = said(tmp_path, {"rsyslog-tune-1": 0, "rsyslog-tune-2": 2000}, changes)
    place = f"{tmp_path}/rsyslog.conf:3:3 action[1]"
    assert line == f"1 of 2 actions, which got no event: {place}"


def test_where_all_got_events_nothing_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, {"rsyslog-tune-1": 1, "rsyslog-tune-2": 2000}) == []


def test_where_nobody_counted_nothing_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, {}) == []


def test_actions_that_few_messages_reach_are_told_with_their_places(tmp_path: Path) -> None:
    places = [lab_text(loaded(tmp_path, conf=CONF).profile, [None]).place("action[es]")]
    (line,) = seldom_reached([[1] * 9 + [0] * 991], places)
    place = f"{tmp_path}/rsyslog.conf:5:5 action[es]"
    assert line == f"load on actions that less than 1% of the messages reach: {place}"
    assert list(seldom_reached([[1] * 10 + [0] * 990], places)) == []
    assert list(seldom_reached([[0] * 1000], places)) == []


def test_actions_of_a_profile_are_told_by_their_paths() -> None:
    profile = small()
    text = lab_text(profile, profile.inputs)
    assert list(unreached(text, [text.written.objects["action[logs]"]], {"other": 1})) == [
        "1 of 1 actions, which got no event: outputs[logs]"
    ]


def test_documents_that_an_engine_refuses_are_told_with_their_action() -> None:
    """By the name of their index without what a lab puts before it, or as no JSON."""
    number = b'"rsyslog_tune_seq":101044'
    documents = [
        (b"logs", b'{"m":"a",%b00000001}' % number),
        (b"logs", b'{"m":"a "b",%b00000002}' % number),
        (b"_logs", b'{"m":"a",%b00000003}' % number),
        (b"logs", b"[]"),
    ]
    action = b'{"index":{"_index":"rsyslog-tune-learnt-%b"}}\n%b\n'
    places = [("action[es]", "rsyslog.conf:5:5")]
    (one,) = refused_documents(b"".join(action % each for each in documents), places)
    assert str(one).startswith("2 of 3 documents of rsyslog.conf:5:5: ")
    assert not one.is_all
    (one,) = refused_documents(action % documents[2], places)
    assert one.is_all
    assert one.reason == "Invalid index name [_logs], must not start with '_', '-', or '+'"


def test_documents_of_which_nothing_is_kept_are_told() -> None:
    """What is learnt of a large replay is bounded, and the rest is compared with nothing."""
    lines = b'{"index":{}}\n{"a":1}\n' * 3
    assert list(not_compared([[1, 0, 1], [0, 1, 0]], lines)) == []
    (said,) = not_compared([[1, 2, 1], [0, 1, 0]], lines)
    assert said.startswith("what 2 of 5 documents hold")


def of(seed: int = 1) -> Profile:
    """As much of a profile as learning it looks at."""
    return cast(Profile, SimpleNamespace(workload=Workload(seed=seed)))


def text(program: str, batch: int = 100) -> Base:
    """A configuration."""
    queue = f'queue.type="LinkedList" queue.dequeueBatchSize="{batch}"'
    action = f'action(type="omelasticsearch" name="es" server="s{batch}" {queue})'
    return read_text("rsyslog.conf", f'if $programname == "{program}" then {action}\n')


def lab() -> Lab:
    """As much of a lab on the sink."""
    return cast(Lab, SimpleNamespace(learnt={}, engine=SimpleNamespace(stand_in="sink")))


def test_what_a_base_makes_of_each_message_is_learnt_once_from_two_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what differs between them nothing is expected."""
    rounds = [[1, 0, 2, 1, 0, 2], [0, 1, 0, 1, 1, 0]]
    asked: list[object] = []

    def slow_pass(_lab: object, profile: object) -> SlowPass:
        asked.append(profile)
        return SlowPass(("es", "other"), rounds, ("it",), (), b"", "700", [0, 0, 0])

    monkeypatch.setattr("tuner.measure.learning.slow_pass", slow_pass)
    here = lab()
    found = learnt(here, of(), text("one"))
    assert found.expectation.outputs == ((1, 0, 2), (-1, 1, 0))
    assert found.untested == (
        "it", "the documents of 1 of 3 messages, which differ from time to time"
    )  # fmt: skip
    # What a search turns changes nothing of it.
    assert learnt(here, of(), text("one", batch=5000)) is found
    assert len(asked) == 1
    learnt(here, of(), text("another"))
    assert len(asked) == 2
    # Other messages have other documents.
    learnt(here, of(seed=2), text("one"))
    assert len(asked) == 3


PIPELINE = (
    'global(parser.escapeControlCharactersOnReceive="on")\n'
    'module(load="imtcp" workerThreads="2")\ninput(type="imtcp" port="514")\n'
    'main_queue(queue.size="1000")\n'
    'action(type="mmjsonparse" cookie="@cee:" queue.type="Direct")\n'
    'action(type="omelasticsearch" name="es" queue.type="Direct" timeout="1m" searchIndex="a")\n'
)


@pytest.mark.parametrize(
    ("before", "after", "is_another"),
    [
        ('cookie="@cee:"', 'cookie=""', True), ('Receive="on"', 'Receive="off"', True),
        ('searchIndex="a"', 'searchIndex="b"', True),
        ('type="imtcp" port', 'type="imtcp" ruleset="r" port', True),
        ('port="514"', 'port="1514"', False), ('workerThreads="2"', 'workerThreads="4"', False),
        ('main_queue(queue.size="1000")', "", False), ('timeout="1m"', "", False),
        ('name="es" queue.type="Direct"', 'name="es" queue.type="LinkedList"', False),
    ],
)  # fmt: skip
def test_what_may_change_documents_is_learnt_apart_and_what_a_search_turns_is_not(
    before: str, after: str, is_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def slow_pass(_lab: object, profile: object) -> SlowPass:
        asked.append(profile)
        return SlowPass(("es",), [[1, 1]], (), (), b"", "700", [0])

    monkeypatch.setattr("tuner.measure.learning.slow_pass", slow_pass)
    here = lab()
    for conf in (PIPELINE, PIPELINE.replace(before, after)):
        learnt(here, of(), read_text("rsyslog.conf", conf))
    assert len(asked) == 1 + is_another


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        ([[0, 0, 0, 0]], "none of 2 messages reaches an engine action"),
        ([[0, 1, 1, 0]], "of 2 of 2 messages differs from time to time"),
        ([[0, 1, 0, 0]], "of 1 of 2 messages differs .* and no other reaches an engine action"),
    ],
)
def test_a_base_of_which_nothing_can_be_expected_is_not_measured(
    rounds: list[list[int]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tuner.measure.learning.slow_pass",
        lambda *_: SlowPass(("es",), rounds, (), (), b"", "1", [0, 0]),
    )
    with pytest.raises(Refused, match=why):
        learnt(lab(), of(), text("one"))


SINK = "http://127.0.0.1:65001"
FORWARDING = f"""\
input(type="imtcp" port="514")
*.* action(type="omfwd" target="far.example" port="514" protocol="tcp")
if $programname == "never" then {{
  action(type="omfile" file="/var/log/never.log")
}}
*.* {ES} searchType="")
"""


@dataclass
class Slow:
    """A slow flood through a base into a sink, in which everything only remembers; of the second
    round so many of the last messages give no document, and each other one gives one."""

    patch: pytest.MonkeyPatch
    folder: Path
    conf: str = FORWARDING
    count: int = 2 * POOL
    takes: int = 2 * POOL
    receives: int = 2 * POOL
    unsure: int = 0
    error: str | None = None
    lines: bytes = b""
    script: Script = field(default_factory=Script)
    config: str = ""
    done: list[object] = field(default_factory=list)

    def learnt(self) -> tuple[tuple[tuple[int, ...], ...], str]:
        """The expectation, and what is not tested."""
        lab, profile = self.lab()
        found = learnt(lab, profile)
        assert list(lab.folder.iterdir()) == []
        return found.expectation.outputs, "\n".join(found.untested)

    def lab(self) -> tuple[Lab, Profile]:
        """Where it happens, and the profile."""
        for module in ("measure.learning", "host.process"):
            self.patch.setattr(f"tuner.{module}.time", self.script)
        self.patch.setattr("tuner.lab.rsyslogd.read", self.read)
        receiver = SimpleNamespace(received=lambda: Received(tcp=self.receives))
        for name, stand_in in {
            "Sink": lambda **_: self.entered(SimpleNamespace(url=SINK)),
            "EngineClient": self.client, "kept_bulks": lambda _: self.lines,
            "Flood": self.traffic, "read": self.read, "wait_until_quiet": self.quiet,
        }.items():  # fmt: skip
            self.patch.setattr(f"tuner.measure.learning.{name}", stand_in)
        self.patch.setattr("tuner.lab.rsyslogd.Rsyslogd", self.rsyslogd)
        self.patch.setattr("tuner.lab.rsyslogd.Receiver", lambda _: self.entered(receiver))
        written = loaded(self.folder, conf=self.conf).profile
        folder = self.folder / "lab"
        folder.mkdir()
        return replace(lab_of(Keeper(Objects())), folder=folder), written

    @contextmanager
    def entered(self, what: object) -> Iterator[object]:
        yield what

    def client(self, url: str) -> object:
        assert url == SINK
        return SimpleNamespace(get=self.arrived, close=lambda: self.done.append("closed"))

    def quiet(self, _client: object, check: Callable[[], None], _quiet_s: float) -> None:
        check()
        self.done.append("quiet")

    def arrived(self, path: str) -> JSON:
        assert path == f"/_sink/_all/arrived?run={self.run.stamped_run}&output=0&count={2 * POOL}"
        return {"arrived": [1] * (2 * POOL - self.unsure) + [0] * self.unsure}

    def rsyslogd(
        self, config: str, folder: Path, entrances: object, environment: dict[str, str], **_: object
    ) -> object:
        assert folder.parent == self.folder / "lab"
        assert entrances
        assert "PATH" in environment
        self.config = config
        self.stats = folder / "impstats.log"
        return SimpleNamespace(check=lambda: None, stop=lambda: self.done.append("stopped"))

    @contextmanager
    def traffic(self, spec: FloodSpec) -> Iterator[object]:
        assert spec.count == self.count
        self.run = spec
        progress = SimpleNamespace(sent=0, error=self.error)

        def sent() -> object:
            progress.sent = min(self.takes, int(4000 * self.script.at_s))
            return progress

        yield SimpleNamespace(
            follow=lambda *given: self.done.append(given), progress=sent, finish=sent
        )

    def read(self, stats: Path) -> tuple[Snapshot, ...]:
        """A round each second, in which the second action got nothing."""
        assert stats == self.stats
        counts = {"rsyslog-tune-1": 2 * POOL, "rsyslog-tune-2": 0, "rsyslog-tune-3": 2 * POOL}
        actions = {name: ActionCounters(count, 0, 0) for name, count in counts.items()}
        at = self.script.began_s + int(self.script.at_s)
        return (Snapshot(at, {}, actions, ElasticsearchCounters(), ResourceUsage()),)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Slow:
    return Slow(monkeypatch, tmp_path)


def test_every_message_is_sent_twice_and_slowly_into_a_sink(slow: Slow) -> None:
    outputs, _ = slow.learnt()
    assert outputs == ((1,) * POOL,)
    assert slow.done[:3] == [(fixed(4000.0), 2 * POOL), "quiet", "stopped"]
    assert slow.done[-1] == "closed"
    for line in (f'server=["{SINK}"]', 'searchIndex="rsyslog-tune-learnt-', 'name="rsyslog-tune-3"',
                 'load="impstats"'):  # fmt: skip
        assert line in slow.config
    for gone in ("far.example", "es1", "secret", '"/var/log'):
        assert gone not in slow.config


def test_documents_for_the_engine_are_what_a_sink_in_its_place_gets(slow: Slow) -> None:
    """Under the names of the indices of a trial, and with the numbers of their events."""
    slow.count, slow.lines = 100, b'{"index":{}}\n{"a":1}\n'
    lab, profile = slow.lab()
    assert documents_of(lab, profile, "ceiling", 100) == slow.lines
    assert list(lab.folder.iterdir()) == []
    assert slow.done[0] == (fixed(20_000.0), 100)
    for text in (f'server=["{SINK}"]', f'searchIndex="{lab.owner.prefix}ceiling-',
                 'template="rsyslog-tune-document-0"'):  # fmt: skip
        assert text in slow.config


def test_what_differs_between_the_rounds_is_told(slow: Slow) -> None:
    slow.unsure = 3
    outputs, untested = slow.learnt()
    assert outputs == ((1,) * (POOL - 3) + (-1,) * 3,)
    assert f"the documents of 3 of {POOL} messages, which differ" in untested


def test_what_the_messages_did_not_reach_is_told(slow: Slow) -> None:
    _, untested = slow.learnt()
    assert f"1 of 3 actions, which got no event: {slow.folder}/rsyslog.conf:4:3" in untested
    assert "forwarding" not in untested
    assert "your mapping and index settings" in untested


@pytest.mark.parametrize(
    ("compressed", "told"), [("", True), (' compression.mode="single"', False)]
)
def test_forwarded_messages_that_do_not_come_are_told_where_they_can_be_counted(
    slow: Slow, compressed: str, told: bool
) -> None:
    slow.conf = FORWARDING.replace('protocol="tcp"', f'protocol="tcp"{compressed}')
    slow.receives = 2 * POOL - 3
    _, untested = slow.learnt()
    said = f"forwarding: {2 * POOL - 3} of {2 * POOL} messages came to the lab's receiver"
    assert (said in untested) is told


def test_documents_that_an_engine_would_refuse_end_it(slow: Slow) -> None:
    slow.lines = b'{}\n{"rsyslog_tune_seq":10104400000001, "m":"a "b"}\n'
    with pytest.raises(Refused, match="an engine refuses what comes of it: every document of"):
        slow.learnt()


@pytest.mark.parametrize(("takes", "error"), [(2 * POOL - 1, None), (2 * POOL, "cut")])
def test_a_base_that_does_not_take_all_messages_is_not_learnt(
    slow: Slow, takes: int, error: str | None
) -> None:
    slow.takes, slow.error = takes, error
    why = error or "the rest did not go through in time"
    with pytest.raises(JobFailed, match=f"took {takes} of {2 * POOL} messages: {why}"):
        slow.learnt()
    assert slow.done[-2:] == ["stopped", "closed"]
    sent_s = 2 * POOL / 4000
    waited_s = 60.0 + sent_s if error is None else sent_s
    assert slow.script.at_s == pytest.approx(waited_s, abs=0.3)
