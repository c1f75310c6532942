"""Traffic for a configuration: for each way to an engine action a message that takes it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tuner.flood.messages import Messages
from tuner.flood.spec import FloodSpec, Transport
from tuner.profile.workload import MessageSizes
from tuner.script.configuration import LocalFiles, configuration
from tuner.script.objects import base_of
from tuner.traffic.sample import MessageTemplate, TrafficSample
from tuner.traffic.wanted import wanted_by

ES = 'action(type="omelasticsearch" server="es1" searchType="")'


def wanted(folder: Path, conf: str) -> TrafficSample | None:
    path = folder / "rsyslog.conf"
    path.write_text(conf, encoding="utf-8")
    return wanted_by(base_of(configuration(path, LocalFiles())), 200)


def ways(folder: Path, conf: str) -> tuple[MessageTemplate, ...]:
    """The templates that are for ways of the configuration, without the general ones."""
    sample = wanted(folder, conf)
    assert sample is not None
    return sample.templates[:-5]


def test_what_tells_nothing_apart_wants_nothing(tmp_path: Path) -> None:
    assert wanted(tmp_path, f"{ES}\n") is None
    assert wanted(tmp_path, f'if not ($msg contains "noise") then {ES}\n') is None


def test_a_way_has_what_its_conditions_ask(tmp_path: Path) -> None:
    conf = f"""
if $programname == "billing" and $syslogseverity <= 3 then {{
  if $msg contains "refused" then {ES}
}}
if $hostname == "edge7" then {ES}
"""
    billing, edge = ways(tmp_path, conf)
    assert billing.program == "billing"
    assert {one.partition(".")[2] for one in billing.priorities or {}} <= {
        "emerg", "alert", "crit", "err",
    }  # fmt: skip
    assert billing.text.startswith("refused <text ")
    sample = wanted(tmp_path, conf)
    assert sample is not None
    assert "edge7" in (sample.hosts or {})
    assert edge.priorities is None


def test_a_part_of_a_name_becomes_one_that_a_head_may_have(tmp_path: Path) -> None:
    conf = f"""
if $hostname contains "router-default-" then {ES}
if $hostname contains "-edge" then {ES}
if $hostname startswith "db" then {ES}
"""
    sample = wanted(tmp_path, conf)
    assert sample is not None
    assert {"router-default-1", "web-edge", "db"} <= set(sample.hosts or {})


def test_each_alternative_is_a_way(tmp_path: Path) -> None:
    conf = (
        f'if $programname == ["a1", "b2"] or $msg startswith "x y" then {ES}\n'
        f'else if not ($syslogfacility-text == "mail") then {ES}\n'
    )
    assert [(one.program, one.text.partition("<")[0]) for one in ways(tmp_path, conf)] == [
        ("a1", ""), ("b2", ""), ("app", "x y "), ("app", ""),
    ]  # fmt: skip


def test_the_old_form_and_calls_are_followed(tmp_path: Path) -> None:
    conf = f"""
mail.*;auth.=info call inner
:programname, isequal, "postfix" call inner
ruleset(name="inner") {{ if $msg contains "bounced" then {ES} }}
"""
    found = ways(tmp_path, conf)
    assert {one.text.partition("<")[0] for one in found} == {"bounced "}
    by_selector = next(one for one in found if one.program == "app" and one.priorities)
    assert set(by_selector.priorities or {}) <= {
        "auth.info", *(f"mail.{level}" for level in
                       ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")),
    }  # fmt: skip
    assert "postfix" in {one.program for one in found}


def test_json_has_the_members_that_are_read(tmp_path: Path) -> None:
    conf = """
module(load="mmjsonparse")
template(name="doc" type="list") {
  constant(value="{") property(name="$!user!name" format="jsonf") constant(value="}")
}
action(type="mmjsonparse" cookie="")
if $!level == "error" then action(type="omelasticsearch" server="es1" template="doc")
"""
    (only,) = ways(tmp_path, conf)
    flood = FloodSpec(
        Transport(("127.0.0.1:514",)), 1, MessageSizes(244), 1, "0123abcd", begins_s=1_795_000_000,
        sample=TrafficSample(
            messages=1, mean_bytes=1.0, format="rfc3164", templates=(only,)
        ).model_dump_json(),
    )  # fmt: skip
    line = bytes(Messages(flood).take(1, time.time()).data).decode()
    written = json.loads(line.partition("app: ")[2])
    assert written["level"] == "error"
    assert written["user"]["name"].isalpha()


def test_the_whole_of_the_json_is_no_member_of_it(tmp_path: Path) -> None:
    conf = f"""
template(name="t" type="string" string="%$!all-json%%$!all-json-plain%%$!user%")
action(type="mmjsonparse" cookie="")
{ES}
"""
    (only,) = ways(tmp_path, conf)
    assert list(json.loads(only.text)) == ["user", "message"]
    (only,) = ways(tmp_path, conf.replace("%$!user%", ""))
    assert list(json.loads(only.text)) == ["level", "logger", "message"]


def test_cee_keeps_its_cookie(tmp_path: Path) -> None:
    conf = f'action(type="mmjsonparse")\nif $!a == "b<c" then {ES}\n'
    (only,) = ways(tmp_path, conf)
    assert only.text.startswith('@cee: {"a": "b<<c", "message": "<text ')


@pytest.mark.parametrize("named", ["", "message", "msg", "app!text", "message!id"])
def test_json_has_one_text_that_tells_messages_apart(named: str, tmp_path: Path) -> None:
    member = f'and $!{named} != "" ' if named else ""
    conf = f'action(type="mmjsonparse" cookie="")\nif $!level == "error" {member}then {ES}\n'
    (only,) = ways(tmp_path, conf)
    of_its_own = [] if named == "" else [named.partition("!")[0]]
    assert list(json.loads(only.text)) == ["level", *(of_its_own or ["message"])]


def test_messages_that_become_documents_are_json(tmp_path: Path) -> None:
    template = 'template(name="raw" type="string" string="%msg%")\n'
    action = ES.replace(")", ' template="raw")')
    sample = wanted(tmp_path, f'{template}if $programname == "api" then {action}\n')
    assert sample is not None
    assert {one.text[0] for one in sample.templates} == {"{"}
    assert wanted(tmp_path, f"{template}*.* {action}\n") is not None


def test_messages_at_the_end_of_documents_are_json(tmp_path: Path) -> None:
    conf = f"""
template(name="t" type="list") {{
  constant(value="{{") property(name="timegenerated" outname="t" format="jsonf")
  constant(value=",") property(name="msg" regex.expression="{{\\\\(.*\\\\)" regex.submatch="1")
  constant(value="\\n")
}}
{ES.replace(")", ' template="t")')}
"""
    sample = wanted(tmp_path, conf)
    assert sample is not None
    assert all(one.text.startswith("{") for one in sample.templates)
