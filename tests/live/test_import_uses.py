"""`import --elasticsearch`: the uses of fields from what an engine was asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tuner.cli.commands import app
from tuner.engine.client import EngineClient
from tuner.engines.release import Engine, Release
from tuner.lint.load import load_profile

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

CONFIGURATION = """\
global(net.enableDNS="off")
module(load="imtcp") module(load="omelasticsearch")
input(type="imtcp" address="127.0.0.1" port="10514")
template(name="doc" type="list" option.jsonf="on") {
    property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
    property(outname="message" name="msg" format="jsonf")
    property(outname="host" name="hostname" format="jsonf")
    property(outname="tag" name="syslogtag" format="jsonf")
    property(outname="never" name="procid" format="jsonf")
}
action(type="omelasticsearch" server="es1" template="doc" searchIndex="rsyslog-tune-used"
       searchType="" bulkmode="on" action.resumeRetryCount="-1" indexTimeout="60000")
"""
DOCUMENT = {
    "@timestamp": "2026-11-26T10:00:00Z",
    "message": "out of memory",
    "host": "a",
    "tag": "x",
}
QUERIES = (
    {"query": {"match_phrase": {"message": "of memory"}}},
    {"query": {"range": {"@timestamp": {"gte": "2026-11-26"}}}, "sort": [{"@timestamp": "desc"}]},
    {"size": 0, "aggs": {"hosts": {"terms": {"field": "host.keyword"}}}},
)


def test_fields_get_the_uses_that_the_engine_has_seen(
    each_engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    release, client = each_engine
    source, profile = tmp_path / "rsyslog.conf", tmp_path / "prod.yaml"
    source.write_text(CONFIGURATION, encoding="utf-8")
    words = ["import", "--convert", str(source), "-o", str(profile)]
    asking = [*words, "--elasticsearch", client.url]
    is_counted = release.engine is Engine.ELASTICSEARCH
    try:
        client.request("POST", "/rsyslog-tune-used/_doc?refresh=true", dict(DOCUMENT))
        before = CliRunner().invoke(app, asking, catch_exceptions=False)
        profile.unlink()
        for query in QUERIES:
            client.request("POST", "/rsyslog-tune-used/_search", dict(query))
        after = CliRunner().invoke(app, asking, catch_exceptions=False)
    finally:
        client.request("DELETE", "/rsyslog-tune-used")
    why = "nothing has been searched there" if is_counted else "this engine does not count"
    assert f"are all that rsyslog-tune-used* serves, as {why}" in before.stderr
    assert ("since 20" in after.stderr) is is_counted
    (output,) = load_profile(profile).profile.indexed
    assert isinstance(output.document, tuple)
    told = {
        field.name: [use.value for use in field.uses] if "uses" in field.model_fields_set else None
        for field in output.document
    }
    texts = ["term", "full_text", "phrase", "aggregate"]
    assert told == {
        "@timestamp": ["range", "aggregate"],
        "message": ["full_text", "phrase"] if is_counted else texts,
        "host": ["aggregate"] if is_counted else texts,
        "tag": ["retrieve"] if is_counted else texts,
        "never": None,
    }
