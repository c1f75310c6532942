"""What an upgrade changes for a configuration: facts that concern it, and none that do not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tuner.lint.upgrade import (
    FactNeed,
    ReleaseFact,
    Software,
    UpgradePart,
    facts,
    faults_met,
    objects,
    upgrade_steps,
    version_of,
)
from tuner.script.configuration import configuration
from tuner.script.objects import Base, base_of

OLD, NEW = (8, 2302), (8, 2610)


def base_from(folder: Path, text: str) -> Base:
    path = folder / "rsyslog.conf"
    path.write_text(text, encoding="utf-8")
    return base_of(configuration(path))


def fact(*needs: FactNeed, **values: object) -> ReleaseFact:
    known: dict[str, object] = {
        "of": Software.RSYSLOG, "source": "rsyslog#1", "since": None, "fixed": None,
        "is_fault": True, "effect": "loss", "needs": needs, "what": "", "way_out": "",
    }  # fmt: skip
    return ReleaseFact(**{**known, **values})  # type: ignore[arg-type]


def need(
    kind: str = "", module: str = "", parameter: str = "", values: str = "", *, absent: bool = False
) -> FactNeed:
    return FactNeed(kind, module, parameter, frozenset(values.split()), absent)


TLS = need("input", "imtcp", "streamdriver.mode", "1")
FORMS = {
    "object": 'module(load="imtcp")\ninput(type="imtcp" port="514" streamDriver.mode="1")\n',
    "another word": 'input(type="imtcp" port="514" StreamDriver.Mode="1")\n',
    "in a ruleset": 'ruleset(name="r") {\n  action(type="omfwd" target="a" queue.type="Disk"\n'
    '    queue.filename="f")\n}\ninput(type="imtcp" port="1" streamDriver.mode="1")\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_an_object_that_has_all_is_concerned(form: str, tmp_path: Path) -> None:
    assert fact(TLS).concerns(base_from(tmp_path, FORMS[form])) is not None


@pytest.mark.parametrize(
    "text",
    [
        'input(type="imtcp" port="514" streamDriver.mode="0")\n',
        'input(type="imtcp" port="514")\n',
        'input(type="imptcp" port="514")\nmodule(load="imtcp" streamDriver.mode="1")\n',
        '# input(type="imtcp" streamDriver.mode="1")\naction(type="omfile" file="/x")\n',
    ],
)
def test_what_lacks_a_part_is_not_concerned(text: str, tmp_path: Path) -> None:
    assert fact(TLS).concerns(base_from(tmp_path, text)) is None


def test_included_files_the_old_format_and_words_for_on_count(tmp_path: Path) -> None:
    (tmp_path / "more.conf").write_text('action(type="omfile" file="/x" sync="YES")\n')
    base = base_from(
        tmp_path,
        f'include(file="{tmp_path}/more.conf")\n$ModLoad imudp\n$ActionQueueType Disk\n'
        "$ActionQueueFileName q\n*.* @@host:514\n",
    )
    sync = fact(need("action", "omfile", "sync", "on")).concerns(base)
    assert sync is not None
    assert sync[0].file == str(tmp_path / "more.conf")
    assert fact(need("module", "imudp")).concerns(base) is not None
    assert fact(need("action", "omfwd", "queue.type", "disk linkedlist")).concerns(base) is not None
    assert fact(need("action", "omfwd", "queue.size", absent=True)).concerns(base) is not None
    assert fact(need("action", "omfwd", "queue.type", absent=True)).concerns(base) is None


DYNAMIC = """
template(name="first" type="string" string="%$.folder%/%hostname%.log")
template(name="list" type="list") { property(name="$.folder") constant(value="/x.log") }
template(name="fixed" type="string" string="/var/log/%hostname%.log")
action(type="omfile" dynaFile="NAME" PARAMETERS)
"""
ESCAPES = "dynafile.dangerousPermitPathEscape"
BLOCKED = "may make no path from the root"
LEFT = "lead out of the constant directory"


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("first", "", [BLOCKED]), ("list", "", [BLOCKED]), ("fixed", "", [LEFT]),
        ("first", f'{ESCAPES}="on"', []), ("fixed", f'{ESCAPES}="on"', []), ("nowhere", "", []),
    ],
)  # fmt: skip
def test_how_a_template_begins_decides_what_becomes_of_paths(
    name: str, parameters: str, told: list[str], tmp_path: Path
) -> None:
    text = DYNAMIC.replace("NAME", name).replace("PARAMETERS", parameters)
    steps = upgrade_steps(base_from(tmp_path, text), Software.RSYSLOG, OLD, NEW)
    found = [words for words in (BLOCKED, LEFT) for step in steps if words in step.fact.what]
    assert found == told


@pytest.mark.parametrize(("path", "told"), [("%$.folder%/x", BLOCKED), ("/var/%hostname%", LEFT)])
def test_templates_of_the_old_form_begin_as_well(path: str, told: str, tmp_path: Path) -> None:
    base = base_from(tmp_path, f'$template old,"{path}"\n*.* ?old\n')
    steps = upgrade_steps(base, Software.RSYSLOG, OLD, NEW)
    found = [words for words in (BLOCKED, LEFT) for step in steps if words in step.fact.what]
    assert found == [told]


def test_needs_of_one_module_are_of_one_object_and_global_counts_as_one(tmp_path: Path) -> None:
    base = base_from(
        tmp_path,
        """
