"""The profiles that we ship and the examples, on real components: accepted, loaded, and an event of
each input found in each engine with the fields and types that the profile describes.

What the engines of Maven Central lack is checked as far as it goes: Elasticsearch 7.17 has no data
streams there, and none has policies; a lab takes rollover aliases for plain indices.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.engines import RELEASES, release_text, require_taken, running
from tests.live.test_flood_kinds import profile_of
from tests.shipped import EXAMPLES, at_hand
from tests.shipped import PROFILES as SHIPPED
from tuner.engine.client import EngineClient, EngineRefused
from tuner.engine.owned import PREFIX, indices
from tuner.engines.release import Release
from tuner.engines.versions import DEFAULT
from tuner.lab.check import check
from tuner.lab.entrances import TcpPort, free_port, make_certificates
from tuner.lab.lab import attached_lab, new_run_id, sink_lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.modules.secrets import certificates_in
from tuner.profile.documents import fields_of
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import render, rsyslog_conf
from tuner.validate.smoke import mapping_differences, smoke_layer

pytestmark = pytest.mark.live

TOP = Path(__file__).parents[2]
# No flood sends CSV: test_stocks.py.
CSV = {"stocks", "stocks-whitelist"}
FOUND = [path for path in (*SHIPPED, *EXAMPLES) if path.stem not in CSV]
FOUND_QUICKLY = {"default", "lanes", "ecs-datastream"}
# Of what keeps nothing only the arrival is told.
FOUND_IN_ONE_ENGINE = {"berserk", "ecs-datastream", *(path.stem for path in EXAMPLES)}
MEASURED = [path for path in SHIPPED if path.stem != "default"]
MEASURED_QUICKLY = {"durable", "lanes"}
LINE = '<38>Nov 21 06:30:00 web-01 sshd[4711]: session "opened" for root'
FULL_KINDS = ("imtcp-tls", "imudp", "imuxsock", "imrelp")
ONE_OF_EACH = [
    "imtcp", "imfile", *(pytest.param(kind, marks=pytest.mark.full) for kind in FULL_KINDS)
]  # fmt: skip


def name_of(path: Path) -> str:
    """A profile by its name."""
    return path.stem


def some(paths: list[Path], quick: set[str]) -> list[object]:
    """The profiles, of which `make test` tries the quick ones."""
    return [
        path if path.stem in quick else pytest.param(path, marks=pytest.mark.full) for path in paths
    ]


def for_engine(text: str, release: Release) -> Profile:
    """The profile of that text for another engine; settings that this one lacks are a mistake of
    the profile and not of this test, so none is removed."""
    return at_hand(text, "it", release)


@pytest.fixture(scope="module")
def secrets_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Certificates and a password that are on this machine, by the paths that profiles name."""
    with scratch(tmp_path_factory.mktemp("secrets")) as below:
        folder = subfolder(below, "secrets")
        made = certificates_in(str(folder / "tls"))
        make_certificates(made)
        password = folder / "es.pwd"
        password.write_text("secret", "utf-8")
        yield {
            "/etc/rsyslog.d/tls/ca.pem": made.authority,
            "/etc/rsyslog.d/tls/collector.pem": made.collector,
            "/etc/rsyslog.d/tls/collector-key.pem": made.collector_key,
            "/etc/rsyslog.d/es.pwd": str(password),
        }


@pytest.mark.each_rsyslogd("profiles")
@pytest.mark.parametrize("path", [*SHIPPED, *EXAMPLES], ids=name_of)
def test_rsyslogd_accepts_it(path: Path, secrets_here: dict[str, str]) -> None:
    text = path.read_text("utf-8")
    for written, here in secrets_here.items():
        text = text.replace(written, here)
    verdict = check(rsyslog_conf(at_hand(text, path.name)))
    assert verdict.accepted
    assert verdict.complaints == ()


