"""What an apply may replace on a host and in an engine, and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.deploy.fleet import AFTER, BEFORE, TEMPLATE, plan_of
from tests.profile.examples import SMALL, small
from tests.profile.test_base import loaded as base_profile
from tuner.deploy.apply import entrance_of
from tuner.deploy.host_profile import HostProfile, for_host, host_profile, needs_of
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import ClusterObject
from tuner.deploy.plan import (
    DeployPlan,
    engine_changes,
    host_change,
    read_plan,
    release_number,
    require_same_engine,
    saved,
    unfit,
)
from tuner.deploy.target import Facts
from tuner.engine.client import JSON, EngineClient
from tuner.errors import BadUsage, Refused
from tuner.lint.load import parse_profile
from tuner.profile.model import Profile
from tuner.profile.placement import sockets_of
from tuner.render.artefacts import configuration
from tuner.render.form import WHOLE, Form
from tuner.script.secrets import hidden

CLIENT = EngineClient("http://engine.invalid")
PROFILE = small()
FILE = configuration(PROFILE)
LIVE = "/etc/rsyslog.conf"


def own_of(profile: Profile, live: str = LIVE, *, private: bool = False) -> HostProfile:
    """What a host is to run."""
    file = configuration(profile)._replace(private=private)
    machine = InventoryHost("a", "ssh://a")
    return HostProfile(machine, profile, {file.path: file}, {file.path: live})


OWN = own_of(PROFILE)
MINE = {"_meta": {"managed_by": "rsyslog-tune"}}


def facts(live: str | None = FILE.text, rsyslogd: str = "8.2302.0", *taken: str) -> Facts:
    files = {} if live is None else {LIVE: live.encode()}
    return Facts(rsyslogd, files, None, 1, frozenset(), frozenset(taken))


def differing(before: JSON | None, path: str = TEMPLATE, name: str = "it") -> ClusterObject:
    return ClusterObject(name, before, AFTER, path, AFTER, before)


def changes(
    monkeypatch: pytest.MonkeyPatch, *objects: ClusterObject, take_over: bool = False
) -> list[str]:
    """The paths of what would be put into an engine that differs so; raises Refused."""
    monkeypatch.setattr("tuner.deploy.plan.compare", lambda *_: objects)
    found, foreign = engine_changes(PROFILE, CLIENT, None, take_over)
    if foreign:
        raise Refused("; ".join(foreign))
    return [one.path for one in found]


def test_all_that_is_in_the_way_is_said_with_what_would_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = [differing({}, name=name) for name in ("one", "two")]
    monkeypatch.setattr("tuner.deploy.plan.compare", lambda *_: theirs)
    found, foreign = engine_changes(PROFILE, CLIENT, None, take_over=False)
    assert (len(found), len(foreign)) == (2, 2)
    old = facts("*.* /var/log/x\n", "8.2210.0", "tcp:10514")
    assert [re.findall("is for|not rendered|taken by", one) for one in unfit(OWN, old, False)] == [
        ["is for"], ["not rendered"], ["taken by"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "before",
    [{}, {"_meta": {}}, {"_meta": {"managed_by": "fleet"}}, {"_meta": "rsyslog-tune"},
     {"policy": {"description": "30 days"}}, {"policy": {"_meta": {"managed_by": "fleet"}}}],
)  # fmt: skip
def test_an_object_that_somebody_else_made_is_replaced_only_if_that_is_asked_for(
    before: JSON, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused, match="was not made by rsyslog-tune"):
        changes(monkeypatch, differing(before))
    assert changes(monkeypatch, differing(before), take_over=True) == [TEMPLATE]


@pytest.mark.parametrize(
    "before",
    [None, MINE, {"policy": MINE}, {"policy": {"description": "Rendered by rsyslog-tune"}}],
)
def test_an_object_of_ours_or_of_nobody_is_put(
    before: JSON | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changes(monkeypatch, differing(before)) == [TEMPLATE]


def test_settings_of_open_indices_have_no_maker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert changes(monkeypatch, differing({}, "/logs-1/_settings")) == ["/logs-1/_settings"]


def test_an_alias_without_an_index_to_write_to_is_nobodys_to_mend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alias = differing({}, "/logs-000001", "alias logs")
    with pytest.raises(Refused, match="writes to no index"):
        changes(monkeypatch, alias, take_over=True)
    missing = differing(None, "/logs-000001", "alias logs")
    assert changes(monkeypatch, missing) == ["/logs-000001"]


def test_what_is_as_it_should_be_is_left_alone_whoever_made_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert changes(monkeypatch, replace(differing({}), found=AFTER)) == []


def test_what_needs_another_object_is_put_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [
        "/_ilm/policy/logs", "/_component_template/logs-mappings", "/_index_template/logs",
        "/logs-000001", "/logs-1/_settings",
    ]  # fmt: skip
    objects = [differing(None, path) for path in reversed(wanted)]
    assert changes(monkeypatch, *objects) == wanted


@pytest.mark.parametrize("rsyslogd", ["8.2210.0", "8.39.0", "7.2302.0", ""])
def test_a_host_with_an_older_rsyslogd_is_not_one_for_the_profile(rsyslogd: str) -> None:
    (said,) = unfit(OWN, facts(rsyslogd=rsyslogd), take_over=True)
    assert re.search(r"is for rsyslog 8\.2302 or newer", said)


@pytest.mark.parametrize("rsyslogd", ["8.2302.0", "8.2504.0", "9.1.0"])
def test_a_host_with_that_rsyslogd_or_a_newer_one_is(rsyslogd: str) -> None:
    assert not list(unfit(OWN, facts(rsyslogd=rsyslogd), take_over=False))


def test_a_configuration_of_somebody_else_is_replaced_only_if_that_is_asked_for() -> None:
    theirs = facts('module(load="imuxsock")\n')
    (said,) = unfit(OWN, theirs, take_over=False)
    assert re.search("is not rendered by rsyslog-tune", said)
    assert not list(unfit(OWN, theirs, take_over=True))
    assert not list(unfit(OWN, facts(None), take_over=False))


def test_a_port_that_another_program_has_is_in_the_way() -> None:
    assert not list(unfit(OWN, facts(FILE.text, "8.2302.0", "udp:10514"), take_over=False))
    (said,) = unfit(OWN, facts(FILE.text, "8.2302.0", "tcp:10514"), take_over=True)
    assert re.search("tcp:10514 is taken by another program", said)


def test_a_change_shows_no_password_and_knows_what_it_was_planned_for() -> None:
    live = 'action(type="omelasticsearch" uid="me" pwd="s3cret" apiKey=\'k3y\')\n'
    change = host_change(OWN, facts(live))
    assert "s3cret" not in change.diff
    assert "k3y" not in change.diff
    assert 'uid="me" pwd="***" apiKey=\'***\'' in change.diff
    assert change.candidate.files == ((LIVE, FILE.text),)
    assert (change.candidate.mode, change.candidate.sockets) == ("644", ("tcp:10514",))
    assert change.paths == (LIVE,)
    same = host_change(OWN, facts())
    assert (same.diff, same.paths) == ("", ())
    assert host_change(own_of(PROFILE, private=True), facts(None)).candidate.mode == "600"
    assert host_change(OWN, facts(None)).before == (None,)


def test_a_secret_that_only_refers_to_its_place_is_shown() -> None:
    line = "action(pwd=`echo $PASSWORD`)\n"
    assert hidden(line) == line


def test_a_plan_is_read_as_it_was_saved() -> None:
    plan = plan_of("a", "b")
    assert read_plan(saved(plan), "plan.json") == plan
    assert read_plan(SMALL, "small.yaml") is None
    with pytest.raises(BadUsage, match=r"plan\.json is not a plan of this version"):
        read_plan(saved(plan).replace('"hosts"', '"machines"'), "plan.json")


def held(plan: DeployPlan, monkeypatch: pytest.MonkeyPatch, **templates: JSON) -> None:
    """Ask whether the engine is as it was planned for, where it has these index templates."""
    there = [SimpleNamespace(name=name, body=body) for name, body in templates.items()]
    monkeypatch.setattr(
        "tuner.deploy.objects.installed_templates", lambda client: there if client is CLIENT else []
    )
    require_same_engine(plan, CLIENT)


def test_an_engine_that_changed_since_the_plan_is_not_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plan is for an engine that has the template syslog and no template logs."""
    plan = plan_of()
    held(plan, monkeypatch, syslog=BEFORE)
    others: list[dict[str, JSON]] = [
        {}, {"syslog": AFTER}, {"syslog": BEFORE, "logs": BEFORE},
    ]  # fmt: skip
    for other in others:
        with pytest.raises(Refused, match="the engine changed since the plan"):
            held(plan, monkeypatch, **other)


