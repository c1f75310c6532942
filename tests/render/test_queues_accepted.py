"""Every parameter of queues and actions is one that a real rsyslogd knows, from its release on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.profile.examples import SMALL
from tests.render.test_rsyslogd_accepts import verdict
from tests.shipped import release_at_hand, text_at_hand
from tuner.modules.output import Output
from tuner.modules.queue import Queue
from tuner.modules.secrets import Tls
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.profile.source import read
from tuner.render.artefacts import rsyslog_conf
from tuner.schema.parameter import since

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.each_rsyslogd("parameters"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

# What stands for each parameter that is not a switch or a number.
WORDS: dict[str, object] = {
    "type": "LinkedList",
    "size": 60_000,
    "highWatermark": 40_000,
    "lowWatermark": 20_000,
    "fullDelayMark": 49_000,
    "discardMark": 48_000,
    "scope": "local",
    "local.frontendSize": 1024,
    "filename": "q",
    "maxDiskSpace": "1g",
    "maxFileSize": "16m",
    "onCorruption": "safe",
    "action.ratelimit.name": "few",
    "diskQueueType": "auto",
    "cacert": "/dev/null",
    "mycert": "/dev/null",
    "myprivkey": "/dev/null",
    "tlsversion": "TLSv1.3",
    "ciphersuites": "TLS_AES_256_GCM_SHA384",
    "keyexchangegroups": "X25519MLKEM768:X25519",
}

FORWARD = {"name": "up", "type": "omfwd", "target": "127.0.0.1", "port": 514}
LOCAL = {"type": "FixedArray", "scope": "local", "local.frontendSize": 1024,
         "local.maxFrontends": 4}  # fmt: skip


def parameters(section: type[BaseModel], start: str = "") -> list[tuple[str, int]]:
    return [
        (info.alias or name, since(info))
        for name, info in section.model_fields.items()
        if (info.alias or name).startswith(start)
    ]


def value_of(section: type[BaseModel], key: str, folder: Path) -> object:
    if key == "spoolDirectory":
        return str(folder)
    if key == "action.errorfile":
        return str(folder / "errors.json")
    if key in WORDS:
        return WORDS[key]
    kinds = {
        info.alias or name: str(info.annotation) for name, info in section.model_fields.items()
    }
    return True if "bool" in kinds[key] else 1


def said(changes: dict[str, object], key: str, folder: Path) -> str:
    """What rsyslogd says to the small profile with `changes`, lint left aside; `key` is in it."""
    data = read(edit(text_at_hand(SMALL), changes), "p.yaml").data
    path = folder / "rsyslog.conf"
    config = rsyslog_conf(Profile.model_validate(data))
    assert f"{key}=" in config
    path.write_text(config, encoding="utf-8")
    return verdict(path)


def judge(heard: str, key: str, release: int) -> None:
    if release <= release_at_hand():
        assert heard == ""
    else:
        assert f"parameter '{key.lower()}' not known" in heard.lower()


@pytest.mark.parametrize("place", ["main_queue", "outputs[logs].queue"])
@pytest.mark.parametrize(("key", "release"), parameters(Queue))
def test_a_parameter_of_queues_is_known_from_its_release_on(
    place: str, key: str, release: int, tmp_path: Path
) -> None:
    if place == "main_queue" and release > release_at_hand() <= 2102:
        pytest.skip("8.2102 does not say which parameters of main_queue() it does not know")
    files = {"filename": "q", "spoolDirectory": str(tmp_path)}
    queue: dict[str, object] = {"type": "LinkedList", "size": 50000, **files}
    changes: dict[str, object] = {place: queue | {key: value_of(Queue, key, tmp_path)}}
    if key == "scope" or key.startswith("local."):
        # rsyslogd takes it beside few inputs and outputs only.
        queue = LOCAL | {key: value_of(Queue, key, tmp_path)}
        output = FORWARD if place == "main_queue" else FORWARD | {"queue": queue}
        changes = {"inputs": [{"type": "imtcp", "port": 10514}], "outputs": [output]}
        changes["main_queue"] = queue
    judge(said(changes, f"queue.{key}", tmp_path), f"queue.{key}", release)


@pytest.mark.parametrize(("key", "release"), parameters(Output, "action."))
@pytest.mark.parametrize("kind", ["omelasticsearch", "omfile"])
def test_a_parameter_of_actions_is_known_from_its_release_on(
    kind: str, key: str, release: int, tmp_path: Path
) -> None:
    changes: dict[str, object] = {f"outputs[logs].{key}": value_of(Output, key, tmp_path)}
    policy = tmp_path / "few.yaml"
    policy.write_text("scope: output\nmode: drop\ninterval: 5\nburst: 1000\n", encoding="utf-8")
    limits = {"ratelimits": {"few": {"policy": str(policy)}}}
    if kind == "omfile":
        output = {"name": "logs", "type": "omfile", "file": str(tmp_path / "out")}
        changes = {"outputs": [{**output, key: value_of(Output, key, tmp_path)}]}
    changes |= limits if key == "action.ratelimit.name" else {}
    judge(said(changes, key, tmp_path), key, release)


@pytest.mark.parametrize(("key", "release"), parameters(Tls))
def test_a_parameter_of_tls_is_known_from_its_release_on(
    key: str, release: int, tmp_path: Path
) -> None:
    changes: dict[str, object] = {"outputs[logs].tls": {key: value_of(Tls, key, tmp_path)}}
    bare = key in {"allowunsignedcerts", "skipverifyhost"}
    full = key if bare else f"tls.{key}"
    judge(said(changes, full, tmp_path), full, release)
