"""What we render, a real rsyslogd accepts; shipped profiles and examples are in
tests/live/test_shipped.py."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import shipped
from tests.profile.examples import SMALL, at_hand
from tuner.lab.check import check
from tuner.profile.edit import edit
from tuner.profile.model import Global, Profile
from tuner.profile.source import read
from tuner.render.artefacts import render, rsyslog_conf
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.render.tree import Tree
from tuner.schema.section import since

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]


def verdict(config: Path) -> str:
    """What `rsyslogd -N1` complains about; empty when it accepts the file."""
    said = check(config.read_text(encoding="utf-8", errors="surrogateescape"))
    return "" if said.accepted and not said.complaints else f"{said}"


def verdict_on(profile: Profile, folder: Path) -> str:
    Tree(render(profile), folder).write()
    return verdict(folder / "rsyslog.conf")


def test_every_optional_parameter_is_accepted(tmp_path: Path) -> None:
    secret = tmp_path / "pwd"
    secret.write_text("secret", encoding="utf-8")
    files = {"filename": "logs", "spoolDirectory": str(tmp_path)}
    changes: Mapping[str, object] = {
        "inputs": [
            {"type": "imptcp", "port": 10514, "threads": 3, "processOnPoller": False},
            {"type": "imtcp", "port": 10515, "framingFix.cisco.asa": True},
        ],
        "main_queue.filename": "main",
        "main_queue.spoolDirectory": str(tmp_path),
        **{f"outputs[logs].queue.{key}": value for key, value in files.items()},
        "outputs[logs].servers": ["https://127.0.0.1:9200", "https://127.0.0.1:9201"],
        "outputs[logs].auth": {"uid": "shipper", "pwd": {"file": str(secret)}},
        "outputs[logs].tls.cacert": str(secret),
        "outputs[logs].timeout": "30s",
        "outputs[logs].filter_path": ["errors", "items.*.status"],
        "outputs[logs].maxbytes": "10m",
        "outputs[logs].index.rotate": "daily",
        "outputs[logs].document": "logstash",
    }
    assert verdict_on(at_hand(changes), tmp_path) == ""


def test_a_nasty_value_stays_a_value(tmp_path: Path) -> None:
    """Spliced in without the quoter it would load omprog, and -N1 would not say a word."""
    value = 'x") action(type="omprog" binary="/nowhere" name="\\\t\x01'
    site = tmp_path / "site"
    site.mkdir()
    (site / "rsyslog.conf.j2").write_text(
        'module(load="omelasticsearch")\n'
        'template(name="t" type="list") { constant(value={{ value | constant }}) }\n'
        'action(type="omelasticsearch" searchIndex="x" template="t" uid={{ value | rs }})\n',
        encoding="utf-8",
    )
    config = tmp_path / "rsyslog.conf"
    config.write_text(Templates(site).fill("rsyslog.conf.j2", value=value), encoding="utf-8")
    assert "omprog" not in verdict(config)


WORDS: dict[str, object] = {
    "maxMessageSize": "64k", "oversizemsg.input.mode": "split", "localHostname": "here.example.org",
    "net.ipProtocol": "ipv4-only", "inputStartupPolicy": "require-all",
    "compatibility.defaults.secure": "warn", "compatibility.configformat.legacy": "enable",
    "compatibility.configformat.syslogd": "enable", "compatibility.configformat.property": "enable",
}  # fmt: skip


def test_every_parameter_of_global_is_known_from_its_release_on(tmp_path: Path) -> None:
    installed = shipped.release_at_hand()
    paths = {"workDirectory": str(tmp_path), "oversizemsg.errorfile": str(tmp_path / "long")}
    known: dict[str, object] = {}
    for info in Global.model_fields.values():
        key = str(info.alias)
        value = (WORDS | paths).get(key, True if "bool" in str(info.annotation) else 60)
        if since(info) <= installed:
            known[key] = value
            continue
        text = edit(shipped.text_at_hand(SMALL), {"global": {key: value}})
        profile = Profile.model_validate(read(text, "p").data)
        assert f"parameter '{key.lower()}' not known" in verdict_on(profile, tmp_path).lower()
    assert len(known) > 20
    assert verdict_on(at_hand({"global": known}), tmp_path) == ""


def test_a_profile_named_by_one_letter_is_accepted(tmp_path: Path) -> None:
    parsed = {"type": "imtcp", "port": 10514, "parser": ["rsyslog.rfc5424"]}
    profile = at_hand({"name": "d", "inputs": [parsed, {"type": "imuxsock"}]})
    assert verdict_on(profile, tmp_path) == ""


def test_outputs_into_kafka_are_accepted(tmp_path: Path) -> None:
    """There is no broker here: what it delivers is not tested."""
    secret = tmp_path / "kafka"
    secret.write_text("sasl.password=secret", encoding="utf-8")
    settings = ["security.protocol=sasl_ssl", {"file": str(secret)}]
    target = {
        "name": "kafka", "type": "omkafka", "topic": "out", "broker": ["kafka1:9092", "[::1]:9093"],
        "confParam": settings, "topicConfParam": ["acks=all"], "key": "a", "closeTimeout": 1000,
        "partitions.auto": True, "errorFile": f"{tmp_path}/errors", "resubmitOnFailure": True,
        "keepFailedMessages": True, "failedMsgFile": f"{tmp_path}/failed",
        "statsFile": f"{tmp_path}/stats", "reopenOnHup": True, "document": "ecs",
    }  # fmt: skip
    turns = {"name": "turns", "type": "omkafka", "topic": "out", "partitions.number": 3,
             "line": [{"property": "msg"}]}  # fmt: skip
    fixed = {"name": "fixed", "type": "omkafka", "topic": "out", "partitions.useFixed": 0}
    profile = at_hand({"outputs": [target, turns, fixed]})
    assert verdict_on(profile, tmp_path) == ""
    text = (tmp_path / "rsyslog.conf").read_text(encoding="utf-8")
    assert f'confParam=["security.protocol=sasl_ssl", `cat {secret}`]' in text
    assert "sasl.password" not in text


def test_a_snippet_finds_the_modules_that_it_names(tmp_path: Path) -> None:
    named = {"outputs": ["a.conf"], "modules": ["mmsequence", "omelasticsearch"]}
    action = 'action(type="mmsequence" mode="instance" from="0" to="9" var="$!n")\n'
    path = tmp_path / "rsyslog.conf"
    path.write_text(rsyslog_conf(at_hand({"snippets": named}), form=Form({"a.conf": action})))
    assert verdict(path) == ""
