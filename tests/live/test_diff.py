"""`diff` with real engines: what was put as rendered shows nothing, one change shows itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.here import Done, here
from tests.profile.examples import SMALL
from tuner.engine.client import EngineClient
from tuner.engine.normal import puttable
from tuner.engines.release import Release
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import render

pytestmark = pytest.mark.live

SETTINGS = {
    "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "5s",
    "codec": "best_compression", "translog.durability": "request",
    "translog.flush_threshold_size": "256mb", "merge.policy.segments_per_tier": 20,
    "sort.field": ["@timestamp"], "sort.order": ["desc"], "search.idle.after": "30s",
    "requests.cache.enable": True, "mapping.total_fields.limit": 200,
}  # fmt: skip
KINDS: dict[str, dict[str, object]] = {
    "plain": {"name": "syslog", "settings": SETTINGS},
    "components": {"name": "syslog", "components": True, "settings": SETTINGS},
    "daily": {"name": "syslog", "rotate": "daily", "settings": SETTINGS},
    "rollover": {"name": "syslog", "rotate": "rollover", "settings": SETTINGS},
    "dynamic": {"name": "syslog", "mapping": "dynamic"},
}
NAMES = {"daily": "syslog-2026.11.21", "rollover": "syslog-000001"}


def profile_text(release: Release, index: dict[str, object]) -> str:
    version = ".".join(map(str, release.engine_version))
    changes = {"release": {release.engine.value: version}, "outputs[logs].index": index}
    return edit(SMALL, changes)


def put(client: EngineClient, text: str, kind: str) -> str:
    """Everything that is rendered, with the engine's own calls; the name of the open index."""
    files: dict[str, Any] = {
        one.path: json.loads(one.text)
        for one in render(parse_profile(text, "small.yaml").profile)
        if one.path.endswith(".json")
    }
    for part in ("settings", "mappings"):
        body = files.get(f"component-{part}.json")
        if body is not None:
            client.request("PUT", f"/_component_template/syslog-{part}", body)
    client.request("PUT", "/_index_template/syslog", files["index-template.json"])
    name = NAMES.get(kind, "syslog")
    client.request("PUT", f"/{name}", files.get("first-index.json"))
    client.request("PUT", f"/{name}/_settings", files["live-settings.json"])
    return name


def clear(client: EngineClient) -> None:
    rows = client.request("GET", "/_cat/indices?format=json&h=index")
    for row in rows if isinstance(rows, list) else []:
        client.request("DELETE", f"/{row['index']}")
    for kind in ("index", "component"):
        found = client.get(f"/_{kind}_template")[f"{kind}_templates"]
        for one in found if isinstance(found, list) else []:
            client.request("DELETE", f"/_{kind}_template/{one['name']}")


def changed(done: Done) -> list[str]:
    """The lines of a diff that say what differs, where and what."""
    return [line for line in done.out.splitlines() if line[:1] in {"+", "-"}]


@pytest.mark.parametrize(
    "kind",
    [one if one == "plain" else pytest.param(one, marks=pytest.mark.full) for one in KINDS],
)
def test_what_was_put_as_rendered_shows_nothing(
    each_engine: tuple[Release, EngineClient], kind: str, tmp_path: Path
) -> None:
    release, client = each_engine
    text = profile_text(release, KINDS[kind])
    path = tmp_path / "small.yaml"
    path.write_text(text, "utf-8")
    try:
        missing = here("diff", path, "--elasticsearch", client.url)
        assert missing.code == 2
        assert "--- /dev/null\n+++ profile/index/template/syslog\n" in missing.out
        name = put(client, text, kind)
        done = here("diff", path, "--elasticsearch", client.url)
        assert (done.code, done.out) == (0, ""), done.out
        assert f"index {name}" in done.err
    finally:
        clear(client)


def test_one_change_by_hand_shows_itself_and_nothing_else(
    each_engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    release, client = each_engine
    text = profile_text(release, KINDS["plain"])
    path = tmp_path / "small.yaml"
    path.write_text(text, "utf-8")

    def diff() -> Done:
        return here("diff", path, "--elasticsearch", client.url)

    try:
        put(client, text, "plain")
        client.request("PUT", "/syslog/_settings", {"index.refresh_interval": "30s"})
        assert changed(diff()) == [
            "--- cluster/index/syslog",
            "+++ profile/index/syslog",
            '-  "index.refresh_interval": "30s"',
            '+  "index.refresh_interval": "5s"',
        ]
        client.request("PUT", "/syslog/_settings", {"index.refresh_interval": "5000ms"})
        assert diff().code == 0, "it means the same"
        client.request("PUT", "/syslog/_settings", {"index.translog.sync_interval": "9s"})
        assert changed(diff())[2:] == ['-  "index.translog.sync_interval": "9s"']
        client.request("PUT", "/syslog/_settings", {"index.translog.sync_interval": None})
        assert diff().code == 0
        found = client.get("/_index_template/syslog")["index_templates"]
        assert isinstance(found, list)
        body = found[0]["index_template"]
        body["template"]["mappings"]["properties"]["message"]["index_options"] = "positions"
        client.request("PUT", "/_index_template/syslog", puttable(body))
        done = diff()
        assert done.code == 2
        assert changed(done) == [
            "--- cluster/index/template/syslog",
            "+++ profile/index/template/syslog",
            '-        "index_options": "positions"',
            '+        "index_options": "docs"',
        ]
        assert "1 of 2 objects differ: index template syslog" in done.err
    finally:
        clear(client)


def test_a_component_changed_by_hand(
    each_engine: tuple[Release, EngineClient], tmp_path: Path
) -> None:
    release, client = each_engine
    text = profile_text(release, KINDS["components"])
    path = tmp_path / "small.yaml"
    path.write_text(text, "utf-8")
    try:
        put(client, text, "components")
        found = client.get("/_component_template/syslog-settings")["component_templates"]
        assert isinstance(found, list)
        body = found[0]["component_template"]
        body["template"]["settings"]["index"]["codec"] = "default"
        client.request("PUT", "/_component_template/syslog-settings", puttable(body))
        done = here("diff", path, "--elasticsearch", client.url, "--output", "json")
        assert done.code == 2
        states = {one["name"]: one["state"] for one in json.loads(done.out)["objects"]}
        assert states == {
            "component template syslog-settings": "differs",
            "component template syslog-mappings": "same",
            "index template syslog": "same",
            "index syslog": "same",
        }
    finally:
        clear(client)
