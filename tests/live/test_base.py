"""A configuration of the user's, measured as it runs: every event by what is expected of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.test_base import loaded
from tests.safety.trials import SHORT, silent, sink_lab
from tuner.engine.client import EngineClient
from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents
from tuner.engine.sampled import Content
from tuner.engines.release import Release
from tuner.lab.lab import Lab, attached_lab, new_run_id
from tuner.lab.scratch import scratch
from tuner.measure.learning import learnt
from tuner.measure.measurement import Failure, Measurement, Result
from tuner.measure.place import run_profile
from tuner.modules.omelasticsearch import refuses_type
from tuner.profile.model import Profile

HEAD = 'module(load="imtcp")\nmodule(load="omelasticsearch")\ninput(type="imtcp" port="10514")\n'
QUEUE = 'queue.type="LinkedList" queue.timeoutEnqueue="86400000" bulkmode="on" searchType=""'
ES = f'action(type="omelasticsearch" name="es" {QUEUE}'
MORE = ES.replace('"es"', '"more"')
KINDS = ("imptcp", "imudp", "imrelp")


def ruleset(name: str, queue: str = "") -> str:
    """A ruleset with an engine action of the same name."""
    return f'ruleset(name="{name}"{queue}) {{\n  {ES.replace("es", name)})\n}}\n'


RULESET = 'ruleset="r" port'
CONFIGURATIONS = {
    "as it is": f"{HEAD}{ES})\n",
    "a filter": f"{HEAD}if $syslogseverity <= 5 then {{\n  {ES})\n}}\n",
    "two outputs into one index": f'{HEAD}{ES} searchIndex="one")\n'
    f'if $syslogseverity <= 4 then {MORE} searchIndex="one")\n',
    "stop": f'{HEAD}:programname, isequal, "sshd" stop\n{ES})\n',
    "a subtree of variables": f'{HEAD}template(name="t" type="subtree" subtree="$!")\n'
    f'set $!message = $msg;\n{ES} template="t")\n',
    "the old form before it": f"$MainMsgQueueSize 20000\n{HEAD}*.info;auth.none {ES})\n",
    "a program that no invented message has": f'{HEAD}if $programname == "billing" '
    f'and $msg contains "refused" then {ES})\n',
    "parsed JSON": f'{HEAD}module(load="mmjsonparse")\n'
    'template(name="t" type="list") { constant(value="{")\n'
    '  property(name="$!user!name" outname="user" format="jsonf") constant(value="}") }\n'
    'action(type="mmjsonparse" cookie="")\n'
    f'if $!level == "error" then {ES} template="t")\n',
    "JSON as it is the document": f'{HEAD}module(load="mmjsonparse")\n'
    'template(name="t" type="list") { property(name="$!all-json") }\n'
    'action(type="mmjsonparse" cookie="")\n'
    f'if $!level == "error" then {ES} template="t")\n',
    "a message that is the document": f'{HEAD}template(name="t" type="string" string="%msg%")\n'
    f'{ES} template="t")\n',
    "forwarding": f"{HEAD}*.* @@elsewhere:10514\n*.* @@(o)elsewhere\n*.* @elsewhere\n*.* {ES})\n",
    "lines of files": 'module(load="imfile")\nmodule(load="omelasticsearch")\n'
    'input(type="imfile" File="/var/log/app*.log" Tag="app:" ruleset="r")\n'
    f'ruleset(name="r") {{\n  {ES})\n}}\n',
    "several inputs": f"{HEAD.replace('port', RULESET)}{ruleset('r')}"
    'input(type="imtcp" port="10515" ruleset="s")\n'
    f'ruleset(name="s") {{\n  if $syslogseverity <= 5 then {{ {MORE}) }}\n}}\n',
    "inputs of several kinds": 'module(load="omelasticsearch")\n'
    + "".join(
        f'module(load="{kind}")\ninput(type="{kind}" port="514" ruleset="{kind}")\n'
        + ruleset(kind, ' queue.type="LinkedList" queue.timeoutEnqueue="86400000"')
        for kind in KINDS
    ),
    "several files": 'module(load="imfile")\nmodule(load="omelasticsearch")\n'
    + "".join(
        f'input(type="imfile" File="/var/log/{name}*.log" Tag="{name}:" ruleset="{name}")\n'
        + ruleset(name)
        for name in ("web", "app")
    ),
    "a ruleset with a queue": f"{HEAD.replace('port', RULESET)}"
    f'ruleset(name="r" queue.type="FixedArray") {{\n  {ES})\n}}\n',
}

FILTERED = {
    "a filter", "stop", "the old form before it", "a program that no invented message has",
    "parsed JSON", "JSON as it is the document", "several inputs",
}  # fmt: skip


def measured(lab: Lab, profile: Profile) -> Result:
    return run_profile(lab, profile, SHORT, "trial", silent)


CASES = [
    pytest.param(one, marks=() if one == "several inputs" else pytest.mark.full)
    for one in CONFIGURATIONS
]


def documents_per_event(expectation: Expectation) -> float:
    """Documents per event of the pool in the mean."""
    pool = len(expectation.outputs[0])
    return expectation.documents(SentEvents((pool,))) / pool


@pytest.mark.parametrize("case", CASES)
def test_every_event_is_accounted_for(case: str, tmp_path: Path, contents: list[Content]) -> None:
    profile = loaded(tmp_path, conf=CONFIGURATIONS[case]).profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs) as lab:
        outcome = measured(lab, profile)
        assert isinstance(outcome, Measurement), outcome
        assert outcome.delivery.exact
        assert outcome.delivery.sent > 0
        per_event = documents_per_event(learnt(lab, profile).expectation)
    assert (per_event < 1) == (case in FILTERED)
    assert (per_event > 1) == (case == "two outputs into one index")
    (content,) = contents
    assert content == Content(compared=content.compared)
    assert content.compared > 200


@pytest.mark.full
def test_each_engine_takes_it_and_every_event_is_accounted_for(
    each_engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    """An index with a mapping takes no type but _doc (Elasticsearch 7), and not every engine
    searches a field without an index."""
    release, client = each_engine
    engine, (major, minor) = release.engine.value, release.engine_version
    kind = "" if refuses_type(release.engine, major) else "events"
    conf = CONFIGURATIONS["two outputs into one index"].replace(
        'searchType=""', f'searchType="{kind}"'
    )
    written = f'release: {{{engine}: "{major}.{minor}"}}\n'
    profile = loaded(tmp_path, written, conf).profile
    own = EngineClient(client.url)
    with scratch(tmp_path) as folder, attached_lab(own, folder, new_run_id(), "512m") as lab:
        outcome = measured(lab, profile)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact
    assert outcome.delivery.sent > 0


UNREACHED = f"""\
{HEAD}module(load="omrelp")
if $msg contains "that nobody writes" then {{
  action(type="omfile" file="/var/log/never.log")
}}
*.* @@elsewhere
*.* @elsewhere
*.* :omrelp:elsewhere:2514
*.* {ES})
"""


def test_what_the_traffic_does_not_reach_is_told_and_what_is_forwarded_comes(
    tmp_path: Path,
) -> None:
    profile = loaded(tmp_path, conf=UNREACHED).profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs) as lab:
        (line,) = learnt(lab, profile).untested
    place = f"{tmp_path}/rsyslog.conf:6:3 action[1]"
    assert line == f"1 of 5 actions, which got no event: {place}"


@pytest.mark.full
def test_a_queue_that_waits_is_learnt_from_all_the_same(tmp_path: Path) -> None:
    waits = ' queue.dequeueSlowDown="10000000" queue.dequeueTimeBegin="23" queue.dequeueTimeEnd="1"'
    profile = loaded(tmp_path, conf=f"{HEAD}{ES}{waits})\n").profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs) as lab:
        assert documents_per_event(learnt(lab, profile).expectation) == 1


@pytest.mark.full
def test_traffic_like_that_of_a_log_is_accounted_for(tmp_path: Path) -> None:
    lines = (
        f"<{(134, 131)[n % 3 == 0]}>Nov 25 17:00:{n % 60:02} web{n % 7} sshd[{n}]: Failed password "
        f"for user{n % 9} from 192.0.2.{n % 250} port {40_000 + n} ssh2\n"
        for n in range(3000)
    )
    (tmp_path / "auth.log").write_text("".join(lines), encoding="utf-8")
    conf = f"{HEAD}if $syslogseverity <= 4 then {{\n  {ES})\n}}\n"
    profile = loaded(tmp_path, "workload: {sample: auth.log}\n", conf=conf).profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs) as lab:
        outcome = measured(lab, profile)
        assert isinstance(outcome, Measurement), outcome
        assert outcome.delivery.exact
        share = documents_per_event(learnt(lab, profile).expectation)
        assert share == pytest.approx(1 / 3, abs=0.05)


# Each way by which events are told apart; the events that are lost and doubled are one message of
# the pool, which gives a document in all of them.
LOST, DOUBLED = 1497, 2497
NUMBERED = [
    "as it is",
    *(
        pytest.param(case, marks=pytest.mark.full)
        for case in (
            "a subtree of variables", "JSON as it is the document", "lines of files",
            "a message that is the document",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", NUMBERED)
def test_exactly_what_was_lost_or_doubled_is_told(case: str, tmp_path: Path) -> None:
    """Both in one run, so that the sums are right and only the identities tell."""
    profile = loaded(tmp_path, conf=CONFIGURATIONS[case]).profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs, f"drop-event={LOST}", f"double-event={DOUBLED}") as lab:
        outcome = measured(lab, profile)
    assert isinstance(outcome, Failure), outcome
    assert outcome.delivery is not None
    assert (outcome.delivery.lost, outcome.delivery.duplicated) == (1, 1)
    assert (outcome.delivery.missing, outcome.delivery.doubled) == ((LOST,), (DOUBLED,))


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (2500, "imptcp"),
        pytest.param(2200, "imrelp", marks=pytest.mark.full),
        pytest.param(2400, "imudp", marks=pytest.mark.full),
    ],
)
def test_an_event_that_any_input_loses_is_told(number: int, kind: str, tmp_path: Path) -> None:
    profile = loaded(tmp_path, conf=CONFIGURATIONS["inputs of several kinds"]).profile
    labs = tmp_path / "labs"
    labs.mkdir()
    with sink_lab(labs, f"drop-event={number}") as lab:
        outcome = measured(lab, profile)
        outputs = learnt(lab, profile).expectation.outputs
    # Each kind of input has an engine action of its own.
    assert [one[number % 1000] for one in outputs] == [int(one == kind) for one in KINDS]
    assert isinstance(outcome, Failure), outcome
    assert outcome.delivery is not None
    assert (outcome.delivery.lost, outcome.delivery.duplicated) == (1, 0)
    assert outcome.delivery.missing == (number,)