def test_releases_are_compared_as_numbers() -> None:
    assert release_number("8.2302.0") == (8, 2302) == release_number("8.2302")
    assert release_number("8.39.0") < release_number("8.2302")


def changed(*values: tuple[str, object]) -> InventoryHost:
    return InventoryHost("a", "ssh://a", changes=cast(tuple[tuple[str, int], ...], values))


def test_a_host_runs_the_profile_with_its_own_changes() -> None:
    loaded = parse_profile(SMALL, "small.yaml")
    assert for_host(loaded, changed()) is loaded
    own = for_host(loaded, changed(("inputs[0].port", 10_515), ("name", "other"))).profile
    assert (sockets_of(own), own.name) == (("tcp:10515",), "other")
    assert sockets_of(loaded.profile) == ("tcp:10514",)


def test_what_only_a_lab_adds_to_a_base_opens_no_port_on_a_host(tmp_path: Path) -> None:
    """A rollout waits for these ports, and would undo itself."""
    system = 'module(load="imuxsock")\nmodule(load="imklog")\n'
    here = 'module(load="imudp")\ninput(type="imudp" port="514")\n'
    for inputs, sockets in ((system, ()), (here, ("udp:514",))):
        action = 'module(load="omelasticsearch")\naction(type="omelasticsearch")\n'
        profile = base_profile(tmp_path, conf=inputs + action).profile
        assert sockets_of(profile) == sockets
        assert needs_of(profile, "").ports == sockets
        entrance = entrance_of(profile)
        assert (entrance is not None) == bool(sockets)


