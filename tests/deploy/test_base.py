"""What a profile with a base brings to a host: its own files there with the changes, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tuner.deploy.host_profile import HostProfile, PlannedProfile, host_profile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.plan import DeployPlan, host_change, read_plan, saved, unfit
from tuner.deploy.target import Facts
from tuner.deploy.trial_host import unfit_for_trial
from tuner.errors import BadProfile, Refused
from tuner.lint.load import LoadedProfile, load_profile
from tuner.render.form import WHOLE, Form

HOST = InventoryHost("collector1", "ssh://collector1")
CONF, DROP_IN = "/etc/rsyslog.conf", "/etc/rsyslog.d/50-es.conf"
MAIN = 'module(load="imtcp")\ninput(type="imtcp" port="10514")\ninclude(file="{}")\n'
ENGINE = '# kept \xe9\naction(type="omelasticsearch" name="es" queue.size="2000")\n'
CHANGES = "changes:\n  action[es].queue.size: 5000\n  main_queue.size: 70000\n"


def profile(folder: Path, base: str, changes: str = CHANGES) -> LoadedProfile:
    path = folder / "prod.yaml"
    path.write_text(f"name: prod\nbase: {base}\n{changes}", encoding="utf-8")
    return load_profile(path)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with a copy of a host's files."""
    etc = tmp_path / "files/etc"
    (etc / "rsyslog.d").mkdir(parents=True)
    (etc / "rsyslog.conf").write_text(MAIN.format("/etc/rsyslog.d/*.conf"), encoding="utf-8")
    (etc / "rsyslog.d/50-es.conf").write_text(ENGINE, encoding="latin-1")
    return tmp_path


@pytest.fixture
def own(copied: Path) -> HostProfile:
    base = "{rsyslog: files/etc/rsyslog.conf, root: files}"
    return host_profile(profile(copied, base), HOST, None, WHOLE)


def facts(live: Mapping[str, str]) -> Facts:
    files = {path: text.encode("latin-1") for path, text in live.items()}
    return Facts("8.2302.0", files, None, 1, frozenset(), frozenset())


THERE = {CONF: MAIN.format("/etc/rsyslog.d/*.conf"), DROP_IN: ENGINE}


def test_each_file_of_a_copy_goes_where_it_came_from_byte_for_byte_but_for_the_changes(
    own: HostProfile,
) -> None:
    change = host_change(own, facts(THERE))
    assert change.paths == (CONF, DROP_IN)
    assert own.files[DROP_IN].encode("utf-8", "surrogateescape") == ENGINE.replace(
        "2000", "5000"
    ).encode("latin-1")
    assert own.files[CONF] == 'main_queue(queue.size="70000")\n' + THERE[CONF]
    lines = [line for line in change.diff.splitlines() if line[:1] in "+-"]
    assert len(lines) == 2 * 2 + 1 + 2, "two heads, a line added, a line changed"


def test_what_the_host_has_already_is_not_replaced(own: HostProfile) -> None:
    done = dict(own.files) | {DROP_IN: ENGINE.replace("2000", "5000")}
    assert host_change(own, facts(done)).paths == ()
    assert host_change(own, facts(done)).diff == ""
    assert host_change(own, facts(done | {DROP_IN: ENGINE})).paths == (DROP_IN,)


def test_a_plan_keeps_bytes_that_are_no_utf_8(own: HostProfile, copied: Path) -> None:
    loaded = load_profile(copied / "prod.yaml")
    change = host_change(own, facts(THERE))
    plan = DeployPlan(PlannedProfile(str(loaded.path), loaded.text, (), loaded.beside), (change,))
    read = read_plan(saved(plan), "plan.json")
    assert read == plan
    (copied / "files/etc/rsyslog.conf").unlink()
    assert read is not None
    assert read.profile.loaded.profile == loaded.profile, (
        "as it was planned, whatever became of the files"
    )


@pytest.mark.parametrize(
    "live",
    [
        THERE,
        THERE | {DROP_IN: ENGINE.replace("2000", "3000")},
        THERE | {CONF: 'main_queue(queue.size="1")\n' + THERE[CONF]},
    ],
    ids=["as it was", "other values of what is changed", "applied before with other values"],
)
def test_a_host_fits_where_only_parameters_differ_that_the_profile_changes(
    own: HostProfile, live: Mapping[str, str]
) -> None:
    assert not list(unfit(own, facts(live), take_over=False))


@pytest.mark.parametrize(
    ("live", "why"),
    [
        (THERE | {DROP_IN: f"{ENGINE}:omusrmsg:*\n"}, "50-es.conf differs from what the profile"),
        (THERE | {DROP_IN: 'action(type="omfile" file="/x")\n'}, "have no place in its own files"),
        ({CONF: THERE[CONF]}, "has no /etc/rsyslog.d/50-es.conf: the profile stands on other"),
    ],
)
def test_a_host_with_other_files_keeps_them_unless_told_otherwise(
    own: HostProfile, live: Mapping[str, str], why: str
) -> None:
    (said,) = unfit(own, facts(live), take_over=False)
    assert re.search(why, said)
    assert not list(unfit(own, facts(live), take_over=True))