global(preserveFQDN="on")
global(workDirectory="/w")
action(type="omfile" file="/a" sync="on")
action(type="omfile" file="/b" asyncWriting="on")
""",
    )
    both = (need("action", "omfile", "sync", "on"), need("action", "omfile", "asyncwriting", "on"))
    assert fact(*both).concerns(base) is None
    assert fact(both[0]).concerns(base) is not None
    assert fact(need("global", "", "preservefqdn", "on")).concerns(base) is not None
    assert fact(need("global", "", "workdirectory", absent=True)).concerns(base) is None
    nothing = base_from(tmp_path, 'action(type="omfile" file="/a")')
    assert fact(need("global", "", "workdirectory", absent=True)).concerns(nothing) is not None


def test_omfwd_spells_tls_in_two_ways_and_imtcp_in_one(tmp_path: Path) -> None:
    base = base_from(
        tmp_path,
        """
action(type="omfwd" target="a" streamDriver.mode="1")
input(type="imtcp" port="1")
""",
    )
    assert fact(need("action", "omfwd", "streamdrivermode", "1")).concerns(base) is not None
    assert fact(need("input", "imtcp", "streamdriver.mode", "1")).concerns(base) is None


def test_a_fault_is_met_left_behind_or_neither() -> None:
    since, fixed = fact(since=(8, 2504)), fact(fixed=(8, 2504))
    assert (since.holds(OLD), since.holds(NEW)) == (False, True)
    assert (fixed.holds(OLD), fixed.holds(NEW)) == (True, False)
    assert version_of("8.2204.1") > version_of("8.2204")


def test_every_fact_is_whole_and_says_where_it_is_known_from() -> None:
    assert len([item for item in facts() if item.is_fault]) >= 60
    for item in facts():
        assert item.source
        assert item.what
        assert item.since is None or item.fixed is None or item.since < item.fixed, item
        assert item.is_fault or item.effect in {part.value for part in UpgradePart}, item
        assert item.is_fault or item.since is not None, item
        assert not item.what.endswith("."), item.what


def test_a_plain_configuration_is_concerned_by_little(tmp_path: Path) -> None:
    """What asks for too little alarms everybody."""
    base = base_from(tmp_path, 'module(load="imuxsock")\n*.* /var/log/messages\n')
    assert len(faults_met(base, Software.RSYSLOG, OLD)) <= 5
    steps = upgrade_steps(base, Software.RSYSLOG, OLD, NEW)
    assert not [step for step in steps if step.is_broken]
    assert upgrade_steps(base, Software.ELASTICSEARCH, (7, 17), (9, 5)) == ()


def test_steps_come_in_the_order_of_what_must_be_done_first(tmp_path: Path) -> None:
    base = base_from(
        tmp_path,
        'module(load="omelasticsearch")\naction(type="omelasticsearch" server="a" bulkmode="on"\n'
        ' searchType="events" retryFailures="on" queue.type="LinkedList" queue.filename="f"\n'
        ' queue.spoolDirectory="/var/spool/rsyslog")\n',
    )
    steps = upgrade_steps(base, Software.RSYSLOG, (8, 2102), NEW)
    assert [step.order for step in steps] == sorted(step.order for step in steps)
    assert len(steps) > 3
    assert upgrade_steps(base, Software.ELASTICSEARCH, (7, 17), (8, 19))
    assert len(list(objects(base))) >= 2


THREADS = tomllib.loads(
    (Path(__file__).parent / "upgrade_threads.toml").read_text(encoding="utf-8")
)["thread"]


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread["source"])
def test_public_threads_are_answered_by_the_fact_of_their_number(
    thread: dict[str, str], tmp_path: Path
) -> None:
    base, after = base_from(tmp_path, thread["conf"]), version_of(thread["after"])
    told = [*faults_met(base, Software.RSYSLOG, after)]
    if thread["before"]:
        told += upgrade_steps(base, Software.RSYSLOG, version_of(thread["before"]), after)
    assert thread["source"] in {step.fact.source for step in told}


def test_what_concerns_one_thread_is_not_told_to_a_host_that_only_writes_files(
    tmp_path: Path,
) -> None:
    base = base_from(tmp_path, 'module(load="imuxsock")\n*.* /var/log/messages\n')
    numbers = {thread["source"] for thread in THREADS}
    for thread in THREADS:
        told = faults_met(base, Software.RSYSLOG, version_of(thread["after"]))
        assert len({step.fact.source for step in told} & numbers) <= 1