@pytest.mark.each_rsyslogd("trials")
@pytest.mark.parametrize("path", some(MEASURED, MEASURED_QUICKLY), ids=name_of)
def test_a_trial_of_it_accounts_for_every_event(tmp_path: Path, path: Path) -> None:
    profile = at_hand(path.read_text("utf-8"))
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = run_profile(lab, profile, TrialPlan(0.5, 1.0), "shipped", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact


def found(profile: Profile, engine: EngineClient, folder: Path) -> None:
    """Fail unless one event of the first input is in the engine as the profile describes it."""
    # attached_lab closes the client that it is given, and the engine's is everybody's.
    client = EngineClient(engine.url)
    with scratch(folder) as below, attached_lab(client, below, new_run_id(), "512m") as lab:
        layer = smoke_layer(lab, profile)
    assert layer.passed, layer.remark
    assert indices(engine, PREFIX) == ()


@pytest.mark.parametrize("path", some(FOUND, FOUND_QUICKLY), ids=name_of)
def test_an_event_of_it_is_found_as_described(
    each_engine: tuple[Release, EngineClient], tmp_path: Path, path: Path
) -> None:
    release, engine = each_engine
    if path.stem in FOUND_IN_ONE_ENGINE and release != DEFAULT.release:
        pytest.skip("one engine is enough")
    found(for_engine(path.read_text("utf-8"), release), engine, tmp_path)


@pytest.mark.each_rsyslogd("engine")
@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_an_event_of_each_kind_of_input_is_found_as_described(
    each_engine: tuple[Release, EngineClient], tmp_path: Path, kind: str
) -> None:
    release, engine = each_engine
    if kind != "imtcp" and release != DEFAULT.release:
        pytest.skip("one engine is enough")
    found(profile_of(kind), engine, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("release", RELEASES[1:], ids=release_text)
def test_a_data_stream_gets_the_documents(release: Release, tmp_path: Path) -> None:
    """On an engine of its own: a minimal Elasticsearch cannot delete a data stream."""
    require_taken(release)
    text = (TOP / "profiles/ecs-datastream.yaml").read_text("utf-8")
    port = free_port()
    with running(release, tmp_path) as engine, scratch(tmp_path) as below:
        here = {
            "inputs[0].port": port,
            "outputs[logs].servers": [engine.url],
            "outputs[logs].index.lifecycle": None,
            "outputs[logs].index.settings.number_of_replicas": 0,
        }
        profile = for_engine(edit(text, here), release)
        install(engine, profile)
        stream = profile.measured.index.target
        daemon = Rsyslogd(rsyslog_conf(profile), subfolder(below, "rsyslog"), [TcpPort(port)])
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(f"{LINE}\n".encode())
            document = only_document(engine, stream)
            (mapping,) = engine.get(f"/{stream}/_mapping").values()
        finally:
            daemon.stop(5.0)
    assert document["host"]["name"] == "web-01"
    assert document["message"] == ' session "opened" for root'
    assert isinstance(mapping, dict)
    assert mapping_differences(fields_of(profile.measured), mapping["mappings"], True) == ()


def install(engine: EngineClient, profile: Profile) -> None:
    """Put the rendered templates into the engine, the components before what is made of them."""
    files = {one.path: one.text for one in render(profile) if one.path.endswith(".json")}
    name = profile.measured.index.target
    for part in ("settings", "mappings"):
        body = json.loads(files[f"component-{part}.json"])
        engine.request("PUT", f"/_component_template/{name}-{part}", body)
    engine.request("PUT", f"/_index_template/{name}", json.loads(files["index-template.json"]))


def only_document(engine: EngineClient, target: str) -> dict[str, Any]:
    """The one document there, waited for."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with contextlib.suppress(EngineRefused):
            engine.request("POST", f"/{target}/_refresh")
            answer: Any = engine.get(f"/{target}/_search")
            if answer["hits"]["hits"]:
                (hit,) = answer["hits"]["hits"]
                source: dict[str, Any] = hit["_source"]
                return source
        time.sleep(0.1)
    raise AssertionError("the event did not arrive")