@pytest.mark.parametrize(
    ("base", "form", "there"),
    [
        ("rsyslog.conf", WHOLE, ["/srv/rsyslog.conf", "/srv/rsyslog.d/a.conf"]),
        ("rsyslog.conf", Form({}, is_fragment=True), ["/srv/rsyslog.d/rsyslog.conf"]),
    ],
)
def test_a_base_beside_its_profile_is_the_hosts_configuration_or_a_drop_in(
    tmp_path: Path, base: str, form: Form, there: list[str]
) -> None:
    (tmp_path / "rsyslog.d").mkdir()
    (tmp_path / "rsyslog.d/a.conf").write_text(ENGINE, encoding="utf-8")
    inner = "rsyslog.d/*.conf" if len(there) > 1 else "none/*.conf"
    (tmp_path / base).write_text(MAIN.format(inner) + "*.* /var/log/all\n", encoding="utf-8")
    paths = HOST.paths.model_copy(
        update={"configuration": "/srv/rsyslog.conf", "fragments": "/srv/rsyslog.d"}
    )
    loaded = profile(tmp_path, f"{{rsyslog: {base}}}", "")
    own = host_profile(loaded, replace(HOST, paths=paths), None, form)
    assert list(own.files) == there


def test_a_file_that_apply_does_not_replace_is_refused_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/es.conf").write_text(ENGINE, encoding="utf-8")
    (tmp_path / "rsyslog.conf").write_text(MAIN.format("opt/es.conf"), encoding="utf-8")
    with pytest.raises(Refused, match=r"/etc/opt/es\.conf is neither /etc/rsyslog\.conf nor"):
        host_profile(profile(tmp_path, "{rsyslog: rsyslog.conf}"), HOST, None, WHOLE)


def test_a_base_that_is_not_below_its_root_is_named_in_the_profile(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(MAIN.format("none/*.conf"), encoding="utf-8")
    with pytest.raises(BadProfile, match=r"prod.yaml:2:.*is not below .*other, which stands for /"):
        profile(tmp_path, "{rsyslog: rsyslog.conf, root: other}")


def test_a_host_gets_its_own_values_among_the_changes(copied: Path) -> None:
    base = "{rsyslog: files/etc/rsyslog.conf, root: files}"
    machine = replace(HOST, changes=(("outputs[es].queue.size", 9000),))
    own = host_profile(profile(copied, base), machine, None, WHOLE)
    assert 'queue.size="9000"' in own.files[DROP_IN]
    assert 'queue.size="70000"' in own.files[CONF]


COUNTERS = 'module(load="impstats" interval="{}" log.file="/var/log/stats.log")\n'
TCP, UDP = (f'module(load="{one}")\ninput(type="{one}" port="514")\n' for one in ("imtcp", "imudp"))
FEWER: Mapping[str, object] = {"action[es].queue.size": 1000}


def why_no_trial(
    folder: Path,
    changes: Mapping[str, object],
    head: str = COUNTERS.format(10) + TCP,
    *,
    lossy: bool = False,
) -> list[str]:
    """Why a host with these lines before its action is not one for a trial of such changes, in
    blocks of 10 minutes."""
    (folder / "rsyslog.conf").write_text(head + ENGINE, encoding="latin-1")
    text = f"changes: {json.dumps(changes)}\n" if changes else ""
    own = host_profile(profile(folder, "{rsyslog: rsyslog.conf}", text), HOST, None, WHOLE)
    return list(unfit_for_trial(own, 600.0, 60.0, lossy=lossy))


@pytest.mark.parametrize(
    "changes",
    [
        FEWER, {"action[es].queue.size": None}, {"action[es].queue.type": None},
        {"action[es].queue.type": "FixedArray"},
    ],
)  # fmt: skip
def test_a_trial_changes_how_a_queue_works(changes: Mapping[str, object], tmp_path: Path) -> None:
    assert why_no_trial(tmp_path, changes) == []


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("queue.type", "Disk"), ("queue.type", "segmentedDisk"), ("queue.saveOnShutdown", "on"),
        ("QUEUE.filename", "es"), ("server", "es2.example.org"), ("template", None),
    ],
)  # fmt: skip
def test_a_trial_changes_no_promise_and_no_place(
    parameter: str, value: object, tmp_path: Path
) -> None:
    (why,) = why_no_trial(tmp_path, {**FEWER, f"action[es].{parameter}": value})
    assert why.startswith(f"collector1: action[es].{parameter} is a promise or a place")


@pytest.mark.parametrize(
    ("changes", "head", "why"),
    [
        ({}, COUNTERS.format(10) + TCP, "the profile changes nothing"),
        (FEWER, TCP, "writes no counters to a file"),
        (FEWER, COUNTERS.format(109) + TCP, "counts every 109 s, too seldom for blocks of 10 min"),
        (FEWER, COUNTERS.format(108) + UDP, "each restart loses datagrams: --lossy-restarts"),
    ],
)
def test_a_host_whose_trial_would_show_nothing_or_lose_events_is_refused(
    changes: Mapping[str, object], head: str, why: str, tmp_path: Path
) -> None:
    (said,) = why_no_trial(tmp_path, changes, head)
    assert why in said
    assert why_no_trial(tmp_path, FEWER, COUNTERS.format(108) + UDP, lossy=True) == []
    assert why_no_trial(tmp_path, FEWER, COUNTERS.format(108) + UDP + TCP) == []