def test_changes_of_one_host_leave_the_engine_alone_that_all_share() -> None:
    loaded = parse_profile(SMALL, "small.yaml")
    with pytest.raises(Refused, match="change what the engine gets"):
        for_host(loaded, changed(("outputs[logs].index.settings.refresh_interval", "30s")))
    with pytest.raises(BadUsage, match="the changes of a in the inventory"):
        for_host(loaded, changed(("main_queue.size", "many")))


@pytest.mark.parametrize(
    ("form", "live"), [(WHOLE, LIVE), (Form(is_fragment=True), "/etc/rsyslog.d/small.conf")]
)
def test_a_profile_goes_to_the_configuration_of_a_host_or_to_a_drop_in(
    form: Form, live: str
) -> None:
    loaded = parse_profile(SMALL, "small.yaml")
    own = host_profile(loaded, InventoryHost("a", "ssh://a"), None, form)
    assert list(own.files) == [live]


def test_what_a_configuration_needs_of_its_host_is_known() -> None:
    needs = needs_of(PROFILE, FILE.text)
    assert needs.packages == ("rsyslog", "rsyslog-elasticsearch")
    assert needs.ports == ("tcp:10514",)
    assert (needs.files, needs.secrets, needs.certificates, needs.variables) == ((),) * 4
